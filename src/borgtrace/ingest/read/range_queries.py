"""Answers of Prometheus to range queries as lines of JSON: one for each sample, or for each series of a constant."""

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import count, islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from borgtrace.errors import SourceError
from borgtrace.ingest.files.sources import Source
from borgtrace.ingest.files.streams import LONGEST_LINE, open_stream
from borgtrace.ingest.read.json_walker import JsonFormError, JsonWalker
from borgtrace.schema import Dialect

ROWS_PER_BLOCK = 1 << 17
_RESOURCES = ("cpu", "memory")
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
    except (ValueError, KeyError, TypeError, RecursionError):
        return "no reason"


def sample_blocks(source: Source) -> Iterator[pa.Table]:
    """Yield the samples of an answer as numbered lines of JSON.

    Raises
    ------
    SourceError
        It is no whole answer.
    """
    with open_stream(source) as stream:
        walker = JsonWalker(stream, LONGEST_LINE)
        lines = _lines_of_answer(source, walker)
        for first in count(0, ROWS_PER_BLOCK):
            try:
                block = list(islice(lines, ROWS_PER_BLOCK))
            except JsonFormError as error:
                raise _no_answer(source.path, str(error)) from error
            numbers = pa.array(range(first, first + len(block)), pa.int64())
            yield pa.table({"source_row": numbers, "line": pa.array(block, pa.string())})
            if len(block) < ROWS_PER_BLOCK:
                return


def _no_answer(path: Path, expected: str) -> SourceError:
    return SourceError(
        str(path),
        "not an answer to a range query",
        expected=expected,
        way_out="query again, and keep the whole answer",
    )


def _lines_of_answer(source: Source, walker: JsonWalker) -> Iterator[str]:
    """Yield the lines of the series in ``data.result``, one series in memory at a time."""
    has_result = False
    for key in walker.entries():
        if key != "data":
            walker.value()
            continue
        for data_key in walker.entries():
            if data_key == "result":
                has_result = True
                for series in walker.items():
                    yield from _lines(source.table, series)
            else:
                _check_entry(source, data_key, walker.value())
    walker.end()
    if not has_result:
        raise _no_answer(source.path, "a list called result inside data")


def _check_entry(source: Source, key: str, value: Any) -> None:
    """Refuse the answer to another kind of query: its series have one value each."""
    if key == "resultType" and value != "matrix":
        raise SourceError(
            str(source.path),
            "not an answer to a range query",
            expected="resultType matrix",
            got=json.dumps(value)[:40],
            way_out="ask /api/v1/query_range, with start, end and step",
        )


def _lines(table: str, series: Any) -> Iterator[str]:
    """Yield a line for each sample of a series; what is not of the documented form is a line that is refused."""
    labels = series.get("metric") if isinstance(series, dict) else None
    values = series.get("values") if isinstance(series, dict) else None
    if not isinstance(labels, dict) or not isinstance(values, list):
        # As a list, since an object that lacks a field might be taken for a row without it.
        yield json.dumps([series])
        return
    if labels.get("container") in _NO_CONTAINERS:
        return
    if table.startswith("container_") and "container" not in labels:
        return
    if labels.get("__name__") != table or not _are_texts(labels):
        yield from (json.dumps([labels, sample]) for sample in values)
        return
    yield from _lines_of_texts(table, labels, values)


def _are_texts(labels: Mapping[str, Any]) -> bool:
    # By type: a number is a text here that knows it is none.
    return all(type(label) is str for label in labels.values())


def _lines_of_texts(
    table: str,
    labels: Mapping[str, str],
    values: Sequence[Any],
) -> Iterator[str]:
    row: dict[str, Any] = {"node": labels.get("node") or labels.get("instance")}
    if table != "kube_node_status_capacity":
        names = (labels.get(name, "") for name in ("namespace", "pod", "container"))
        row["task"] = "/".join(names).rstrip("/")
    if table.startswith("container_"):
        for sample in values:
            yield _sample_line(row, sample)
    elif table == "kube_pod_owner":
        yield json.dumps({"task": row["task"], "owner": labels.get("owner_name")})
    # A request and a capacity may change: the last one known is taken.
    elif values:
        last_sample = values[-1]
        if not _is_sample(last_sample):
            yield json.dumps([labels, last_sample])
            return
        resource = labels.get("resource", "")
        # Other resources, such as pods, are not stored; a label must not pass for a field of the row.
        amounts = {resource: last_sample[1]} if resource in _RESOURCES else {}
        yield json.dumps({**row, **amounts})


def _is_sample(sample: Any) -> bool:
    return isinstance(sample, list) and len(sample) == 2


def _sample_line(row: Mapping[str, Any], sample: Any) -> str:
    if not _is_sample(sample):
        return json.dumps([row, sample])
    time, value = sample
    return json.dumps(
        {
            **row,
            "time": time,
            "value": value,
        }
    )
