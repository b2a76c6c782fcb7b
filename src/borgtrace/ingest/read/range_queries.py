"""Answers of Prometheus to range queries as lines of JSON: one for each sample, or for each series of a constant."""

import json
from collections.abc import Iterator
from itertools import chain, count, islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from borgtrace.errors import SourceError
from borgtrace.ingest.files.sources import Source
from borgtrace.ingest.files.streams import open_stream
from borgtrace.schema import Dialect

ROWS_PER_BLOCK = 1 << 17
_NO_CONTAINERS = ("", "POD")
"""Series of a whole pod or its pause container: they repeat what the containers of the pod use."""


def metric_of(path: Path, answer: bytes, dialect: Dialect) -> str:
    """Return the metric that an answer is about; it is among the first bytes.

    Raises
    ------
    SourceError
        The query failed, or is of none of the known metrics.
    """
    text = answer.decode("utf-8", "replace").replace(" ", "")
    for metric in dialect.tables:
        if f'"__name__":"{metric}"' in text:
            return metric
    if b'"error"' in answer:
        raise SourceError(
            str(path),
            "Prometheus answered with an error",
            got=_error(answer),
            way_out="query again",
        )
    metrics = ", ".join(dialect.tables)
    raise SourceError(
        str(path),
        "no known metric",
        way_out=f"query one metric at a time, by its name: {metrics}",
    )


def _error(answer: bytes) -> str:
    try:
        return str(json.loads(answer)["error"])
    except (ValueError, KeyError, TypeError):
        return "no reason"


def sample_blocks(source: Source) -> Iterator[pa.Table]:
    """Yield the samples of an answer as numbered lines of JSON.

    Raises
    ------
    SourceError
        It is no whole answer.
    """
    with open_stream(source) as stream:
        try:
            series = json.load(stream)["data"]["result"]
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise SourceError(
                str(source.path),
                "not an answer to a range query",
                way_out="query again, and keep the whole answer",
            ) from error
    lines = chain.from_iterable(_lines(source.table, one_series) for one_series in series)
    for first in count(0, ROWS_PER_BLOCK):
        block = list(islice(lines, ROWS_PER_BLOCK))
        numbers = pa.array(range(first, first + len(block)), pa.int64())
        yield pa.table({"source_row": numbers, "line": block})
        if len(block) < ROWS_PER_BLOCK:
            return


def _lines(table: str, series: Any) -> Iterator[str]:
    labels = dict(series["metric"])
    values = series["values"]
    if labels.get("container") in _NO_CONTAINERS:
        return
    if table.startswith("container_") and "container" not in labels:
        return
    row: dict[str, Any] = {"node": labels.get("node") or labels.get("instance")}
    if table != "kube_node_status_capacity":
        names = (labels.get(name, "") for name in ("namespace", "pod", "container"))
        row["task"] = "/".join(names).rstrip("/")
    if table.startswith("container_"):
        for time, value in values:
            yield json.dumps(
                {
                    **row,
                    "time": time,
                    "value": value,
                }
            )
    elif table == "kube_pod_owner":
        yield json.dumps({"task": row["task"], "owner": labels.get("owner_name")})
    # A request and a capacity may change: the last one known is taken.
    elif values:
        yield json.dumps({**row, labels.get("resource", ""): values[-1][1]})
