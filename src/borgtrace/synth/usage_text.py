"""Usage rows as text: CSV in the order of the fields, or JSON lines as BigQuery exports them.

Both are the same work: constant text before each number (a comma; or the name of the field), numbers looked up in a
table.  What is the same in all rows of an execution or of a second is printed once.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from borgtrace.kernels.compiled import compiled
from borgtrace.schema.dialects import RawField, RawTable
from borgtrace.schema.time import SECOND
from borgtrace.synth.measurement import PLACES
from borgtrace.synth.number_text import (
    Texts,
    pack,
    put_integer,
    put_number,
    put_text,
    short_numbers_after_commas,
)
from borgtrace.synth.usage_blocks import UsageBlocks, measured_columns
from borgtrace.synth.usage_windows import IDENTITY, TIMES


class Layout(NamedTuple):
    """Constant text of a row: before each time, before each id, before each measured number, at the end.

    Without texts before numbers there is a comma before each, also before a missing one (CSV); with them a missing
    number is left out together with its text (JSON).
    """

    times: tuple[str, ...]
    identity: tuple[str, ...]
    numbers: tuple[str, ...]
    end: str


def csv_layout(raw: RawTable) -> Layout:
    """Return the layout of comma-separated rows of a raw table."""
    return Layout(
        ("", ","), (",",) * sum(field.column in IDENTITY for field in raw.fields), (), "\n"
    )


def json_layout(raw: RawTable) -> Layout:
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
    texts: dict[str, list[str]] = {"times": [], "identity": [], "numbers": []}
    close, record = "{", ""
    for field in raw.fields:
        # A column that is not simulated is missing, as everything that a line of JSON leaves out.
        if field.column not in (*TIMES, *IDENTITY, *PLACES):
            continue
        *parents, name = field.path
        if record and parents != [record]:
            close += "}"
        comma = "" if close == "{" else ","
        opened = f'"{parents[0]}":{{' if parents and parents != [record] else ""
        record = parents[0] if parents else ""
        kind, before, after = _json_kind(field)
        texts[kind].append(f'{close}{comma}{opened}"{name}":{before}')
        texts[kind] += [","] * (len(PLACES.get(field.column, (0,))) - 1)
        close = after
    return Layout(
        tuple(texts["times"]), tuple(texts["identity"]), tuple(texts["numbers"]), f"{close}}}\n"
    )


def _json_kind(field: RawField) -> tuple[str, str, str]:
    """Return which part of the layout a field belongs to, and what stands before and after its value."""
    if field.column in PLACES:
        return ("numbers", "", "") if len(PLACES[field.column]) == 1 else ("numbers", "[", "]")
    return ("times" if field.column in TIMES else "identity"), '"', '"'


def usage_text(blocks: UsageBlocks, layout: Layout) -> Iterator[tuple[int, NDArray[np.uint8]]]:
    """Yield number of the file and lines, block by block; the bytes are overwritten by the next block."""
    windows, numbers = (
        blocks.windows,
        blocks.numbers.texts if layout.numbers else short_numbers_after_commas(),
    )
    if not len(windows.rows):
        return
    base = int(windows.rows["start"].min())
    seconds = _times(base, int(windows.rows["end"].max()) + 1 - base)
    names = [field.column for field in blocks.raw.fields if field.column in IDENTITY]
    ids = np.stack([windows.executions[name].astype(np.int64) for name in names], axis=1)
    identity = _identities(ids, pack(layout.identity))
    pieces = pack((*layout.times, layout.end, *layout.numbers))
    # Every text is copied in whole words, so each may need up to seven bytes more than it has.
    longest = sum(8 * part.words.shape[1] for part in (seconds, seconds, identity))
    longest += (
        int(pieces.lengths.sum())
        + len(measured_columns(blocks.raw)) * (8 * numbers.words.shape[1] + 1)
        + 8
    )
    buffer = np.empty(blocks.block_size * longest, dtype=np.uint8)
    for block in blocks:
        rows = windows.rows[block.first :]
        size = _format(
            rows,
            base,
            block.rows,
            block.codes,
            seconds,
            identity,
            pieces,
            numbers,
            not layout.numbers,
            buffer,
        )
        yield block.shard, buffer[:size]


@compiled()
def _times(base: int, count: int) -> Texts:
    """Return the text of every second from `base` on, in µs: a part has few seconds and many rows."""
    # Three whole words: the longest number has 20 characters.
    text, lengths = np.empty((count, 24), dtype=np.uint8), np.empty(count, dtype=np.int64)
    for i in range(count):
        lengths[i] = put_integer(text[i], 0, (base + i) * SECOND)
    return Texts(text.view(np.uint64), lengths)


@compiled()
def _identities(ids: NDArray[np.int64], before: Texts) -> Texts:
    """Return the text of the ids of every execution: it is the same in all of its rows."""
    # Room for 20 characters of each number, and for what the last copy of a whole word writes beyond its text.
    width = (int(before.lengths.sum()) + 21 * len(before.lengths) + 15) // 8 * 8
    text, lengths = np.empty((len(ids), width), dtype=np.uint8), np.empty(len(ids), dtype=np.int64)
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
    base: int,
    kept: NDArray[np.int64],
    codes: NDArray[np.int16],
    seconds: Texts,
    identity: Texts,
    pieces: Texts,
    numbers: Texts,
    is_csv: bool,
    buffer: NDArray[np.uint8],
) -> int:
    """Print rows into `buffer`; return how many bytes."""
    at = 0
    for row in kept:
        window = windows[row]
        at = put_text(buffer, at, pieces, 0)
        at = put_text(buffer, at, seconds, window["start"] - base)
        at = put_text(buffer, at, pieces, 1)
        at = put_text(buffer, at, seconds, window["end"] - base)
        at = put_text(buffer, at, identity, window["execution"])
        for number in range(codes.shape[1]):
            code = codes[row, number]
            if is_csv:
                # −1, for a missing number, is the last text: the comma alone.
                at = put_number(buffer, at, numbers, code)
            elif code >= 0:
                at = put_text(buffer, at, pieces, 3 + number)
                at = put_number(buffer, at, numbers, code)
        at = put_text(buffer, at, pieces, 2)
    return at
