"""Write and read TFRecord: one ``tf.train.Example`` per trace, in files that TensorFlow reads natively.

Features of an Example: ``data`` (floats, points × features, row by row; NaN where nothing was measured),
``mask`` (0 or 1 for each of them), the numbers of :data:`~borgtrace.datasets.formats.arrays.IDENTITY`, and the
static features under their own names (a word that is unknown is left out).
"""

import zlib
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

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
from borgtrace.storage import OpenedFile, read_regular

SERIES = "data"
MASK = "mask"
FLOAT_LIST = 2
INT64_LIST = 3
# Tells zlib to write and expect gzip's header; it carries no time, so equal content gives equal bytes.
GZIP = 16 + zlib.MAX_WBITS
_GZIP_SUFFIX = ".gz"
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
    encoder = encoder_of(names.numbers, tuple(names.words.items()))
    compressor = zlib.compressobj(6, zlib.DEFLATED, GZIP) if is_compressed else None
    with path.open("wb") as file:
        for part in parts:
            encoded = encoder.encode(part).data
            # Written before the next part is encoded, which overwrites these bytes.
            file.write(compressor.compress(encoded) if compressor else encoded)
            count += len(part)
        if compressor:
            file.write(compressor.flush())
    return count


def read(
    path: Path,
    names: FeatureNames,
    *,
    is_verified: bool = True,
) -> TraceArrays:
    """Read one file.

    Raises
    ------
    StoreError
        The file is cut short or damaged.
    """
    traces = read_buffered(path, names, is_verified=is_verified)
    width = len(names.series)
    offsets = np.append(0, np.cumsum(traces.lengths))
    # Copied out of the file, where floats lie at any byte.
    values = np.empty((int(offsets[-1]), width), np.float32)
    value_bytes = values.reshape(-1).view(np.uint8)
    reading.copy_lists(traces.buffer, traces.position, 4 * width * offsets, value_bytes)
    return TraceArrays(
        offsets=offsets,
        values=values,
        mask=(~np.isnan(values)).view(np.uint8),
        # The whole numbers lie in memory that the next file will overwrite; the others are new arrays.
        identity=traces.identity.copy(),
        numbers=traces.numbers,
        codes=traces.codes,
    )


def read_buffered(
    path: Path,
    names: FeatureNames,
    *,
    is_verified: bool = True,
    opened: OpenedFile | None = None,
) -> BufferedTraces:
    """Read one file as it is, and find the series in it; the bytes are this thread's reused memory.

    Parameters
    ----------
    path, names
        The file, and what its traces have.
    is_verified
        Whether checksums are checked.
    opened
        The file, where it is open already.

    Raises
    ------
    StoreError
        The file is cut short or damaged.
    """
    buffer = file_bytes(path, opened)
    feature_names = (SERIES, MASK, *IDENTITY, *names.numbers, *names.words)
    # A record lacks words that are unknown.
    n_usual = len(feature_names) - len(names.words)
    places = find_features(path, buffer, feature_names, n_usual, is_verified)
    position = places.position
    size = places.size
    first_number = reading.LISTS + len(IDENTITY)
    codes = [
        read_codes(buffer, position[n_usual + k], size[n_usual + k], words)
        for k, words in enumerate(names.words.values())
    ]
    return BufferedTraces(
        buffer=buffer,
        position=position[0],
        lengths=size[0] // (4 * len(names.series)),
        identity=places.identity,
        numbers=read_numbers(buffer, position[first_number:n_usual]),
        codes=side_by_side(codes, np.int64, len(places.identity)),
    )


class FeaturePlaces(NamedTuple):
    """Where the features of the records of a file lie, in this thread's reused memory.

    Attributes
    ----------
    position, size
        First byte and bytes of each feature in each record, int64 (features, records).
    identity
        Numbers that tell the records apart, int64 (records, 4): see
        :data:`~borgtrace.datasets.formats.arrays.IDENTITY`.
    """

    position: Index
    size: Index
    identity: Index


