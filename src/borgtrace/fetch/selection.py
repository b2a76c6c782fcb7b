"""Which tables and which parts of a trace are wanted."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from borgtrace.errors import UsageError
from borgtrace.fetch.bucket import WHOLE_TABLES, Bucket
from borgtrace.schema import RAW_2011


@dataclass(frozen=True, slots=True)
class Parts:
    """A set of part numbers as sorted, disjoint, inclusive ranges; ``None`` means all of them.

    Examples
    --------
    >>> parse_parts("0-2,7").below(500)
    [0, 1, 2, 7]
    >>> parse_parts("all").below(3)
    [0, 1, 2]
    """

    ranges: tuple[tuple[int, int], ...] | None = None

    def numbers(self, end: int) -> Iterator[int]:
        """Yield the wanted numbers below ``end``."""
        ranges = ((0, end - 1),) if self.ranges is None else self.ranges
        return (part for low, high in ranges for part in range(low, min(high + 1, end)))

    def below(self, n_parts: int) -> list[int]:
        """Return the wanted numbers below ``n_parts``."""
        return list(self.numbers(n_parts))


ALL_PARTS = Parts()


def parse_parts(text: str) -> Parts:
    """Read ``0-9``, ``3``, ``0-4,10-14`` or ``all``.

    Raises
    ------
    UsageError
        The text is none of these, or a range runs backwards.
    """
    if text.strip().lower() == "all":
        return ALL_PARTS
    ranges = [_range(word.strip(), text) for word in text.split(",")]
    return Parts(tuple(_merge(sorted(ranges))))


def _range(word: str, text: str) -> tuple[int, int]:
    match = re.fullmatch(r"(\d{1,12})(?:-(\d{1,12}))?", word)
    if match:
        low, high = int(match[1]), int(match[2] or match[1])
        if low <= high:
            return low, high
    raise UsageError(
        "--parts", "not a set of part numbers", expected="such as 0-9, 0-4,10 or all", got=text or "nothing"
    )


def _merge(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged = [ranges[0]]
    for low, high in ranges[1:]:
        if low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return merged


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
        canonical = {raw.table: raw.name for raw in RAW_2011.values()}
        name = canonical.get(name, name)
    elif name == "instance_constraints":
        name = "instance_events"
    if name not in bucket.tables:
        raise UsageError(
            "--tables", f"{bucket.generation} has no such table", expected=", ".join(bucket.tables), got=name
        )
    return name


def parts_of(bucket: Bucket, table: str, parts: Parts) -> Parts:
    """Return the parts wanted of one table: small tables always come whole."""
    return ALL_PARTS if table in WHOLE_TABLES else parts
