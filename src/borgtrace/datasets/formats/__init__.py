"""File formats of datasets: each module writes parts of a set to one file and reads them back."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

from borgtrace.datasets.formats import npz, parquet, tfrecord
from borgtrace.datasets.formats.arrays import (
    IDENTITY,
    BufferedTraces,
    FeatureNames,
    TraceArrays,
    buffered,
    concatenated,
    empty,
    side_by_side,
)

__all__ = [
    "FORMATS",
    "IDENTITY",
    "BufferedTraces",
    "FeatureNames",
    "Format",
    "TraceArrays",
    "buffered",
    "concatenated",
    "empty",
    "read_buffered",
    "side_by_side",
    "suffix_of",
]


class Format(Protocol):
    """What a module of this package offers."""

    def write(
        self, path: Path, names: FeatureNames, parts: Iterable[TraceArrays], *, is_compressed: bool = False
    ) -> int:
        """Write one file; return the number of traces."""

    def read(self, path: Path, names: FeatureNames, *, is_verified: bool = True) -> TraceArrays:
        """Read one file."""


FORMATS: dict[str, Format] = {"tfrecord": tfrecord, "parquet": parquet, "npz": npz}


def read_buffered(name: str, path: Path, names: FeatureNames, *, is_verified: bool = True) -> BufferedTraces:
    """Read one file of format `name` for batches; valid until the thread reads its next file.

    Parameters
    ----------
    name
        The format.
    path
        The file.
    names
        What each trace has.
    is_verified
        Whether check sums are looked at.
    """
    if name == "tfrecord":  # records are laid into batches from where they are in the file
        return tfrecord.read_buffered(path, names, is_verified=is_verified)
    # Other formats hold values as arrays already.
    return buffered(FORMATS[name].read(path, names, is_verified=is_verified))


def suffix_of(name: str, *, is_compressed: bool) -> str:
    """Return the ending of a format's files.

    Examples
    --------
    >>> suffix_of("tfrecord", is_compressed=True), suffix_of("parquet", is_compressed=True)
    ('.tfrecord.gz', '.parquet')
    """
    return f".{name}.gz" if name == "tfrecord" and is_compressed else f".{name}"
