"""What ``sacct --parsable2`` prints, column by column: each distinct text is read once, and no row by itself.

The rows are those of `borgtrace.ingest.read.logs.sacct_text`; a log with a line that is no job, or with a text that
Slurm does not print, is read there, line by line.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from borgtrace.ingest.files.raw_layout import NeedsValidation, RawLayout
from borgtrace.ingest.files.sources import Source
from borgtrace.ingest.files.streams import open_lines
from borgtrace.ingest.read.delimited import BLOCK_SIZE, PlainLines
from borgtrace.ingest.read.logs import sacct_text
from borgtrace.ingest.read.logs.slurm_jobs import (
    AMOUNT_COLUMNS,
    RUN_TIME_COLUMNS,
    USED_CPU_COLUMNS,
    amounts,
    run_time,
    used_cpu,
)
from borgtrace.ingest.read.logs.slurm_values import (
    NO_VALUE,
    UNENDED,
    job_and_step,
    memory,
    nodes,
    state,
)
from borgtrace.schema.arrow import arrow_field

_IDS = ("JobID", "JobIDRaw")
_QUOTABLE = ","
"""A delimiter that may stand in quotes."""
_SECONDS_SINCE_1970 = "^[0-9]{9,11}$"
_DATE_AND_TIME = len("2026-10-01T00:00:00")
_MOST_CODES = 2**62
_Texts = Mapping[str, str]


def read_sacct(source: Source, layout: RawLayout) -> Iterator[pa.Table]:
    """Yield chunks of a log of ``sacct``.

    Parameters
    ----------
    source
        The file.
    layout
        What it holds.

    Raises
    ------
    NeedsValidation
        Where it is another kind of log, or a line or a text is not as ``sacct --parsable2`` prints it.
    SourceError
        Where the file cannot be read to its end.
    """
    is_delimited = source.delimiter and source.delimiter != _QUOTABLE
    if source.table != sacct_text.KIND.table or not (is_delimited and source.order):
        raise NeedsValidation
    names = list(source.order)
    with open_lines(source) as stream:
        try:
            reader = pyarrow.csv.open_csv(
                PlainLines(stream),
                pyarrow.csv.ReadOptions(
                    use_threads=False, block_size=BLOCK_SIZE, column_names=names
                ),
                pyarrow.csv.ParseOptions(
                    delimiter=source.delimiter, quote_char=False, ignore_empty_lines=False
                ),
                pyarrow.csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string())),
            )
            for batch in reader:
                yield _chunk(batch, layout)
        except pa.ArrowInvalid as error:
            raise NeedsValidation from error


def _chunk(batch: pa.RecordBatch, layout: RawLayout) -> pa.Table:
    columns = _columns(batch)
    filled = {}
    for field in layout.fields:
        column_type = pa.string()
        if field.column.type in ("float32", "float64") or field.is_scaled:
            column_type = pa.float64()
        elif not (field.is_dated or field.has_words):
            column_type = arrow_field(field.column).type
        values = columns.get(field.raw.name)
        if values is None:
            values = pa.nulls(len(batch))
        filled[field.name] = pa.chunked_array([values.cast(column_type)])
    return pa.table(filled)


def _columns(batch: pa.RecordBatch) -> dict[str, pa.Array]:
    """Return the fields of the raw table, as `job_record` fills them row by row."""
    jobs, steps = _jobs_and_steps(batch)
    states = _of_distinct(batch, ("State",), lambda texts: {"State": state(_only(texts)) or None})
    node_lists = _of_distinct(batch, ("NodeList",), _nodes)
    elapsed = _numbers(batch, RUN_TIME_COLUMNS, lambda texts: {"Elapsed": run_time(texts)})
    starts = _instants(batch, "Start")
    if "NodeList" in batch.schema.names:
        is_idle = pc.equal(pc.fill_null(elapsed["Elapsed"], 0), 0)
        never_ran = pc.and_(pc.is_null(node_lists["NodeList"]), is_idle)
        # A job that was cancelled while it waited has the time of that as its start.
        starts = pc.if_else(never_ran, pa.scalar(None, pa.string()), starts)
    is_unended = pc.is_in(states["State"], pa.array(sorted(UNENDED)))
    return {
        "JobID": jobs,
        "step": steps,
        **_of_distinct(batch, ("JobName",), lambda texts: {"JobName": _only(texts) or None}),
        **_of_distinct(batch, ("User",), lambda texts: {"User": _only(texts) or None}),
        **_numbers(batch, AMOUNT_COLUMNS, amounts),
        **node_lists,
        **_numbers(batch, USED_CPU_COLUMNS, lambda texts: {"TotalCPU": used_cpu(texts)}),
        **_numbers(
            batch, ("MaxRSS",), lambda texts: {"MaxRSS": memory(texts.get("MaxRSS", "")) or None}
        ),
        "Submit": _instants(batch, "Submit"),
        "Start": starts,
        **states,
        "End": _unless(is_unended, _instants(batch, "End")),
        "Elapsed": _unless(is_unended, elapsed["Elapsed"]),
    }


def _only(texts: _Texts) -> str:
    return next(iter(texts.values()), "")


def _unless(is_absent: pa.Array, values: pa.Array) -> pa.Array:
    return pc.if_else(is_absent, pa.scalar(None, values.type), values)


def _nodes(texts: _Texts) -> dict[str, str | None]:
    names = nodes(_only(texts))
    if names is None:
        raise NeedsValidation
    return {"NodeList": "|".join(names) or None}


def _jobs_and_steps(batch: pa.RecordBatch) -> tuple[pa.Array, pa.Array]:
    name = next(name for name in _IDS if name in batch.schema.names)
    ids = batch.column(name)
    is_number = pc.match_substring_regex(ids, "^[0-9]+$")
    if pc.all(is_number).as_py():
        return ids, pa.nulls(len(ids), pa.string())
    known_ids = [job_and_step(text.strip()) for text in ids.to_pylist()]
    jobs, steps = [], []
    for known_id in known_ids:
        if known_id is None:
            raise NeedsValidation
        jobs.append(known_id[0])
        steps.append(known_id[1] or None)
    return pa.array(jobs, pa.string()), pa.array(steps, pa.string())


def _instants(batch: pa.RecordBatch, name: str) -> pa.Array:
    """Return dates and times as texts; NULL where none is known."""
    if name not in batch.schema.names:
        return pa.nulls(len(batch), pa.string())
    texts = batch.column(name)
    lengths = pc.min_max(pc.binary_length(texts)).as_py()
    if lengths["min"] == lengths["max"] == _DATE_AND_TIME:
        # None is a number of seconds or says that nothing is known; what is no date is found when it is read.
        return texts
    texts = pc.utf8_trim_whitespace(texts)
    if pc.any(pc.match_substring_regex(texts, _SECONDS_SINCE_1970)).as_py():
        raise NeedsValidation
    return _unless(pc.is_in(texts, pa.array(sorted(NO_VALUE))), texts)


def _numbers(
    batch: pa.RecordBatch,
    names: Sequence[str],
    read: Callable[[_Texts], Mapping[str, Any]],
) -> dict[str, pa.Array]:
    """Return numbers that some columns say together."""
    columns = _of_distinct(batch, names, read)
    for name, values in columns.items():
        # A text that is none that Slurm prints stands for itself.
        if not (pa.types.is_floating(values.type) or pa.types.is_null(values.type)):
            raise NeedsValidation
        columns[name] = values.cast(pa.float64())
    return columns


def _of_distinct(
    batch: pa.RecordBatch,
    names: Sequence[str],
    read: Callable[[_Texts], Mapping[str, Any]],
) -> dict[str, pa.Array]:
    """Return the columns that are read from the texts of some columns, each distinct row of which is read once."""
    present = [name for name in names if name in batch.schema.names]
    texts_of_name = {}
    codes = np.zeros(len(batch), np.int64)
    n_codes = 1
    for name in present:
        coded = batch.column(name).dictionary_encode()
        texts_of_name[name] = [text.strip() for text in coded.dictionary.to_pylist()]
        n_codes *= len(coded.dictionary)
        if n_codes > _MOST_CODES:
            raise NeedsValidation
        codes = codes * len(coded.dictionary) + coded.indices.to_numpy()
    rows = pa.array(codes).dictionary_encode()
    places = np.asarray(rows.dictionary)
    texts_of_column = {}
    for name in reversed(present):
        texts = texts_of_name[name]
        texts_of_column[name] = [texts[place] for place in (places % len(texts)).tolist()]
        places = places // len(texts)
    results = [
        read(dict(zip(texts_of_column, texts, strict=True)))
        for texts in zip(*texts_of_column.values(), strict=True)
    ] or [read({})]
    columns = {}
    for name in results[0]:
        try:
            distinct = pa.array([result[name] for result in results])
        except pa.ArrowException as error:
            # Numbers, and texts that are none.
            raise NeedsValidation from error
        columns[name] = distinct.take(rows.indices)
    return columns
