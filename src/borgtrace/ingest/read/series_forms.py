"""The forms of files of series: JSON of queries and exports, and lines of text."""

import re
from collections.abc import Iterator

from borgtrace.ingest.files.sources import Source
from borgtrace.ingest.files.streams import open_stream
from borgtrace.ingest.read.exposition import looks_like_samples, read_exposition
from borgtrace.ingest.read.query_answers import AnswerReader
from borgtrace.ingest.read.series import OddSeries, ReadingNotes, Series

_JSON = re.compile(rb"\s*[\[{]")
_LABELS = re.compile(rb'\s*\{\s*(\w+\s*=|"[^"]*"\s*,|"[^"]*"\s*\})')
_RESULT_TYPE = re.compile(rb'"resultType"\s*:')
_METRIC = re.compile(rb'"metric"\s*:\s*\{(?!\s*"type"\s*:)')
"""Labels of a series. What Google Cloud Monitoring calls so has a type."""
_SAMPLES = re.compile(rb'"(values?|histograms?)"\s*:')
_STATUS = re.compile(rb'\s*\{\s*"status"\s*:\s*"(success|error)"\s*[,}]')


def has_series(head: bytes) -> bool:
    """Return whether a file begins like one of series, or like another answer of Prometheus.

    Parameters
    ----------
    head
        Its first bytes, unpacked.

    Examples
    --------
    >>> has_series(b'{"status":"error","error":"bad"}'), has_series(b'[{"metric":{},"value":[7,"1"]}]')
    (True, True)
    >>> has_series(b'{"status":"Running","cpu":1}'), has_series(b"time,task,cpu")
    (False, False)
    """
    if is_json(head):
        is_answer = _RESULT_TYPE.search(head) or _STATUS.match(head)
        return bool(is_answer or (_METRIC.search(head) and _SAMPLES.search(head)))
    # A text of letters: other files may begin with anything.
    return b"\0" not in head and looks_like_samples(head.decode("utf-8", "replace"))


def is_json(head: bytes) -> bool:
    """Return whether a file begins like an object or a list; labels in braces alone are no object.

    Examples
    --------
    >>> is_json(b'{"metric": {}}'), is_json(b'{"up", job="a"} 1 7'), is_json(b'{__name__="up"} 1 7')
    (True, False, False)
    """
    return _JSON.match(head) is not None and not _LABELS.match(head)


def series_of_file(source: Source, notes: ReadingNotes) -> Iterator[Series | OddSeries]:
    """Yield the series of a file, one in memory at a time.

    Parameters
    ----------
    source
        The file.
    notes
        Where warnings of the server are counted.

    Raises
    ------
    SourceError
        It is no whole answer, one of an error or of another kind of query, or cannot be read to its end.
    """
    with open_stream(source) as stream:
        head = stream.peek(1 << 10)  # type: ignore[attr-defined]
        if is_json(head):
            yield from AnswerReader(source, stream, notes).series()
        else:
            yield from read_exposition(source, stream)
