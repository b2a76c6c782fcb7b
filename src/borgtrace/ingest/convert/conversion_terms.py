"""What the queries of converted rows share: ids of names, the store's clock, and amounts as shares of a machine."""

from dataclasses import dataclass
from pathlib import Path

from borgtrace.schema.dialects import Conversion
from borgtrace.schema.enums import TERMINAL_EVENTS
from borgtrace.schema.records import RECORDS
from borgtrace.schema.time import TRACE_START

TASK_NAMES = " UNION ALL ".join(
    f"SELECT task FROM {name}" for name in ("usage_rows", "task_rows", "whole_tasks")
)
MACHINE_NAMES = " UNION ALL ".join(
    f"SELECT machine, source_part, source_row FROM {name}" for name in RECORDS
)
TERMINAL = ", ".join(f"'{event}'" for event in TERMINAL_EVENTS)
FIRST_ROW = (
    "min(source_part) AS source_part, arg_min(source_row, (source_part, source_row)) AS source_row"
)
"""Where the first of several rows is from."""


@dataclass(frozen=True, slots=True)
class Basis:
    """What the numbers of a converted store mean.

    Parameters
    ----------
    cores, bytes
        CPU and memory of the largest machine; None where nothing says it.
    zero
        The time in the files, in µs, that is 600 s on the store's clock.
    """

    cores: float | None = None
    bytes: float | None = None
    zero: int = 0


@dataclass(frozen=True, slots=True)
class Terms:
    """How a set of files is converted.

    Parameters
    ----------
    conversion
        What the format says.
    basis
        What the numbers of the store mean.
    fills
        Kinds of rows there are, each with the columns that any of its files fills.
    """

    conversion: Conversion
    basis: Basis
    fills: dict[str, frozenset[str]]

    def has(self, kind: str, column: str = "") -> bool:
        """Whether there are files of a kind of rows, and any of them fills a column."""
        return kind in self.fills and (not column or column in self.fills[kind])

    @property
    def has_lives(self) -> bool:
        """Whether files say when tasks were submitted or started."""
        return any(self.has("task_rows", column) for column in ("submit", "start"))

    def time(self, time: str) -> str:
        """SQL of a time on the store's clock."""
        return f"({time} - {self.basis.zero - TRACE_START})"

    def begun(self, time: str) -> str:
        """SQL of the time at which something began: what is there at the first instant of the trace began before it."""
        known, first = self.time(time), self.conversion.first
        return (
            known
            if first is None
            else f"CASE WHEN {time} > {first} THEN {known} ELSE 0 * {time} END"
        )

    def amount(self, value: str, resource: str) -> str:
        """SQL of cores or bytes as a fraction of the largest machine."""
        if resource in self.conversion.shares:
            return f"({value})"
        whole = self.basis.cores if resource == "cpu" else self.basis.bytes
        return f"({value} / {whole!r})" if whole else f"({value})"


def query_of(name: str, **parts: str) -> str:
    """Return the query of a file of ``conversion_sql``, with its parts in their places."""
    return (
        (Path(__file__).parent / "conversion_sql" / f"{name}.sql")
        .read_text("utf-8")
        .format(**parts)
    )


def id_sql(name: str) -> str:
    """SQL of the id of a name: a whole number is its own, anything else becomes 63 bits of its MD5.

    Examples
    --------
    >>> import duckdb
    >>> duckdb.sql(f"SELECT {id_sql('x')} FROM (VALUES ('7'), ('web')) t(x)").fetchall()
    [(7,), (2096432489957738946,)]
    """
    is_number = f"regexp_full_match({name}, '0|[1-9][0-9]{{0,17}}')"
    hashed = f"CAST(md5_number_lower({name}) & {2**63 - 1} AS BIGINT)"
    return f"CASE WHEN {is_number} THEN TRY_CAST({name} AS BIGINT) ELSE {hashed} END"
