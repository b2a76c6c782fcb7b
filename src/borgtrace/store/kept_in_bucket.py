"""Aggregates that workers make and read in the bucket of a store, believed only where this user has sealed them.

A bucket has no rename and no lock.  So each build has a folder of its own, whose seal is written last; what is read of
it is compared with the digests in the seal, byte for byte.
"""

import hashlib
import hmac
import secrets
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path

from borgtrace.errors import StoreError
from borgtrace.storage import (
    RemotePath,
    open_regular,
    read_text,
    remove,
    replacing,
    translate_bucket_errors,
    user_cache,
    write_file,
)
from borgtrace.storage.remote import short_digest
from borgtrace.storage.user_key import user_key
from borgtrace.store.file_changes import changed_files
from borgtrace.store.kept_folders import LONGEST_BUILD
from borgtrace.store.seals import SEAL, seal_text, sealed_files

PIECES = "pieces"
"""Folder of what a build needs until it is finished."""
_CHUNK = 1 << 23
Build = Callable[[RemotePath], Mapping[str, str]]
"""Fills a folder of a bucket, and returns the SHA-256 of each file that is to be kept."""


@dataclass(frozen=True)
class FolderInBucket:
    """Files of a bucket that are read only as they were written.

    Parameters
    ----------
    folder
        Where they are.
    digests
        SHA-256 of each, by its name.
    """

    folder: RemotePath
    digests: Mapping[str, str]

    def local_copy(self, name: str) -> Path:
        """Return a file as one of this machine: fetched into this user's cache, unless it is there.

        Parameters
        ----------
        name
            Of the file.

        Raises
        ------
        StoreError
            It is gone, has changed, or cannot be read.
        """
        versions = user_cache() / "kept-in-bucket" / short_digest(str(self.folder.parent))
        copies = versions / self.folder.name
        digest = self.digests[name]
        if changed_files(copies, {name: digest}):
            fetch(self.folder / name, digest, copies / name)
            for other in versions.iterdir():
                if other != copies:
                    remove(other)
        return copies / name


def fetch(source: RemotePath, digest: str, target: Path) -> None:
    """Copy a file of a bucket to this machine.

    Parameters
    ----------
    source
        The file.
    digest
        Its SHA-256 when it was written.
    target
        The copy.

    Raises
    ------
    StoreError
        The file is gone, has changed, or cannot be read.
    """
    found = hashlib.sha256()
    with replacing(target) as draft:
        try:
            with (
                translate_bucket_errors(source),
                open_regular(source) as file,
                draft.open("wb") as copy,
            ):
                while chunk := file.read(_CHUNK):
                    found.update(chunk)
                    copy.write(chunk)
        except FileNotFoundError as error:
            raise _unusable(source, "the file is missing", digest, "none") from error
        if found.hexdigest() != digest:
            what = "the file has changed since it was written"
            raise _unusable(source, what, digest, found.hexdigest())


def _unusable(source: RemotePath, what: str, expected: str, got: str) -> StoreError:
    return StoreError(
        str(source),
        what,
        expected=expected[:12],
        got=got[:12],
        way_out="remove its folder, and run the command again",
    )


@dataclass(frozen=True, slots=True)
class BucketKeeper:
    """Where aggregates of a store in a bucket are kept for workers.

    Parameters
    ----------
    place
        Folder of the bucket.
    origin
        Digest of what the aggregates are made from.
    expect_current
        As for :class:`~borgtrace.store.kept_folders.Keeper`.
    """

    place: RemotePath
    origin: str
    expect_current: Callable[[], AbstractContextManager[None]] = nullcontext

    def find(self, kind: str, version: str) -> FolderInBucket | None:
        """Return an aggregate that this user has kept, None where there is none.

        Parameters
        ----------
        kind, version
            What is kept, and the version of the code that defines it.
        """
        start = self._start_of_names(version)
        names = {path.relative_to(self.place / kind).as_posix() for path in self._listing(kind)}
        folders = {name.partition("/")[0] for name in names if name.startswith(start)}
        for name in sorted(folders):
            digests = self._digests(self.place / kind / name)
            if digests is not None and names.issuperset(f"{name}/{file}" for file in digests):
                return FolderInBucket(self.place / kind / name, digests)
        return None

    def new_folder(self, kind: str, version: str) -> RemotePath:
        """Begin a folder for an aggregate.

        Parameters
        ----------
        kind, version
            As for :meth:`find`.

        Raises
        ------
        StoreError
            The bucket cannot be written to.
        """
        folder = self.place / kind / f"{self._start_of_names(version)}{secrets.token_hex(4)}"
        write_file(folder / PIECES / "begun", "The command that writes here has not finished.\n")
        return folder

    def keep(self, folder: RemotePath, build: Build) -> FolderInBucket:
        """Fill a folder and seal it.

        Parameters
        ----------
        folder
            From :meth:`new_folder`; removed where the build fails.
        build
            Fills it.

        Raises
        ------
        StoreError
            What it is made from was replaced meanwhile, or the bucket fails.
        """
        try:
            with self.expect_current():
                digests = build(folder)
            key = user_key()
            # Without a secret nothing that is kept could be believed later: only this run reads it.
            if key is not None:
                write_file(folder / SEAL, seal_text(folder.name, self.origin, digests, key))
            remove(folder / PIECES)
        except BaseException:
            # The bucket may be what failed: a later build removes what stays.
            with suppress(StoreError):
                remove(folder)
            raise
        self._remove_earlier(folder)
        return FolderInBucket(folder, digests)

    def _start_of_names(self, version: str) -> str:
        """Return how the folders of this user begin: others keep their own, which this user does not believe."""
        key = user_key()
        owner = hmac.new(key or b"", b"owner", hashlib.sha256).hexdigest()[:8]
        return f"{owner}-{self.origin[:16]}-{version}-"

    def _listing(self, kind: str) -> dict[RemotePath, int]:
        """Return the time of change, ns, of each file of a kind."""
        entries = (self.place / kind).listing()
        return {path: entry.mtime_ns for path, entry in entries.items() if entry.size is not None}

    def _digests(self, folder: RemotePath) -> dict[str, str] | None:
        try:
            text = read_text(folder / SEAL)
        except (FileNotFoundError, ValueError):
            return None
        return sealed_files(text, folder.name, self.origin)

    def _remove_earlier(self, current: RemotePath) -> None:
        """Remove other folders of this kind and user in which nothing was written for a day: nobody reads them now."""
        kind = current.parent
        owner, _, _ = current.name.partition("-")
        last_change: dict[str, int] = {}
        for path, changed in self._listing(kind.name).items():
            name = path.relative_to(kind).parts[0]
            last_change[name] = max(changed, last_change.get(name, 0))
        oldest = time.time_ns() - LONGEST_BUILD * 10**9
        for name, changed in last_change.items():
            is_own = name.startswith(f"{owner}-")
            if is_own and name != current.name and changed < oldest:
                remove(kind / name)
