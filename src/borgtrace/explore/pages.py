"""The views as HTML: one template each, around data that the page's script fetches."""

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

import jinja2
import pyarrow as pa

from borgtrace.errors import BorgtraceError, UsageError
from borgtrace.explore import facets, job, machine, question
from borgtrace.explore.charts import to_json
from borgtrace.explore.rows import Cell, Grid, shown, text
from borgtrace.explore.span import life_of
from borgtrace.explore.tiers import tier_colors
from borgtrace.explore.trace import Trace
from borgtrace.report.holdings import trace_name
from borgtrace.report.values import cell, environment
from borgtrace.schema import TABLES
from borgtrace.schema.time import TRACE_START
from borgtrace.store.machine import capacity_at

VIEWS = {"/": "Cell", "/facets": "Users, priorities, constraints", "/sql": "SQL"}
_EXAMPLES = ("/machine/", "/job/", "/task/", "/jobs", "/search", *VIEWS)


@dataclass(frozen=True)
class Pages:
    """Makes the pages of one trace."""

    trace: Trace

    @cached_property
    def _environment(self) -> jinja2.Environment:
        filling = environment("borgtrace.explore")
        filling.filters.update(plain=text, value=cell)
        manifest = self.trace.store.manifest
        clock = {
            # Epoch seconds of time zero: charts show the cell's wall clock.
            "epoch": manifest.dialect.wall_clock(TRACE_START, manifest.cell).timestamp()
            - TRACE_START / 1e6,
            "zone": manifest.time_zone,
            "start": self.trace.span.start,
            "end": self.trace.span.end,
            "tiers": tier_colors(manifest.dialect),
        }
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
        busiest = shown(machine.busiest(self.trace, resource))
        n = len(self.trace.pyramid.machines)
        return self.render(
            "cell", title="The cell", here="/", resource=resource, busiest=busiest, n=n
        )

    def machine(self, machine_id: int) -> str:
        """Return the page of a machine."""
        self.trace.place(machine_id)
        try:
            capacity = capacity_at(self.trace.store, machine_id)
        except UsageError:  # known by its usage alone
            capacity = None
        return self.render(
            "machine", title=f"Machine {machine_id}", here="", id=machine_id, capacity=capacity
        )

    def job(self, collection_id: int) -> str:
        """Return the page of a job."""
        first, last = self.trace.job_rows(collection_id)
        known = job.facts(self.trace, collection_id)
        siblings = shown(job.siblings(self.trace, collection_id, known))
        title = f"{'Alloc set' if known.get('collection_type') == 'ALLOC_SET' else 'Job'} {collection_id}"
        values = {
            "id": collection_id,
            "n": last - first,
            "facts": _facts(known),
            "siblings": siblings,
        }
        values["home"] = job.life_span(self.trace, collection_id)
        return self.render("job", title=title, here="", **values)

    def task(self, collection_id: int, instance_index: int, start: int | None) -> str:
        """Return the page of a task; with the window that starts at `start` in full, where that is given."""
        # Inside: charts of tasks come with the questions' tools, which take half a second to import.
        from borgtrace.explore import task
        from borgtrace.report import task_page
        from borgtrace.report.task_life import read_life, times

        life = read_life(self.trace.store, collection_id, instance_index)
        window = None if start is None else task.window(self.trace, life, start)
        if start is not None and window is None:
            way_out = "choose one in the table of usage"
            raise UsageError(
                "window", "not one of this task in this store", got=f"{start} µs", way_out=way_out
            )
        starts = life.usage["start_time"].to_pylist()
        at = starts.index(start) if window else -1
        return self.render(
            "task",
            title=f"Task {collection_id}:{instance_index}",
            here="",
            life=life,
            home=life_of(self.trace.span, times(life)),
            facts=task_page.facts(life),
            span=task_page.span(self.trace.store.manifest, life),
            tables=task_page.tables(life),
            starts=starts,
            window=window,
            columns=TABLES["instance_usage"].columns,
            # Neighbors in time; where no window is shown there are none.
            before=starts[max(at - 1, 0) : max(at, 0)],
            after=starts[at + 1 : at + 2] if window else [],
        )

    def facets(self) -> str:
        """Return the page of users, priorities and constraints."""
        tables = [(name, facet.title, self._group(name)) for name, facet in facets.FACETS.items()]
        return self.render(
            "facets", title=VIEWS["/facets"], here="/facets", tables=tables, limit=facets.MOST_ROWS
        )

    def _group(self, name: str) -> Grid:
        facet = facets.FACETS[name]
        address = "/jobs?" + "&".join(f"{key}={{{key}}}" for key in facet.key)
        return shown(facets.groups(self.trace, name), {"n_jobs": address})

    def jobs(self, chosen: Mapping[str, str]) -> str:
        """Return the jobs of a group."""
        values = {
            "chosen": chosen,
            "query": urlencode(chosen),
            "jobs": shown(facets.jobs(self.trace, chosen)),
        }
        return self.render("jobs", title="Jobs", here="/facets", limit=facets.MOST_ROWS, **values)

    def search(self, words_: str, found: list[tuple[str, str, str]]) -> str:
        """Return what a search found."""
        return self.render("search", title="Search", here="", q=words_, found=found)

    def sql(self, query: str) -> str:
        """Return the SQL box, with the answer to a query where there is one."""
        answer, is_cut, error = None, False, None
        if query:
            try:
                table, is_cut = question.first_rows(self.trace, query, question.SHOWN_ROWS)
                answer = shown(table)
            except BorgtraceError as refused:
                error = str(refused)
        return self.render(
            "sql",
            title="SQL",
            here="/sql",
            query=query or question.EXAMPLE,
            asked=bool(query),
            address=urlencode({"q": query}),
            answer=answer,
            is_cut=is_cut,
            error=error,
            names=to_json(question.WORDS).decode(),
        )

    def refusal(self, status: int, what: str, way_out: str, path: str = "") -> str:
        """Return a page that says what is wrong and where to go instead."""
        near = [
            known
            for known in _EXAMPLES
            if path and known.strip("/") and path.startswith(known.rstrip("/"))
        ]
        near += [known for known in get_close_matches(path, _EXAMPLES, 2, 0.5) if known not in near]
        examples = self._examples(near)
        return self.render(
            "refusal", title=f"{status}", here="", what=what, way_out=way_out, examples=examples
        )

    def _examples(self, near: list[str]) -> list[Cell]:
        """Return pages that exist: of the kind that was asked for where one can tell, else of each kind."""
        ids = self.trace.store.sql(
            "SELECT collection_id, instance_index FROM tasks LIMIT 1"
        ).to_pylist()
        machines = self.trace.pyramid.machines[:1].tolist()
        pages = [Cell(f"Machine {m}", f"/machine/{m}") for m in machines]
        for row in ids:
            job_, index = row["collection_id"], row["instance_index"]
            pages += [
                Cell(f"Job {job_}", f"/job/{job_}"),
                Cell(f"Task {job_}:{index}", f"/task/{job_}/{index}"),
            ]
        chosen = [
            page
            for page in pages
            if any(page.href and page.href.startswith(known) for known in near)
        ]
        return chosen or pages

    def locked(self, what: str, way_out: str) -> str:
        """Return the page for a stranger: it tells nothing of the trace."""
        return self.render("locked", what=what, way_out=way_out)


def _facts(known: Mapping[str, Any]) -> list[tuple[str, Cell]]:
    """Return known values with the pages they lead to."""
    grid = shown(pa.Table.from_pylist([dict(known)]))
    return list(zip(grid.columns, grid.rows[0], strict=True))
