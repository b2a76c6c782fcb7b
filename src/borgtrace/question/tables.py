"""What a question reads: canonical and derived tables by name."""

from abc import ABC, abstractmethod
from collections.abc import Generator, Sequence
from typing import Any

import ibis.expr.types as ir
import pyarrow as pa

from borgtrace.engine.memory import parse_memory
from borgtrace.lifecycle import DERIVED
from borgtrace.notation import Names, ResourceAmounts
from borgtrace.notation.amounts import IN_LARGEST_MACHINES
from borgtrace.question.notapplicable import NotApplicable
from borgtrace.question.shared_tables import SharedTable
from borgtrace.question.window_passes import PlannedPasses
from borgtrace.schema import TABLES, Dialect, dialect
from borgtrace.store.coverage import StoreCoverage, whole_trace

NAMES_OF_TABLES = {
    "machine_events": "machines",
    "machine_attributes": "attributes of machines",
    "collection_events": "events of jobs",
    "instance_events": "events of tasks",
    "instance_constraints": "constraints of tasks",
    "instance_usage": "usage",
}
"""What people call the rows of tables of the trace."""


def why_without(table: str, trace_format: Dialect) -> str:
    """Say why a store has no rows of a table, and what to do.

    Parameters
    ----------
    table
        Its name.
    trace_format
        Of the store.

    Examples
    --------
    >>> why_without("instance_usage", dialect("openb"))
    'Alibaba GPU trace 2023 publishes no usage; this takes a trace that does'
    >>> why_without("instance_usage", dialect("2011"))
    'the store holds no rows of instance_usage; ingest files that have some'
    """
    # Whoever has data of their own may also have more of it; of a published trace there is no more.
    is_published = bool(trace_format.citations)
    if is_published and table in NAMES_OF_TABLES and not trace_format.publishes_table(table):
        rows = NAMES_OF_TABLES[table]
        return f"{trace_format.title} publishes no {rows}; this takes a trace that does"
    return f"the store holds no rows of {table}; ingest files that have some"


class Tables(ABC):
    """The canonical tables as attributes, beside the derived tables that questions share.

    ``tables.instance_events`` … ``tables.tasks`` are Ibis tables; so are the derived
    ``tables.instance_attempts``, ``collection_attempts``, ``instance_transitions``,
    ``collection_transitions``, ``instance_occupancy`` and ``collection_occupancy``.

    :class:`~borgtrace.question.engine_tables.EngineTables` hold rows on an engine,
    :class:`~borgtrace.question.planned_tables.PlannedTables` none.

    Parameters
    ----------
    generation
        Name of the trace, as the store's manifest says it.
    synthetic
        Whether the trace is synthetic.
    engine
        Name of the engine.
    coverage
        How much of the whole trace the tables hold; all of it where None.

    Attributes
    ----------
    targets
        Fields of the targets of a synthetic trace that was made like another store; none where of published figures.
    amounts
        How much of CPU and memory is one: the largest machine, as far as its size is known.
    names
        What jobs and machines are called; None where nobody knows.
    has_blocks
        Whether rows are near enough to be handed to compiled code; otherwise the engine does all in SQL.
    passes
        Passes over usage windows that the questions of this run make.
    memory
        Budget of the engine, bytes; what is computed from the tables keeps to a part of it.
    """

    targets: Sequence[Sequence[Any]] = ()
    amounts: ResourceAmounts = IN_LARGEST_MACHINES
    names: Names | None = None
    has_blocks = False
    memory = parse_memory("4GB")

    def __init__(
        self,
        generation: str,
        *,
        synthetic: bool,
        engine: str,
        coverage: StoreCoverage | None = None,
    ) -> None:
        self.generation, self.synthetic, self.engine = generation, synthetic, engine
        self.passes = PlannedPasses()
        self.coverage = coverage or whole_trace(dialect(generation))

    @property
    def dialect(self) -> Dialect:
        """The trace format of the rows: tiers, order of equal times, what is published."""
        return self.coverage.dialect

    @property
    def where(self) -> str:
        """The predicate that chose the tasks; empty where all of them are here."""
        return ""

    def __getattr__(self, name: str) -> ir.Table:
        if name in TABLES:
            return self.canonical(name)
        if name in DERIVED:
            return self.derived(name)
        # AttributeError, which hasattr() and copy() rely on when a name is missing.
        raise AttributeError(f"no table {name}; there are {', '.join((*TABLES, *DERIVED))}")

    def __getitem__(self, name: str) -> ir.Table:
        """Return a table by its name; KeyError where there is none."""
        try:
            return self.__getattr__(name)
        except AttributeError as error:
            raise KeyError(str(error)) from None

    @abstractmethod
    def canonical(self, name: str) -> ir.Table:
        """Return a table of the trace."""

    @abstractmethod
    def derived(self, name: str) -> ir.Table:
        """Return a table that is computed from another on first use."""

    def shared(self, table: SharedTable) -> ir.Table:
        """Return a table that questions share: its expression, or what is kept of it.

        Parameters
        ----------
        table
            One that the question names in its ``shares``.
        """
        return table.build(self)

    @abstractmethod
    def n_rows(self, name: str) -> int:
        """Return the number of rows of a table."""

    @abstractmethod
    def fetch(self, expr: ir.Table, stage: str | None = None) -> pa.Table:
        """Run a relational stage, called `stage` in a plan, and return its rows as an Arrow table.

        Parameters
        ----------
        expr
            A relational expression over these tables.
        stage
            Name of the stage; numbered where None.
        """

    def fetch_batches(
        self, expr: ir.Table, stage: str | None = None, rows: int = 1_000_000
    ) -> Generator[pa.RecordBatch]:
        """Run a relational stage as :meth:`fetch` does, and yield its rows in batches: it may have more than memory.

        No other stage runs before the last batch has come.

        Parameters
        ----------
        expr, stage
            As for :meth:`fetch`.
        rows
            Most rows of a batch, where the engine streams.
        """
        yield from self.fetch(expr, stage).to_batches(rows)

    def has(self, name: str) -> bool:
        """Whether a table has any row."""
        return self.n_rows(name) > 0

    def require(self, *names: str) -> None:
        """Raise :class:`NotApplicable` where one of the tables has no rows.

        Parameters
        ----------
        names
            Names of tables.

        Raises
        ------
        NotApplicable
            Where one of them has no rows.
        """
        for name in names:
            NotApplicable.unless(self.has(name), why_without(name, self.dialect))

    def require_published(self, what: str, *, column: str = "", event: str = "") -> None:
        """Raise :class:`NotApplicable` where the trace format publishes no such column, or no such type of event.

        Parameters
        ----------
        what
            What is missing, for the reason.
        column
            Column that the trace format must fill; or
        event
            type of event that it must know.

        Raises
        ------
        NotApplicable
            Where it does not.
        """
        known = (
            self.dialect.publishes(column)
            if column
            else event in self.dialect.codes["event_type"].values()
        )
        NotApplicable.unless(known, f"{self.dialect.spoken_name} does not publish {what}")