def find_features(
    path: Path,
    buffer: Buffer,
    feature_names: tuple[str, ...],
    n_usual: int,
    is_verified: bool,
) -> FeaturePlaces:
    """Find the features of each record of a file.

    Parameters
    ----------
    path, buffer
        The file, and its bytes.
    feature_names, n_usual
        All that a record may have, and how many of these each record has.
    is_verified
        Whether checksums are checked.

    Raises
    ------
    StoreError
        The file is cut short or damaged.
    """
    # As many records as there can be: counting them first would read the file twice.
    room = buffer.size // smallest_record(feature_names[:n_usual]) + 1
    position = reused_table("position", len(feature_names), room)
    size = reused_table("size", len(feature_names), room)
    identity = reused_table("identity", room, len(IDENTITY))
    packed_names = pack_names(feature_names)
    count = reading.read_records(
        buffer,
        is_verified,
        packed_names.content,
        packed_names.ends,
        n_usual,
        position,
        size,
        identity,
    )
    if count < 0:
        raise StoreError(
            str(path),
            "damaged",
            expected="a whole record",
            got=f"a bad one at {-1 - count}",
            way_out="build the dataset again",
        )
    return FeaturePlaces(position[:, :count], size[:, :count], identity[:count])


def smallest_record(names: tuple[str, ...]) -> int:
    """Bytes of a framed record that has these features, all empty: each with a tag and a size of five kinds."""
    return records.FRAME + sum(10 + len(name) for name in names)


def reused_table(name: str, rows: int, columns: int) -> Index:
    """Return whole numbers of undefined content in this thread's reused memory."""
    return reused_array(name, rows * columns, np.int64).reshape(rows, columns)


class PackedTexts(NamedTuple):
    """Texts one after the other, and where each ends, from 0."""

    content: Buffer
    ends: Index


class RecordEncoder:
    """Encodes the traces of a dataset; names of features, and all that comes before values, are encoded once.

    Parameters
    ----------
    numbers, words_of
        As in :class:`~borgtrace.datasets.formats.arrays.FeatureNames`.
    """

    def __init__(
        self, numbers: Sequence[str], words_of: Sequence[tuple[str, Sequence[str]]]
    ) -> None:
        self.names = pack([SERIES.encode(), MASK.encode()])
        heads = []
        for name in IDENTITY:
            # Ten for each whole number, because the sizes before it depend on how many bytes it takes.
            for size in range(1, records.VARINT + 1):
                heads.append(list_head(name, INT64_LIST, size))
        for name in numbers:
            heads.append(list_head(name, FLOAT_LIST, 4))
        self.heads = pack(heads)
        entries: list[bytes] = []
        first_entries = []
        for name, words in words_of:
            first_entries.append(len(entries))
            entries += [word_entry(name, word) for word in words]
        self.words = pack(entries)
        self.first_word = np.array(first_entries, np.int64)

    def encode(self, traces: TraceArrays) -> Buffer:
        """Return the framed records of some traces, in this thread's reused memory."""
        # Words of all features are one list for the kernel: each feature's codes are moved to where its words begin.
        codes = np.where(traces.codes < 0, -1, traces.codes + self.first_word)
        offsets = traces.offsets * traces.values.shape[1]
        sizes = np.empty(len(traces), np.int64)
        total = records.measure(
            np.diff(offsets),
            self.names.ends,
            traces.identity,
            self.heads.ends,
            codes,
            self.words.ends,
            sizes,
        )
        encoded = reused_array("records", total, np.uint8)
        records.encode(
            traces.values.reshape(-1).view(np.uint8),
            traces.mask.reshape(-1),
            offsets,
            self.names.content,
            self.names.ends,
            traces.identity,
            traces.numbers.view(np.uint8),
            self.heads.content,
            self.heads.ends,
            codes,
            self.words.content,
            self.words.ends,
            sizes,
            encoded,
        )
        return encoded


