"""Write TFRecord files of ``tf.train.Example``, whole blocks at a time.

A record is ``length (8) · masked CRC of it (4) · Example · masked CRC of that (4)``; an Example is, in
protobuf's wire format, ``features = 1 { map<string, Feature> = 1 }`` with ``Feature { bytes_list = 1 |
float_list = 2 | int64_list = 3 }``, numbers packed (``tensorflow/core/example/{example,feature}.proto``).

The fields of a record come in this order: the float series, its mask, whole numbers, single floats, words.
``names`` holds the names of the first two, one after the other, ``name_ends`` where each ends, from 0.  Of all others
what comes before the value is ready-made: ``heads`` holds, one after the other, for each whole number the ten
beginnings of an entry whose varint has 1 to 10 bytes, then one for each single float; ``head_ends`` says where
each ends, from 0.
"""

from typing import Any

import numpy as np

from borgtrace.datasets.formats.crc32c import Buffer, masked_crc32c
from borgtrace.kernels.arrays import Index
from borgtrace.kernels.blocks import BLOCK, move_block
from borgtrace.kernels.compiled import compiled

FRAME = 16
"""Bytes that framing adds to an Example."""
_HEAD = 12
_CRC = 4
VARINT = 10
"""Bytes of the longest varint."""
_FIELD_1 = 0x0A
_FIELD_2 = 0x12
_FIELD_3 = 0x1A


@compiled(inline=True)
def _put(
    out: Buffer,
    at: int,
    value: int | np.unsignedinteger[Any],
) -> int:
    """Write a byte and return the next place; an unsigned index saves the check for negative indices."""
    out[np.uint64(at)] = np.uint8(value)
    return at + 1


@compiled(inline=True)
def _varint_size(value: int) -> int:
    size = 1
    while value >= 128:
        value >>= 7
        size += 1
    return size


@compiled(inline=True)
def _integer_size(value: int) -> int:
    """Bytes of an int64 as varint; a negative one takes ten."""
    # Protobuf writes int64 as 64 bits, so a negative number has all ten bytes.
    return VARINT if value < 0 else _varint_size(value)


@compiled(inline=True)
def _write_varint(out: Buffer, at: int, value: int) -> int:
    rest = np.uint64(value)
    while rest >= np.uint64(128):
        at = _put(out, at, (rest & np.uint64(127)) | np.uint64(128))
        rest = rest >> np.uint64(7)
    return _put(out, at, rest)


@compiled(inline=True)
def _nested(size: int) -> int:
    """Bytes of a length-delimited field with a one-byte tag around `size` bytes."""
    return 1 + _varint_size(size) + size


@compiled(inline=True)
def _copy(
    out: Buffer,
    at: int,
    source: Buffer,
    first: int,
    last: int,
) -> int:
    """Copy ``source[first:last]`` and return the place behind it.

    In whole blocks: most texts are shorter than one, and what a block writes too much is written later.
    """
    end = at + last - first
    while at < end and first + BLOCK <= source.size and at + BLOCK <= out.size:
        move_block(source, first, out, at)
        first += BLOCK
        at += BLOCK
    while at < end:
        at = _put(out, at, source[np.uint64(first)])
        first += 1
    return end


@compiled(makes_arrays=False)
def _entry_size(name: int, payload: int) -> int:
    """Bytes of one entry of the feature map: a name of `name` bytes and a packed list of `payload` bytes."""
    return _nested(_nested(name) + _nested(_nested(_nested(payload))))


@compiled(makes_arrays=False)
def _write_entry(
    out: Buffer,
    at: int,
    names: Buffer,
    first: int,
    last: int,
    kind: int,
    payload: int,
) -> int:
    """Write all of a feature-map entry but the packed list itself; return where that starts."""
    name = last - first
    packed = _nested(payload)
    feature = _nested(packed)
    entry = _nested(name) + _nested(feature)
    at = _write_varint(out, _put(out, at, _FIELD_1), entry)
    at = _write_varint(out, _put(out, at, _FIELD_1), name)
    at = _copy(out, at, names, first, last)
    at = _write_varint(out, _put(out, at, _FIELD_2), feature)
    at = _write_varint(out, _put(out, at, kind), packed)
    return _write_varint(out, _put(out, at, _FIELD_1), payload)


