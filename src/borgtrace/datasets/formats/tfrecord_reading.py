"""Read TFRecord files of ``tf.train.Example``, whole files at a time (format: :mod:`.tfrecord`)."""

import numpy as np

from borgtrace.datasets.formats.crc32c import Buffer, masked_crc32c
from borgtrace.datasets.formats.tfrecord_writing import FRAME
from borgtrace.kernels.arrays import Index
from borgtrace.kernels.compiled import compiled
from borgtrace.kernels.words import load_word

_HEAD = 12
_CRC = 4
# The largest number that a varint of two bytes holds; sizes of usual features are below.
_LARGEST = (1 << 14) - 1
LISTS = 2
"""Features that come before the whole numbers: the series and its mask."""


@compiled(inline=True)
def _byte(buffer: Buffer, at: int) -> int:
    """Return a byte; an unsigned index saves the check for negative indices (six times faster)."""
    return int(np.int64(buffer[np.uint64(at)]))


@compiled(inline=True)
def _agrees(buffer: Buffer, start: int, stop: int) -> bool:
    """Whether the four bytes after ``buffer[start:stop]`` are its check sum."""
    crc = masked_crc32c(buffer, start, stop)
    stored = np.uint32(0)
    for k in range(4):
        stored |= np.uint32(buffer[stop + k]) << np.uint32(8 * k)
    return crc == stored


@compiled(inline=True)
def _end(buffer: Buffer, at: int, is_verified: bool) -> int:
    """Return where the record that begins at `at` ends, before its check sum; −1: it is cut short or damaged."""
    if at + FRAME > buffer.size:
        return -1
    size = int(np.int64(load_word(buffer, at)))
    # A damaged length may be anything: it must not lead outside the buffer, even if check sums are not verified.
    if size < 0 or size > buffer.size - at - FRAME:
        return -1
    begin = at + _HEAD
    end = begin + size
    if is_verified and not (_agrees(buffer, at, at + 8) and _agrees(buffer, begin, end)):
        return -1
    return end


@compiled(inline=True)
def _read_varint(buffer: Buffer, at: int) -> tuple[int, int]:
    value = np.uint64(0)
    shift = np.uint64(0)
    byte = _byte(buffer, at)
    while byte >= 128:
        value |= np.uint64(byte & 127) << shift
        shift += np.uint64(7)
        at += 1
        byte = _byte(buffer, at)
    return int(np.int64(value | np.uint64(byte) << shift)), at + 1


@compiled(inline=True)
def _is_name(
    buffer: Buffer,
    at: int,
    size: int,
    names: Buffer,
    first: int,
    last: int,
) -> bool:
    """Whether ``buffer[at : at + size]`` is ``names[first:last]``."""
    if last - first != size:
        return False
    # All bytes, without stopping at a difference: a loop without an exit works on many at once.
    text = buffer[at : at + size]
    name = names[first:last]
    differing = np.uint8(0)
    for k in range(text.size):
        differing |= text[k] ^ name[k]
    return differing == 0


@compiled(makes_arrays=False)
def _name_of(
    buffer: Buffer,
    at: int,
    size: int,
    names: Buffer,
    name_ends: Index,
    guess: int,
) -> int:
    """Which of the names ``buffer[at : at + size]`` is, −1 for none; `guess` is tried first."""
    count = name_ends.size - 1
    for turn in range(count):
        k = (guess + turn) % count
        if _is_name(buffer, at, size, names, name_ends[k], name_ends[k + 1]):
            return k
    return -1


@compiled(inline=True)
def _size(buffer: Buffer, at: int) -> tuple[int, int]:
    """Return the varint of one or two bytes at `at`, and where it ends; a larger one gives above 16,383.

    Without a branch: which of the two it is cannot be foretold, and a wrong guess costs more.
    """
    low = _byte(buffer, at)
    is_long = low >> 7
    return (low & 127) | (_byte(buffer, at + 1) << 7) * is_long, at + 1 + is_long


@compiled(inline=True)
def _is_named(
    buffer: Buffer,
    at: int,
    names: Buffer,
    first: int,
    last: int,
) -> bool:
    """Whether the name field at `at` can hold ``names[first:last]``.

    Names are compared at both ends only: files keep the order of names, and a longer look costs more than
    all the rest.
    """
    size = last - first
    return (
        _byte(buffer, at + 1) == size
        and _byte(buffer, at + 2) == _byte(names, first)
        and _byte(buffer, at + 1 + size) == _byte(names, last - 1)
    )


@compiled(inline=True)
def _list_size(room: int) -> int:
    """Return the bytes of a packed list by those of its whole feature: less three tags and three sizes.

    Each size takes a second byte from a point on: that of the feature, of the list, of the packed values.
    """
    return room - 6 - int(room > 129) - int(room > 132) - int(room > 135)


@compiled(inline=True)
def _locate_lists(
    buffer: Buffer,
    at: int,
    end: int,
    names: Buffer,
    name_ends: Index,
    low: int,
    high: int,
    row: np.uint64,
    position: Index,
    size: Index,
) -> int:
    """Find features `low` to `high` of a record, one after the other in the order of `names`.

    Returns where that ends: before a feature that is missing, or longer than sizes of two bytes tell.
    """
    for k in range(np.uint64(low), np.uint64(high)):
        if at >= end:
            break
        first = name_ends[k]
        last = name_ends[k + np.uint64(1)]
        entry, body = _size(buffer, at + 1)
        if entry > _LARGEST or not _is_named(buffer, body, names, first, last):
            break
        size[k, row] = _list_size(entry - 2 - (last - first))
        at = body + entry
        position[k, row] = at - size[k, row]
    return at


