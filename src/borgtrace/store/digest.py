"""Digests of files, by which `verify` finds what has changed on disk since it was written."""

import hashlib
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from borgtrace.storage import open_regular


def file_digests(paths: Mapping[str, Path], threads: int = 1) -> dict[str, str]:
    """Return the SHA-256 of each file of a store, by its path in the store (``tasks/part-00000.parquet``).

    Parameters
    ----------
    paths
        Where each file is now, by its path in the store.
    threads
        Files read at a time.
    """
    # Threads suffice: hashlib releases the GIL while it hashes.  A pool of joblib's, which waits by sleeping,
    # takes 20 ms for the two small files of a kept answer.
    with ThreadPoolExecutor(threads) as pool:
        return dict(zip(paths, pool.map(file_digest, paths.values()), strict=True))


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    with open_regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def digest_of_all(parts: Mapping[str, str]) -> str:
    """Return the SHA-256 over names and digests, such as those of all files of a store (the digest of format 1.0).

    Examples
    --------
    >>> digest_of_all({"b": "2", "a": "1"}) == digest_of_all({"a": "1", "b": "2"})
    True
    """
    digest = hashlib.sha256()
    for name, content in sorted(parts.items()):
        digest.update(f"{name} {content}\n".encode())
    return digest.hexdigest()
