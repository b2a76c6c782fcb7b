"""Small files of own data and what is read back from the store that they make."""

from __future__ import annotations

import hashlib

import borgtrace
from borgtrace.ingest import IngestOptions, ingest

AVERAGES = """\
clock = "relative"
step = "300s"
[usage]
task = "task"
time = { column = "time", unit = "s" }
cpu = { column = "cpu", unit = "cores", kind = "average" }
"""


def hashed(name):
    """Return the id of a name: the last eight bytes of its MD5, least first, without the sign."""
    return int.from_bytes(hashlib.md5(name.encode()).digest()[8:], "little") % 2**63


def ingest_own(
    folder,
    declaration,
    files,
    capacity="8cores",
):
    """Write files and their declaration, ingest them, and return the opened store."""
    (folder / "own.toml").write_text(declaration)
    for name, content in files.items():
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    options = IngestOptions(
        jobs=1,
        dialect=str(folder / "own.toml"),
        capacity=capacity,
    )
    ingest([folder / name for name in files], folder / "store", options)
    return borgtrace.open(folder / "store")


def rows(
    store,
    table,
    columns,
    where="true",
):
    """Return chosen columns of a table as tuples, in its order."""
    found = store.sql(f"select {columns} from {table} where {where} order by all").to_pylist()
    return [tuple(row.values()) for row in found]
