"""Write and read NPZ: flat arrays and CSR offsets, stored without compression so that they can be memory-mapped.

Members: ``data`` (points, features; NaN where nothing was measured), ``mask``, ``offsets``, the numbers of
:data:`~borgtrace.datasets.formats.arrays.IDENTITY`, static numbers under their own names, static words as
positions in ``<name>_words`` (−1: unknown).  ``np.load`` reads them; :func:`read` maps them.
"""

import struct
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from borgtrace.datasets.formats.arrays import FeatureNames, TraceArrays, concatenated, trace_columns
from borgtrace.storage import open_regular, require_regular

SERIES = "data"
MASK = "mask"
OFFSETS = "offsets"
# The earliest time that zip knows: files of equal content are equal bytes.
_EPOCH = (1980, 1, 1, 0, 0, 0)
# A cache line, and what NumPy rounds its own header to.
_ALIGNMENT = 64
_LOCAL_HEADER = 30
_ZIP64_EXTRA = 20
_EXTRA_HEADER = 4
# Readers skip extra fields whose id they do not know.
_PADDING_ID = 0xB0B0
Array = NDArray[Any]


def write(
    path: Path,
    names: FeatureNames,
    parts: Iterable[TraceArrays],
    *,
    is_compressed: bool = False,
) -> int:
    """Write one file; return the number of traces.  A compressed file cannot be mapped."""
    # Copied, because the next part overwrites the last.
    copies = [part.copy() for part in parts]
    traces = concatenated(copies, names)
    method = zipfile.ZIP_DEFLATED if is_compressed else zipfile.ZIP_STORED
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, array in members_of(traces, names).items():
            info = zipfile.ZipInfo(f"{name}.npy", _EPOCH)
            info.compress_type = method
            pad_header(archive, info)
            # Always the extra field of ZIP64: `pad_header` has to know the size of the header before the data.
            with archive.open(info, "w", force_zip64=True) as member:
                npy.write_array(
                    member,
                    array,
                    version=(1, 0),
                    allow_pickle=False,
                )
    return len(traces)


def read(
    path: Path,
    names: FeatureNames,
    *,
    is_verified: bool = True,
) -> TraceArrays:
    """Map one file; zip's check sums are verified when a file is compressed, and cannot be when mapped."""
    arrays = {}
    with zipfile.ZipFile(require_regular(path)) as archive:
        for info in archive.infolist():
            name = info.filename.removesuffix(".npy")
            arrays[name] = map_member(path, archive, info)
    columns = trace_columns(arrays, names, len(arrays[OFFSETS]) - 1)
    return TraceArrays(
        offsets=arrays[OFFSETS],
        values=arrays[SERIES],
        mask=arrays[MASK],
        identity=columns.identity,
        numbers=columns.numbers,
        codes=columns.codes,
    )


def members_of(traces: TraceArrays, names: FeatureNames) -> dict[str, Array]:
    """Return the arrays of a file, in its order."""
    members: dict[str, Array] = {
        SERIES: traces.values,
        MASK: traces.mask,
        OFFSETS: traces.offsets,
        **traces.columns(names),
    }
    for (name, words), codes in zip(names.words.items(), traces.codes.T, strict=True):
        members[name] = codes
        members[f"{name}_words"] = np.array(words, np.str_)
    return members


def pad_header(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> None:
    """Pad the local header so that the array, whose own header is a multiple of 64, is aligned in memory."""
    if archive.fp is None:
        raise ValueError("the archive is closed")
    name = info.filename.encode()
    header = _LOCAL_HEADER + len(name) + _ZIP64_EXTRA + _EXTRA_HEADER
    padding = -(archive.fp.tell() + header) % _ALIGNMENT
    info.extra = struct.pack("<HH", _PADDING_ID, padding) + bytes(padding)


def map_member(
    path: Path,
    archive: zipfile.ZipFile,
    info: zipfile.ZipInfo,
) -> Array:
    """Map one array of a file, or read it where it cannot be mapped."""
    with archive.open(info) as member:
        npy.read_magic(member)
        shape, _, dtype = npy.read_array_header_1_0(member)
        header = member.tell()
    is_stored = info.compress_type == zipfile.ZIP_STORED
    is_empty = not np.prod(shape, dtype=np.int64)
    # An empty array cannot be mapped, and objects must not: their bytes would be taken for addresses.
    if not is_stored or is_empty or dtype.hasobject:
        with archive.open(info) as member:
            return npy.read_array(member, allow_pickle=False)
    offset = data_start(path, info) + header
    return np.asarray(np.memmap(path, dtype, "r", offset, shape))


def data_start(path: Path, info: zipfile.ZipInfo) -> int:
    """Return where the content of a member begins in the file."""
    with open_regular(path) as file:
        file.seek(info.header_offset)
        # From the local header: the directory at the end may give another extra field.
        name, extra = struct.unpack("<26xHH", file.read(_LOCAL_HEADER))
    return int(info.header_offset + _LOCAL_HEADER + name + extra)
