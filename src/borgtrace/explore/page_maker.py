"""Fills the templates of the explorer's pages."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

import jinja2

from borgtrace.explore.charts import to_json
from borgtrace.explore.explored_store import ExploredStore
from borgtrace.explore.rows import text
from borgtrace.explore.tiers import tier_colors
from borgtrace.report.holdings import trace_name
from borgtrace.report.values import cell, environment
from borgtrace.schema.time import SECOND, TRACE_START

VIEWS = {
    "/": "Cell",
    "/machines": "Machines",
    "/jobs": "Jobs",
    "/facets": "Users, priorities, constraints",
    "/tables": "Tables",
    "/sql": "SQL",
}


@dataclass(frozen=True)
class PageMaker:
    """Makes pages of one store from templates."""

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