@compiled(makes_arrays=False)
def measure(
    lengths: Index,
    name_ends: Index,
    integers: Index,
    head_ends: Index,
    codes: Index,
    word_ends: Index,
    sizes: Index,
) -> int:
    """Fill `sizes` with the bytes of each record's features; return the bytes of all framed records.

    Parameters
    ----------
    lengths
        Values of each record's series, shape (n,).
    name_ends, head_ends
        See the module.
    integers
        Whole numbers, shape (n, k).
    codes, word_ends
        Word of each record, shape (n, m), as the index of a ready-made entry, −1 where it has none; where
        the entries end.
    sizes
        Output, shape (n,).
    """
    total = 0
    # Values have one size: all of their heads and values together are the same in every record.
    numbers = integers.shape[1] * VARINT
    n_floats = head_ends.size - 1 - numbers
    fixed = head_ends[numbers + n_floats] - head_ends[numbers] + 4 * n_floats
    for i in range(lengths.size):
        size = fixed + _entry_size(name_ends[1], 4 * lengths[i])
        size += _entry_size(name_ends[2] - name_ends[1], lengths[i])
        for k in range(integers.shape[1]):
            width = _integer_size(integers[i, k])
            head = k * VARINT + width
            size += head_ends[head] - head_ends[head - 1] + width
        for k in range(codes.shape[1]):
            code = codes[i, k]
            if code >= 0:
                size += word_ends[code + 1] - word_ends[code]
        sizes[i] = size
        total += FRAME + _nested(size)
    return total


@compiled(inline=True)
def _write_word(out: Buffer, at: int, word: np.uint32) -> None:
    for k in range(4):
        at = _put(out, at, word >> np.uint32(8 * k))


@compiled(makes_arrays=False)
def frame(out: Buffer, start: int, end: int) -> None:
    """Write length and check sums of the record that occupies ``out[start:end]`` around its Example."""
    size = np.uint64(end - start - FRAME)
    for k in range(8):
        _put(out, start + k, size >> np.uint64(8 * k))
    _write_word(out, start + 8, masked_crc32c(out, start, start + 8))
    _write_word(out, end - _CRC, masked_crc32c(out, start + _HEAD, end - _CRC))


@compiled(inline=True)
def _write_integers(
    out: Buffer,
    at: int,
    integers: Index,
    record: int,
    heads: Buffer,
    head_ends: Index,
) -> int:
    """Write the whole numbers of a record; return the next place."""
    for k in range(integers.shape[1]):
        head = k * VARINT + _integer_size(integers[record, k])
        at = _copy(out, at, heads, head_ends[head - 1], head_ends[head])
        at = _write_varint(out, at, integers[record, k])
    return at


@compiled(inline=True)
def _write_floats(
    out: Buffer,
    at: int,
    floats: Buffer,
    record: int,
    heads: Buffer,
    ends: Index,
) -> int:
    """Write the single floats of a record, whose heads have these ends; return the next place."""
    for k in range(floats.shape[1] // 4):
        at = _copy(out, at, heads, ends[k], ends[k + 1])
        for byte in range(4 * k, 4 * k + 4):
            at = _put(out, at, floats[record, byte])
    return at


@compiled(inline=True)
def _write_words(
    out: Buffer,
    at: int,
    codes: Index,
    record: int,
    words: Buffer,
    word_ends: Index,
) -> int:
    """Write the words of a record as far as they are known; return the next place."""
    for k in range(codes.shape[1]):
        code = codes[record, k]
        if code >= 0:
            at = _copy(out, at, words, word_ends[code], word_ends[code + 1])
    return at


@compiled(makes_arrays=False)
def encode(
    series: Buffer,
    mask: Buffer,
    offsets: Index,
    names: Buffer,
    name_ends: Index,
    integers: Index,
    floats: Buffer,
    heads: Buffer,
    head_ends: Index,
    codes: Index,
    words: Buffer,
    word_ends: Index,
    sizes: Index,
    out: Buffer,
) -> None:
    """Fill `out` with framed records.

    Parameters
    ----------
    series
        The float32 series of all records as bytes, little-endian.
    mask
        One byte for each value of the series, 0 or 1.
    offsets
        CSR offsets into the series, in values, shape (n + 1,).
    names, name_ends, heads, head_ends
        See the module.
    integers
        Whole numbers, shape (n, k).
    floats
        Single float32 numbers as bytes, shape (n, 4·j).
    codes, words, word_ends
        See :func:`measure`; `words` holds the ready-made entries.
    sizes
        What :func:`measure` filled.
    out
        Output of as many bytes as it returned.
    """
    float_ends = head_ends[integers.shape[1] * VARINT :]
    end = 0
    for i in range(offsets.size - 1):
        start = end
        end = start + FRAME + _nested(sizes[i])
        first = offsets[i]
        last = offsets[i + 1]
        n_bytes = 4 * (last - first)
        at = _write_varint(out, _put(out, start + _HEAD, _FIELD_1), sizes[i])
        at = _write_entry(out, at, names, 0, name_ends[1], _FIELD_2, n_bytes)
        at = _copy(out, at, series, 4 * first, 4 * last)
        at = _write_entry(out, at, names, name_ends[1], name_ends[2], _FIELD_3, last - first)
        at = _copy(out, at, mask, first, last)
        at = _write_integers(out, at, integers, i, heads, head_ends)
        at = _write_floats(out, at, floats, i, heads, float_ends)
        _write_words(out, at, codes, i, words, word_ends)
        frame(out, start, end)
