"""Folders of aggregates that are computed once per store and kept beside it, or in the user's cache."""

import hashlib
import shutil
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from borgtrace.storage import is_writable, replacing_once, scratch_folder, user_cache
from borgtrace.store.store import Store


def cached_folder(
    store: Store,
    kind: str,
    version: str,
    build: Callable[[Path], None],
) -> Path:
    """Return the folder of some aggregates of a store, built first where there is none.

    Parameters
    ----------
    store
        An open store.
    kind
        What is cached: the beginning of the folder's name.
    version
        Version of the code that defines it: what another version cached is not read.
    build
        Fills an empty folder.
    """
    name = f"{kind}-{store.digest[:16]}-{version}"
    caches = [store.layout.cache, user_cache()]
    for cache in caches:
        if (cache / name).is_dir():
            return cache / name
    cache = _first_writable(caches)
    folder = cache / name
    with replacing_once(folder) as draft:
        draft.mkdir()
        build(draft)
    # Other stores share the user's cache, and theirs stays.
    if cache == store.layout.cache:
        remove_others(cache, kind, folder)
    return folder


def _first_writable(folders: Iterable[Path]) -> Path:
    """Return the first folder that can be written to, or a new temporary one."""
    for folder in folders:
        if is_writable(folder):
            return folder
    return Path(tempfile.mkdtemp(dir=scratch_folder()))


def code_digest(packages: Iterable[Path]) -> str:
    """Return a digest of the modules of some packages, given by their folders.

    Read as files: importing them takes longer than a first page may.
    """
    digest = hashlib.sha256()
    for package in packages:
        for path in sorted(package.iterdir()):
            if path.suffix == ".py":
                digest.update(path.read_bytes())
    return digest.hexdigest()[:8]


def remove_others(cache: Path, kind: str, current: Path) -> None:
    """Remove the folders of a kind that are of an earlier state of the store.

    Parameters
    ----------
    cache
        The store's own cache.
    kind
        The beginning of their names.
    current
        The one that stays.
    """
    for folder in cache.glob(f"{kind}-*"):
        if folder != current and folder.is_dir():
            shutil.rmtree(folder, ignore_errors=True)
