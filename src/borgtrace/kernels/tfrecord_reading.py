"""TFRecord files of ``tf.train.Example``, read whole files at a time (format: :mod:`.tfrecord`)."""

from __future__ import annotations

import numpy as np

from borgtrace.kernels.compiled import compiled
from borgtrace.kernels.crc32c import Buffer, masked_crc32c
from borgtrace.kernels.tfrecord import FRAME, Floats, Index

_HEAD, _CRC = 12, 4
_FIELD_1, _FIELD_2 = 0x0A, 0x12


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
    while buffer[at] >= 128:
        value |= np.uint64(buffer[at] & 127) << shift
        shift += np.uint64(7)
        at += 1
    return int(np.int64(value | np.uint64(buffer[at]) << shift)), at + 1


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
def _is_short(buffer: Buffer, at: int, names: Buffer, name_ends: Index, k: int) -> bool:
    """Whether the entry at `at` is feature k, all of whose sizes are single bytes: then it has a fixed form.

    Names are compared at both ends only: files keep the order of names, and a longer look costs more than
    all the rest.
    """
    first = name_ends[k - 1] if k else 0
    name = name_ends[k] - first
    return (
        buffer[at + 1] < 128
        and buffer[at + 3] == name
        and buffer[at + 4] == names[first]
        and buffer[at + 3 + name] == names[first + name - 1]
        and buffer[at + 4 + name] == _FIELD_2
        and buffer[at + 8 + name] == _FIELD_1
    )


@compiled()
def locate(
    buffer: Buffer, starts: Index, names: Buffer, name_ends: Index, position: Index, size: Index
) -> None:
    """Find the packed list (or first word) of each named feature in each record.

    `position` and `size` have shape (names, records); size −1 where a record lacks the feature.
    """
    size[:] = -1
    for i in range(position.shape[1]):
        end = starts[i + 1] - _CRC
        _, at = _read_varint(buffer, starts[i] + _HEAD + 1)
        guess = 0
        while at < end:
            if guess < name_ends.size and _is_short(buffer, at, names, name_ends, guess):
                name = name_ends[guess] - (name_ends[guess - 1] if guess else 0)
                size[guess, i], position[guess, i] = buffer[at + name + 9], at + name + 10
                at += 2 + buffer[at + 1]
                guess += 1
                continue
            entry, at = _read_varint(buffer, at + 1)
            following = at + entry
            length, at = _read_varint(buffer, at + 1)
            k = _name_of(buffer, at, length, names, name_ends, guess)
            if k >= 0:
                _, at = _read_varint(buffer, at + length + 1)
                _, at = _read_varint(buffer, at + 1)
                size[k, i], position[k, i] = _read_varint(buffer, at + 1)
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
    """Decode one varint of each record."""
    for i in range(position.size):
        out[i], _ = _read_varint(buffer, position[i])


__all__ = ["Buffer", "Floats", "Index", "copy_lists", "find_records", "locate", "read_integers"]
