"""Series in JSON: answers of the HTTP API of Prometheus, whole or in part, and lines of VictoriaMetrics' export.

An answer is an object with ``data.result``; tools keep only ``data``, only the list, several answers in one file, or
answers by the name of their query. So every object that begins like a series is one, wherever it stands.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

from borgtrace.errors import SourceError
from borgtrace.ingest.files.sources import Source
from borgtrace.ingest.read.json_walker import JsonFormError, JsonWalker
from borgtrace.ingest.read.series import (
    LONGEST_SERIES,
    OddSeries,
    ReadingNotes,
    Series,
    seconds_of_milliseconds,
)

_SERIES_KEYS = (
    "metric",
    "values",
    "value",
    "timestamps",
    "histogram",
    "histograms",
)
"""Keys that the object of a series has, of which any may come first."""
_DEEPEST = 20
"""Objects and lists around a series."""
_RANGE_QUERY = "ask /api/v1/query_range, with start, end and step"
_OTHER_RESULTS = {
    "scalar": (
        "one number without labels",
        "ask for a metric by its name, such as query=container_cpu_usage_seconds_total",
    ),
    "string": (
        "one text without labels",
        "ask for a metric by its name, such as query=container_cpu_usage_seconds_total",
    ),
    "streams": (
        "lines of logs, not series",
        "ask Prometheus for container_cpu_usage_seconds_total",
    ),
}
"""Other types of results: what they are, and what to ask instead."""


class _Answer:
    """What an answer says of itself."""

    def __init__(self) -> None:
        self.status = ""
        self.error = ""
        self.has_result = False


class AnswerReader:
    """Reads the series of a file of answers, one in memory at a time.

    Parameters
    ----------
    source
        The file.
    stream
        Its content.
    notes
        Where warnings of the server are counted.
    """

    def __init__(self, source: Source, stream: BinaryIO, notes: ReadingNotes) -> None:
        self._label = source.label
        self._walker = JsonWalker(stream, LONGEST_SERIES)
        self._notes = notes

    def series(self) -> Iterator[Series | OddSeries]:
        """Yield the series of all answers in the file.

        Raises
        ------
        SourceError
            The file is no whole answer, or one of an error or of another kind of query.
        """
        try:
            while self._walker.peek():
                answer = _Answer()
                is_list = self._walker.peek() == "["
                has_series = False
                for series in self._walk(answer, depth=0):
                    has_series = True
                    yield series
                self._check_whole(answer, has_series=has_series or is_list)
        except JsonFormError as error:
            raise not_an_answer(self._label, str(error)) from error

    def _check_whole(self, answer: _Answer, *, has_series: bool) -> None:
        if answer.status == "error":
            raise SourceError(
                self._label,
                "Prometheus answered with an error",
                got=answer.error or "no reason",
                way_out="query again",
            )
        if not (answer.has_result or has_series):
            raise not_an_answer(self._label, "a list called result inside data")

    def _walk(self, answer: _Answer, depth: int) -> Iterator[Series | OddSeries]:
        """Yield the series inside the next value, which is read to its end."""
        walker = self._walker
        if depth > _DEEPEST:
            raise not_an_answer(self._label, "a value that is less nested")
        mark = walker.peek()
        if mark == "[":
            for _ in walker.places():
                if depth == 0 and walker.peek() not in ("{", "["):
                    yield OddSeries(json.dumps([walker.value()]))
                else:
                    yield from self._walk(answer, depth + 1)
        elif mark == "{" and walker.first_key() in _SERIES_KEYS:
            yield from series_of_object(walker.value())
        elif mark == "{":
            for key in walker.entries():
                yield from self._walk_entry(answer, key, depth)
        else:
            walker.value()

    def _walk_entry(self, answer: _Answer, key: str, depth: int) -> Iterator[Series | OddSeries]:
        walker = self._walker
        if key == "result":
            answer.has_result = True
            yield from self._result()
        elif key == "resultType":
            self._check_type(walker.value())
        elif key == "status":
            answer.status = str(walker.value())
        elif key in ("error", "message"):
            answer.error = str(walker.value())
        elif key == "warnings":
            warnings = walker.value()
            self._notes.n_warnings += len(warnings) if isinstance(warnings, list) else 0
        elif key == "isPartial":
            self._notes.n_warnings += walker.value() is True
        else:
            yield from self._walk(answer, depth + 1)

    def _result(self) -> Iterator[Series | OddSeries]:
        """Yield the items of a list called result; an empty one is null in some answers."""
        if self._walker.peek() == "n" and self._walker.value() is None:
            return
        for item in self._walker.items():
            yield from series_of_object(item)

    def _check_type(self, kind: Any) -> None:
        if kind in ("matrix", "vector"):
            return
        what, way_out = _OTHER_RESULTS.get(
            str(kind),
            ("not an answer to a range query", _RANGE_QUERY),
        )
        raise SourceError(
            self._label,
            what,
            expected="resultType matrix",
            got=json.dumps(kind)[:40],
            way_out=way_out,
        )


def not_an_answer(label: str, expected: str) -> SourceError:
    """Return the error for a file that is no whole answer."""
    return SourceError(
        label,
        "not an answer to a range query",
        expected=expected,
        way_out="query again, and keep the whole answer",
    )


def refuse_instant(label: str, metric: str) -> SourceError:
    """Return the error for an answer with one sample of each series of usage."""
    return SourceError(
        label,
        f"an instant query or another snapshot: one sample of each series of {metric}",
        expected="samples over time",
        way_out=_RANGE_QUERY,
    )


def series_of_object(item: Any) -> Iterator[Series | OddSeries]:
    """Yield the series that an object of JSON is; what is none is refused.

    Examples
    --------
    >>> list(series_of_object({"metric": {"__name__": "up"}, "value": ["7", "1"]}))
    [Series(labels={'__name__': 'up'}, times=['7'], values=['1'], is_instant=True)]
    """
    labels = item.get("metric") if isinstance(item, dict) else None
    if not isinstance(labels, dict):
        # As a list, since an object that lacks a field might be taken for a row without it.
        yield OddSeries(json.dumps([item]))
        return
    if "values" in item and "timestamps" in item:
        yield from _exported(labels, item["timestamps"], item["values"])
    elif "values" in item:
        yield from _sampled(labels, item["values"])
    elif "value" in item:
        yield from _sampled(labels, [item["value"]], is_instant=True)
    elif "histograms" in item or "histogram" in item:
        yield OddSeries(json.dumps([labels]), "histogram_series", is_left_out=True)
    else:
        yield OddSeries(json.dumps([item]))


def _exported(labels: Mapping[str, Any], times: Any, values: Any) -> Iterator[Series | OddSeries]:
    """Yield a line of an export, whose times are in ms."""
    are_lists = isinstance(times, list) and isinstance(values, list)
    if not are_lists or len(times) != len(values):
        yield OddSeries(json.dumps([labels, times, values]))
        return
    pairs = [
        [seconds_of_milliseconds(time), value] for time, value in zip(times, values, strict=True)
    ]
    yield from _sampled(labels, pairs)


def _sampled(
    labels: Mapping[str, Any],
    samples: Any,
    *,
    is_instant: bool = False,
) -> Iterator[Series | OddSeries]:
    if samples is None:
        samples = []
    if not isinstance(samples, list):
        yield OddSeries(json.dumps([labels, samples]))
        return
    # By type: a number is a text here that knows it is none.
    if not all(type(label) is str for label in labels.values()):
        for sample in samples:
            yield OddSeries(json.dumps([labels, sample]))
        return
    times = []
    values = []
    for sample in samples:
        if isinstance(sample, list) and len(sample) == 2:
            times.append(sample[0])
            values.append(sample[1])
        else:
            yield OddSeries(json.dumps([labels, sample]))
    yield Series(labels, times, values, is_instant)
