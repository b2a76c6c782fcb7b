"""The tools of an assistant: list and ask questions, run SQL, look at a task or a machine, advise."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, replace
from threading import Lock
from typing import Any

from borgtrace.assistants.answers import (
    answer_about,
    cut_notice,
    rows_that_fit,
    units_of,
)
from borgtrace.assistants.questions import content_of, parameters_of, values_of
from borgtrace.assistants.units import LOAD_UNITS, RUNNING_UNITS, units_named_in
from borgtrace.catalog import find
from borgtrace.engine.first_rows import take_rows
from borgtrace.interactive import Store
from borgtrace.notation import find_task
from borgtrace.question import Provenance
from borgtrace.question.engine_tables import provenance_of_store
from borgtrace.schema import TABLES
from borgtrace.schema.bounds import Bounds, check_number
from borgtrace.schema.time import parse_time

MOST_ROWS = Bounds(1, 1_000)
"""Rows that an assistant may ask for."""
MOST_BYTES = 10_000_000
"""Of the rows of a query, before they are cut to what fits into an answer."""
DETAILED_QUESTIONS = 12
"""Questions of a list up to which their parameters are described, too."""
TASK_QUERIES = {
    "summary": """
        SELECT *
        FROM tasks
        WHERE collection_id = $job AND instance_index = $task
    """,
    "events": """
        SELECT *
        FROM instance_events
        WHERE collection_id = $job AND instance_index = $task
        ORDER BY time, source_part, source_row
    """,
    "usage": """
        SELECT *
        FROM instance_usage
        WHERE collection_id = $job AND instance_index = $task
        ORDER BY start_time, source_part, source_row
    """,
}
"""What is shown of a task."""
Plain = dict[str, Any]


class StoreTools:
    """What an assistant may do with a store; all of it only reads.

    Parameters
    ----------
    store
        The store.
    seconds
        What a query of SQL may take.
    """

    def __init__(self, store: Store, *, seconds: float) -> None:
        self._store = store
        self._seconds = seconds
        # Compiled code that uses all cores runs in one thread at a time.
        self._one_at_a_time = Lock()

    def list_questions(self, about: str = "") -> Plain:
        """List the questions that can be asked of the store, with what it lacks for them.

        Parameters
        ----------
        about
            Words of which a question has all in its name, title or heading, such as "queue"; all questions where
            empty. A short list describes the parameters, too.
        """
        listed = self._store.questions(about)
        has_details = len(listed) <= DETAILED_QUESTIONS
        questions = []
        for entry in listed:
            question: Plain = {
                "name": entry.name,
                "question": entry.title,
                "heading": entry.heading,
                "tables without rows": list(entry.missing_tables),
            }
            if has_details:
                asked = find(entry.name)
                question["method"] = asked.method
                question["parameters"] = parameters_of(asked)
            questions.append(question)
        notices = [] if has_details else ['Say words in "about" to see parameters and methods.']
        return answer_about(
            self._store,
            {"questions": questions},
            units={},
            provenance=self._provenance({"about": about}, 0.0),
            notices=notices,
        )

    def ask_question(
        self,
        question: str,
        parameters: dict[str, Any] | None = None,
        where: str = "",
        rows: int = 100,
    ) -> Plain:
        """Answer one of the questions: rows, and what was published of it beside what was measured, with verdicts.

        A claim that is "not judged" is neither confirmed nor refuted by this store: say its reason.

        Parameters
        ----------
        question
            Its name, as list_questions has it.
        parameters
            Values by name; times may be texts such as "1h". What is left out has its default.
        where
            An SQL condition on the table tasks that chooses tasks, such as "priority >= 9"; all tasks where empty.
        rows
            Most rows of the answer.
        """
        check_number("rows", rows, MOST_ROWS)
        asked = find(question)
        values = values_of(asked, parameters or {})
        with self._one_at_a_time:
            result = self._store.ask(asked, where=where, **values)
        content, notices = content_of(result, rows)
        return answer_about(
            self._store,
            content,
            units=units_of(result.question.schema.columns),
            provenance=result.provenance,
            notices=notices,
        )

    def run_sql(
        self, query: str, parameters: dict[str, Any] | None = None, rows: int = 100
    ) -> Plain:
        """Answer one SELECT in DuckDB's SQL over the tables of the store; it can read nothing else, and write nothing.

        Read the resource borgtrace://schema for tables, columns and units. Aggregate in the query: what is shown of a
        long answer is its beginning, not a sample.

        Parameters
        ----------
        query
            One SELECT, or EXPLAIN of one.
        parameters
            Values of $name in the query, which are never read as SQL.
        rows
            Most rows of the answer.
        """
        check_number("rows", rows, MOST_ROWS)
        with _timed() as seconds:
            reader = self._store.stream(
                query,
                parameters,
                timeout=self._seconds,
                is_bounded=True,
                carrier="text",
                # One more tells that there are more.
                most_rows=rows + 1,
            )
            first = take_rows(reader, rows, MOST_BYTES)
        shown = rows_that_fit(first.table, rows)
        notices = []
        if first.is_cut or len(shown) < first.table.num_rows:
            notices.append(
                f"Only the first {len(shown):,} rows are shown, and there are more: do not count or sum what is shown."
            )
        return answer_about(
            self._store,
            {"columns": first.table.column_names, "rows": shown},
            units=units_named_in(query, first.table.column_names),
            provenance=self._provenance({"query": query, "parameters": parameters}, seconds()),
            notices=notices,
        )

    def show_task(self, task: str, rows: int = 100) -> Plain:
        """Show one task: its summary, its events, and its usage window by window.

        Parameters
        ----------
        task
            Name or id of its job, the beginning of a name, or NAME:INDEX for one task of several.
        rows
            Most rows of its events, and of its usage.
        """
        check_number("rows", rows, MOST_ROWS)
        collection, index = find_task(self._store, task)
        with self._one_at_a_time, _timed() as seconds:
            # Refuses what the store does not have, and says what is near.
            self._store.trace(collection, index)
            key = {"job": collection, "task": index}
            tables = {name: self._store.sql(query, key) for name, query in TASK_QUERIES.items()}
        content = {}
        notices = []
        for name, table in tables.items():
            content[name] = rows_that_fit(table, rows)
            notices += cut_notice(name, len(content[name]), table.num_rows)
        units = {
            "summary": units_of(TABLES["tasks"].columns),
            "events": units_of(TABLES["instance_events"].columns),
            "usage": units_of(TABLES["instance_usage"].columns),
        }
        return answer_about(
            self._store,
            content,
            units=units,
            provenance=self._provenance({"task": f"{collection}:{index}"}, seconds()),
            notices=notices,
        )

    def show_machine(self, machine: str, at: str = "", rows: int = 200) -> Plain:
        """Show one machine: its size, and its load hour by hour or the tasks that ran on it at a time.

        Parameters
        ----------
        machine
            Its name, the beginning of it, or its id.
        at
            A time such as "12h" after the start, or a date such as "2026-11-01 12:00"; the load of each hour where
            empty.
        rows
            Most rows.
        """
        check_number("rows", rows, MOST_ROWS)
        with self._one_at_a_time, _timed() as seconds:
            found = self._store.machine(machine)
            table = found.tasks(at) if at else found.load
            capacity = found.capacity
        shown = rows_that_fit(table, rows)
        name = "tasks" if at else "load"
        units = RUNNING_UNITS if at else LOAD_UNITS
        notices = cut_notice(name, len(shown), table.num_rows)
        if capacity is None:
            notices.append("The capacity of this machine is not known: no share of it can be said.")
        content = {
            "machine": str(found.machine_id),
            "name": found.name,
            "capacity": None if capacity is None else asdict(capacity),
            name: shown,
        }
        return answer_about(
            self._store,
            content,
            units={column: units[column] for column in table.column_names if column in units},
            provenance=self._provenance({"machine": machine, "at": at}, seconds()),
            notices=notices,
        )

    def advise(self, target: float | None = None, horizon: str = "", rows: int = 20) -> Plain:
        """Say how far machines can be overcommitted, what that saves and risks, and what to set for each workload.

        This replays the trace and may take minutes. The answer is about this trace under the stated assumptions: the
        sentences say what was judged on how much data, and what is not known.

        Parameters
        ----------
        target
            Share of the 5-minute windows of a machine in which a promise may be broken, such as 0.01; derived from
            the amount of data where null.
        horizon
            How long a promise holds, such as "24h"; derived from the length of the trace where empty.
        rows
            Most rows of each part.
        """
        check_number("rows", rows, MOST_ROWS)
        span = parse_time(horizon, "horizon") if horizon else None
        with self._one_at_a_time, _timed() as seconds:
            advice = self._store.advise(target=target, horizon=span)
        parts = {}
        units = {}
        notices: list[str] = []
        for result in advice.results:
            name = result.question.name
            parts[name], own_notices = content_of(result, rows)
            units[name] = units_of(result.question.schema.columns)
            notices += [f"{name}: {notice}" for notice in own_notices]
        return answer_about(
            self._store,
            {"sentences": asdict(advice.sentences), "parts": parts},
            units=units,
            provenance=self._provenance({"target": target, "horizon": horizon}, seconds()),
            notices=notices,
        )

    def _provenance(self, parameters: Mapping[str, Any], seconds: float) -> Provenance:
        origin = provenance_of_store(self._store, "duckdb")
        return replace(origin, parameters=parameters, seconds=seconds)


@contextmanager
def _timed() -> Iterator[Callable[[], float]]:
    """Yield a function that returns the seconds that the block took."""
    start = time.perf_counter()
    ends: list[float] = []
    yield lambda: ends[0] - start
    ends.append(time.perf_counter())
