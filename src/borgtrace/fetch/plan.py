"""The plan of a fetch: the files, which of them are missing here, and whether they fit on the disk."""

import shutil
from dataclasses import dataclass
from pathlib import Path

from borgtrace.errors import UsageError
from borgtrace.fetch.bucket import Bucket
from borgtrace.fetch.ledger import arrivals
from borgtrace.fetch.version import Version
from borgtrace.storage import RemotePath


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """One published file.

    Attributes
    ----------
    table, part
        The raw table, and the number of the file in it.
    path
        Where it goes, relative to the folder.
    url
        Where it is.
    version
        What the server says about it.
    """

    table: str
    part: int
    path: str
    url: str
    version: Version


@dataclass(frozen=True, slots=True)
class FetchPlan:
    """What a fetch would do.

    Attributes
    ----------
    bucket
        What is fetched.
    folder
        Where it goes: ``DEST/<name of the bucket>``.
    files
        Every wanted file that exists, in the order of parts.
    todo
        Those of ``files`` that are not here yet (nor in the store already).
    missing
        Paths that ought to exist and do not.
    remaining
        Bytes still to download; what ``.incomplete`` files hold is not counted.
    """

    bucket: Bucket
    folder: Path
    files: tuple[RemoteFile, ...]
    todo: tuple[RemoteFile, ...]
    missing: tuple[str, ...]
    remaining: int

    @property
    def here(self) -> tuple[RemoteFile, ...]:
        """Files that are here already, or in the store."""
        todo = {file.path for file in self.todo}
        return tuple(file for file in self.files if file.path not in todo)

    @property
    def total(self) -> int:
        """Bytes of all wanted files."""
        return sum(file.version.size or 0 for file in self.files)

    @property
    def free(self) -> int:
        """Bytes free on the disk where files arrive."""
        here = arrivals(self.folder)
        for folder in (here, *here.parents):
            if folder.exists():
                return shutil.disk_usage(folder).free
        raise FileNotFoundError(here)

    def check_space(self) -> None:
        """Refuse a fetch that the disk cannot hold.

        Raises
        ------
        UsageError
            More bytes are to come than the disk has free.
        """
        # Files for a bucket are copied on as they come, so the sum of all need not fit.
        is_bucket = isinstance(self.folder, RemotePath)
        if is_bucket or self.remaining <= self.free:
            return
        raise UsageError(
            str(self.folder.parent),
            "the disk is too small",
            expected=f"{self.remaining:,} bytes",
            got=f"{self.free:,} bytes free",
            way_out="choose fewer --parts or --tables, or store part by part: --delete-raw --store store",
        )
