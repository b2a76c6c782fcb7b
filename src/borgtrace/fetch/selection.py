"""Which tables and which parts of a trace are wanted."""

from __future__ import annotations

from collections.abc import Sequence

from borgtrace.errors import UsageError
from borgtrace.fetch.bucket import WHOLE_TABLES, Bucket
from borgtrace.schema.dialects import GOOGLE_2011
from borgtrace.schema.ranges import ALL, Numbers


def select_tables(bucket: Bucket, names: Sequence[str]) -> list[str]:
    """Return the raw tables meant by ``names`` (raw or canonical), in the bucket's order; all if empty.

    Raises
    ------
    UsageError
        A name that this generation does not have.

    Examples
    --------
    >>> from borgtrace.fetch.bucket import Bucket
    >>> select_tables(Bucket("2011", "", "csv"), ["instance_events", "machine_events"])
    ['machine_events', 'task_events']
    """
    wanted = {_raw_name(bucket, name) for name in names} or set(bucket.tables)
    return [table for table in bucket.tables if table in wanted]


def _raw_name(bucket: Bucket, name: str) -> str:
    if bucket.generation == "2011":
        canonical = {raw.table: raw.name for raw in GOOGLE_2011.tables.values()}
        name = canonical.get(name, name)
    elif name == "instance_constraints":
        name = "instance_events"
    if name not in bucket.tables:
        raise UsageError(
            "--tables", f"{bucket.generation} has no such table", expected=", ".join(bucket.tables), got=name
        )
    return name


def parts_of(bucket: Bucket, table: str, parts: Numbers) -> Numbers:
    """Return the parts wanted of one table: small tables always come whole."""
    return ALL if table in WHOLE_TABLES else parts
