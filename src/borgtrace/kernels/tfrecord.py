"""TFRecord files of ``tf.train.Example``, written whole blocks at a time.

A record is ``length (8) · masked CRC of it (4) · Example · masked CRC of that (4)``; an Example is, in
protobuf's wire format, ``features = 1 { map<string, Feature> = 1 }`` with ``Feature { bytes_list = 1 |
float_list = 2 | int64_list = 3 }``, numbers packed (``tensorflow/core/example/{example,feature}.proto``).

The fields of a record come in this order: the float series, its mask, whole numbers, single floats, words.
``names`` holds the feature names in that order, one after the other, ``name_ends`` where each ends.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from borgtrace.kernels.compiled import compiled
from borgtrace.kernels.crc32c import Buffer, masked_crc32c

Index = NDArray[np.int64]
Floats = NDArray[np.float32]

FRAME = 16
"""Bytes that framing adds to an Example."""
_HEAD, _CRC = 12, 4
_FIELD_1, _FIELD_2, _FIELD_3 = 0x0A, 0x12, 0x1A


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
    return 10 if value < 0 else _varint_size(value)


@compiled(inline=True)
def _write_varint(out: Buffer, at: int, value: int) -> int:
    rest = np.uint64(value)
    while rest >= np.uint64(128):
        out[at] = np.uint8((rest & np.uint64(127)) | np.uint64(128))
        rest = rest >> np.uint64(7)
        at += 1
    out[at] = np.uint8(rest)
    return at + 1


@compiled(inline=True)
def _nested(size: int) -> int:
    """Bytes of a length-delimited field with a one-byte tag around `size` bytes."""
    return 1 + _varint_size(size) + size


@compiled(inline=True)
def _copy(out: Buffer, at: int, source: Buffer, first: int, last: int) -> int:
    """Copy ``source[first:last]``: a loop over views becomes a block move without a check for overlap."""
    target, view = out[at : at + last - first], source[first:last]
    for k in range(view.size):
        target[k] = view[k]
    return at + last - first


@compiled()
def _entry_size(name: int, payload: int) -> int:
    """Bytes of one entry of the feature map: a name of `name` bytes and a packed list of `payload` bytes."""
    return _nested(_nested(name) + _nested(_nested(_nested(payload))))


@compiled()
def _write_entry(out: Buffer, at: int, names: Buffer, first: int, last: int, kind: int, payload: int) -> int:
    """Write all of a feature-map entry but the packed list itself; return where that starts."""
    name = last - first
    packed = _nested(payload)
    feature = _nested(packed)
    out[at] = _FIELD_1
    at = _write_varint(out, at + 1, _nested(name) + _nested(feature))
    out[at] = _FIELD_1
    at = _write_varint(out, at + 1, name)
    at = _copy(out, at, names, first, last)
    out[at] = _FIELD_2
    at = _write_varint(out, at + 1, feature)
    out[at] = kind
    at = _write_varint(out, at + 1, packed)
    out[at] = _FIELD_1
    return _write_varint(out, at + 1, payload)


@compiled()
def measure(
    lengths: Index, name_ends: Index, integers: Index, n_floats: int, codes: Index, word_ends: Index,
    ends: Index,
) -> None:  # fmt: skip
    """Fill `ends` with where each framed record ends in the buffer that :func:`encode` fills.

    Parameters
    ----------
    lengths
        Values of each record's series, shape (n,).
    name_ends
        End of each feature name.
    integers
        Whole numbers, shape (n, k).
    n_floats
        How many single floats each record has.
    codes, word_ends
        Word of each record, shape (n, m), as the index of a ready-made entry, −1 where it has none; where
        the entries end.
    ends
        Output, shape (n + 1,); ``ends[0]`` is 0.
    """
    ends[0] = 0
    fixed = 0
    first = 2 + integers.shape[1]
    for k in range(first, first + n_floats):
        fixed += _entry_size(name_ends[k] - name_ends[k - 1], 4)
    for i in range(lengths.size):
        size = fixed + _entry_size(name_ends[0], 4 * lengths[i])
        size += _entry_size(name_ends[1] - name_ends[0], lengths[i])
        for k in range(integers.shape[1]):
            size += _entry_size(name_ends[k + 2] - name_ends[k + 1], _integer_size(integers[i, k]))
        for k in range(codes.shape[1]):
            if codes[i, k] >= 0:
                size += word_ends[codes[i, k] + 1] - word_ends[codes[i, k]]
        ends[i + 1] = ends[i] + FRAME + _nested(size)


@compiled(inline=True)
def _write_word(out: Buffer, at: int, word: np.uint32) -> None:
    for k in range(4):
        out[at + k] = np.uint8(word >> np.uint32(8 * k))


@compiled()
def frame(out: Buffer, start: int, end: int) -> None:
    """Write length and check sums of the record that occupies ``out[start:end]`` around its Example."""
    size = np.uint64(end - start - FRAME)
    for k in range(8):
        out[start + k] = np.uint8(size >> np.uint64(8 * k))
    _write_word(out, start + 8, masked_crc32c(out, start, start + 8))
    _write_word(out, end - _CRC, masked_crc32c(out, start + _HEAD, end - _CRC))


@compiled()
def encode(
    series: Buffer, mask: Buffer, offsets: Index, names: Buffer, name_ends: Index, integers: Index,
    floats: Buffer, codes: Index, words: Buffer, word_ends: Index, ends: Index, out: Buffer,
) -> None:  # fmt: skip
    """Fill `out` with framed records.

    Parameters
    ----------
    series
        The float32 series of all records as bytes, little-endian.
    mask
        One byte for each value of the series, 0 or 1.
    offsets
        CSR offsets into the series, in values, shape (n + 1,).
    names, name_ends
        Feature names (see the module).
    integers
        Whole numbers, shape (n, k).
    floats
        Single float32 numbers as bytes, shape (n, 4·j).
    codes, words, word_ends
        See :func:`measure`; `words` holds the ready-made entries.
    ends
        What :func:`measure` filled.
    out
        Output of ``ends[n]`` bytes.
    """
    for i in range(offsets.size - 1):
        start, end = ends[i], ends[i + 1]
        first, last = offsets[i], offsets[i + 1]
        at = start + _HEAD
        out[at] = _FIELD_1
        at += 1
        whole = end - start - FRAME - 2
        while 1 + _varint_size(whole) + whole > end - start - FRAME:
            whole -= 1
        at = _write_varint(out, at, whole)
        at = _write_entry(out, at, names, 0, name_ends[0], _FIELD_2, 4 * (last - first))
        at = _copy(out, at, series, 4 * first, 4 * last)
        at = _write_entry(out, at, names, name_ends[0], name_ends[1], _FIELD_3, last - first)
        at = _copy(out, at, mask, first, last)
        name = 1
        for k in range(integers.shape[1]):
            value = integers[i, k]
            at = _write_entry(
                out, at, names, name_ends[name], name_ends[name + 1], _FIELD_3, _integer_size(value)
            )
            at = _write_varint(out, at, value)
            name += 1
        for k in range(floats.shape[1] // 4):
            at = _write_entry(out, at, names, name_ends[name], name_ends[name + 1], _FIELD_2, 4)
            for byte in range(4 * k, 4 * k + 4):
                out[at] = floats[i, byte]
                at += 1
            name += 1
        for k in range(codes.shape[1]):
            if codes[i, k] >= 0:
                at = _copy(out, at, words, word_ends[codes[i, k]], word_ends[codes[i, k] + 1])
        frame(out, start, end)
