"""Outputs in a bucket: made on this machine, then copied there, last what says that they are whole.

A bucket has no rename, so a reader may meet half of a folder; it is told by the file that comes last.  Arrow offers no
conditional put: of two that write to one place at a time the later one wins.
"""

import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory

from borgtrace.storage.remote import RemotePath, told

_TURNS = {"truth.json": -1, "manifest.json": 1, "meta.json": 2, "index.csv": 3}
"""Without the first, files of a synthetic trace look like Google's; without the last ones a store, a dataset and an
export are none."""
_FILES = 8
_PIECE = 1 << 23


@contextmanager
def uploading(out: RemotePath) -> Iterator[Path]:
    """Yield a place of this machine; what was written there is copied to `out` when the block ends without an error."""
    with TemporaryDirectory(prefix="borgtrace-") as folder:
        draft = Path(folder) / out.name
        yield draft
        upload(draft, out)


def upload(source: Path, out: RemotePath) -> None:
    """Copy a file or a folder into a bucket.

    Parameters
    ----------
    source
        What is copied; it stays.
    out
        Its name there; what has the same names is replaced.

    Raises
    ------
    StoreError
        The bucket cannot be written to.
    """
    if source.is_file():
        _put(source, out)
        return
    names = sorted(path.relative_to(source) for path in source.rglob("*") if path.is_file())
    with ThreadPoolExecutor(_FILES) as pool:
        for _, together in groupby(sorted(names, key=_turn), _turn):
            list(pool.map(lambda name: _put(source / name, out / name), together))


def download(source: RemotePath, out: Path) -> None:
    """Copy all files of a folder of a bucket into a folder of this machine; where there is none, nothing.

    Raises
    ------
    StoreError
        The bucket cannot be read.
    """
    from pyarrow.fs import LocalFileSystem, copy_files

    if source.exists():
        out.mkdir(parents=True, exist_ok=True)
        system, path = source.located
        with told(source):
            copy_files(
                path, str(out), source_filesystem=system, destination_filesystem=LocalFileSystem()
            )


def _turn(name: Path) -> int:
    return _TURNS.get(str(name), 0)


def _put(source: Path, out: RemotePath) -> None:
    system, path = out.located
    # As it is: by the name `.gz` Arrow would compress what is compressed.
    with (
        told(out),
        source.open("rb") as file,
        system.open_output_stream(path, compression=None) as copy,
    ):
        shutil.copyfileobj(file, copy, _PIECE)
