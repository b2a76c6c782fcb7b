"""The web application: addresses to views, and to the data of every chart as JSON and CSV."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pyarrow as pa
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from borgtrace.errors import BorgtraceError, EngineError, UsageError
from borgtrace.explore import cell, facets, job, machine, sql_box
from borgtrace.explore.access import Access
from borgtrace.explore.charts import TimeChart, to_csv, to_json
from borgtrace.explore.explored_store import ExploredStore
from borgtrace.explore.grid import RESOURCES
from borgtrace.explore.pages import Pages
from borgtrace.explore.search import search as search_words
from borgtrace.explore.span import RequestedTimes, TimeSpan, requested_span, requested_times
from borgtrace.explore.table_view import requested_view
from borgtrace.notation import find_job, find_machine
from borgtrace.question.colours import stylesheet
from borgtrace.schema.time import parse_time
from borgtrace.store.version import REPLACED

MEDIA_TYPES = {"json": "application/json", "csv": "text/csv; charset=utf-8"}
CRITERIA = ("user", "priority", "name", "relation", "value")
"""Parameters of an address that choose jobs."""
NAMELESS = "nothing has this name"
"""What :mod:`borgtrace.notation.lookup` says of a name of nothing."""
FORM_OF_TABLE = ("do", "column", "operator", "value")
"""Parameters of the form that adds a condition to a table."""
LARGEST_ID = 2**63 - 1
Data = Any
"""A `TimeChart`, an Arrow table, or columns by name; Arrow has no types for the checker."""


def application(explored: ExploredStore, token: str) -> Starlette:
    """Return the application.

    Parameters
    ----------
    explored
        What is explored.
    token
        What the first address must hold.
    """
    pages = Pages(explored)

    def refuse(status: int, what: str, way_out: str) -> Response:
        return HTMLResponse(pages.locked(what, way_out), status)

    app = Starlette(
        routes=[
            *of_one_version(explored, routes_of_views(pages)),
            *of_one_version(explored, routes_of_data(DataViews(explored))),
            *routes_of_files(),
        ],
        exception_handlers={
            BorgtraceError: partial(answer_refusal, pages),
            HTTPException: partial(answer_no_page, pages),
        },
    )
    app.add_middleware(Access, token=token, refuse=refuse)
    return app


def of_one_version(explored: ExploredStore, routes: Sequence[Route]) -> list[Route]:
    """Return routes that answer from the version of the store that was opened, or say that it was replaced."""

    def checked(answer: Callable[[Request], Response]) -> Callable[[Request], Response]:
        def answer_or_refuse(request: Request) -> Response:
            with explored.store.expect_current():
                return answer(request)

        return answer_or_refuse

    return [Route(route.path, checked(route.endpoint)) for route in routes]


def routes_of_files() -> list[Route | Mount]:
    """Return the routes of styles and scripts."""
    # The report's own style: one visual system for both.
    layout = (files("borgtrace.report") / "templates" / "style.css").read_text("utf-8")
    style = stylesheet() + layout
    return [
        Route("/static/report.css", lambda request: Response(style, media_type="text/css")),
        Mount("/static", StaticFiles(directory=str(files(__package__) / "static"))),
    ]


def routes_of_views(pages: Pages) -> list[Route]:
    """Return the routes of pages."""

    def view(path: str, make: Callable[[Request], str]) -> Route:
        # A plain function, which Starlette runs in a thread: DuckDB blocks.
        return Route(path, lambda request: HTMLResponse(make(request)))

    store = pages.explored.store

    def times(request: Request) -> RequestedTimes:
        read_time = pages.explored.notation.clock.parse
        return requested_times(request.query_params, pages.explored.span, read_time)

    def cell(request: Request) -> str:
        return pages.cell(resource_of(request), times(request))

    def machine(request: Request) -> str:
        machine_id = find_machine(store, request.path_params["machine"])
        return pages.machine(machine_id, times(request))

    def job(request: Request) -> str:
        return pages.job(find_job(store, request.path_params["job"]), times(request))

    def task(request: Request) -> str:
        window = request.query_params.get("window")
        start = parse_time(window, "window") if window else None
        job_id = find_job(store, request.path_params["job"])
        return pages.task(job_id, id_of(request, "task"), start, times(request))

    def table(request: Request) -> Response:
        query = parameters_of(request)
        # A form adds a condition; the address that it leads to can be kept and sent.
        added = with_form(query)
        if added is not None:
            return RedirectResponse(f"{request.url.path}?{urlencode(added)}", 303)
        name = request.path_params["table"]
        return HTMLResponse(pages.table(requested_view(store, name, query)))

    def search(request: Request) -> Response:
        words = request.query_params.get("q", "")
        matches = search_words(pages.explored, words)
        # One meaning is where the reader wanted to go.
        if len(matches) == 1:
            return RedirectResponse(matches[0].address, 303)
        return HTMLResponse(pages.search(words, matches))

    return [
        view("/", cell),
        # Names may hold slashes, as shop/web-7/app does.
        view("/machine/{machine:path}", machine),
        view("/job/{job:path}", job),
        view("/task/{job:path}/{task}", task),
        view("/machines", lambda request: pages.machines(parameters_of(request))),
        view("/facets", lambda request: pages.facets(parameters_of(request))),
        view("/jobs", lambda request: pages.jobs(criteria_of(request), parameters_of(request))),
        view("/tables", lambda request: pages.tables()),
        Route("/tables/{table}", table),
        view("/sql", lambda request: pages.sql(parameters_of(request))),
        Route("/search", search),
    ]


def routes_of_data(data: "DataViews") -> list[Route]:
    """Return the routes of data: each as JSON and as CSV."""

    def named(path: str, make: Callable[[Request, str], Data]) -> Route:
        def answer(request: Request) -> Response:
            form = form_of(request)
            return data_response(make(request, request.path_params["name"]), form)

        return Route(f"{path}/{{name}}.{{form}}", answer)

    return [
        named("/data/cell", data.of_cell),
        named("/data/machine/{machine}", data.of_machine),
        named("/data/job/{job}", data.of_job),
        named("/data/task/{job}/{task}", data.of_task),
        named("/data/facets", data.of_facet),
        Route("/data/jobs.{form}", data.of_jobs),
        Route("/data/sql.{form}", data.of_sql),
    ]


@dataclass(frozen=True)
class DataViews:
    """The data behind the charts and tables of one store."""

    explored: ExploredStore

    def span(self, request: Request) -> TimeSpan:
        """Return the span of an address."""
        read_time = self.explored.notation.clock.parse
        return requested_span(request.query_params, self.explored.span, read_time)

    def of_cell(self, request: Request, name: str) -> Data:
        """Return a chart of the cell, or its machines as a heat map."""
        pyramid = self.explored.pyramid
        check_name("chart", name, (*RESOURCES, "pending", "running", "machines"))
        if name == "machines":
            first = number_of(request.query_params.get("first") or "0", "first")
            last = number_of(request.query_params.get("last") or str(LARGEST_ID), "last")
            heat = cell.heat(
                pyramid,
                resource_of(request),
                self.span(request),
                first,
                last,
            )
            return heat | machine.labels(self.explored, map(int, heat["machines"]))
        if name in ("pending", "running"):
            return cell.queue(pyramid, name, self.span(request))
        amounts = self.explored.notation.amounts
        return cell.load(pyramid, self.explored.dialect, name, self.span(request), amounts)

    def of_machine(self, request: Request, name: str) -> Data:
        """Return a chart of a machine, or its tasks."""
        machine_id = id_of(request, "machine")
        check_name("chart", name, (*RESOURCES, "tasks"))
        if name == "tasks":
            return machine.bars(self.explored, machine_id)
        return machine.load(self.explored, machine_id, name, self.span(request))

    def of_job(self, request: Request, name: str) -> Data:
        """Return a chart of a job, or the attempts of its instances."""
        collection_id = id_of(request, "job")
        check_name("chart", name, (*RESOURCES, "tasks"))
        if name == "tasks":
            return job.bars(self.explored, collection_id)
        return job.load(self.explored, collection_id, name, self.span(request))

    def of_task(self, request: Request, name: str) -> Data:
        """Return a chart of a task, or its events."""
        from borgtrace.explore import task
        from borgtrace.report.task_life import read_life

        check_name("chart", name, (*RESOURCES, "events"))
        life = read_life(self.explored.store, id_of(request, "job"), id_of(request, "task"))
        amounts = self.explored.notation.amounts
        return life.events if name == "events" else task.usage(life, name, amounts)

    def of_facet(self, request: Request, name: str) -> Data:
        """Return the groups of a facet."""
        check_name("facet", name, tuple(facets.FACETS))
        order = facets.order_of_groups(name, parameters_of(request))
        return facets.groups(self.explored, name, order)

    def of_jobs(self, request: Request) -> Response:
        """Return the jobs of a group."""
        jobs = facets.jobs(
            self.explored, criteria_of(request), facets.order_of_jobs(parameters_of(request))
        )
        return data_response(jobs, form_of(request))

    def of_sql(self, request: Request) -> Response:
        """Return the answer to a query of the reader's."""
        query = request.query_params.get("q", "")
        form = form_of(request)
        if form == "csv":
            lines = self.explored.sql_box.stream_csv(query)
            return StreamingResponse(lines, media_type=MEDIA_TYPES[form])
        content = sql_box.to_browser_json(self.explored.sql_box.answer(query, sql_box.MOST_ROWS))
        return Response(content, media_type=MEDIA_TYPES[form])


