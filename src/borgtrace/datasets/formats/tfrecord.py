"""TFRecord: one ``tf.train.Example`` per trace, in files that TensorFlow reads natively.

Features of an Example: ``data`` (floats, points × features, row by row; NaN where nothing was measured),
``mask`` (0 or 1 for each of them), the numbers of :data:`~borgtrace.datasets.formats.arrays.IDENTITY`, and the
static features under their own names (a word that is unknown is left out).
"""

import os
import zlib
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from borgtrace.datasets.buffers import reused_array
from borgtrace.datasets.formats import tfrecord_reading as reading
from borgtrace.datasets.formats import tfrecord_writing as records
from borgtrace.datasets.formats.arrays import (
    IDENTITY,
    BufferedTraces,
    FeatureNames,
    TraceArrays,
    side_by_side,
)
from borgtrace.errors import StoreError
from borgtrace.kernels.arrays import Index

SERIES = "data"
MASK = "mask"
_FLOAT_LIST = 2
_INT64_LIST = 3
# Tells zlib to write and expect gzip's header; it carries no time, so equal content gives equal bytes.
_GZIP = 16 + zlib.MAX_WBITS
Buffer = NDArray[np.uint8]


def write(
    path: Path,
    names: FeatureNames,
    parts: Iterable[TraceArrays],
    *,
    is_compressed: bool = False,
) -> int:
    """Write one file; return the number of records."""
    count = 0
    entries = _Entries(names)
    compressor = zlib.compressobj(6, zlib.DEFLATED, _GZIP) if is_compressed else None
    with path.open("wb") as file:
        for part in parts:
            encoded = entries.encode(part).data
            # Written before the next part is encoded, which overwrites these bytes.
            file.write(compressor.compress(encoded) if compressor else encoded)
            count += len(part)
        if compressor:
            file.write(compressor.flush())
    return count


def read(path: Path, names: FeatureNames, *, is_verified: bool = True) -> TraceArrays:
    """Read one file.

    Raises
    ------
    StoreError
        The file is cut short or damaged.
    """
    found = read_buffered(path, names, is_verified=is_verified)
    width = len(names.series)
    offsets = np.append(0, np.cumsum(found.lengths))
    # Copied out of the file, where floats lie at any byte.
    values = np.empty((int(offsets[-1]), width), np.float32)
    reading.copy_lists(
        found.buffer, found.position, 4 * width * offsets, values.reshape(-1).view(np.uint8)
    )
    mask = (~np.isnan(values)).view(np.uint8)
    # The whole numbers lie in memory that the next file will overwrite; the others are new arrays.
    return TraceArrays(
        offsets,
        values,
        mask,
        found.identity.copy(),
        found.numbers,
        found.codes,
    )


def read_buffered(path: Path, names: FeatureNames, *, is_verified: bool = True) -> BufferedTraces:
    """Read one file as it is, and find the series in it; the bytes are this thread's reused memory.

    Raises
    ------
    StoreError
        The file is cut short or damaged.
    """
    buffer = _bytes(path)
    wanted = (SERIES, MASK, *IDENTITY, *names.numbers, *names.words)
    usual = len(wanted) - len(names.words)
    # As many records as there can be: counting them first would read the file twice.
    room = buffer.size // _smallest(wanted[:usual]) + 1
    position, size = (_table(name, len(wanted), room) for name in ("position", "size"))
    identity = _table("identity", room, len(IDENTITY))
    names_and_ends = _packed_names(wanted)
    count = reading.read_records(
        buffer,
        is_verified,
        *names_and_ends,
        usual,
        position,
        size,
        identity,
    )
    if count < 0:
        got = f"a bad one at {-1 - count}"
        way_out = "build the dataset again"
        raise StoreError(
            str(path),
            "damaged",
            expected="a whole record",
            got=got,
            way_out=way_out,
        )
    position = position[:, :count]
    size = size[:, :count]
    lengths = size[0] // (4 * len(names.series))
    numbers = _numbers(buffer, position[reading.LISTS + len(IDENTITY) : usual])
    codes = _codes(buffer, position[usual:], size[usual:], names)
    return BufferedTraces(
        buffer,
        position[0],
        lengths,
        identity[:count],
        numbers,
        codes,
    )


def _smallest(names: tuple[str, ...]) -> int:
    """Bytes of a framed record that has these features, all empty: each with a tag and a size of five kinds."""
    return records.FRAME + sum(10 + len(name) for name in names)


def _table(name: str, rows: int, columns: int) -> Index:
    return reused_array(name, rows * columns, np.int64).reshape(rows, columns)


