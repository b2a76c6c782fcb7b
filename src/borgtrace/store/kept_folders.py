"""Folders of aggregates that are computed once, and believed only where this user has sealed them.

A store may come from anybody, and its cache with it. So a kept folder has a seal: the digests of its files, what they
were made from, and an HMAC of both with this user's secret. A folder whose seal is another's, whose files have changed
or that was made from other files is computed again.
"""

import fcntl
import hashlib
import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path

from borgtrace.storage import (
    INCOMPLETE,
    incomplete_path,
    is_writable,
    read_text,
    remove,
    replacing_once,
    scratch_folder,
    write_file,
)
from borgtrace.storage.user_key import user_key
from borgtrace.store.digest import file_digests
from borgtrace.store.file_changes import changed_files
from borgtrace.store.seals import SEAL, is_of_another_signer, seal_text, sealed_files

_COMPUTES = (".py", ".sql", ".csv")
"""Files that decide what is computed."""
_READERS = 4
"""Files whose digests are computed at a time."""
LONGEST_BUILD = 86_400
"""Seconds after which a draft is taken for a leftover of a process that was killed."""
_ABANDONED = 30 * 86_400
"""Seconds after which what was sealed with another secret is replaced: the secret may be lost."""
_PATIENCE_S = 5
"""Seconds to wait for another to judge and move a folder, which takes milliseconds."""
_POLL_S = 0.005
Build = Callable[[Path], None]


@dataclass(frozen=True, slots=True)
class Keeper:
    """Where aggregates of some files are kept.

    Parameters
    ----------
    places
        Folders, the preferred one first.
    origin
        Digest of what the aggregates are made from: all bytes of the files, so that nobody else's can have it.
    expect_current
        Makes a block in which an aggregate is built: it refuses what was built from files that have been replaced.
    """

    places: tuple[Path, ...]
    origin: str
    expect_current: Callable[[], AbstractContextManager[None]] = nullcontext

    def name(self, kind: str, version: str) -> str:
        """Return the name of a kept folder."""
        return f"{kind}-{self.origin[:16]}-{version}"

    def find(self, kind: str, version: str) -> Path | None:
        """Return the folder of an aggregate that this user has kept and that is whole; None where there is none.

        Parameters
        ----------
        kind
            What is kept: the beginning of the folder's name.
        version
            Version of the code that defines it: what another version kept is not read.
        """
        name = self.name(kind, version)
        for place in self.places:
            if _is_believed(place / name, self.origin):
                return place / name
        return None

    def keep(self, kind: str, version: str, build: Build) -> Path | None:
        """Build an aggregate and keep it in the first place that is this user's to write to; None where there is none.

        Parameters
        ----------
        kind, version
            As for :meth:`find`.
        build
            Fills an empty folder.

        Raises
        ------
        StoreError
            What it is made from was replaced meanwhile: then nothing is kept.
        """
        with self.expect_current():
            return self._keep(kind, version, build)

    def _keep(self, kind: str, version: str, build: Build) -> Path | None:
        key = user_key()
        name = self.name(kind, version)
        place = self._place_for(name)
        # Without a secret nothing that is kept could be believed later.
        if key is None or place is None:
            return None
        folder = place / name
        with replacing_once(folder) as draft:
            draft.mkdir()
            # Before it is sealed.
            with self.expect_current():
                build(draft)
            _seal(draft, name, self.origin, key)
            with _alone_in(place):
                # Another thread or process may have kept it meanwhile: then its folder stays.  What is not there when
                # this is asked may be there in the next moment, and is not moved.
                if folder.exists() and not _is_believed(folder, self.origin):
                    _move_away(folder)
        # Others share the user's cache, and what they keep there stays.
        if place == self.places[0]:
            self._remove_earlier(kind, folder)
        return folder

    def find_or_keep(self, kind: str, version: str, build: Build) -> Path:
        """Return the folder of an aggregate: kept before, kept now, or made for this process alone."""
        folder = self.find(kind, version) or self.keep(kind, version, build)
        if folder is None:
            folder = scratch_folder() / "kept" / self.name(kind, version)
            if not folder.exists():
                with replacing_once(folder) as draft:
                    draft.mkdir()
                    with self.expect_current():
                        build(draft)
        return folder

    def _remove_earlier(self, kind: str, current: Path) -> None:
        """Remove the folders of a kind beside the current one: those of an earlier state of the files."""
        for folder in current.parent.glob(f"{kind}-*"):
            if folder != current and folder.is_dir() and not _is_being_built(folder):
                remove(folder)

    def _place_for(self, name: str) -> Path | None:
        for place in self.places:
            # A link could lead anywhere, and a store may bring one.
            if not place.is_symlink() and is_writable(place) and _is_free(place / name):
                return place
        return None


