"""The web application: addresses to views, and to the data of every chart as JSON and CSV."""

from collections.abc import Callable
from functools import partial
from importlib.resources import files
from typing import Any

import numpy as np
import pyarrow as pa
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from borgtrace.errors import BorgtraceError, EngineError, UsageError
from borgtrace.explore import cell, facets, job, machine, question
from borgtrace.explore.access import Access
from borgtrace.explore.charts import Chart, to_csv, to_json
from borgtrace.explore.grid import RESOURCES
from borgtrace.explore.pages import Pages
from borgtrace.explore.span import asked
from borgtrace.explore.trace import Trace
from borgtrace.schema.time import parse_time

_TYPES = {"json": "application/json", "csv": "text/csv; charset=utf-8"}
_GROUPS = ("user", "priority", "name", "relation", "value")
_LARGEST = 2**63 - 1
_ALL_RANKS = (("first", "0"), ("last", str(_LARGEST)))
Answer = Any
"""A `Chart`, an Arrow table, or columns by name; Arrow has no types for the checker."""


def application(trace: Trace, token: str) -> Starlette:
    """Return the application.

    Parameters
    ----------
    trace
        What is explored.
    token
        What the first address must hold.
    """
    pages = Pages(trace)
    app = Starlette(
        routes=[*_views(pages), *_data(trace), *_static()],
        exception_handlers={
            BorgtraceError: partial(_refused, pages),
            HTTPException: partial(_failed, pages),
        },
    )
    app.add_middleware(
        Access, token=token, refuse=lambda status, *why: HTMLResponse(pages.locked(*why), status)
    )
    return app


def _static() -> list[Route | Mount]:
    # The report's own style: one visual system for both.
    style = (files("borgtrace.report") / "templates" / "style.css").read_text("utf-8")
    return [
        Route("/static/report.css", lambda request: Response(style, media_type="text/css")),
        Mount("/static", StaticFiles(directory=str(files(__package__) / "static"))),
    ]


def _views(pages: Pages) -> list[Route]:
    trace = pages.trace

    def view(path: str, make: Callable[[Request], str]) -> Route:
        # A plain function, which Starlette runs in a thread: DuckDB blocks.
        return Route(path, lambda request: HTMLResponse(make(request)))

    def search(request: Request) -> Response:
        words = request.query_params.get("q", "")
        found = facets.search(trace, words)
        # One meaning is where the reader wanted to go.
        return (
            RedirectResponse(found[0][2], 303)
            if len(found) == 1
            else HTMLResponse(pages.search(words, found))
        )

    def start(request: Request) -> int | None:
        given = request.query_params.get("window")
        return parse_time(given, "window") if given else None

    return [
        view("/", lambda r: pages.cell(_resource(r))),
        view("/machine/{machine}", lambda r: pages.machine(_id(r, "machine"))),
        view("/job/{job}", lambda r: pages.job(_id(r, "job"))),
        view("/task/{job}/{task}", lambda r: pages.task(_id(r, "job"), _id(r, "task"), start(r))),
        view("/facets", lambda r: pages.facets()),
        view("/jobs", lambda r: pages.jobs(_chosen(r))),
        view("/sql", lambda r: pages.sql(r.query_params.get("q", "").strip())),
        Route("/search", search),
    ]


