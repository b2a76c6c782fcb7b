"""File formats of datasets: each module writes parts of a set to one file and reads them back."""

from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

from borgtrace.datasets.formats import npz, parquet, tfrecord
from borgtrace.datasets.formats.arrays import FeatureNames, TraceArrays


class Format(Protocol):
    """What a module of this package offers."""

    def write(
        self,
        path: Path,
        names: FeatureNames,
        parts: Iterable[TraceArrays],
        *,
        is_compressed: bool = False,
    ) -> int:
        """Write one file; return the number of traces."""

    def read(
        self,
        path: Path,
        names: FeatureNames,
        *,
        is_verified: bool = True,
    ) -> TraceArrays:
        """Read one file."""


FORMATS: dict[str, Format] = {
    "tfrecord": tfrecord,
    "parquet": parquet,
    "npz": npz,
}


def suffix_of(name: str, *, is_compressed: bool) -> str:
    """Return the ending of a format's files.

    Examples
    --------
    >>> suffix_of("tfrecord", is_compressed=True), suffix_of("parquet", is_compressed=True)
    ('.tfrecord.gz', '.parquet')
    """
    return f".{name}.gz" if name == "tfrecord" and is_compressed else f".{name}"
