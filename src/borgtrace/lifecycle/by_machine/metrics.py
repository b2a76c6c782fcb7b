"""What counts as the usage of a slot: a mean, weighted by time, or a peak."""

from dataclasses import dataclass

import pyarrow as pa

from borgtrace.errors import check_names
from borgtrace.kernels.arrays import Values
from borgtrace.schema import Dialect
from borgtrace.store.columns import as_floats

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
        Whether the windows of a slot are combined by their maximum, else by their mean over the slot.
    element
        Element of a list column; None where the column is a number.
    """

    name: str
    column: str
    is_peak: bool
    element: int | None = None

    def values(self, column: pa.ChunkedArray) -> Values:
        """Return the values of some windows, float32 (n,); NaN where there is none."""
        return as_floats(column.combine_chunks(), self.element)


_ALL = (
    Metric("average_cpu", "average_cpu", is_peak=False),
    # Elements of 0, 10, …, 100 %; the 90th percentile is what Google's overcommit simulator takes.
    Metric("p50_cpu", _DECILES, is_peak=True, element=5),
    Metric("p90_cpu", _DECILES, is_peak=True, element=9),
    Metric("maximum_cpu", "maximum_cpu", is_peak=True),
    Metric("sampled_cpu", "sampled_cpu", is_peak=True),
    Metric("average_memory", "average_memory", is_peak=False),
    Metric("maximum_memory", "maximum_memory", is_peak=True),
)

METRICS = {metric.name: metric for metric in _ALL}
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
    if resource == "cpu" and dialect.publishes(_DECILES):
        return METRICS["p90_cpu"]
    return METRICS[f"average_{resource}"]


def find_metric(name: str) -> Metric:
    """Return a metric by its name.

    Raises
    ------
    UsageError
        No metric has that name.
    """
    check_names("--metric", (name,), METRICS, "no such metric")
    return METRICS[name]