@compiled(inline=True)
def _short_varint(word: np.uint64, size: int) -> int:
    """Decode the varint in the first `size` bytes of a word, 1 to 8: seven bits of each, without a branch."""
    # Clears what lies beyond the varint, then closes the gaps of one bit, of two, of four.
    bits = word << np.uint64(64 - 8 * size) >> np.uint64(64 - 8 * size)
    bits = (bits & np.uint64(0x007F007F007F007F)) | (
        bits & np.uint64(0x7F007F007F007F00)
    ) >> np.uint64(1)
    bits = (bits & np.uint64(0x00003FFF00003FFF)) | (
        bits & np.uint64(0x3FFF00003FFF0000)
    ) >> np.uint64(2)
    return int(
        np.int64(
            (bits & np.uint64(0x0FFFFFFF)) | (bits & np.uint64(0x0FFFFFFF00000000)) >> np.uint64(4)
        )
    )


@compiled(inline=True)
def _read_usual_integers(
    buffer: Buffer,
    at: int,
    end: int,
    names: Buffer,
    name_ends: Index,
    row: np.uint64,
    integers: Index,
) -> int:
    """Read the whole numbers of a record, one after the other in the order of `names`.

    Returns where that ends: before one that is missing, longer than a word or near the end of the buffer.
    """
    for k in range(np.uint64(integers.shape[1])):
        if at >= end:
            break
        first = name_ends[k + np.uint64(LISTS)]
        last = name_ends[k + np.uint64(LISTS + 1)]
        header = 10 + last - first
        size = _byte(buffer, at + 1) + 2 - header
        is_short = 0 < size <= 8 and at + header + 8 <= buffer.size
        if not is_short or not _is_named(buffer, at + 2, names, first, last):
            break
        integers[row, k] = _short_varint(load_word(buffer, at + header), size)
        at += header + size
    return at


@compiled(inline=True)
def _locate_others(
    buffer: Buffer,
    at: int,
    end: int,
    names: Buffer,
    name_ends: Index,
    guess: int,
    row: int,
    position: Index,
    size: Index,
    integers: Index,
) -> int:
    """Look up by name whatever was not where it usually is: other writers, unknown words, longer sizes.

    Returns where that ends; `guess` is the name that is tried first.
    """
    while at < end:
        entry, at = _read_varint(buffer, at + 1)
        following = at + entry
        length, at = _read_varint(buffer, at + 1)
        k = _name_of(buffer, at, length, names, name_ends, guess)
        if k >= 0:
            _, at = _read_varint(buffer, at + length + 1)
            _, at = _read_varint(buffer, at + 1)
            n_bytes, place = _read_varint(buffer, at + 1)
            size[k, row] = n_bytes
            position[k, row] = place
            number = k - LISTS
            if 0 <= number < integers.shape[1]:
                value, _ = _read_varint(buffer, place)
                integers[row, number] = value
            guess = k + 1
        at = following
    return at


@compiled(makes_arrays=False)
def read_records(
    buffer: Buffer,
    is_verified: bool,
    names: Buffer,
    name_ends: Index,
    usual: int,
    position: Index,
    size: Index,
    integers: Index,
) -> int:
    """Find all records, the packed list (or first word) of each named feature in each, and read whole numbers.

    Parameters
    ----------
    buffer
        A whole file.
    is_verified
        Whether check sums are checked.
    names, name_ends
        Names of features, one after the other, and where each ends, from 0: two lists, the whole numbers, others.
    usual
        How many of them are in every record of files that this package has written, in this order.
    position, size
        Output, shape (names, room): where each feature lies, in bytes; size −1 where a record lacks one that
        is not usual.  Whole numbers have no place.
    integers
        Output, shape (room, whole numbers).

    Returns
    -------
    int
        The number of records; −1 − i where record i is cut short, fails its check sum (if `is_verified`), finds no
        room, or has features that do not end where it does.
    """
    first_other = LISTS + integers.shape[1]
    at = 0
    i = 0
    while at < buffer.size:
        end = _end(buffer, at, is_verified)
        if end < 0 or i >= size.shape[1]:
            return -1 - i
        size[usual:, i] = -1
        row = np.uint64(i)
        # Behind the length, its check sum and the tag of the Example comes its size.
        _, at = _read_varint(buffer, at + _HEAD + 1)
        at = _locate_lists(buffer, at, end, names, name_ends, 0, LISTS, row, position, size)
        at = _read_usual_integers(buffer, at, end, names, name_ends, row, integers)
        at = _locate_lists(
            buffer, at, end, names, name_ends, first_other, usual, row, position, size
        )
        at = _locate_others(buffer, at, end, names, name_ends, usual, i, position, size, integers)
        if at != end:
            return -1 - i
        at = end + _CRC
        i = i + 1
    return i


@compiled(makes_arrays=False)
def copy_lists(
    buffer: Buffer,
    position: Index,
    offsets: Index,
    out: Buffer,
) -> None:
    """Copy bytes ``position[i]`` … of each record to ``out[offsets[i] : offsets[i + 1]]``.

    Parameters
    ----------
    buffer
        A whole file.
    position
        Where each list begins, shape (n,).
    offsets
        Where each goes, in bytes, shape (n + 1,).
    out
        Output, shape (offsets[n],).
    """
    for i in range(position.size):
        target = out[offsets[i] : offsets[i + 1]]
        source = buffer[position[i] : position[i] + target.size]
        for k in range(target.size):
            target[k] = source[k]