def data_response(data: Data, form: str) -> Response:
    """Return data as JSON or CSV."""
    if form == "csv":
        return Response(to_csv(table_of(data)), media_type=MEDIA_TYPES[form])
    if isinstance(data, TimeChart):
        content = data.to_json()
    elif isinstance(data, pa.Table):
        content = to_json(data.to_pydict())
    else:
        content = to_json(data)
    return Response(content, media_type=MEDIA_TYPES[form])


def table_of(data: Data) -> pa.Table:
    """Return what is drawn as rows."""
    if isinstance(data, TimeChart):
        return data.table
    if isinstance(data, pa.Table):
        return data
    if "cells" in data:
        return table_of_heat_map(data)
    return pa.table({name: pa.array(values) for name, values in data.items()})


def table_of_heat_map(heat: dict[str, Any]) -> pa.Table:
    """Return a heat map as rows, one for each of its cells."""
    height, width = heat["cells"].shape
    steps = heat["cells"].ravel()
    first_machine_ids = np.array(heat["machines"], np.int64)
    return pa.table(
        {
            "time": np.tile(heat["times"], height),
            "first_machine_id": np.repeat(first_machine_ids, width),
            "n_machines": np.full(height * width, heat["per_row"]),
            "percent": pa.array(steps * heat["percent"], mask=steps == heat["absent"]),
        }
    )


