"""Which usage a slot has: a mean, weighted by time, or a peak."""

from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from borgtrace.errors import check_names
from borgtrace.kernels.arrays import Values
from borgtrace.schema import Dialect
from borgtrace.schema.data_files import read_rows
from borgtrace.store.columns import values

_DECILES = "cpu_usage_distribution"


@dataclass(frozen=True, slots=True)
class Metric:
    """A measured column, or one element of a list of percentiles.

    Attributes
    ----------
    name
        What users call it.
    column
        Column of ``instance_usage``.
    is_peak
        Whether the windows of a slot are combined by their maximum; else by their mean over the slot.
    element
        Element of a list column; None where the column is a number.
    """

    name: str
    column: str
    is_peak: bool
    element: int | None = None

    def values(self, column: pa.ChunkedArray) -> Values:
        """Return the values of some windows, float32 (n,); NaN where there is none."""
        return values(column.combine_chunks(), self.element)


def _metric(name: str, column: str, combined: str, element: str) -> Metric:
    return Metric(name, column, combined == "maximum", int(element) if element else None)


METRICS = {
    row["name"]: _metric(**row) for row in read_rows(Path(__file__).with_name("metrics.csv"))
}
"""Metrics by name."""


def default_metric(dialect: Dialect, resource: str) -> Metric:
    """Return the usual metric of a resource: the 90th percentile of CPU where it is published, else the average.

    Parameters
    ----------
    dialect
        Format of the trace.
    resource
        ``"cpu"`` or ``"memory"``.
    """
    has_percentiles = resource == "cpu" and dialect.publishes(_DECILES)
    return METRICS["p90_cpu" if has_percentiles else f"average_{resource}"]


def find_metric(name: str) -> Metric:
    """Return a metric by its name.

    Raises
    ------
    UsageError
        For a name that none has.
    """
    check_names("--metric", (name,), METRICS, "no such metric")
    return METRICS[name]
