"""Records of JSON in which monitoring systems nest several measurements: of Kubernetes' metrics, and of CloudWatch."""

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

from borgtrace.ingest.read.tables.text_rows import NoRowsError, Row, TableRow

_DURATION = re.compile(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s)?")
"""How Go writes a length of time: ``1m0s``, ``15.034s``."""
KEYS_OF_REPEATS = ("window", "container", "pod", "end")
"""Columns of rows that may repeat the last measurement of a container."""


def measured_rows(record: Mapping[str, Any]) -> Iterable[Row] | None:
    """Return the measurements that a record nests; None where it is of no such system.

    Parameters
    ----------
    record
        An object of JSON.
    """
    if isinstance(record.get("Timestamps"), list) and isinstance(record.get("Values"), list):
        return _cloudwatch_rows(record)
    is_kubernetes = isinstance(record.get("metadata"), dict) and "timestamp" in record
    if is_kubernetes and isinstance(record.get("containers"), list):
        return _pod_rows(record)
    # What has a namespace is no node: a record of someone's own.
    is_of_node = is_kubernetes and "namespace" not in record["metadata"]
    if is_of_node and isinstance(record.get("usage"), dict):
        return [{"node": _text(record["metadata"], "name"), **_window(record), **_usage(record)}]
    return None


def _cloudwatch_rows(record: Mapping[str, Any]) -> Iterator[Row]:
    """Yield a row for each value of a series of ``get-metric-data``.

    An id is unique in one request only, and a label need not be unique at all: a series is both together.
    """
    names = [record.get(key) for key in ("Id", "Label")]
    series = "/".join(dict.fromkeys(str(name) for name in names if name))
    times, values = record["Timestamps"], record["Values"]
    if len(times) != len(values):
        raise NoRowsError(f"{len(values)} values at {len(times)} times in series {series}")
    for time, value in zip(times, values, strict=True):
        yield {"series": series, "time": _single(time), "value": _single(value)}


def _pod_rows(record: Mapping[str, Any]) -> Iterator[Row]:
    """Yield a row for each container of a ``PodMetrics``."""
    for container in record["containers"]:
        if isinstance(container, dict):
            yield {
                "namespace": _text(record["metadata"], "namespace"),
                "pod": _text(record["metadata"], "name"),
                "container": _text(container, "name"),
                **_window(record),
                **_usage(container),
            }


def _window(record: Mapping[str, Any]) -> dict[str, str | None]:
    """Return when a measurement began and ended: its time is the end of its window."""
    end = _text(record, "timestamp")
    window = _text(record, "window")
    return {"start": _before(end, window), "end": end, "window": window}


def _before(end: str | None, window: str | None) -> str | None:
    match = _DURATION.fullmatch(window or "")
    if not end or not window or match is None:
        return None
    hours, minutes, seconds = (float(part or 0) for part in match.groups())
    length = timedelta(hours=hours, minutes=minutes, seconds=seconds)
    try:
        return (datetime.fromisoformat(end) - length).isoformat()
    except (ValueError, OverflowError):
        return None


def _usage(holder: Mapping[str, Any]) -> dict[str, str | None]:
    usage = holder.get("usage")
    if not isinstance(usage, dict):
        return {}
    return {"cpu": _text(usage, "cpu"), "memory": _text(usage, "memory")}


def _text(holder: Mapping[str, Any], key: str) -> str | None:
    return _single(holder.get(key))


def _single(value: Any) -> str | None:
    return None if value is None or isinstance(value, dict | list) else str(value)


def without_repeats(rows: Iterable[TableRow]) -> Iterator[TableRow]:
    """Yield rows without those that repeat the last measurement of a container.

    Whoever asks more often than Kubernetes measures gets one measurement several times.

    Parameters
    ----------
    rows
        Rows of any kind.
    """
    last_end: dict[tuple[str | None, ...], str | None] = {}
    for named_row in rows:
        row = named_row.row
        # Nearly all rows lack the first.
        if KEYS_OF_REPEATS[0] in row and all(key in row for key in KEYS_OF_REPEATS):
            container = (row.get("namespace"), row["pod"], row["container"])
            if last_end.get(container, "") == row["end"]:
                continue
            last_end[container] = row["end"]
        yield named_row
