"""One job (or alloc set): the lives of its instances, what they used together, and its siblings."""

import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from borgtrace.explore.cell import NAMES
from borgtrace.explore.charts import Chart, Series
from borgtrace.explore.load import lanes, requested, used
from borgtrace.explore.span import Span, life_of
from borgtrace.explore.trace import Trace
from borgtrace.schema.sql import literal
from borgtrace.schema.time import SECOND, WINDOW

MOST_BARS = 20_000
"""Attempts that a browser is given; the CSV has no more either, `borgtrace sql` has all."""
_QUERIES = tomllib.loads(Path(__file__).with_name("job.toml").read_text("utf-8"))


def load(trace: Trace, collection_id: int, resource: str, span: Span) -> Chart:
    """Return what the instances of a job used together, and what those that ran had requested.

    Parameters
    ----------
    trace
        What is explored.
    collection_id
        The job.
    resource
        ``"cpu"`` or ``"memory"``.
    span
        What is shown.
    """
    first, last = trace.job_rows(collection_id)
    low, high = trace.store.offsets[first], trace.store.offsets[last]
    sums, n_windows = used(trace, np.arange(low, high), resource, span)
    attempts = trace.pyramid.lives.of_tasks(first, last)
    columns = {
        "time": span.slot_times,
        "used": np.where(n_windows, sums.sum(axis=0), np.nan),
        "requested": requested(trace, attempts, resource, span),
    }
    series = [
        Series("used", "used", "stack", "c1"),
        Series("requested", "requested", "dash", "ink"),
    ]
    return Chart(
        pa.table(columns),
        series,
        f"{NAMES[resource]} of all instances, in largest machines",
        WINDOW,
    )


def bars(trace: Trace, collection_id: int) -> dict[str, Any]:
    """Return the attempts of a job's instances, instance by instance."""
    attempts = trace.pyramid.lives.of_tasks(*trace.job_rows(collection_id))
    columns = lanes(trace, attempts)
    order = sorted(
        range(len(attempts.task)), key=lambda i: (columns["instance_index"][i], columns["begin"][i])
    )
    return {name: [values[i] for i in order[:MOST_BARS]] for name, values in columns.items()}


def life_span(trace: Trace, collection_id: int) -> Span:
    """Return when a job lived: from its first attempt, or usage, to its last."""
    (known,) = trace.store.sql(_QUERIES["times"], {"job": collection_id}).to_pylist()
    attempts = trace.pyramid.lives.of_tasks(*trace.job_rows(collection_id))
    # Who is not known to have left lives to the end: `AFTER` is cut to it.
    lived = np.concatenate([attempts.begin, attempts.left]).astype(np.int64) * SECOND
    return life_of(
        trace.span, [*(time for time in known.values() if time is not None), *lived.tolist()]
    )


def facts(trace: Trace, collection_id: int) -> dict[str, Any]:
    """Return what the events and the index say of a job: known values only."""
    (row,) = trace.store.sql(_QUERIES["facts"], {"job": collection_id}).to_pylist()
    return {name: value for name, value in row.items() if value is not None}


def siblings(trace: Trace, collection_id: int, known: dict[str, Any], n: int = 12) -> pa.Table:
    """Return other jobs of the same logical name, or of the same user where it has none.

    Parameters
    ----------
    trace
        What is explored.
    collection_id
        The job.
    known
        What `facts` says of it.
    n
        How many at most, the nearest ids first.
    """
    column = next((name for name in ("collection_logical_name", "user") if known.get(name)), None)
    condition = "false" if column is None else f"{column} = {literal(known[column])}"
    return trace.store.sql(
        _QUERIES["siblings"].format(condition=condition), {"job": collection_id, "n": n}
    )
