"""Folders of aggregates that are computed once per store and kept beside it, or in the user's cache."""

import hashlib
import shutil
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from borgtrace.storage import is_writable, replacing_once, user_cache
from borgtrace.store.store import Store


def kept_folder(store: Store, kind: str, version: str, build: Callable[[Path], None]) -> Path:
    """Return the folder of some aggregates of a store, built first where there is none.

    Parameters
    ----------
    store
        An open store.
    kind
        What is kept: the beginning of the folder's name.
    version
        Of the code that defines it: what another version kept is not read.
    build
        Fills an empty folder.
    """
    name = f"{kind}-{store.digest[:16]}-{version}"
    places = [store.layout.cache, user_cache()]
    for place in places:
        if (place / name).is_dir():
            return place / name
    place = next(filter(is_writable, places), None) or Path(tempfile.mkdtemp(prefix="borgtrace-"))
    with replacing_once(place / name) as draft:
        draft.mkdir()
        build(draft)
    _remove_others(store, place, kind, place / name)
    return place / name


def version_of(packages: Iterable[Path]) -> str:
    """Return a digest of the modules and declarations of some packages, given by their folders.

    Read as files: to import them takes longer than a first page may.
    """
    digest = hashlib.sha256()
    files = (path for package in packages for path in sorted(package.iterdir()))
    for path in (path for path in files if path.suffix in (".py", ".columns")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:8]


def _remove_others(store: Store, place: Path, kind: str, kept: Path) -> None:
    """Remove what was kept of an earlier state of the store; other stores share the user's cache and theirs stays."""
    if place == store.layout.cache:
        for other in place.glob(f"{kind}-*"):
            if other != kept and other.is_dir():
                shutil.rmtree(other, ignore_errors=True)
