"""What a layout reads from a store: queries, and the files that their rows go to."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from borgtrace.errors import UsageError
from borgtrace.schema import TERMINAL_EVENTS
from borgtrace.store import Store

FileName = Callable[[int], str]
"""Names the file of a part."""
MACHINES_LEDGER = """
SELECT reason, count(*) AS rows
FROM (
    SELECT CASE WHEN bool_or(cpu_capacity > 0 AND memory_capacity > 0) THEN NULL ELSE 'without a capacity' END AS reason
    FROM machine_events
    WHERE time < 9223372036854775807
    GROUP BY machine_id
)
GROUP BY reason
ORDER BY reason
"""
"""Machines that :file:`machines.sql` returns, and those that it leaves out."""
_MACHINE_COUNT = "\nSELECT count(*) AS n FROM machines"
_FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportQuery:
    """A query, and the files that its rows go to.

    Parameters
    ----------
    sql
        The query.  Its rows are lines of text in a column ``line``, or rows of a Parquet file.  Where it has a column
        ``part``, the rows of each part follow each other and go to a file of their own.
    parameters
        Values of ``$name`` in the query.
    file_name
        Names the file of each part; without parts that of part 0.
    n_files
        Files that are written even if they have no rows: those of parts 0, 1, ….
    head, tail
        Text before and after the lines.
    schema
        Columns of the Parquet file; None for text.
    what, ledger
        What the rows are of, and a query that counts them (``rows``) by the ``reason`` for which they were left out:
        NULL where they were written.  Its column ``cut``, if there is one, counts those that end with the trace.
    """

    sql: str
    file_name: FileName
    parameters: Mapping[str, Any] = field(default_factory=dict)
    n_files: int = 1
    head: str = ""
    tail: str = ""
    schema: pa.Schema | None = None
    what: str = ""
    ledger: str = ""

    def parameters_of(self, sql: str) -> dict[str, Any]:
        """Return those of the parameters that a query has: more than these would be refused."""
        names = re.findall(r"\$(\w+)", sql)
        return {name: value for name, value in self.parameters.items() if name in names}


class MachineSize(NamedTuple):
    """Cores and bytes of the largest machine, as far as they are known."""

    cores: float | None
    bytes: float | None

    def need_cores(self) -> float:
        """Return the cores.

        Raises
        ------
        UsageError
            They are not known.
        """
        if not self.cores:
            raise _unknown_size()
        return self.cores

    def need_bytes(self) -> float:
        """Return the bytes.

        Raises
        ------
        UsageError
            They are not known.
        """
        if not self.bytes:
            raise _unknown_size()
        return self.bytes


def _unknown_size() -> UsageError:
    return UsageError(
        "--capacity",
        "nothing says how much the largest machine has",
        way_out="add --capacity 64cores,256GiB, with the size of yours",
    )


def read_query(name: str) -> str:
    """Return the query in a file beside this module."""
    return (_FOLDER / f"{name}.sql").read_text("utf-8")


def read_steps(*names: str) -> str:
    """Return a query whose steps (tables of a WITH) are in files beside this module; the last ends it."""
    return "WITH " + ",\n".join(read_query(name).rstrip() for name in names)


RUNS_LEDGER = """
SELECT reason, count(*) AS rows, count(*) FILTER (is_cut) AS cut FROM judged GROUP BY reason ORDER BY reason
"""
"""Attempts that :file:`runs.sql` returns after its own steps, and those that it leaves out."""


def need_machines(store: Store, layout: str) -> None:
    """Refuse a store without machines.

    Raises
    ------
    UsageError
        No machine has a capacity.
    """
    n_machines = store.sql(read_steps("machines") + _MACHINE_COUNT)
    if not n_machines["n"][0].as_py():
        raise UsageError(
            f"--layout {layout}",
            "the store has no machine with a capacity",
            way_out="--layout swf and opendc need no machines",
        )


def tie_order(store: Store) -> list[str]:
    """Return types of events in the order in which those of one time and entity happen.

    Empty text alone where the order of the files says it: then no type comes before another.
    """
    if store.manifest.dialect.tie_order == "file":
        return [""]
    # What was there goes before what comes.
    return [*TERMINAL_EVENTS, "REMOVE", "SUBMIT", "SCHEDULE", "ADD"]
