"""Series as lines of text: OpenMetrics, the text format of Prometheus, dumps and answers that promtool prints.

A line is ``name{label="value"} value time``. Times are seconds in OpenMetrics and milliseconds elsewhere, which their
size tells: milliseconds that are as small as today's seconds are of January 1970. What promtool prints of a query has
the labels on a line of their own, and ``value @[time]`` below.
"""

import io
import re
from collections.abc import Iterator, Sequence
from typing import BinaryIO, NamedTuple

from borgtrace.ingest.files.sources import Source
from borgtrace.ingest.files.streams import READ_SIZE, BoundedLines
from borgtrace.ingest.read.series import OddSeries, Series, seconds_of_milliseconds

_NAME = re.compile(r"[a-zA-Z_:][\w:.]*")
_LABEL = re.compile(r'\s*(?:([a-zA-Z_][\w.]*)\s*=\s*)?"((?:[^"\\]|\\.)*)"\s*(,|(?=\}))')
_SAMPLE = re.compile(r"\s+(\S+)(?:\s+(-?[\d.]+(?:[eE][+-]?\d+)?))?\s*(?:#.*)?")
_PRINTED_SAMPLE = re.compile(r"\s*(\S+)\s+@\[([^\]]*)\]\s*")
_ARROW = re.compile(r"\s*=>\s*")
_ESCAPE = re.compile(r"\\(.)")
_ESCAPED = {"n": "\n"}
_MOST_SAMPLES = 1 << 14
"""Samples of a series that are handed on together."""
_FIRST_MILLISECONDS = 12
"""Digits of a time in ms; seconds have as many from the year 5138."""


class LabelledText(NamedTuple):
    """The labels at the start of a line, and where they end."""

    labels: dict[str, str]
    end: int


def labels_of_line(line: str) -> LabelledText | None:
    r"""Return the labels that a line begins with, with the metric as ``__name__``; None where it has none.

    Examples
    --------
    >>> labels_of_line('up{job="a\\"b"} 1').labels
    {'__name__': 'up', 'job': 'a"b'}
    >>> labels_of_line('{__name__="up", job="x"} =>').labels
    {'__name__': 'up', 'job': 'x'}
    """
    labels = {}
    name = _NAME.match(line)
    end = 0
    if name:
        labels["__name__"] = name[0]
        end = name.end()
    if line[end : end + 1] != "{":
        return LabelledText(labels, end) if name else None
    end += 1
    while line[end : end + 1] != "}":
        label = _LABEL.match(line, end)
        if label is None:
            return None
        value = _ESCAPE.sub(lambda escape: _ESCAPED.get(escape[1], escape[1]), label[2])
        # A name in quotes stands without a key.
        labels[label[1] or "__name__"] = value
        end = label.end()
    return LabelledText(labels, end + 1)


def looks_like_samples(head: str) -> bool:
    r"""Return whether the first lines of a file are samples, or comments of such a file.

    Examples
    --------
    >>> looks_like_samples('# TYPE up gauge\nup 1'), looks_like_samples("up{a='b'} 1".replace("'", '"'))
    (True, True)
    >>> looks_like_samples("time,task\n1,2"), looks_like_samples("# a comment"), looks_like_samples("7 9")
    (False, False, False)
    """
    lines = [line for line in head.splitlines() if line.strip()]
    if not lines:
        return False
    if re.match(r"# (HELP|TYPE|UNIT|EOF)\b", lines[0]):
        return True
    line = next((line for line in lines if not line.startswith("#")), "")
    start = labels_of_line(line)
    if start is None:
        return False
    if _ARROW.match(line, start.end):
        return True
    # A name and a number alone may be anything; labels are not.
    return len(start.labels) > 1 and bool(_SAMPLE.fullmatch(line, start.end))


class _TextSample(NamedTuple):
    """One sample; the labels of neighbours in a series are one object."""

    labels: dict[str, str]
    time: str
    value: str
    is_instant: bool


def read_exposition(source: Source, stream: BinaryIO) -> Iterator[Series | OddSeries]:
    """Yield the series of lines of text; a series that goes on in other places comes in parts.

    Raises
    ------
    SourceError
        A line is longer than any.
    """
    samples: list[_TextSample] = []
    for sample in _LineParser().samples(_lines(source, stream)):
        if isinstance(sample, OddSeries):
            yield sample
            continue
        is_next = bool(samples) and sample.labels is samples[0].labels
        if samples and not (is_next and len(samples) < _MOST_SAMPLES):
            yield _series(samples)
            samples = []
        samples.append(sample)
    if samples:
        yield _series(samples)


def _series(samples: Sequence[_TextSample]) -> Series:
    return Series(
        samples[0].labels,
        [sample.time for sample in samples],
        [sample.value for sample in samples],
        samples[0].is_instant,
    )


def _lines(source: Source, stream: BinaryIO) -> Iterator[str]:
    """Yield the lines that are neither empty nor comments."""
    bounded = BoundedLines(stream, source.path)
    buffered = io.BufferedReader(bounded, READ_SIZE)
    for line in io.TextIOWrapper(buffered, "utf-8", "replace"):
        text = line.strip()
        if text and not text.startswith("#"):
            yield text


class _LineParser:
    """Takes lines apart; of many samples of one series the labels only once."""

    def __init__(self) -> None:
        self._start = ""
        self._labels: dict[str, str] = {}
        self._is_heading = False

    def samples(self, lines: Iterator[str]) -> Iterator[_TextSample | OddSeries]:
        """Yield the sample of each line; a heading has none."""
        for line in lines:
            sample = self._below_heading(line) or self._whole_line(line)
            if sample is not None:
                yield sample
            elif not self._is_heading:
                yield OddSeries(line)

    def _below_heading(self, line: str) -> _TextSample | None:
        printed = _PRINTED_SAMPLE.fullmatch(line) if self._is_heading else None
        if printed is None:
            return None
        return _TextSample(self._labels, _seconds(printed[2]), printed[1], is_instant=False)

    def _whole_line(self, line: str) -> _TextSample | None:
        self._is_heading = False
        end = self._read_labels(line)
        if end is None:
            return None
        arrow = _ARROW.match(line, end)
        if arrow and arrow.end() == len(line):
            self._is_heading = True
            return None
        if arrow:
            printed = _PRINTED_SAMPLE.fullmatch(line, arrow.end())
            if printed is None:
                return None
            return _TextSample(self._labels, _seconds(printed[2]), printed[1], is_instant=True)
        sample = _SAMPLE.fullmatch(line, end)
        if sample is None:
            return None
        time = _seconds(sample[2]) if sample[2] else "0"
        return _TextSample(self._labels, time, sample[1], is_instant=not sample[2])

    def _read_labels(self, line: str) -> int | None:
        """Read the labels at the start of a line, unless they are those of the last one; return where they end."""
        if self._start and line.startswith(self._start + " "):
            return len(self._start)
        text = labels_of_line(line)
        if text is None:
            return None
        self._labels = text.labels
        self._start = line[: text.end]
        return text.end


def _seconds(text: str) -> str:
    if text.isdecimal() and len(text) >= _FIRST_MILLISECONDS:
        return str(seconds_of_milliseconds(text))
    return text
