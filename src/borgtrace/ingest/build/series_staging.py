"""Stage a file of series: the container or node of each, and the samples of every metric that the format knows.

Samples stay apart from their series: they are joined where all files are known, since a series may go on in another
file, and what it says may depend on other series.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import pyarrow as pa

from borgtrace.errors import SourceError
from borgtrace.ingest.build.refused_rows import RefusedRows, quarantined_rows
from borgtrace.ingest.build.staged import StagedPaths
from borgtrace.ingest.build.staged_writer import StagedWriter
from borgtrace.ingest.files.garbage import without_collection
from borgtrace.ingest.files.raw_layout import raw_layout
from borgtrace.ingest.files.sources import Source
from borgtrace.ingest.files.streams import source_digest
from borgtrace.ingest.read.query_answers import refuse_instant
from borgtrace.ingest.read.sample_checks import SampleBuffer, is_plain_sample
from borgtrace.ingest.read.series import OddSeries, ReadingNotes, Series
from borgtrace.ingest.read.series_forms import series_of_file
from borgtrace.ingest.read.series_labels import (
    Labels,
    LeftOut,
    Subject,
    describe_series,
    series_text,
    text_of_state,
)
from borgtrace.ingest.read.validating_reader import REFUSED_SCHEMA
from borgtrace.schema import RawTable
from borgtrace.schema.dialects.prometheus import RESTARTS
from borgtrace.schema.reasons import REASONS
from borgtrace.store.manifest import SourceEntry

_RESOURCES = ("cpu", "memory")
_SERIES_ROWS = 1 << 13
"""Series that are written together."""
_DELIBERATE = frozenset({"resource_not_read", "state_not_read"})
"""Reasons for which all of a file may be left out: it was fetched with others."""
SERIES_SCHEMA = pa.schema(
    [
        ("series", pa.int64()),
        ("metric", pa.string()),
        ("field", pa.string()),
        ("text", pa.string()),
        *((name, pa.string()) for name in Subject._fields),
    ]
)
"""Columns of staged series: ids of their labels, what is said (`field`, and `text` where it is a text), of what."""


def stage_series(source: Source, paths: StagedPaths) -> SourceEntry:
    """Check the series of a file and write them, with their samples.

    The ledger counts samples, one for each series of a state; those of series that are left out are set aside.

    Parameters
    ----------
    source
        The file.
    paths
        Where the staged files go.

    Raises
    ------
    SourceError
        It is no whole answer, or no series of it can be used.
    """
    # Before it is read, as in `staging`.
    sha256 = source_digest(source)
    notes = ReadingNotes()
    with SeriesOutput(paths, source) as output, without_collection():
        for series in series_of_file(source, notes):
            output.add(source.label, series)
        output.flush()
        output.refuse_without_use(source.label)
    counters = output.counters + Counter({"warned_answer": notes.n_warnings})
    return SourceEntry(
        name=source.name,
        file=source.path.name,
        table="samples",
        raw_table=source.table,
        format=source.format,
        size=source.size,
        sha256=sha256,
        version=source.version,
        part=source.part,
        parts=source.parts,
        rows_in=output.n_stored + output.refused.total + output.n_set_aside,
        stored=output.n_stored,
        quarantined=output.refused.total,
        skipped=output.n_set_aside,
        counters=dict(sorted(counters.items())),
        columns=output.samples.columns,
        refusals=output.refused.summary(),
    )


@dataclass
class _LeftOutSeries:
    """How many series are left out for one reason, and the first of them by its labels."""

    n: int = 0
    example: str = ""

    def add(self, text: str) -> None:
        self.n += 1
        self.example = min(self.example, text) if self.example else text


class SeriesOutput:
    """The staged output of one file of series.

    The files get their names when the ``with`` block ends, and are removed when it fails.
    """

    def __init__(self, paths: StagedPaths, source: Source) -> None:
        self.samples = StagedWriter(paths.table("samples"))
        self.counters: Counter[str] = Counter()
        self.n_stored = 0
        self.refused = RefusedRows()
        self.n_set_aside = 0
        self._source = source
        self._dialect = source.dialect
        self._series = StagedWriter(paths.table("series"))
        self._quarantine = StagedWriter(paths.quarantine("samples"))
        self._known: set[int] = set()
        self._left_out: dict[str, _LeftOutSeries] = {}
        self._pending_series: list[dict[str, Any]] = []
        self._buffers: dict[tuple[str, str], SampleBuffer] = {}
        self._n_rows = 0

    def add(self, label: str, series: Series | OddSeries) -> None:
        """Take the next series, or what stands in its place.

        Raises
        ------
        SourceError
            It has one sample of usage: nothing can be said of a time.
        """
        if isinstance(series, OddSeries):
            self._add_odd(series)
            return
        labels = series.labels
        if not _are_writable(labels):
            for sample in zip(series.times, series.values, strict=True):
                self._refuse_row(json.dumps([labels, sample]), "unparsable_value")
            return
        raw = self._dialect.tables.get(labels.get("__name__", ""))
        subject = describe_series(labels, raw)
        if isinstance(subject, LeftOut) or raw is None:
            reason = subject.reason if isinstance(subject, LeftOut) else "unknown_metric"
            self._leave_out(series_text(labels), reason, len(series.values))
        elif raw.table == "usage_rows":
            if series.is_instant:
                raise refuse_instant(label, raw.name)
            self._add_samples(labels, raw, subject, "value", series)
        else:
            self._add_state(labels, raw, subject, series)

    def _add_odd(self, odd: OddSeries) -> None:
        if odd.is_left_out:
            self._leave_out(odd.raw, odd.reason, 1)
        else:
            self._refuse_row(odd.raw, odd.reason)

    def _add_state(self, labels: Labels, raw: RawTable, subject: Subject, series: Series) -> None:
        """Take what a series says of a container, pod or node: the last of its values, or when it began."""
        field, text = text_of_state(labels, raw)
        if field == "reason":
            is_known = text in self._dialect.codes["event_type"]
            series = runs_of_state(series) if is_known and text else series
            reason = "" if is_known and text else "state_not_read"
        elif field:
            # It holds as long as it is there, whatever the value.
            series = Series(labels, series.times[-1:], ["1"][: len(series.times)])
            reason = "" if text else "state_not_read"
        else:
            field = labels.get("resource", "") if "value" not in raw.names else "value"
            reason = "" if field == "value" or field in _RESOURCES else "resource_not_read"
            is_count = raw.name == RESTARTS.name
            series = changes_of_count(series) if is_count else last_sample(series)
        if reason:
            self._leave_out(series_text(labels), reason, 1)
        else:
            self._add_samples(labels, raw, subject, field, series, text)

    def _add_samples(
        self,
        labels: Labels,
        raw: RawTable,
        subject: Subject,
        field: str,
        series: Series,
        text: str = "",
    ) -> None:
        if not series.times:
            return
        number = series_id(labels)
        if number not in self._known:
            self._known.add(number)
            self._pending_series.append(
                {
                    "series": number,
                    "metric": raw.name,
                    "field": field,
                    "text": text,
                    **subject._asdict(),
                }
            )
        buffer = self._buffers.get((raw.name, field))
        if buffer is None:
            buffer = SampleBuffer(raw_layout(self._dialect, raw.name), field)
            self._buffers[raw.name, field] = buffer
        row = {
            "task": subject.task,
            "node": subject.machine or None,
            **({field: text} if text else {}),
        }
        buffer.add(number, row, self._n_rows, series.times, series.values)
        self._n_rows += len(series.times)
        if buffer.is_full:
            self._write(buffer)
        if len(self._pending_series) >= _SERIES_ROWS:
            self._write_series()

    def _leave_out(self, text: str, reason: str, n_samples: int) -> None:
        self._left_out.setdefault(reason, _LeftOutSeries()).add(text)
        self.counters[reason] += 1
        self.n_set_aside += n_samples

    def _refuse_row(self, raw: str, reason: str) -> None:
        row = {
            "source_row": self._n_rows,
            "reason": reason,
            "expected": _EXPECTED_SAMPLE,
            "raw": raw.encode("utf-8", "replace").decode(),
        }
        self._refuse(pa.Table.from_pylist([row], REFUSED_SCHEMA))
        self._n_rows += 1

    def _refuse(self, rows: pa.Table) -> None:
        if not rows.num_rows:
            return
        self._quarantine.path.parent.mkdir(parents=True, exist_ok=True)
        # A sample has no line of its own.
        lines = [None] * rows.num_rows
        self._quarantine.write(quarantined_rows(self._source, rows, lines))
        self.counters.update(rows.column("reason").to_pylist())
        self.refused.add(self._source, rows, lines)

    def _write(self, buffer: SampleBuffer) -> None:
        checked = buffer.take()
        self._refuse(checked.refused)
        self.n_stored += checked.samples.num_rows
        if checked.samples.num_rows:
            self.samples.write(checked.samples)

    def _write_series(self) -> None:
        if self._pending_series:
            self._series.write(pa.Table.from_pylist(self._pending_series, SERIES_SCHEMA))
            self._pending_series = []

    def flush(self) -> None:
        """Write what is waiting."""
        for buffer in self._buffers.values():
            self._write(buffer)
        self._write_series()

    def refuse_without_use(self, label: str) -> None:
        """Refuse a file of which every series is left out, unless that is meant so.

        Raises
        ------
        SourceError
            It says which series there are, and why each is left out.
        """
        if self.n_stored or self.refused.total or self._left_out.keys() <= _DELIBERATE:
            return
        raise SourceError(
            label,
            "no series that can be used",
            expected=_EXPECTED,
            got=describe_left_out(self._left_out),
            way_out=_way_out(self._left_out),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, fault: object, *_: object) -> None:
        for writer in (self.samples, self._series, self._quarantine):
            if fault:
                writer.abandon()
            else:
                writer.finish()


_EXPECTED_SAMPLE = "labels of text, and pairs of a time and a value"
_EXPECTED = (
    "container_cpu_usage_seconds_total, container_memory_working_set_bytes or metrics of kube-state-metrics, "
    "with the labels namespace, pod and container"
)
_WAYS_OUT = {
    "unnamed_series": "query the counter by its name and without rate(); its increases are made here",
    "cgroup_series": 'query with {pod!=""}; where that is empty, collect the metrics with the labels of pods',
    "unlabelled_series": "query without sum(), or keep the labels: sum by (__name__, namespace, pod, container)",
}


def describe_left_out(left_out: Mapping[str, _LeftOutSeries]) -> str:
    """Say how many series are left out for each reason, with one of them."""
    parts = []
    for reason, series in sorted(left_out.items(), key=lambda item: (-item[1].n, item[0])):
        sentence = REASONS[reason].sentence.rstrip(".")
        parts.append(f"{series.n} × {reason}: {sentence}: {series.example}")
    return "; ".join(parts)


def _way_out(left_out: Mapping[str, _LeftOutSeries]) -> str:
    usual = max(left_out, key=lambda reason: (left_out[reason].n, reason))
    return _WAYS_OUT.get(usual, "query these metrics by their names")


def _are_writable(labels: Labels) -> bool:
    """Return whether labels can be written: no half of a character, and no NUL."""
    text = "".join((*labels, *labels.values()))
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in text and "\ufffd" not in text


def series_id(labels: Labels) -> int:
    """Return a number of all labels; two series with one number are as likely as two files with one MD5."""
    text = json.dumps(labels, sort_keys=True)
    return int.from_bytes(hashlib.md5(text.encode(), usedforsecurity=False).digest()[:8]) >> 1


def last_sample(series: Series) -> Series:
    """Return the last sample that is sound, and those behind it that are not."""
    first = len(series.times) - 1
    while first > 0 and not is_plain_sample(series.times[first], series.values[first]):
        first -= 1
    first = max(first, 0)
    return Series(series.labels, series.times[first:], series.values[first:], series.is_instant)


def changes_of_count(series: Series) -> Series:
    """Return the first sample of each value of a count, and what is no sample."""
    times = []
    values = []
    before = None
    for time, value in zip(series.times, series.values, strict=True):
        if value != before or not is_plain_sample(time, value):
            times.append(time)
            values.append(value)
        before = value
    return Series(series.labels, times, values, series.is_instant)


def runs_of_state(series: Series) -> Series:
    """Return the first and the last sample of each run in which a state holds, as 1 and 2, and what is no sample."""
    times = []
    values = []
    run: list[str] = []
    for time, value in zip(series.times, series.values, strict=True):
        if not is_plain_sample(time, value):
            times.append(time)
            values.append(value)
        elif float(value) > 0:
            run.append(time)
        else:
            times += run[:1] + run[1:][-1:]
            values += ["1", "2"][: len(run)]
            run = []
    times += run[:1] + run[1:][-1:]
    values += ["1", "2"][: len(run)]
    return Series(series.labels, times, values, series.is_instant)