def _is_being_built(folder: Path) -> bool:
    """Whether a folder is a draft that another thread or process may still be writing, or has just given its name."""
    if not folder.name.endswith(INCOMPLETE):
        return False
    try:
        changed = folder.stat().st_mtime
    except FileNotFoundError:
        return True
    return time.time() - changed < LONGEST_BUILD


def _is_free(folder: Path) -> bool:
    """Whether nothing is in the way of a folder but what this user keeps: what others keep is theirs.

    Others have another user id, or another secret: two containers with homes of their own may share a store, and each
    would move away what the other is reading.  What nobody has made anew for long is in nobody's way.
    """
    try:
        found = folder.lstat()
    except OSError:
        return True
    if found.st_uid != os.getuid():
        return False
    try:
        seal = read_text(folder / SEAL)
    except (OSError, ValueError):
        return True
    return not is_of_another_signer(seal) or time.time() - found.st_mtime > _ABANDONED


@contextmanager
def _alone_in(place: Path) -> Iterator[None]:
    """Let one thread or process at a time judge and move what lies in a folder.

    Two that found the same damage would else move it away in turn, the second what the first had put there.
    """
    descriptor = os.open(place, os.O_RDONLY | os.O_DIRECTORY)
    try:
        # Not for ever: whoever may read the folder can lock it.  Some file systems lock no folders at all.
        end = time.monotonic() + _PATIENCE_S
        while time.monotonic() < end:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                time.sleep(_POLL_S)
            except OSError:
                break
            else:
                break
        yield
    finally:
        os.close(descriptor)


def _move_away(folder: Path) -> None:
    """Remove a folder in one step, as seen by a process that looks for it."""
    old = incomplete_path(folder.with_name(f"{folder.name}.old"))
    remove(old)
    # It may be gone already: another thread keeps the same folder at the same time.
    with suppress(FileNotFoundError):
        folder.rename(old)
    remove(old)


def _seal(folder: Path, name: str, origin: str, key: bytes) -> None:
    files = file_digests(_files(folder), _READERS)
    write_file(folder / SEAL, seal_text(name, origin, files, key))


def _is_believed(folder: Path, origin: str) -> bool:
    """Whether this user has sealed a folder for its name and origin, and its files are as they were then."""
    try:
        text = read_text(folder / SEAL)
    except (OSError, ValueError):
        return False
    files = sealed_files(text, folder.name, origin)
    if files is None:
        return False
    present = _files(folder)
    present.pop(SEAL, None)
    return present.keys() == files.keys() and not changed_files(folder, files)


def _files(folder: Path) -> dict[str, Path]:
    """Return the files below a folder by their path in it."""
    paths = sorted(path for path in folder.rglob("*") if not path.is_dir())
    return {path.relative_to(folder).as_posix(): path for path in paths}


def code_digest(packages: Iterable[Path]) -> str:
    """Return a digest of the modules of some packages, given by their folders, and of the SQL and tables beside them.

    Read as files: importing them takes longer than a first page may.
    """
    digest = hashlib.sha256()
    for package in packages:
        for path in sorted(package.iterdir()):
            if path.suffix in _COMPUTES:
                digest.update(path.read_bytes())
    return digest.hexdigest()[:8]
