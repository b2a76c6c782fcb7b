"""A store, open for questions: its tables, tasks and machines, what can be asked of it, and its page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from borgtrace.errors import UsageError
from borgtrace.interactive.machine import Machine
from borgtrace.interactive.trace import TaskTraces, Trace
from borgtrace.notation import find_job
from borgtrace.schema import TABLES
from borgtrace.store.columns import DEFAULT_COLUMNS
from borgtrace.store.store import Store as StoredTables

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import numpy.typing as npt

    from borgtrace.advice import Advice
    from borgtrace.interactive.answer import StoreAnswer
    from borgtrace.interactive.question_list import QuestionList
    from borgtrace.overcommit import MachineBlocks, PeakPolicy
    from borgtrace.question import Question, Result
    from borgtrace.report import Summary
    from borgtrace.scheduling import ScheduleInput
    from borgtrace.store.arrow_tables import ArrowTable


class Store(StoredTables):
    """One cell's trace, open for questions.  Use `borgtrace.open`.

    Examples
    --------
    ::

        store = borgtrace.open("cell-2011")
        store.sql("select count(*) from tasks where priority >= $low", {"low": 9})
        store.table("tasks").group_by("priority").count().to_pandas()
        store.questions()
        store.ask("queue_length", step="1h").plot()
        store.overcommit(policies=["nsigma", MyPolicy()], horizon="1h")
        store.trace(3418309, 0).plot()
        store.machine("node-01").plot()
        store.report("report.html")
    """

    def table(self, name: str) -> ir.Table:
        """Return a table as an Ibis expression, with ``.to_pandas()``, ``.to_polars()`` and ``.to_pyarrow()``.

        Raises
        ------
        UsageError
            Where the store has no such table; the message names the nearest.
        """
        from borgtrace.errors import check_names

        check_names("name", (name,), TABLES, "no such table")
        return getattr(self.tables, name)

    def arrow(self, name: str, columns: Sequence[str] = ()) -> ArrowTable:
        """Return a table for libraries that read Arrow's C stream: ``polars.DataFrame(store.arrow("tasks"))``.

        Parameters
        ----------
        name
            The table.
        columns
            Columns of it, in order; all where empty.

        Raises
        ------
        UsageError
            For an unknown table or column; the message names the nearest.

        Notes
        -----
        Rows come in batches, in key order; a library that works batch by batch never holds the whole table.
        """
        from borgtrace.store.arrow_tables import ArrowTable

        return ArrowTable.of(self, name, columns)

    def questions(self, about: str = "") -> QuestionList:
        """List what can be asked: each question with its title, and what this store lacks to answer it.

        Parameters
        ----------
        about
            Words of which a question has all in its name, title or heading; every question where empty.
        """
        from borgtrace.interactive.question_list import list_questions

        return list_questions(self, about)

    def analyze(self, question: str | Question, **parameters: Any) -> StoreAnswer:
        """Answer a question, as :meth:`ask` does."""
        return self.ask(question, **parameters)

    def ask(
        self,
        question: str | Question,
        *,
        where: str = "",
        engine: str = "duckdb",
        **parameters: Any,
    ) -> StoreAnswer:
        """Answer a question: a table, a chart, and claims with their verdicts.

        Parameters
        ----------
        question
            Its name, of which :meth:`questions` lists all, or the question itself, such as
            ``borgtrace.overcommit.REPLAY``.
        where
            SQL predicate that selects tasks.
        engine
            ``"duckdb"``, ``"local[N]"`` or ``"spark://HOST:PORT"``.
        parameters
            Parameters of the question; times may be amounts such as ``"1h30m"``.

        Raises
        ------
        UsageError
            For an unknown question or parameter, or a predicate that is none.
        """
        from borgtrace.catalog import find
        from borgtrace.interactive.answer import drawn
        from borgtrace.question import EngineTables, StoreQuestion
        from borgtrace.schema.time import parse_time

        asked_question = find(question) if isinstance(question, str) else question
        for name, unit in asked_question.time_units.items():
            value = parameters.get(name)
            if isinstance(value, str):
                kind = type(asked_question.parameters[name])
                parameters[name] = kind(parse_time(value, name) / unit)
        if isinstance(asked_question, StoreQuestion):
            check_no_predicate(asked_question, where)
            return drawn(asked_question.run(self, engine, **parameters))
        tables = EngineTables.of(self.path, engine, where=where, memory=self.memory)
        result = asked_question.run(tables, **parameters)
        if asked_question.parameters.get("curve") != "few" or "curve" in parameters:
            return drawn(result)

        def full_curve() -> Result:
            return asked_question.run(tables, **parameters, curve="full")

        return drawn(result, full_curve)

    def overcommit(self, policies: Sequence[str | PeakPolicy] = (), **options: Any) -> StoreAnswer:
        """Judge peak policies on every machine: what they save, and how often usage exceeds what they predict.

        Parameters
        ----------
        policies
            Names with parameters such as ``"nsigma:n=3"``, and objects of classes of your own; a choice of ours where
            empty.
        options
            Fields of :class:`borgtrace.overcommit.ReplayOptions`, such as ``horizon="1h"`` and ``resources=("cpu",)``.

        Raises
        ------
        UsageError
            For an unknown policy or option, or a value that makes no sense.
        """
        from borgtrace.overcommit import DEFAULTS, REPLAY

        return self.ask(REPLAY, policies=tuple(policies) or DEFAULTS, **options)

    def advise(self, **options: Any) -> Advice:
        """Return how far to overcommit, what that saves and risks, and what to set for each workload.

        Parameters
        ----------
        options
            Fields of :class:`borgtrace.advice.AdviceOptions`, such as ``target=0.01``.

        Raises
        ------
        UsageError
            For a value that makes no sense.
        """
        from borgtrace.advice import AdviceOptions, advise

        return advise(self, AdviceOptions(**options))

    def report(self, out: str | Path, questions: Sequence[str] = ()) -> Summary:
        """Write one self-contained page with the answers to some questions, or to all.

        Raises
        ------
        UsageError
            For an unknown question.
        """
        from borgtrace.report import write

        return write(self, Path(out), questions, memory=self.memory)

    def trace(  # type: ignore[override]
        self, collection_id: int | str, instance_index: int = 0, columns: Sequence[str] = ()
    ) -> Trace:
        """Return one task's usage, window by window: ``store.trace("web-7")``.

        Parameters
        ----------
        collection_id
            Its job: the id, the name, or how that begins.
        instance_index
            Its index in the job.
        columns
            Further columns, such as ``p50``, or a distribution for all of its percentiles (2019).

        Raises
        ------
        UsageError
            When the store has no such task or column, or the name is not that of one job.

        Notes
        -----
        Of an id, a binary search in the index and five slices: microseconds.
        """
        if isinstance(collection_id, str):
            collection_id = find_job(self, collection_id)
        arrays = super().trace(collection_id, instance_index, columns)
        return Trace(collection_id, instance_index, arrays, self)

    def traces(
        self,
        selection: str | Sequence[tuple[int, int]] | npt.NDArray[np.integer[Any]] | None = None,
        columns: Sequence[str] = DEFAULT_COLUMNS,
    ) -> TaskTraces:
        """Return many tasks as flat columns and offsets, and one by one: ``store.traces("priority >= 9")[0].plot()``.

        Parameters
        ----------
        selection
            SQL predicate over ``tasks``; or (collection_id, instance_index) pairs; or positions in ``tasks``; all
            tasks where None.
        columns
            Numeric usage columns, ``start_time`` and ``duration``; percentiles of a window's CPU, ``p0`` to ``p100``,
            or a distribution, for all that it holds.

        Raises
        ------
        UsageError
            For an unknown task or column, or a predicate that does not parse.
        """
        traces = super().traces(selection, columns)
        collection_ids, instance_indexes = self.task_ids(traces.rows)
        return TaskTraces(
            traces.rows,
            traces.offsets,
            traces.columns,
            collection_ids,
            instance_indexes,
            self,
        )

    def machine(self, machine: int | str) -> Machine:
        """Return one machine: how full it was hour by hour, what ran on it, and its picture.

        Parameters
        ----------
        machine
            Its id, or its name where machines of the store have names.

        Raises
        ------
        UsageError
            The store has no such machine.
        """
        return Machine.of(self, machine)

    def machine_blocks(
        self, resource: str = "cpu", *, tasks: str = "all", metric: str = ""
    ) -> MachineBlocks:
        """Return usage and limits by machine, as replays of overcommit policies use them, for a loop of your own.

        Parameters
        ----------
        resource
            ``"cpu"`` or ``"memory"``.
        tasks
            ``"all"``, ``"high"`` (high priority) or a tier.
        metric
            What is taken as usage, such as ``"maximum_cpu"``; the default of the trace's format where empty.

        Raises
        ------
        UsageError
            For an unknown resource, tier or metric.

        Notes
        -----
        Usage is sorted by machine once, and kept beside the store; then this takes milliseconds.
        """
        from borgtrace.overcommit import machine_blocks

        return machine_blocks(self, resource, tasks=tasks, metric=metric)

    def workload(self) -> ScheduleInput:
        """Return the attempts to run tasks, the machines and their changes, as the scheduler simulation uses them.

        Raises
        ------
        NotApplicable
            No attempt has a beginning, or no machine a capacity.

        Notes
        -----
        Of ``workload.tasks`` and ``workload.machines`` all sizes are int64 in parts of 2²⁰ of the largest machine,
        times int64 µs on the trace's clock, −1 where there is none.
        """
        from borgtrace.question import EngineTables, NotApplicable
        from borgtrace.scheduling import ScheduleInput

        span = self.manifest.time_range.get("instance_events")
        NotApplicable.unless(span, "no event of a task is in the store (instance_events)")
        tables = EngineTables.of(self, None, memory=self.memory)
        return ScheduleInput.of(tables, self.manifest.time_range["instance_events"][1])


def check_no_predicate(question: Question, where: str) -> None:
    """Refuse a predicate on tasks for a question that reads more than tables.

    Raises
    ------
    UsageError
        There is one.
    """
    if where:
        raise UsageError(
            "where",
            "this question is about all tasks",
            expected="none",
            got=where,
            way_out=f"leave it out, or ask {question.name} of a smaller store (borgtrace subset)",
        )


def open(path: str | Path, *, memory: str = "4GB") -> Store:
    """Open a store for questions.

    Parameters
    ----------
    path
        The store's folder.
    memory
        Budget of the engine that answers questions; it spills beyond.

    Raises
    ------
    StoreError
        When there is no store, it is half-built, of another major version, or a file is missing or
        unreadable; the message has the command that mends it.

    Notes
    -----
    Takes milliseconds: only the manifest and the footers of the files are read.  Any number of processes may read
    at once.
    """
    return Store.open(path, memory=memory)
