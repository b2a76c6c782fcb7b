"""Paths for engines that read patterns: a file or folder whose path looks like one gets a name that does not.

DuckDB takes ``*``, ``?`` and ``[`` in a path for a pattern, and has no escape that holds whatever the folder beside
is called. So such a path is read through a symbolic link in a folder of this process.
"""

import os
import re
from functools import cache
from pathlib import Path

from borgtrace.errors import EngineError
from borgtrace.storage.remote import RemotePath
from borgtrace.storage.scratch import new_scratch

_PATTERN = re.compile(r"[*?\[\]{}\\]")


def plain_path(path: Path) -> Path:
    """Return a path of the same file or folder that no engine takes for a pattern.

    Parameters
    ----------
    path
        A file or folder of this machine; one of a bucket is returned as it is.

    Raises
    ------
    EngineError
        The temporary folder's own path is a pattern.

    Examples
    --------
    >>> str(plain_path(Path("/data/run1/part-00000.parquet")))
    '/data/run1/part-00000.parquet'
    >>> plain_path(Path("/data/run[1]/part-00000.parquet")).name
    'part-00000.parquet'
    """
    if isinstance(path, RemotePath) or not _PATTERN.search(str(path)):
        return path
    if _PATTERN.search(path.name):
        return _link_to(path.absolute(), os.getpid())
    # One link to a folder serves all of its files.
    return _link_to(path.parent.absolute(), os.getpid()) / path.name


@cache
def _link_to(path: Path, process: int) -> Path:
    """Return a link to a path; each process has its own, since it removes them when it ends."""
    # Engines tell formats by the suffix, which has to stay.
    suffix = "".join(path.suffixes)
    name = "link" if _PATTERN.search(suffix) else f"link{suffix}"
    folder = new_scratch("links")
    if _PATTERN.search(str(folder)):
        raise EngineError(
            str(folder.parent.parent),
            "the temporary folder cannot hold links to files",
            expected="a path without * ? [ ] { } \\",
            way_out="set TMPDIR to another folder",
        )
    folder.mkdir()
    link = folder / name
    link.symlink_to(path)
    return link