def _data(trace: Trace) -> list[Route]:
    def span(request: Request) -> Any:
        return asked(request.query_params, trace.span)

    def of_cell(r: Request, name: str) -> Answer:
        if name == "machines":
            first, last = (
                _number(r.query_params.get(edge) or other, edge) for edge, other in _ALL_RANKS
            )
            return cell.heat(trace.pyramid, _resource(r), span(r), first, last)
        if name in ("pending", "running"):
            return cell.queue(trace.pyramid, name, span(r))
        resource = _one_of(name, (*RESOURCES, "pending", "running", "machines"), "chart")
        return cell.load(trace.pyramid, trace.dialect, resource, span(r))

    def of_lives(r: Request, name: str, kind: str, lives: Any) -> Answer:
        id_, resource = _id(r, kind), _one_of(name, (*RESOURCES, "tasks"), "chart")
        return (
            lives.bars(trace, id_) if name == "tasks" else lives.load(trace, id_, resource, span(r))
        )

    def of_task(r: Request, name: str) -> Answer:
        from borgtrace.explore import task
        from borgtrace.report.task_life import read_life

        resource = _one_of(name, (*RESOURCES, "events"), "chart")
        life = read_life(trace.store, _id(r, "job"), _id(r, "task"))
        return life.events if name == "events" else task.usage(trace, life, resource)

    def of_sql(r: Request) -> Response:
        query, form = r.query_params.get("q", ""), _form(r)
        if form == "csv":
            return StreamingResponse(question.csv_lines(trace, query), media_type=_TYPES[form])
        return _answer(question.first_rows(trace, query, question.MOST_ROWS)[0], form)

    def named(path: str, make: Callable[[Request, str], Answer]) -> Route:
        return Route(
            f"{path}/{{name}}.{{form}}", lambda r: _answer(make(r, r.path_params["name"]), _form(r))
        )

    return [
        named("/data/cell", of_cell),
        named("/data/machine/{machine}", partial(of_lives, kind="machine", lives=machine)),
        named("/data/job/{job}", partial(of_lives, kind="job", lives=job)),
        named("/data/task/{job}/{task}", of_task),
        named(
            "/data/facets",
            lambda r, name: facets.groups(trace, _one_of(name, tuple(facets.FACETS), "facet")),
        ),
        Route("/data/jobs.{form}", lambda r: _answer(facets.jobs(trace, _chosen(r)), _form(r))),
        Route("/data/sql.{form}", of_sql),
    ]


def _answer(answer: Answer, form: str) -> Response:
    if form == "json":
        if isinstance(answer, pa.Table):
            answer = answer.to_pydict()
        content = answer.to_json() if isinstance(answer, Chart) else to_json(answer)
        return Response(content, media_type=_TYPES[form])
    return Response(to_csv(_table(answer)), media_type=_TYPES[form])


def _table(answer: Answer) -> pa.Table:
    """Return what is drawn as rows; of a heat map, one for each cell."""
    if isinstance(answer, Chart | pa.Table):
        return answer.table if isinstance(answer, Chart) else answer
    if "cells" not in answer:
        return pa.table({name: pa.array(values) for name, values in answer.items()})
    height, width = answer["cells"].shape
    cells, n = answer["cells"].ravel(), np.full(height * width, answer["per_row"])
    percent = pa.array(cells * answer["percent"], mask=cells == answer["absent"])
    times, machines = (
        np.tile(answer["times"], height),
        np.repeat(np.array(answer["machines"], np.int64), width),
    )
    return pa.table(
        {"time": times, "first_machine_id": machines, "n_machines": n, "percent": percent}
    )


def _form(request: Request) -> str:
    return _one_of(request.path_params["form"], tuple(_TYPES), "format")


def _resource(request: Request) -> str:
    return _one_of(request.query_params.get("resource", "cpu"), RESOURCES, "resource")


def _chosen(request: Request) -> dict[str, str]:
    return {name: request.query_params[name] for name in _GROUPS if name in request.query_params}


def _id(request: Request, name: str) -> int:
    return _number(request.path_params[name], name)


def _number(text: str, name: str) -> int:
    if not (text.isascii() and text.isdecimal() and int(text) <= _LARGEST):
        raise UsageError(name, "not a number", expected="an id", got=repr(text[:40]))
    return int(text)


def _one_of(text: str, allowed: tuple[str, ...], name: str) -> str:
    if text not in allowed:
        raise UsageError(name, "unknown", expected=" or ".join(allowed), got=repr(text[:40]))
    return text


def _refused(pages: Pages, request: Request, error: Any) -> Response:
    """Tell what a page of ours refuses: what is not there, what is no number, a query that is wrong."""
    path = request.url.path
    status = _status(error)
    if path.startswith("/data/"):
        return Response(to_json({"error": str(error)}), status, media_type=_TYPES["json"])
    what = ": ".join(part for part in (error.where, error.what, error.got) if part)
    way_out = error.way_out or (f"Expected {error.expected}." if error.expected else "")
    return HTMLResponse(pages.refusal(status, f"{what}.", way_out, path), status)


def _status(error: BorgtraceError) -> int:
    if error.what.endswith("in this store"):
        return 404
    return 400 if isinstance(error, UsageError | EngineError) else 500


def _failed(pages: Pages, request: Request, error: Any) -> Response:
    status, path = error.status_code, request.url.path
    return HTMLResponse(
        pages.refusal(status, f"There is no page {path}.", "These exist:", path), status
    )
