"""The views as HTML: one template each, around data that the page's script fetches."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

import pyarrow as pa

from borgtrace.errors import StoreError, UsageError
from borgtrace.explore import job, machine, snippets
from borgtrace.explore.page_maker import VIEWS
from borgtrace.explore.rows import LinkedText, page_table
from borgtrace.explore.search import Match
from borgtrace.explore.siblings import siblings as job_siblings
from borgtrace.explore.span import RequestedTimes, span_of_life
from borgtrace.explore.table_pages import TablePages
from borgtrace.notation import Notation
from borgtrace.notation.clock import SECONDS
from borgtrace.report.own_units import OwnUnits
from borgtrace.report.values import cell
from borgtrace.schema import TABLES, Column
from borgtrace.store.machine import capacity_at, running_on

KNOWN_PATHS = ("/machine/", "/job/", "/task/", "/search", *VIEWS)
WHOLE = RequestedTimes()
IN_TITLES = ("collection_id", "instance_index", "start_time", "end_time")
"""Columns of a window that the titles of its page say."""


@dataclass(frozen=True, slots=True)
class DescribedWindow:
    """A window of usage: its times as text, and all that is known of it."""

    start: str
    end: str
    facts: Sequence[tuple[Column, str]]


@dataclass(frozen=True)
class Pages(TablePages):
    """Makes the pages of one store."""

    def cell(self, resource: str, times: RequestedTimes = WHOLE) -> str:
        """Return the first page: the cell over time and its machines."""
        pyramid = self.explored.pyramid
        return self.render(
            "cell",
            title="The cell",
            here="/",
            resource=resource,
            times=times,
            sql=snippets.SQL_OF_CELL,
            python=snippets.python_of_cell(self.explored.store.path),
            busiest=page_table(
                machine.fullest(pyramid, resource),
                notation=self.explored.notation,
            ),
            n=len(pyramid.machines),
        )

    def machine(self, machine_id: int, times: RequestedTimes = WHOLE) -> str:
        """Return the page of a machine."""
        # Refuses an unknown one.
        self.explored.place(machine_id)
        try:
            capacity = capacity_at(self.explored.store, machine_id)
        # Known by its usage alone.
        except UsageError:
            capacity = None
        names = self.explored.notation.names
        running = None
        if times.at is not None:
            table = running_on(self.explored.store, machine_id, times.at)
            running = page_table(table, notation=self.explored.notation)
        return self.render(
            "machine",
            title=f"Machine {names.machine_and_id(machine_id)}",
            here="",
            id=machine_id,
            capacity=capacity,
            about=self.explored.describe_machine(machine_id),
            times=times,
            running=running,
            moment=self.explored.notation.clock.text(times.at),
            sql=snippets.sql_of_machine(machine_id),
            python=snippets.python_of_machine(self.explored.store.path, machine_id, names),
        )

    def job(self, collection_id: int, times: RequestedTimes = WHOLE) -> str:
        """Return the page of a job."""
        first, last = self.explored.job_rows(collection_id)
        facts = job.facts(self.explored, collection_id)
        siblings = []
        for group in job_siblings(self.explored, collection_id, facts):
            siblings.append((group, page_table(group.jobs, notation=self.explored.notation)))
        kind = "Alloc set" if facts.get("collection_type") == "ALLOC_SET" else "Job"
        return self.render(
            "job",
            title=f"{kind} {self.explored.notation.names.job_and_id(collection_id)}",
            times=times,
            here="",
            id=collection_id,
            sql=snippets.sql_of_job(collection_id),
            python=snippets.python_of_job(self.explored.store.path, collection_id),
            n=last - first,
            facts=linked_facts(facts, self.explored.notation),
            siblings=siblings,
            home=job.life_span(self.explored, collection_id),
        )

    def task(
        self,
        collection_id: int,
        instance_index: int,
        start: int | None,
        times: RequestedTimes = WHOLE,
    ) -> str:
        """Return the page of a task; with the window that starts at `start` in full, where that is given."""
        # Inside: charts of tasks come with the questions' tools, which take half a second to import.
        from borgtrace.explore import task
        from borgtrace.report import task_life, task_page

        store = self.explored.store
        life = task_life.read_life(store, collection_id, instance_index)
        window = None if start is None else task.window(self.explored, life, start)
        if start is not None and window is None:
            raise _no_such_window(start)
        starts = life.usage["start_time"].to_pylist()
        own_units = OwnUnits(self.explored.notation)
        before, after = ([], []) if start is None else _neighbors(starts, start)
        return self.render(
            "task",
            title=self._title_of_task(collection_id, instance_index),
            here="",
            life=life,
            job=self.explored.notation.names.job(collection_id),
            sql=snippets.sql_of_task(collection_id, instance_index),
            python=snippets.python_of_task(store.path, collection_id, instance_index),
            times=times,
            home=span_of_life(self.explored.span, task_life.times(life)),
            facts=task_page.facts(life, own_units),
            span=task_page.span(store.manifest, life),
            tables=task_page.tables(life, own_units),
            starts=starts,
            window=None if window is None else self._described_window(window, own_units),
            before=before,
            after=after,
        )

    def _described_window(self, window: Mapping[str, Any], own_units: OwnUnits) -> DescribedWindow:
        facts = []
        for column in TABLES["instance_usage"].columns:
            value = window[column.name]
            if value is not None and column.name not in IN_TITLES:
                shown = own_units.column(column)
                facts.append((shown, cell(own_units.writer(column)(value), shown)))
        clock = self.explored.notation.clock
        start = clock.text(window["start_time"], SECONDS)
        return DescribedWindow(start, clock.text(window["end_time"], SECONDS), facts)

    def _title_of_task(self, collection_id: int, instance_index: int) -> str:
        name = self.explored.notation.names.task(collection_id, instance_index)
        id_ = f"{collection_id}:{instance_index}"
        return f"Task {name}" if name == id_ else f"Task {name} ({id_})"

    def search(self, words: str, matches: Sequence[Match]) -> str:
        """Return what a search may mean."""
        return self.render(
            "search",
            title="Search",
            here="",
            q=words,
            found=matches,
        )

    def refusal(
        self,
        status: int,
        what: str,
        way_out: str,
        path: str = "",
    ) -> str:
        """Return a page that says what is wrong and where to go instead."""
        return self.render(
            "refusal",
            title=f"{status}",
            here="",
            what=what,
            way_out=way_out,
            examples=self._examples(similar_paths(path)),
        )

    def _examples(self, paths: Sequence[str]) -> list[LinkedText]:
        """Return pages that exist: those below some paths, else one of each kind; none of a store that was replaced."""
        try:
            with self.explored.store.expect_current():
                every_page = self._page_of_each_kind()
        except StoreError:
            return []
        similar = []
        for page in every_page:
            if page.href and page.href.startswith(tuple(paths)):
                similar.append(page)
        return similar or every_page

    def _page_of_each_kind(self) -> list[LinkedText]:
        query = "SELECT collection_id, instance_index FROM tasks LIMIT 1"
        pages = {}
        for machine_id in self.explored.pyramid.machines[:1].tolist():
            pages[f"/machine/{machine_id}"] = f"Machine {machine_id}"
        for row in self.explored.store.sql(query).to_pylist():
            collection_id = row["collection_id"]
            index = row["instance_index"]
            pages[f"/job/{collection_id}"] = f"Job {collection_id}"
            pages[f"/task/{collection_id}/{index}"] = f"Task {collection_id}:{index}"
        return [LinkedText(title, address) for address, title in pages.items()]

    def locked(self, what: str, way_out: str) -> str:
        """Return the page for a stranger: it tells nothing of the trace."""
        return self.render("locked", what=what, way_out=way_out)


def similar_paths(path: str) -> list[str]:
    """Return known paths that a wrong one begins with or resembles."""
    similar = []
    for known in KNOWN_PATHS:
        if known.strip("/") and path.startswith(known.rstrip("/")):
            similar.append(known)
    for known in get_close_matches(path, KNOWN_PATHS, 2, 0.5):
        if known not in similar:
            similar.append(known)
    return similar


def linked_facts(facts: Mapping[str, Any], notation: Notation) -> list[tuple[str, LinkedText]]:
    """Return known values with the pages they lead to."""
    table = page_table(pa.Table.from_pylist([dict(facts)]), notation=notation)
    known = []
    for name, value, unit in zip(table.columns, table.rows[0], table.units, strict=True):
        known.append((name, replace(value, text=f"{value.text} {unit}") if unit else value))
    return known


def _no_such_window(start: int) -> UsageError:
    return UsageError(
        "window",
        "not one of this task in this store",
        got=f"{start} µs",
        way_out="choose one in the table of usage",
    )


def _neighbors(starts: list[int], start: int) -> tuple[list[int], list[int]]:
    """Return the start of the window before one, and of the one after it, where there are such."""
    place = starts.index(start)
    return starts[max(place - 1, 0) : place], starts[place + 1 : place + 2]