class _Entries:
    """Feature names and ready-made word entries of a dataset, as the kernels want them."""

    def __init__(self, names: FeatureNames) -> None:
        self.names = _packed([SERIES.encode(), MASK.encode()])
        # Ten for each whole number, because the sizes before it depend on how many bytes it takes.
        heads = [
            _head(name, _INT64_LIST, size)
            for name in IDENTITY
            for size in range(1, records.VARINT + 1)
        ]
        heads += [_head(name, _FLOAT_LIST, 4) for name in names.numbers]
        self.heads = _packed(heads)
        words = [
            _word_entry(name, word) for name, all_words in names.words.items() for word in all_words
        ]
        self.words = _packed(words)
        firsts = np.cumsum([0, *map(len, names.words.values())])[: len(names.words)]
        self.first_word = firsts.astype(np.int64)

    def encode(self, part: TraceArrays) -> Buffer:
        width = part.values.shape[1]
        offsets = part.offsets * width
        # Words of all features are one list for the kernel: each feature's codes are moved to where its words begin.
        codes = np.where(part.codes < 0, -1, part.codes + self.first_word)
        sizes = np.empty(len(part), np.int64)
        lengths = np.diff(offsets)
        name_ends = self.names[1]
        head_ends = self.heads[1]
        word_ends = self.words[1]
        total = records.measure(
            lengths,
            name_ends,
            part.identity,
            head_ends,
            codes,
            word_ends,
            sizes,
        )
        out = reused_array("records", total, np.uint8)
        series = part.values.reshape(-1).view(np.uint8)
        floats = part.numbers.view(np.uint8)
        points = (series, part.mask.reshape(-1), offsets)
        records.encode(
            *points,
            *self.names,
            part.identity,
            floats,
            *self.heads,
            codes,
            *self.words,
            sizes,
            out,
        )
        return out


def _packed(texts: Sequence[bytes]) -> tuple[Buffer, Index]:
    """Put texts one after the other, and say where each ends, from 0."""
    return np.frombuffer(b"".join(texts), np.uint8), np.cumsum([0, *map(len, texts)])


@lru_cache
def _packed_names(names: tuple[str, ...]) -> tuple[Buffer, Index]:
    # Kept: for each file of a set anew it would take a twentieth of an epoch.
    return _packed([name.encode() for name in names])


def _word_entry(name: str, word: str) -> bytes:
    """Encode a feature-map entry with a bytes list of one word."""
    value = _field(1, _field(1, word.encode()))
    return _field(1, _field(1, name.encode()) + _field(2, value))


def _head(name: str, kind: int, size: int) -> bytes:
    """Encode a feature-map entry with a packed list of `size` bytes, up to where these begin."""
    value = _field(kind, _field(1, bytes(size)))
    return _field(1, _field(1, name.encode()) + _field(2, value))[:-size]


def _field(number: int, content: bytes) -> bytes:
    size = bytearray()
    rest = len(content)
    while rest >= 128:
        size.append(rest & 127 | 128)
        rest >>= 7
    return bytes([number << 3 | 2, *size, rest]) + content


def _bytes(path: Path) -> Buffer:
    if path.suffix == ".gz":
        return np.frombuffer(zlib.decompress(path.read_bytes(), _GZIP), np.uint8)
    with path.open("rb") as file:
        buffer = reused_array("file", os.fstat(file.fileno()).st_size, np.uint8)
        return buffer[: file.readinto(buffer.data)]


def _numbers(buffer: Buffer, position: Index) -> NDArray[np.float32]:
    numbers = np.empty(position.T.shape, np.float32)
    if numbers.size:
        places = 4 * np.arange(position.size + 1)
        reading.copy_lists(
            buffer, position.T.reshape(-1), places, numbers.reshape(-1).view(np.uint8)
        )
    return numbers


def _codes(
    buffer: Buffer,
    position: Index,
    size: Index,
    names: FeatureNames,
) -> Index:
    codes = [
        _codes_of(buffer, position[k], size[k], words)
        for k, words in enumerate(names.words.values())
    ]
    return side_by_side(codes, np.int64, position.shape[1])


def _codes_of(
    buffer: Buffer,
    position: Index,
    size: Index,
    words: tuple[str, ...],
) -> Index:
    """Return which of `words` each text in the buffer is, −1 where it is none (`size` −1: there is no text)."""
    offsets = np.append(0, np.cumsum(np.maximum(size, 0)))
    text = np.empty(int(offsets[-1]), np.uint8)
    reading.copy_lists(buffer, np.where(size < 0, 0, position), offsets, text)
    found = pa.Array.from_buffers(
        pa.large_binary(), len(position), [None, pa.py_buffer(offsets), pa.py_buffer(text)]
    )
    # Binary, not text: bytes of a damaged file need not be UTF-8.
    known = pa.array([word.encode() for word in words], pa.large_binary())
    codes = pc.index_in(found, known).fill_null(-1).to_numpy(zero_copy_only=False)
    return np.where(size < 0, -1, codes)
