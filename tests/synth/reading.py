"""How the tests read generated files: with the standard library alone."""

from __future__ import annotations

import csv
import gzip
import hashlib
from pathlib import Path


def read_lines(path: Path) -> list[str]:
    """Return the lines of one file."""
    text = gzip.decompress(path.read_bytes())
    return text.decode().splitlines()


def read_rows(folder: Path, table: str) -> list[list[str]]:
    """Return the rows of one table of 2011."""
    rows: list[list[str]] = []
    for path in sorted(folder.glob(f"{table}/part-*")):
        rows += csv.reader(read_lines(path))
    return rows


def digests(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of all files but Parquet."""
    digest_of: dict[str, str] = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.suffix != ".parquet":
            name = str(path.relative_to(folder))
            digest_of[name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return digest_of