def form_of(request: Request) -> str:
    """Return the format of an address of data.

    Raises
    ------
    UsageError
        There is no such format.
    """
    form: str = request.path_params["form"]
    check_name("format", form, tuple(MEDIA_TYPES))
    return form


def resource_of(request: Request) -> str:
    """Return the resource of an address, CPU by default.

    Raises
    ------
    UsageError
        There is no such resource.
    """
    resource = request.query_params.get("resource", "cpu")
    check_name("resource", resource, RESOURCES)
    return resource


def with_form(query: Sequence[tuple[str, str]]) -> list[tuple[str, str]] | None:
    """Return the parameters of an address with what a form of a table adds to them; None where there is no form.

    Parameters
    ----------
    query
        Parameters of the address.
    """
    form = dict(query)
    if "do" not in form:
        return None
    kept = [(name, value) for name, value in query if name not in FORM_OF_TABLE]
    column = form.get("column", "")
    if form["do"] == "count":
        return [*kept, ("count", column)]
    operator = form.get("operator", "is")
    return [*kept, ("filter", f"{column}:{operator}:{form.get('value', '')}")]


def parameters_of(request: Request) -> list[tuple[str, str]]:
    """Return all parameters of an address in their order."""
    return request.query_params.multi_items()


def criteria_of(request: Request) -> dict[str, str]:
    """Return the parameters of an address that choose jobs."""
    query = request.query_params
    return {name: query[name] for name in CRITERIA if name in query}


def id_of(request: Request, name: str) -> int:
    """Return an id of an address.

    Raises
    ------
    UsageError
        It is no number, or too large.
    """
    return number_of(request.path_params[name], name)


def number_of(text: str, name: str) -> int:
    """Read a number of an address.

    Raises
    ------
    UsageError
        It is no number, or too large.
    """
    is_number = text.isascii() and text.isdecimal() and int(text) <= LARGEST_ID
    if not is_number:
        raise UsageError(name, "not a number", expected="an id", got=repr(text[:40]))
    return int(text)


def check_name(kind: str, name: str, allowed: tuple[str, ...]) -> None:
    """Refuse a name that there is not.

    Raises
    ------
    UsageError
        It is not one of those that are allowed.
    """
    if name not in allowed:
        raise UsageError(kind, "unknown", expected=" or ".join(allowed), got=repr(name[:40]))


def answer_refusal(pages: Pages, request: Request, error: Any) -> Response:
    """Tell what a page of ours refuses: what is not there, what is no number, a query that is wrong."""
    path = request.url.path
    status = status_of(error)
    if path.startswith("/data/"):
        content = to_json({"error": str(error)})
        return Response(content, status, media_type=MEDIA_TYPES["json"])
    what = ": ".join(part for part in (error.where, error.what, error.got) if part)
    hint = error.way_out or (f"Expected {error.expected}." if error.expected else "")
    return HTMLResponse(pages.refusal(status, f"{what}.", hint, path), status)


def status_of(error: BorgtraceError) -> int:
    """Return the HTTP status of an error."""
    if error.what.endswith("in this store") or error.what == NAMELESS:
        return 404
    if error.what == REPLACED:
        return 409
    return 400 if isinstance(error, UsageError | EngineError) else 500


def answer_no_page(pages: Pages, request: Request, error: Any) -> Response:
    """Tell that there is no such page, and which exist."""
    status = error.status_code
    path = request.url.path
    page = pages.refusal(status, f"There is no page {path}.", "These exist:", path)
    return HTMLResponse(page, status)
