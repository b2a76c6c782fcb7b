"""Tables without rows: running a question on them yields its relational stages."""

import ibis
import pyarrow as pa

from borgtrace.engine.dtypes import ibis_schema
from borgtrace.lifecycle import DERIVED
from borgtrace.question.tables import Tables
from borgtrace.schema import TABLES


class PlannedTables(Tables):
    """Unbound tables: `fetch` records the expression in `stages` and returns no rows.

    Every question goes through here as far as it can: each table is said to have a row, everything to be published,
    and the trace to be synthetic.
    """

    def __init__(self, generation: str) -> None:
        super().__init__(generation, synthetic=True, engine="duckdb")
        self._derived: dict[str, ibis.Table] = {}
        self.stages: dict[str, ibis.Table] = {}

    def canonical(self, name: str) -> ibis.Table:
        """Return an unbound table of the trace."""
        return ibis.table(ibis_schema(TABLES[name]), name=name)

    def derived(self, name: str) -> ibis.Table:
        """Return an unbound derived table; the stage of its name defines it."""
        if name not in self._derived:
            derived = DERIVED[name]
            # Recorded before any stage that reads it: the order of the stages is one in which they can run.
            self.stages[name] = derived.build(self[derived.reads], self.dialect)
            self._derived[name] = ibis.table(ibis_schema(derived.table), name=name)
        return self._derived[name]

    def n_rows(self, name: str) -> int:
        """Return 1 for every table."""
        return 1

    def require_published(self, what: str, *, column: str = "", event: str = "") -> None:
        """Nothing is missing in a plan."""

    def fetch(self, expr: ibis.Table, stage: str | None = None) -> pa.Table:
        """Record a stage and return no rows."""
        self.stages[stage or f"stage_{len(self.stages) + 1}"] = expr
        return expr.schema().to_pyarrow().empty_table()
