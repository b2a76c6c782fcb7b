"""TFRecord files of ``tf.train.Example``, read whole files at a time (format: :mod:`.tfrecord`)."""

from __future__ import annotations

import numpy as np

from borgtrace.kernels.compiled import compiled
from borgtrace.kernels.crc32c import Buffer, masked_crc32c
from borgtrace.kernels.tfrecord import FRAME, Floats, Index

_HEAD, _CRC = 12, 4
_FIELD_1, _FIELD_2 = 0x0A, 0x12
_LARGEST = (1 << 14) - 1


@compiled(inline=True)
def _byte(buffer: Buffer, at: int) -> int:
    """Return a byte; an unsigned index spares the look whether it counts from the end (six times faster)."""
    return int(np.int64(buffer[np.uint64(at)]))


@compiled(inline=True)
def _read_size(buffer: Buffer, at: int) -> int:
    size = np.uint64(0)
    for k in range(8):
        size |= np.uint64(buffer[at + k]) << np.uint64(8 * k)
    return int(np.int64(size))


@compiled(inline=True)
def _agrees(buffer: Buffer, start: int, stop: int) -> bool:
    """Whether the four bytes after ``buffer[start:stop]`` are its check sum."""
    crc = masked_crc32c(buffer, start, stop)
    stored = np.uint32(0)
    for k in range(4):
        stored |= np.uint32(buffer[stop + k]) << np.uint32(8 * k)
    return crc == stored


@compiled()
def find_records(buffer: Buffer, is_verified: bool, starts: Index) -> int:
    """Fill `starts` with where each record begins and the last one ends.

    Returns
    -------
    int
        The number of records; −1 − i where record i is cut short or (if `is_verified`) fails its check sum
        or does not fit into `starts`.
    """
    at, count = 0, 0
    starts[0] = 0
    while at < buffer.size:
        if at + FRAME > buffer.size or count + 1 >= starts.size:
            return -1 - count
        size = _read_size(buffer, at)
        if size < 0 or size > buffer.size - at - FRAME:
            return -1 - count
        if is_verified and not (
            _agrees(buffer, at, at + 8) and _agrees(buffer, at + _HEAD, at + _HEAD + size)
        ):
            return -1 - count
        at += FRAME + size
        count += 1
        starts[count] = at
    return count


@compiled(inline=True)
def _read_varint(buffer: Buffer, at: int) -> tuple[int, int]:
    value, shift = np.uint64(0), np.uint64(0)
    byte = _byte(buffer, at)
    while byte >= 128:
        value |= np.uint64(byte & 127) << shift
        shift += np.uint64(7)
        at += 1
        byte = _byte(buffer, at)
    return int(np.int64(value | np.uint64(byte) << shift)), at + 1


@compiled(inline=True)
def _is_name(buffer: Buffer, at: int, size: int, names: Buffer, first: int, last: int) -> bool:
    """Whether ``buffer[at : at + size]`` is ``names[first:last]``."""
    if last - first != size:
        return False
    found, wanted = buffer[at : at + size], names[first:last]
    differing = np.uint8(0)
    for k in range(found.size):
        differing |= found[k] ^ wanted[k]
    return differing == 0


@compiled()
def _name_of(buffer: Buffer, at: int, size: int, names: Buffer, name_ends: Index, guess: int) -> int:
    """Which of the names ``buffer[at : at + size]`` is, −1 for none; `guess` is tried first."""
    for turn in range(name_ends.size):
        k = (guess + turn) % name_ends.size
        if _is_name(buffer, at, size, names, name_ends[k - 1] if k else 0, name_ends[k]):
            return k
    return -1


@compiled(inline=True)
def _size(buffer: Buffer, at: int) -> tuple[int, int]:
    """Return the varint of one or two bytes at `at`, and where it ends; a larger one gives above 16,383."""
    low = _byte(buffer, at)
    if low < 128:
        return low, at + 1
    return (low & 127) | _byte(buffer, at + 1) << 7, at + 2


@compiled(inline=True)
def _is_named(buffer: Buffer, at: int, names: Buffer, first: int, last: int) -> bool:
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
def _locate_usual(
    buffer: Buffer, at: int, end: int, names: Buffer, name_ends: Index, usual: int, i: int, position: Index,
    size: Index,
) -> int:  # fmt: skip
    """Find the first `usual` features of record i, one after the other in the order of `names`.

    Returns where that ends: before a feature that is missing, or longer than sizes of two bytes tell.
    """
    first, row = 0, np.uint64(i)
    for k in range(np.uint64(usual)):
        entry, body = _size(buffer, at + 1)
        last = name_ends[k]
        if at >= end or entry > _LARGEST or not _is_named(buffer, body, names, first, last):
            break
        header = 2 + last - first
        size[row, k] = _list_size(entry - header)
        at = body + entry
        position[row, k] = at - size[row, k]
        first = last
    return at


@compiled()
def locate(
    buffer: Buffer, starts: Index, names: Buffer, name_ends: Index, usual: int, position: Index, size: Index
) -> None:
    """Find the packed list (or first word) of each named feature in each record.

    `position` and `size` have shape (records, names); size −1 where a record lacks the feature.  The first
    `usual` features are in every record of files that this package has written, in this order.
    """
    size[:] = -1
    for i in range(position.shape[0]):
        end = starts[i + 1] - _CRC
        _, at = _read_varint(buffer, starts[i] + _HEAD + 1)
        at = _locate_usual(buffer, at, end, names, name_ends, usual, i, position, size)
        guess = usual % name_ends.size
        while at < end:
            entry, at = _read_varint(buffer, at + 1)
            following = at + entry
            length, at = _read_varint(buffer, at + 1)
            k = _name_of(buffer, at, length, names, name_ends, guess)
            if k >= 0:
                _, at = _read_varint(buffer, at + length + 1)
                _, at = _read_varint(buffer, at + 1)
                size[i, k], position[i, k] = _read_varint(buffer, at + 1)
                guess = k + 1
            at = following


@compiled()
def copy_lists(buffer: Buffer, position: Index, offsets: Index, out: Buffer) -> None:
    """Copy bytes ``position[i]`` … of each record to ``out[offsets[i] : offsets[i + 1]]``."""
    for i in range(position.size):
        target = out[offsets[i] : offsets[i + 1]]
        source = buffer[position[i] : position[i] + target.size]
        for k in range(target.size):
            target[k] = source[k]


@compiled()
def read_integers(buffer: Buffer, position: Index, out: Index) -> None:
    """Decode varints; `position` and `out` have shape (records, numbers)."""
    for i in range(position.shape[0]):
        for k in range(position.shape[1]):
            out[i, k], _ = _read_varint(buffer, position[i, k])


__all__ = ["Buffer", "Floats", "Index", "copy_lists", "find_records", "locate", "read_integers"]
