"""The request to the process of a query, and the limits within which it answers."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from borgtrace.engine.answer_columns import Carrier
from borgtrace.engine.memory import parse_memory
from borgtrace.errors import EngineError

OVERHEAD_BYTES = 150_000_000
"""What a query may take beyond DuckDB's budget, at least: rows on their way out."""
OVERHEAD_SHARE = 8
"""DuckDB itself goes beyond its budget by less than this part of it."""
ROW_SHARE = 8
"""A row takes at most this part of the budget: who prints it needs its size several times."""


@dataclass(frozen=True)
class QueryRequest:
    """One query, and all that is needed to answer it.

    Parameters
    ----------
    root
        The store.
    files
        Parquet files by the name of their table.
    memory
        Budget of DuckDB, beyond which it spills.
    query, parameters
        The query and the values of ``$name`` in it.
    carrier
        Who takes the answer.
    most_rows
        Rows after which the answer ends; all where None.
    version
        Which version of the store it is: another one is opened anew.
    environment
        Variables of the process that asks: the credentials of a bucket may be there.
    """

    root: Path
    files: Mapping[str, Sequence[str]]
    memory: str
    query: str
    parameters: Mapping[str, Any] | None = None
    carrier: Carrier = "arrow"
    most_rows: int | None = None
    version: str | None = None
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))

    @property
    def memory_limit(self) -> int:
        """Bytes that the process may take beyond those that it held when it was started."""
        budget = parse_memory(self.memory)
        return budget + max(OVERHEAD_BYTES, budget // OVERHEAD_SHARE)

    @property
    def row_limit(self) -> int:
        """Bytes of the largest row that is sent."""
        return parse_memory(self.memory) // ROW_SHARE


def memory_exhausted(got: str) -> EngineError:
    """Return the error for a query that needs more memory than it may have."""
    return EngineError(
        "query",
        "memory exhausted",
        got=got,
        way_out="give more with --memory, or ask for less at once",
    )
