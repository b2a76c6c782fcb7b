"""How the tests read generated files: with the standard library alone."""

from __future__ import annotations

import csv
import gzip
import hashlib
from pathlib import Path


def read_lines(path: Path) -> list[str]:
    """Return the lines of one file."""
    return gzip.decompress(path.read_bytes()).decode().splitlines()


def read_rows(folder: Path, table: str) -> list[list[str]]:
    """Return the rows of one table of 2011."""
    parts = sorted(folder.glob(f"{table}/part-*"))
    return [row for path in parts for row in csv.reader(read_lines(path))]


def digests(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of all files but Parquet."""
    files = sorted(p for p in folder.rglob("*") if p.is_file() and p.suffix != ".parquet")
    return {str(p.relative_to(folder)): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}
