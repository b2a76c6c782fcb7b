"""The web application: addresses to views, and to the data of every chart as JSON and CSV."""

from collections.abc import Callable, Sequence
from functools import partial
from importlib.resources import files
from typing import Any
from urllib.parse import urlencode

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from borgtrace.errors import BorgtraceError, EngineError, UsageError
from borgtrace.explore.access import Access
from borgtrace.explore.addresses import (
    MEDIA_TYPES,
    criteria_of,
    form_of,
    id_of,
    parameters_of,
    resource_of,
    with_form,
)
from borgtrace.explore.charts import to_json
from borgtrace.explore.data_views import Data, DataViews, data_response
from borgtrace.explore.explored_store import ExploredStore
from borgtrace.explore.pages import Pages
from borgtrace.explore.search import search as search_words
from borgtrace.explore.span import RequestedTimes, requested_times
from borgtrace.explore.table_view import requested_view
from borgtrace.notation import find_job, find_machine
from borgtrace.question.colours import stylesheet
from borgtrace.store.version import REPLACED

NAMELESS = "nothing has this name"
"""What :mod:`borgtrace.notation.lookup` says of a name of nothing."""


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
        start = pages.explored.notation.clock.parse(window, "window") if window else None
        job_id = find_job(store, request.path_params["job"])
        return pages.task(job_id, id_of(request, "task"), start, times(request))

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
        Route("/tables/{table}", lambda request: table_or_redirect(pages, request)),
        view("/sql", lambda request: pages.sql(parameters_of(request))),
        Route("/search", lambda request: search_or_redirect(pages, request)),
    ]


def table_or_redirect(pages: Pages, request: Request) -> Response:
    """Return the page of a table, or lead from a form to the address of what it asks for."""
    query = parameters_of(request)
    # A form adds a condition; the address that it leads to can be kept and sent.
    added = with_form(query)
    if added is not None:
        return RedirectResponse(f"{request.url.path}?{urlencode(added)}", 303)
    name = request.path_params["table"]
    return HTMLResponse(pages.table(requested_view(pages.explored.store, name, query)))


def search_or_redirect(pages: Pages, request: Request) -> Response:
    """Return the page of what words may mean, or lead to it where they mean one thing."""
    words = request.query_params.get("q", "")
    matches = search_words(pages.explored, words)
    # One meaning is where the reader wanted to go.
    if len(matches) == 1:
        return RedirectResponse(matches[0].address, 303)
    return HTMLResponse(pages.search(words, matches))


def routes_of_data(data: DataViews) -> list[Route]:
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
