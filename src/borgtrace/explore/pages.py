"""The views as HTML: one template each, around data that the page's script fetches."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

import jinja2
import pyarrow as pa

from borgtrace.errors import BorgtraceError, StoreError, UsageError
from borgtrace.explore import facets, job, machine, machine_list, snippets, sql_box
from borgtrace.explore.charts import to_json
from borgtrace.explore.explored_store import ExploredStore
from borgtrace.explore.filters import OPERATORS
from borgtrace.explore.order import page_links, requested_order, requested_start
from borgtrace.explore.rows import LinkedText, PageTable, page_table, text
from borgtrace.explore.search import Match
from borgtrace.explore.siblings import siblings as job_siblings
from borgtrace.explore.span import RequestedTimes, span_of_life
from borgtrace.explore.table_view import ROWS_OF_A_PAGE, TableView, is_enumeration
from borgtrace.explore.tiers import tier_colors
from borgtrace.notation import Notation
from borgtrace.notation.clock import SECONDS
from borgtrace.report.holdings import trace_name
from borgtrace.report.own_units import OwnUnits
from borgtrace.report.values import cell, environment
from borgtrace.schema import TABLES, Column
from borgtrace.schema.time import SECOND, TRACE_START
from borgtrace.store.machine import capacity_at, running_on

VIEWS = {
    "/": "Cell",
    "/machines": "Machines",
    "/jobs": "Jobs",
    "/facets": "Users, priorities, constraints",
    "/tables": "Tables",
    "/sql": "SQL",
}
KNOWN_PATHS = ("/machine/", "/job/", "/task/", "/search", *VIEWS)
WHOLE = RequestedTimes()
IN_TITLES = ("collection_id", "instance_index", "start_time", "end_time")
"""Columns of a window that the titles of its page say."""
Parameters = Sequence[tuple[str, str]]
"""Parameters of an address in their order."""


@dataclass(frozen=True, slots=True)
class DescribedTable:
    """A table of the store as the panel of tables shows it."""

    name: str
    grain: str
    columns: Sequence[Column]
    n_rows: int


@dataclass(frozen=True, slots=True)
class DescribedWindow:
    """A window of usage: its times as text, and all that is known of it."""

    start: str
    end: str
    facts: Sequence[tuple[Column, str]]


@dataclass(frozen=True)
class Pages:
    """Makes the pages of one store."""

    explored: ExploredStore

    @cached_property
    def _environment(self) -> jinja2.Environment:
        manifest = self.explored.store.manifest
        # Epoch seconds of time zero: charts show the cell's wall clock.
        start = manifest.dialect.wall_clock(TRACE_START, manifest.cell)
        clock = {
            "epoch": start.timestamp() - TRACE_START / SECOND,
            "zone": manifest.time_zone,
            # A trace of times since its start has none.
            "calendar": self.explored.notation.clock.start is not None,
            "start": self.explored.span.start,
            "end": self.explored.span.end,
            "tiers": tier_colors(manifest.dialect),
        }
        filling = environment("borgtrace.explore")
        filling.filters.update(plain=text, value=cell, query=urlencode)
        filling.globals.update(
            views=VIEWS,
            manifest=manifest,
            trace=trace_name(manifest),
            clock=to_json(clock).decode(),
            q="",
        )
        return filling

    def render(self, template: str, **values: Any) -> str:
        """Fill a template."""
        return self._environment.get_template(f"{template}.html.j2").render(**values)

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
            raise UsageError(
                "window",
                "not one of this task in this store",
                got=f"{start} µs",
                way_out="choose one in the table of usage",
            )
        starts = life.usage["start_time"].to_pylist()
        own_units = OwnUnits(self.explored.notation)
        # Neighbors in time; where no window is shown there are none.
        before: list[int] = []
        after: list[int] = []
        if window:
            position = starts.index(start)
            before = starts[max(position - 1, 0) : position]
            after = starts[position + 1 : position + 2]
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

    def facets(self, query: Parameters = ()) -> str:
        """Return the page of users, priorities and constraints."""
        tables = []
        for name, facet in facets.FACETS.items():
            tables.append((name, facet.title, self._groups_of(name, query)))
        return self.render(
            "facets",
            title=VIEWS["/facets"],
            here="/facets",
            tables=tables,
            limit=facets.MOST_ROWS,
        )

    def _groups_of(self, name: str, query: Parameters) -> PageTable:
        # Such as /jobs?name={name}&relation={relation}&value={value}.
        parameters = [f"{column}={{{column}}}" for column in facets.FACETS[name].key]
        address = "/jobs?" + "&".join(parameters)
        order = facets.order_of_groups(name, query)
        rows = facets.groups(self.explored, name, order)
        return page_table(rows, {"n_jobs": address}, order, notation=self.explored.notation)

    def machines(self, query: Parameters = ()) -> str:
        """Return all machines."""
        order = requested_order(query, machine_list.COLUMNS)
        start = requested_start(query)
        rows = machine_list.machines(self.explored, order, start, ROWS_OF_A_PAGE + 1)
        return self.render(
            "machines",
            title="Machines",
            here="/machines",
            n_all=len(self.explored.pyramid.machines),
            rows=page_table(
                rows.slice(0, ROWS_OF_A_PAGE),
                order=order,
                notation=self.explored.notation,
            ),
            start=start,
            links=page_links(query, start, ROWS_OF_A_PAGE, rows.num_rows),
        )

    def jobs(self, criteria: Mapping[str, str], query: Parameters = ()) -> str:
        """Return the jobs of a group."""
        order = facets.order_of_jobs(query)
        start = requested_start(query)
        rows = facets.jobs(self.explored, criteria, order, start, ROWS_OF_A_PAGE + 1)
        return self.render(
            "jobs",
            title="Jobs",
            here="/jobs",
            chosen=criteria,
            query=urlencode(criteria),
            jobs=page_table(
                rows.slice(0, ROWS_OF_A_PAGE),
                order=order,
                notation=self.explored.notation,
            ),
            start=start,
            links=page_links(query, start, ROWS_OF_A_PAGE, rows.num_rows),
        )

    def tables(self) -> str:
        """Return the tables of the store with their columns."""
        return self.render(
            "tables",
            title="Tables",
            here="/tables",
            tables=self._described_tables(),
        )

    def _described_tables(self) -> list[DescribedTable]:
        n_rows = self.explored.store.manifest.tables
        tables = []
        for table in TABLES.values():
            tables.append(
                DescribedTable(
                    table.name,
                    table.grain,
                    table.columns,
                    n_rows.get(table.name, 0),
                )
            )
        return tables

    def table(self, view: TableView) -> str:
        """Return rows of a table, with counts of values."""
        store = self.explored.store
        columns = {column.name: column for column in view.table.columns}
        rows = view.rows(store)
        first_rows = rows.slice(0, ROWS_OF_A_PAGE)
        unknown = columns_without_values(first_rows, view.named_columns)

        def filtered(name: str, value: object) -> str | None:
            # Of a number, nobody asks for the rows that have exactly this one.
            column = columns[name]
            is_name = column.type == "string" or is_enumeration(column)
            return view.with_value(name, value) if is_name and value is not None else None

        return self.render(
            "table",
            title=view.table.name,
            here="/tables",
            view=view,
            n_all=store.manifest.tables.get(view.table.name, 0),
            n_rows=view.count(store),
            rows=page_table(first_rows.drop_columns(unknown), order=view.order, link=filtered),
            unknown=unknown,
            facets=view.counts(store),
            operators=OPERATORS,
            links=page_links(view.parameters, view.start, ROWS_OF_A_PAGE, rows.num_rows),
            all_rows=view.sql_of_all,
            python=snippets.python_of_query(store.path, view.sql),
        )

    def search(self, words: str, matches: Sequence[Match]) -> str:
        """Return what a search may mean."""
        return self.render(
            "search",
            title="Search",
            here="",
            q=words,
            found=matches,
        )

    def sql(self, parameters: Parameters) -> str:
        """Return the SQL box, with the answer to a query where there is one."""
        query = dict(parameters).get("q", "").strip()
        answer = None
        is_cut = False
        error = None
        if query:
            try:
                sort = dict(parameters).get("sort", "")
                asked_query = sql_box.in_order(query, sort)
                first_rows = self.explored.sql_box.answer(asked_query, sql_box.SHOWN_ROWS)
                columns = first_rows.table.column_names
                sortable = columns if sql_box.can_be_sorted(query) else ()
                order = requested_order([("q", query), ("sort", sort)], sortable)
                answer = page_table(first_rows.table, order=order)
                is_cut = first_rows.is_cut
            except BorgtraceError as refusal:
                error = str(refusal)
        return self.render(
            "sql",
            title="SQL",
            here="/sql",
            query=query or sql_box.EXAMPLE,
            asked=bool(query),
            answer=answer,
            is_cut=is_cut,
            error=error,
            names=to_json(sql_box.WORDS).decode(),
            tables=self._described_tables(),
            python=snippets.python_of_query(self.explored.store.path, query),
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


def columns_without_values(table: pa.Table, named: Collection[str]) -> list[str]:
    """Return the columns of a table in which nothing is known, but for those that its reader named."""
    columns = []
    for name in table.column_names:
        if table[name].null_count == table.num_rows and name not in named:
            columns.append(name)
    return columns if table.num_rows else []


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