@lru_cache(maxsize=1)
def encoder_of(
    numbers: tuple[str, ...], words_of: tuple[tuple[str, tuple[str, ...]], ...]
) -> RecordEncoder:
    """Return the encoder of a dataset: made for each of its files, it took 6 to 10 % of a build."""
    return RecordEncoder(numbers, words_of)


def pack(texts: Sequence[bytes]) -> PackedTexts:
    """Put texts one after the other."""
    content = np.frombuffer(b"".join(texts), np.uint8)
    return PackedTexts(content, np.cumsum([0, *map(len, texts)]))


@lru_cache
def pack_names(names: tuple[str, ...]) -> PackedTexts:
    """Pack names of features; cached, because doing it for each file of a set took a twentieth of an epoch."""
    return pack([name.encode() for name in names])


def word_entry(name: str, word: str) -> bytes:
    """Encode a feature-map entry with a bytes list of one word."""
    value = field(1, field(1, word.encode()))
    return field(1, field(1, name.encode()) + field(2, value))


def list_head(name: str, kind: int, size: int) -> bytes:
    """Encode a feature-map entry with a packed list of `size` bytes, up to where these begin."""
    value = field(kind, field(1, bytes(size)))
    return field(1, field(1, name.encode()) + field(2, value))[:-size]


def field(number: int, content: bytes) -> bytes:
    """Encode a length-delimited field of protobuf."""
    tag = number << 3 | 2
    size = bytearray()
    rest = len(content)
    while rest >= 128:
        size.append(rest & 127 | 128)
        rest >>= 7
    return bytes([tag, *size, rest]) + content


def open_ahead(path: Path, *, was_regular: bool) -> OpenedFile | None:
    """Open a file that :func:`read_buffered` will read; None of one that is compressed, which is read as a stream."""
    if path.suffix == _GZIP_SUFFIX:
        return None
    return OpenedFile(path, was_regular=was_regular)


def file_bytes(path: Path, opened: OpenedFile | None) -> Buffer:
    """Read a whole file, into this thread's reused memory where it is not compressed."""
    if path.suffix == _GZIP_SUFFIX:
        return np.frombuffer(zlib.decompress(read_regular(path), GZIP), np.uint8)
    # Who opened a file closes it.
    with nullcontext(opened) if opened else OpenedFile(path) as file:
        n_read = file.read_into(reused_array("file", file.size, np.uint8).data)
    return reused_array("file", n_read, np.uint8)


def read_numbers(buffer: Buffer, position: Index) -> NDArray[np.float32]:
    """Copy the static numbers of all records, whose positions have shape (numbers, n), as an array (n, numbers)."""
    by_record = position.T
    numbers = np.empty(by_record.shape, np.float32)
    if numbers.size:
        offsets = 4 * np.arange(position.size + 1)
        number_bytes = numbers.reshape(-1).view(np.uint8)
        reading.copy_lists(buffer, by_record.reshape(-1), offsets, number_bytes)
    return numbers


def read_codes(
    buffer: Buffer,
    position: Index,
    size: Index,
    words: tuple[str, ...],
) -> Index:
    """Return which of `words` each text in the buffer is, −1 where it is none (`size` −1: there is no text)."""
    offsets = np.append(0, np.cumsum(np.maximum(size, 0)))
    text = np.empty(int(offsets[-1]), np.uint8)
    reading.copy_lists(buffer, np.where(size < 0, 0, position), offsets, text)
    # Binary, not text: bytes of a damaged file need not be UTF-8.
    texts = pa.Array.from_buffers(
        pa.large_binary(),
        len(position),
        [None, pa.py_buffer(offsets), pa.py_buffer(text)],
    )
    known_words = pa.array([word.encode() for word in words], pa.large_binary())
    codes = pc.index_in(texts, known_words).fill_null(-1).to_numpy(zero_copy_only=False)
    return np.where(size < 0, -1, codes)
