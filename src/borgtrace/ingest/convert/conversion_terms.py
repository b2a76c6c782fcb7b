"""Terms that the queries of converted rows share: ids of names, the store's clock, shares of a machine.

All of them read the views that :mod:`borgtrace.ingest.convert.conversion` shows: ``usage_rows``, ``task_rows``,
``whole_tasks`` and ``machine_rows``, whose columns are declared in :mod:`borgtrace.schema.records`.
"""

from dataclasses import dataclass, field

from borgtrace.engine.identifiers import literal, number, quoted
from borgtrace.schema.dialects import Conversion
from borgtrace.schema.enums import TERMINAL_EVENTS
from borgtrace.schema.records import RECORDS
from borgtrace.schema.records.shared_columns import MOST_BYTES, MOST_CORES
from borgtrace.schema.time import TRACE_START

TASK_NAMES_SQL = """
    SELECT task FROM usage_rows
    UNION ALL SELECT task FROM task_rows
    UNION ALL SELECT task FROM whole_tasks
"""
MACHINE_NAMES_SQL = " UNION ALL ".join(
    f"SELECT machine, source_part, source_row FROM {quoted(name)}"
    for name, record in RECORDS.items()
    if "machine" in record.names
)
TERMINAL_SQL = ", ".join(literal(event) for event in TERMINAL_EVENTS)
STARTED_SQL = "coalesce(start, submit + wait)"
"""When a row of `task_rows` says that its attempt started."""
STOPPED_SQL = f"""
    CASE WHEN "end" < coalesce({STARTED_SQL}, submit) THEN {STARTED_SQL} + run
         ELSE coalesce("end", {STARTED_SQL} + run) END
"""
"""When it stopped: an end before the start is of a clock that was put back, so its length counts; NULL without one."""
HAS_NO_TIME_SQL = "coalesce(submit, start) IS NULL"
HAS_EARLY_END_SQL = f'"end" < coalesce({STARTED_SQL}, submit) AND ({STOPPED_SQL}) IS NULL'
FIRST_ROW_SQL = (
    "min(source_part) AS source_part, arg_min(source_row, (source_part, source_row)) AS source_row"
)
"""Where the first of several rows is from."""


@dataclass(frozen=True, slots=True)
class Basis:
    """The units of a converted store.

    Parameters
    ----------
    cores, bytes, megahertz
        CPU and memory of the largest machine; None where nothing says it.
    zero
        The time in the files, in µs, that is 600 s on the store's clock.
    """

    cores: float | None = None
    bytes: float | None = None
    zero: int = 0
    megahertz: float | None = None


@dataclass(frozen=True, slots=True)
class Terms:
    """How a set of files is converted.

    Parameters
    ----------
    conversion
        What the format declares.
    basis
        What the numbers of the store mean.
    fills
        Kinds of rows there are, each with the columns that any of its files fills.
    unknown_sizes
        Resources of which nobody says how much a machine has: amounts are fractions of the largest one in a row.
    counters
        What was left out while rows were put together, by reason.
    notes
        Sentences about what was derived meanwhile.
    has_long_windows
        Whether any window is longer than a slot of the store, and all such are cut.
    """

    conversion: Conversion
    basis: Basis
    fills: dict[str, frozenset[str]]
    unknown_sizes: frozenset[str] = frozenset()
    counters: dict[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    has_long_windows: bool = False

    def has(self, kind: str, column: str = "") -> bool:
        """Whether there are files of a kind of rows, and any of them fills a column."""
        if kind not in self.fills:
            return False
        return not column or column in self.fills[kind]

    @property
    def has_requests_in_usage(self) -> bool:
        """Whether rows of usage say what their task requests at that time."""
        requests = ("cpu_request", "memory_request", "priority")
        return any(self.has("usage_rows", column) for column in requests)

    @property
    def has_lives(self) -> bool:
        """Whether files say when tasks were submitted or started."""
        return self.has("task_rows", "submit") or self.has("task_rows", "start")

    def time_sql(self, time_sql: str) -> str:
        """Write a time on the store's clock."""
        shift = self.basis.zero - TRACE_START
        return f"({time_sql} - {number(shift)})"

    def begun_sql(self, time_sql: str) -> str:
        """Write the time at which something began: everything present at the first instant began before it."""
        known_sql = self.time_sql(time_sql)
        if self.conversion.first is None:
            return known_sql
        first_sql = number(self.conversion.first)
        return f"CASE WHEN {time_sql} > {first_sql} THEN {known_sql} ELSE 0 * {time_sql} END"

    def fraction_sql(self, amount_sql: str, resource: str) -> str:
        """Write cores or bytes as a fraction of the largest machine."""
        whole = self.basis.cores if resource == "cpu" else self.basis.bytes
        if resource in self.conversion.shares or not whole:
            return f"({amount_sql})"
        return f"({amount_sql} / {number(whole)})"

    def limit_sql(self, resource: str) -> str:
        """Write the limit of a resource as a fraction of the largest machine.

        Zero, −1 and numbers that no machine has, such as 2⁶³ − 1, all stand for none: systems differ in that.
        """
        limit_sql = quoted(f"{resource}_limit")
        most_sql = number(MOST_CORES if resource == "cpu" else MOST_BYTES)
        is_limit_sql = f"{limit_sql} > 0 AND {limit_sql} <= {most_sql}"
        return self.fraction_sql(f"CASE WHEN {is_limit_sql} THEN {limit_sql} END", resource)


def id_sql(name_sql: str) -> str:
    """Write the id of a name: a whole number is its own, anything else becomes 63 bits of its MD5.

    Examples
    --------
    >>> import duckdb
    >>> duckdb.sql(f"SELECT {id_sql('x')} FROM (VALUES ('7'), ('web')) t(x)").fetchall()
    [(7,), (2096432489957738946,)]
    """
    is_number_sql = f"regexp_full_match({name_sql}, '0|[1-9][0-9]{{0,17}}')"
    hash_sql = f"CAST(md5_number_lower({name_sql}) & {2**63 - 1} AS BIGINT)"
    return f"CASE WHEN {is_number_sql} THEN TRY_CAST({name_sql} AS BIGINT) ELSE {hash_sql} END"
