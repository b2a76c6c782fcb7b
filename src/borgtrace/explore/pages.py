"""The views as HTML: one template each, around data that the page's script fetches."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

import jinja2
import pyarrow as pa

from borgtrace.errors import BorgtraceError, StoreError, UsageError
from borgtrace.explore import facets, job, machine, sql_box
from borgtrace.explore.charts import to_json
from borgtrace.explore.explored_store import ExploredStore
from borgtrace.explore.facets import Match
from borgtrace.explore.rows import LinkedText, PageTable, page_table, text
from borgtrace.explore.span import span_of_life
from borgtrace.explore.tiers import tier_colors
from borgtrace.report.holdings import trace_name
from borgtrace.report.values import cell, environment
from borgtrace.schema import TABLES
from borgtrace.schema.time import SECOND, TRACE_START
from borgtrace.store.machine import capacity_at

VIEWS = {
    "/": "Cell",
    "/facets": "Users, priorities, constraints",
    "/sql": "SQL",
}
KNOWN_PATHS = ("/machine/", "/job/", "/task/", "/jobs", "/search", *VIEWS)


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
            "start": self.explored.span.start,
            "end": self.explored.span.end,
            "tiers": tier_colors(manifest.dialect),
        }
        filling = environment("borgtrace.explore")
        filling.filters.update(plain=text, value=cell)
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

    def cell(self, resource: str) -> str:
        """Return the first page: the cell over time and its machines."""
        pyramid = self.explored.pyramid
        return self.render(
            "cell",
            title="The cell",
            here="/",
            resource=resource,
            busiest=page_table(machine.fullest(pyramid, resource)),
            n=len(pyramid.machines),
        )

    def machine(self, machine_id: int) -> str:
        """Return the page of a machine."""
        # Refuses an unknown one.
        self.explored.place(machine_id)
        try:
            capacity = capacity_at(self.explored.store, machine_id)
        # Known by its usage alone.
        except UsageError:
            capacity = None
        return self.render(
            "machine",
            title=f"Machine {machine_id}",
            here="",
            id=machine_id,
            capacity=capacity,
        )

    def job(self, collection_id: int) -> str:
        """Return the page of a job."""
        first, last = self.explored.job_rows(collection_id)
        facts = job.facts(self.explored, collection_id)
        siblings = job.siblings(self.explored, collection_id, facts)
        kind = "Alloc set" if facts.get("collection_type") == "ALLOC_SET" else "Job"
        return self.render(
            "job",
            title=f"{kind} {collection_id}",
            here="",
            id=collection_id,
            n=last - first,
            facts=linked_facts(facts),
            siblings=page_table(siblings),
            home=job.life_span(self.explored, collection_id),
        )

    def task(self, collection_id: int, instance_index: int, start: int | None) -> str:
        """Return the page of a task; with the window that starts at `start` in full, where that is given."""
        # Inside: charts of tasks come with the questions' tools, which take half a second to import.
        from borgtrace.explore import task
        from borgtrace.report import task_page
        from borgtrace.report.task_life import read_life, times

        store = self.explored.store
        life = read_life(store, collection_id, instance_index)
        window = None if start is None else task.window(self.explored, life, start)
        if start is not None and window is None:
            raise UsageError(
                "window",
                "not one of this task in this store",
                got=f"{start} µs",
                way_out="choose one in the table of usage",
            )
        starts = life.usage["start_time"].to_pylist()
        # Neighbors in time; where no window is shown there are none.
        before: list[int] = []
        after: list[int] = []
        if window:
            position = starts.index(start)
            before = starts[max(position - 1, 0) : position]
            after = starts[position + 1 : position + 2]
        return self.render(
            "task",
            title=f"Task {collection_id}:{instance_index}",
            here="",
            life=life,
            home=span_of_life(self.explored.span, times(life)),
            facts=task_page.facts(life),
            span=task_page.span(store.manifest, life),
            tables=task_page.tables(life),
            starts=starts,
            window=window,
            columns=TABLES["instance_usage"].columns,
            before=before,
            after=after,
        )

    def facets(self) -> str:
        """Return the page of users, priorities and constraints."""
        tables = []
        for name, facet in facets.FACETS.items():
            tables.append((name, facet.title, self._groups_of(name)))
        return self.render(
            "facets",
            title=VIEWS["/facets"],
            here="/facets",
            tables=tables,
            limit=facets.MOST_ROWS,
        )

    def _groups_of(self, name: str) -> PageTable:
        # Such as /jobs?name={name}&relation={relation}&value={value}.
        parameters = [f"{column}={{{column}}}" for column in facets.FACETS[name].key]
        address = "/jobs?" + "&".join(parameters)
        return page_table(facets.groups(self.explored, name), {"n_jobs": address})

    def jobs(self, criteria: Mapping[str, str]) -> str:
        """Return the jobs of a group."""
        return self.render(
            "jobs",
            title="Jobs",
            here="/facets",
            limit=facets.MOST_ROWS,
            chosen=criteria,
            query=urlencode(criteria),
            jobs=page_table(facets.jobs(self.explored, criteria)),
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

    def sql(self, query: str) -> str:
        """Return the SQL box, with the answer to a query where there is one."""
        answer = None
        is_cut = False
        error = None
        if query:
            try:
                first_rows = self.explored.sql_box.answer(query, sql_box.SHOWN_ROWS)
                answer = page_table(first_rows.table)
                is_cut = first_rows.is_cut
            except BorgtraceError as refusal:
                error = str(refusal)
        return self.render(
            "sql",
            title="SQL",
            here="/sql",
            query=query or sql_box.EXAMPLE,
            asked=bool(query),
            address=urlencode({"q": query}),
            answer=answer,
            is_cut=is_cut,
            error=error,
            names=to_json(sql_box.WORDS).decode(),
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


def linked_facts(facts: Mapping[str, Any]) -> list[tuple[str, LinkedText]]:
    """Return known values with the pages they lead to."""
    table = page_table(pa.Table.from_pylist([dict(facts)]))
    return list(zip(table.columns, table.rows[0], strict=True))
