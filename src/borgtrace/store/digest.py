"""The digest of a store: one number for all its tables."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path


def store_digest(files: Iterable[tuple[str, str]]) -> str:
    """Return the SHA-256 over sorted (path within the store, SHA-256) pairs.

    Examples
    --------
    >>> store_digest([("b", "2"), ("a", "1")]) == store_digest([("a", "1"), ("b", "2")])
    True
    """
    digest = hashlib.sha256()
    for name, content in sorted(files):
        digest.update(f"{name} {content}\n".encode())
    return digest.hexdigest()


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
