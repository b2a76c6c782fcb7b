"""Usage rows as text: CSV in the order of the fields, or JSON lines as BigQuery exports them.

Both are the same work: constant text before each number (a comma, or the name of the field), and numbers looked up in
a table.  What is the same in all rows of an execution or of a second is printed once.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from borgtrace.kernels.compiled import compiled
from borgtrace.schema.dialects import RawField, RawTable
from borgtrace.schema.time import SECOND
from borgtrace.synth.measure.measurement import PLACES
from borgtrace.synth.measure.number_text import (
    Texts,
    pack,
    put_integer,
    put_number,
    put_text,
    short_numbers_after_commas,
)
from borgtrace.synth.measure.usage_blocks import EMPTY, MISSING, UsageBlocks, measured_columns
from borgtrace.synth.measure.usage_windows import IDENTITY, TIMES

_DIGITS = 20
"""Characters of the longest 64-bit integer."""


class RowLayout(NamedTuple):
    """Constant text of a row.

    Attributes
    ----------
    times, identity
        Text before each time and before each id.
    numbers
        Text before each measured number: a missing number is left out together with its text (JSON).  Empty where
        there is a comma before each, also before a missing one (CSV).
    end
        Text at the end.
    """

    times: tuple[str, ...]
    identity: tuple[str, ...]
    numbers: tuple[str, ...]
    end: str


def csv_layout(raw: RawTable) -> RowLayout:
    """Return the layout of comma-separated rows of a raw table."""
    return RowLayout(
        times=("", ","),
        identity=(",",) * len(_identity_columns(raw)),
        numbers=(),
        end="\n",
    )


def json_layout(raw: RawTable) -> RowLayout:
    r"""Return the layout of JSON lines of a raw table.

    Examples
    --------
    >>> from borgtrace.schema.dialects import dialect
    >>> layout = json_layout(dialect("2019").tables["instance_usage"])
    >>> layout.times
    ('{"start_time":"', '","end_time":"')
    >>> layout.numbers[:3], layout.numbers[15:17], layout.end
    (('","average_usage":{"cpus":', ',"memory":', '},"maximum_usage":{"cpus":'), (',', ','), ']}\n')
    """
    times: list[str] = []
    identity: list[str] = []
    numbers: list[str] = []
    # What closes the field before: nothing but the opening brace before the first.
    closing = "{"
    record = ""
    for field in raw.fields:
        # A column that is not simulated is missing, like everything that a line of JSON leaves out.
        if field.column not in (*TIMES, *IDENTITY, *PLACES):
            continue
        *parents, name = field.path
        is_same_record = parents == [record]
        if record and not is_same_record:
            closing += "}"
        comma = "" if closing == "{" else ","
        opening = f'"{parents[0]}":{{' if parents and not is_same_record else ""
        record = parents[0] if parents else ""
        quotes = _quotes_around(field)
        text = f'{closing}{comma}{opening}"{name}":{quotes.before}'
        if field.column in TIMES:
            times.append(text)
        elif field.column in IDENTITY:
            identity.append(text)
        else:
            numbers.append(text)
            numbers += [","] * (len(PLACES[field.column]) - 1)
        closing = quotes.after
    return RowLayout(
        times=tuple(times),
        identity=tuple(identity),
        numbers=tuple(numbers),
        end=f"{closing}}}\n",
    )


class _Quotes(NamedTuple):
    """What stands before and after a value in JSON."""

    before: str
    after: str


def _quotes_around(field: RawField) -> _Quotes:
    if field.column not in PLACES:
        return _Quotes('"', '"')
    is_list = len(PLACES[field.column]) > 1
    return _Quotes("[", "]") if is_list else _Quotes("", "")


def _identity_columns(raw: RawTable) -> list[str]:
    return [field.column for field in raw.fields if field.column in IDENTITY]


class RowTexts(NamedTuple):
    """All text that rows are put together from; compiled functions take it as one argument.

    Attributes
    ----------
    first_second
        The second of the first entry of `seconds`.
    seconds, identity
        The text of every second in µs, and of the ids of every execution with the text before each.
    constants
        Text before both times, at the end, and before each number.
    numbers
        The text of every ten-bit number.
    """

    first_second: int
    seconds: Texts
    identity: Texts
    constants: Texts
    numbers: Texts


# The first constants.
_BEFORE_START = 0
_BEFORE_END = 1
_END_OF_ROW = 2
_BEFORE_NUMBERS = 3


def usage_text(
    blocks: UsageBlocks,
    layout: RowLayout,
) -> Iterator[tuple[int, NDArray[np.uint8]]]:
    """Yield number of the file and lines, block by block; the bytes are overwritten by the next block."""
    windows = blocks.windows
    if not len(windows.rows):
        return
    is_csv = not layout.numbers
    texts = _row_texts(blocks, layout)
    longest = _longest_row(texts, len(measured_columns(blocks.raw)))
    buffer = np.empty(blocks.block_size * longest, dtype=np.uint8)
    for block in blocks:
        rows = windows.rows[block.first :]
        size = _format(rows, block.rows, block.codes, texts, is_csv, buffer)
        yield block.shard, buffer[:size]


def _row_texts(blocks: UsageBlocks, layout: RowLayout) -> RowTexts:
    rows = blocks.windows.rows
    executions = blocks.windows.executions
    first_second = int(rows["start"].min())
    n_seconds = int(rows["end"].max()) + 1 - first_second
    columns = _identity_columns(blocks.raw)
    ids = [executions[name].astype(np.int64) for name in columns]
    constants: Sequence[str] = (*layout.times, layout.end, *layout.numbers)
    return RowTexts(
        first_second=first_second,
        seconds=_times(first_second, n_seconds),
        identity=_identities(np.stack(ids, axis=1), pack(layout.identity)),
        constants=pack(constants),
        numbers=blocks.numbers.texts if layout.numbers else short_numbers_after_commas(),
    )


def _longest_row(texts: RowTexts, n_numbers: int) -> int:
    """Return how many bytes a row may take."""
    # Every text is copied in whole words, so each may need up to seven bytes more than it has.
    times = 2 * 8 * texts.seconds.words.shape[1]
    identity = 8 * texts.identity.words.shape[1]
    constants = int(texts.constants.lengths.sum())
    numbers = n_numbers * (8 * texts.numbers.words.shape[1] + 1)
    return times + identity + constants + numbers + 8


@compiled()
def _times(base: int, count: int) -> Texts:
    """Return the text of every second from `base` on, in µs: a part has few seconds and many rows."""
    # Three whole words: the longest number has 20 characters.
    text = np.empty((count, 24), dtype=np.uint8)
    lengths = np.empty(count, dtype=np.int64)
    for i in range(count):
        microseconds = (base + i) * SECOND
        lengths[i] = put_integer(text[i], 0, microseconds)
    return Texts(text.view(np.uint64), lengths)


@compiled()
def _identities(ids: NDArray[np.int64], before: Texts) -> Texts:
    """Return the text of the ids of every execution: it is the same in all of its rows."""
    # Room for the digits of each number, and for what the last copy of a whole word writes beyond its text.
    constant_text = int(before.lengths.sum())
    length = constant_text + (_DIGITS + 1) * len(before.lengths)
    width = (length + 15) // 8 * 8
    text = np.empty((len(ids), width), dtype=np.uint8)
    lengths = np.empty(len(ids), dtype=np.int64)
    for i in range(len(ids)):
        at = 0
        for number in range(ids.shape[1]):
            at = put_text(text[i], at, before, number)
            at = put_integer(text[i], at, ids[i, number])
        lengths[i] = at
    return Texts(text.view(np.uint64), lengths)


@compiled(makes_arrays=False)
def _format(
    windows: NDArray[np.void],
    kept: NDArray[np.int64],
    codes: NDArray[np.int16],
    texts: RowTexts,
    is_csv: bool,
    buffer: NDArray[np.uint8],
) -> int:
    """Print rows into `buffer`; return how many bytes."""
    first_second = texts.first_second
    constants = texts.constants
    seconds = texts.seconds
    numbers = texts.numbers
    at = 0
    for row in kept:
        window = windows[row]
        start = window["start"] - first_second
        end = window["end"] - first_second
        at = put_text(buffer, at, constants, _BEFORE_START)
        at = put_text(buffer, at, seconds, start)
        at = put_text(buffer, at, constants, _BEFORE_END)
        at = put_text(buffer, at, seconds, end)
        at = put_text(buffer, at, texts.identity, window["execution"])
        for number in range(codes.shape[1]):
            code = codes[row, number]
            if is_csv:
                # −1, for a missing number, is the last text: the comma alone.
                at = put_number(buffer, at, numbers, code)
            elif code != MISSING:
                constant = _BEFORE_NUMBERS + number
                at = put_text(buffer, at, constants, constant)
                # Before the first number of an empty list stand its name and the bracket that opens it.
                if code != EMPTY:
                    at = put_number(buffer, at, numbers, code)
        at = put_text(buffer, at, constants, _END_OF_ROW)
    return at
