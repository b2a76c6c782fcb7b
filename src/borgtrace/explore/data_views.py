"""The data behind the charts and tables of the explorer, as JSON and CSV."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from borgtrace.explore import cell, facets, job, machine, sql_box
from borgtrace.explore.addresses import (
    LARGEST_ID,
    MEDIA_TYPES,
    check_name,
    criteria_of,
    form_of,
    id_of,
    number_of,
    parameters_of,
    resource_of,
)
from borgtrace.explore.charts import TimeChart, to_csv, to_json
from borgtrace.explore.explored_store import ExploredStore
from borgtrace.explore.grid import RESOURCES
from borgtrace.explore.span import TimeSpan, requested_span

Data = Any
"""A `TimeChart`, an Arrow table, or columns by name; Arrow has no types for the checker."""


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
