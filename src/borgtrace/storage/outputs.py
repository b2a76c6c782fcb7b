"""Outputs in a bucket: made on this machine, then copied there, the file that completes them last.

A bucket has no rename, so a reader may see half of a folder; the file that comes last tells that it is whole. Arrow
offers no conditional put: of two processes that write to one place at a time the later one wins.
"""

import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory

from borgtrace.storage.remote import RemotePath, translate_bucket_errors
from borgtrace.storage.scratch import scratch_folder

_TURNS = {
    # Without it, files of a synthetic trace look like Google's.
    "truth.json": -1,
    # Without these a store, a dataset and an export are none.
    "manifest.json": 1,
    "meta.json": 2,
    "index.csv": 3,
}
"""Files that are copied before or after all others, whose turn is 0."""
_UPLOADS_AT_ONCE = 8
_CHUNK = 1 << 23


@contextmanager
def uploading(out: RemotePath) -> Iterator[Path]:
    """Yield a local path; what was written there is copied to `out` when the block ends without an error."""
    with TemporaryDirectory(dir=scratch_folder()) as folder:
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
        put_file(source, out)
        return
    names = sorted(path.relative_to(source) for path in source.rglob("*") if path.is_file())
    with ThreadPoolExecutor(_UPLOADS_AT_ONCE) as pool:
        for _, names_of_turn in groupby(sorted(names, key=_turn), _turn):
            list(pool.map(lambda name: put_file(source / name, out / name), names_of_turn))


def download(source: RemotePath, out: Path) -> None:
    """Copy all files of a folder of a bucket into a folder of this machine; nothing where there is no such folder.

    Raises
    ------
    StoreError
        The bucket cannot be read.
    """
    from pyarrow.fs import LocalFileSystem, copy_files

    if not source.exists():
        return
    out.mkdir(parents=True, exist_ok=True)
    system, path = source.located
    with translate_bucket_errors(source):
        copy_files(
            path,
            str(out),
            source_filesystem=system,
            destination_filesystem=LocalFileSystem(),
        )


def _turn(name: Path) -> int:
    return _TURNS.get(str(name), 0)


def put_file(source: Path, out: RemotePath) -> None:
    """Copy one file into a bucket."""
    system, path = out.located
    # Without compression: by the name `.gz` Arrow would compress what is compressed already.
    with (
        translate_bucket_errors(out),
        source.open("rb") as file,
        system.open_output_stream(path, compression=None) as copy,
    ):
        shutil.copyfileobj(file, copy, _CHUNK)
