"""NPZ: flat arrays and CSR offsets, stored without compression so that they can be memory-mapped.

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

from borgtrace.datasets.formats.arrays import FeatureNames, TraceArrays, concatenated, had_once

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
    part = concatenated(
        [part.copy() for part in parts], names
    )  # each part is overwritten by the next
    method = zipfile.ZIP_DEFLATED if is_compressed else zipfile.ZIP_STORED
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, array in _members(part, names).items():
            info = zipfile.ZipInfo(f"{name}.npy", _EPOCH)
            info.compress_type = method
            _align(archive, info)
            # Always the extra field of ZIP64: `_align` has to know the size of the header before the data.
            with archive.open(info, "w", force_zip64=True) as member:
                npy.write_array(member, array, version=(1, 0), allow_pickle=False)
    return len(part)


def read(path: Path, names: FeatureNames, *, is_verified: bool = True) -> TraceArrays:
    """Map one file; zip's check sums are looked at when a file is compressed, and cannot be when mapped."""
    with zipfile.ZipFile(path) as archive:
        arrays = {
            info.filename.removesuffix(".npy"): _mapped(path, archive, info)
            for info in archive.infolist()
        }
    once = had_once(arrays, names, len(arrays[OFFSETS]) - 1)
    return TraceArrays(arrays[OFFSETS], arrays[SERIES], arrays[MASK], *once)


def _members(part: TraceArrays, names: FeatureNames) -> dict[str, Array]:
    members: dict[str, Array] = {
        SERIES: part.values,
        MASK: part.mask,
        OFFSETS: part.offsets,
        **part.columns(names),
    }
    for (name, words), codes in zip(names.words.items(), part.codes.T, strict=True):
        members |= {name: codes, f"{name}_words": np.array(words, np.str_)}
    return members


def _align(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> None:
    """Pad the local header so that the array, whose own header is a multiple of 64, is aligned in memory."""
    if archive.fp is None:
        raise ValueError("the archive is closed")
    header = _LOCAL_HEADER + len(info.filename.encode()) + _ZIP64_EXTRA + _EXTRA_HEADER
    padding = -(archive.fp.tell() + header) % _ALIGNMENT
    info.extra = struct.pack("<HH", _PADDING_ID, padding) + bytes(padding)


def _mapped(path: Path, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Array:
    with archive.open(info) as member:
        npy.read_magic(member)
        shape, _, dtype = npy.read_array_header_1_0(member)
        header = member.tell()
    # An empty array cannot be mapped, and objects must not: their bytes would be taken for addresses.
    if (
        info.compress_type != zipfile.ZIP_STORED
        or dtype.hasobject
        or not np.prod(shape, dtype=np.int64)
    ):
        with archive.open(info) as member:
            return npy.read_array(member, allow_pickle=False)
    return np.asarray(
        np.memmap(
            path,
            dtype,
            "r",
            _data_start(path, info) + header,
            shape,
        )
    )


def _data_start(path: Path, info: zipfile.ZipInfo) -> int:
    with path.open("rb") as file:
        file.seek(info.header_offset)
        # From the local header: the directory at the end may give another extra field.
        name, extra = struct.unpack("<26xHH", file.read(_LOCAL_HEADER))
    return int(info.header_offset + _LOCAL_HEADER + name + extra)
