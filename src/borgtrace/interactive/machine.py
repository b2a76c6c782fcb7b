"""One machine: how full it was hour by hour, what ran on it at a time, and its picture."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any

from borgtrace.engine.frames import import_pandas
from borgtrace.errors import UsageError
from borgtrace.notation import Names, ResourceAmounts, WallClock, find_machine, integer
from borgtrace.schema.time import AFTER_TRACE, DAY, HOUR, TRACE_START, WINDOW
from borgtrace.store.machine import (
    MachineCapacity,
    capacity_at,
    hourly_load,
    load_by_step,
    running_on,
)

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from borgtrace.question.answer import Row
    from borgtrace.question.charts import Chart
    from borgtrace.store.store import Store

RESOURCES = {"cpu": "CPU", "memory": "Memory"}
LONGEST_IN_WINDOWS = 7 * DAY
"""Span of a store up to which a chart has a bar for each window of 300 s; beyond, one for each hour."""
SHOWN_HOURS = 10
"""Hours that a notebook shows."""


@dataclass(frozen=True, repr=False)
class Machine:
    """One machine of a store.

    Attributes
    ----------
    machine_id
        Its id.
    name
        What its users call it; its id where it has no name.
    """

    store: Store = field(repr=False)
    machine_id: int
    name: str

    @classmethod
    def of(cls, store: Store, machine: int | str) -> Machine:
        """Return the machine of an id or a name.

        Parameters
        ----------
        store
            The store.
        machine
            Id or name.

        Raises
        ------
        UsageError
            The store has no such machine.
        """
        machine_id = find_machine(store, str(machine))
        found_machine = cls(store, machine_id, Names(store).machine(machine_id))
        if found_machine.capacity is None and not found_machine.load.num_rows:
            raise UsageError(
                "machine",
                "no such machine in this store",
                expected="an id or a name",
                got=str(machine),
                way_out='list some: store.sql("SELECT DISTINCT machine_id FROM machine_events LIMIT 9")',
            )
        return found_machine

    @cached_property
    def capacity(self) -> MachineCapacity | None:
        """What it was at the end of the trace; None where it is known by its usage alone."""
        try:
            return capacity_at(self.store, self.machine_id)
        except UsageError:
            return None

    @cached_property
    def load(self) -> pa.Table:
        """What its tasks used, a row per hour: ``hour``, ``n_tasks``, ``cpu``, ``memory``."""
        return hourly_load(self.store, self.machine_id)

    def tasks(self, time: int | str) -> pa.Table:
        """Return the tasks that ran on it at a time by their names, those with the largest requests first.

        Parameters
        ----------
        time
            An amount since the start such as ``"12h"``, a date such as ``"2026-11-01 12:00"``, or stored µs.
        """
        clock = WallClock.of(self.store.manifest)
        instant = clock.parse(time, "time") if isinstance(time, str) else time
        table = running_on(self.store, self.machine_id, instant)
        names = Names(self.store)
        tasks = zip(
            table["collection_id"].to_pylist(),
            table["instance_index"].to_pylist(),
            strict=True,
        )
        return table.add_column(0, "task", [[names.task(*task) for task in tasks]])

    def to_pandas(self) -> pd.DataFrame:
        """Return the load as a frame of pandas, one row per hour."""
        import_pandas()
        return self.load.to_pandas()

    def plot(self) -> Chart:
        """Draw CPU and memory that its tasks used over time, under its capacity."""
        import altair as alt

        panels = [self._panel(resource) for resource in RESOURCES]
        return alt.vconcat(*panels)

    def _panel(self, resource: str) -> Chart:
        """Draw one resource: a bar for each step, and the capacity as a rule."""
        import altair as alt

        from borgtrace.question import charts

        amounts = ResourceAmounts.of(self.store.manifest)
        rows = self._steps(resource, amounts.factor(resource))
        panel: Any = (
            charts.base(rows, f"{RESOURCES[resource]} of machine {self.name}")
            .mark_bar()
            .encode(
                x=alt.X("hour:Q", title="hours since the start"),
                x2="to:Q",
                y=alt.Y("used:Q", title=amounts.heading("used", resource)),
                y2=alt.datum(0),
                tooltip=charts.tooltips(rows, "hour", "used"),
            )
        )
        capacity = self._capacity_of(resource)
        if capacity is None:
            return panel
        return panel + charts.rule_at(y=capacity * amounts.factor(resource))

    def _steps(self, resource: str, factor: float) -> list[Row]:
        """Return what its tasks used in each step that was measured whole, times a factor."""
        first, last = self.store.manifest.time_range.get("instance_usage") or (0, 0)
        last = min(last, AFTER_TRACE - 1)
        step = WINDOW if last - first <= LONGEST_IN_WINDOWS else HOUR
        rows = []
        for row in load_by_step(self.store, self.machine_id, step).to_pylist():
            start = row["step"] * step
            if first <= start and start + step <= last:
                rows.append(
                    {
                        "hour": (start - TRACE_START) / HOUR,
                        "to": (start + step - TRACE_START) / HOUR,
                        "used": None if row[resource] is None else row[resource] * factor,
                    }
                )
        return rows

    def _capacity_of(self, resource: str) -> float | None:
        if self.capacity is None:
            return None
        return self.capacity.cpu if resource == "cpu" else self.capacity.memory

    def __repr__(self) -> str:
        return f"<Machine {self.name}: {self.load.num_rows:,} hours of load>"

    def _repr_html_(self) -> str:
        """Show the first hours in a notebook."""
        amounts = ResourceAmounts.of(self.store.manifest)
        rows = []
        for row in self.load.slice(0, SHOWN_HOURS).to_pylist():
            cells = [integer(row["hour"]), integer(row["n_tasks"])]
            cells += [amounts.number(row[resource], resource) for resource in RESOURCES]
            values = "".join(f"<td>{cell}</td>" for cell in cells)
            rows.append(f"<tr>{values}</tr>")
        headings = ["hour", "tasks"]
        headings += [amounts.heading(title, resource) for resource, title in RESOURCES.items()]
        heading = "".join(f"<th>{name}</th>" for name in headings)
        caption = f"<caption>{escape(repr(self))}</caption>"
        return f"<table>{caption}<tr>{heading}</tr>{''.join(rows)}</table>"
