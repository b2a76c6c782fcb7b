"""What would have broken: where and when did tasks use more together than the chosen policies promised?

The ten worst breaks of each resource in the judged periods, by how much usage exceeds the promise. A break is a run of
5-minute windows of one machine. It shows what the tasks used at the worst time, what was promised, requested and
available, and which tasks used most. A broken promise does not mean a full machine: the capacity stands beside.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import pyarrow as pa

from borgtrace.advice.breaks import MOST, ChosenPolicy, worst_breaks
from borgtrace.advice.judging import JudgedPolicies, Replay
from borgtrace.advice.options import AdviceOptions
from borgtrace.notation.amounts import RESOURCES
from borgtrace.question import Answer, Column, Question, Row, charts
from borgtrace.question.answer_sizes import amounts_of
from borgtrace.question.store_question import Report
from borgtrace.schema.time import HOUR, MINUTE, TRACE_START, WINDOW
from borgtrace.store import Store

ANSWER = Answer(
    grain="resource and place among its worst breaks",
    key=[
        Column("resource", "string", "id", "Resource: cpu or memory."),
        Column("place", "int64", "count", "Place among the breaks of the resource, from 1."),
    ],
    columns=[
        Column("machine_id", "int64", "id", "The machine."),
        Column("begin", "int64", "us", "Begin of the first window above the promise."),
        Column("end", "int64", "us", "End of the last window above it."),
        Column("worst", "int64", "us", "Begin of the window that exceeds it most."),
        Column("minutes", "float64", "min", "From begin to end."),
        Column("windows", "int64", "count", "Windows whose promise was broken."),
        Column("excess", "float64", "machines", "By how much at the worst, in largest machines."),
        Column("used", "float64", "machines", "What the tasks of the promise used then."),
        Column("promised", "float64", "machines", "What was promised."),
        Column("requested", "float64", "machines", "What they request."),
        Column(
            "capacity", "float64", "machines", "What the machine has; NULL unknown.", nullable=True
        ),
        Column(
            "tasks", "string", "id", "Tasks that used most then, as COLLECTION-INSTANCE, in order."
        ),
    ],
)
AMOUNT_COLUMNS = ("excess", "used", "promised", "requested", "capacity")


def compute(
    store: Store,
    replay: Replay,
    judged: Sequence[JudgedPolicies],
    options: AdviceOptions,
    report: Report,
) -> list[Row]:
    """Return the ten worst breaks of each resource.

    Parameters
    ----------
    store, replay
        The cell.
    judged
        What was chosen when.
    options
        Processes.
    report
        Called with the progress.
    """
    rows = []
    for one in judged:
        rows += rows_of(store, replay, one, options, report)
    return rows


def rows_of(
    store: Store,
    replay: Replay,
    judged: JudgedPolicies,
    options: AdviceOptions,
    report: Report,
) -> list[Row]:
    """Return the ten worst breaks of one resource."""
    policies, chosen = chosen_policies(judged)
    breaks = replay.part(judged.resource, options, report).replay(
        [judged.policies[place] for place in policies],
        judged.schedule.horizon_slots,
        partial(worst_breaks, chosen=chosen),
    )
    machine = np.repeat(replay.input.usage.machines[list(replay.places)], MOST)
    flat = breaks.reshape(-1)
    flat["machine"] = machine
    flat = flat[flat["windows"] > 0]
    order = np.lexsort((flat["machine"], flat["begin"], flat["promised"] - flat["used"]))
    task_ids = ids_of_tasks(store)
    rows = []
    for place, one in enumerate(flat[order[:MOST]], 1):
        positions = one["tasks"][one["tasks"] >= 0]
        rows.append(
            {
                "resource": judged.resource,
                "place": place,
                **_columns_of_break(one),
                "tasks": " ".join(task_ids[position] for position in positions.tolist()),
            }
        )
    return rows


def _columns_of_break(one: np.void) -> Row:
    """Return where and when a promise was broken, and by how much."""
    return {
        "machine_id": int(one["machine"]),
        "begin": begin_of(one["begin"]),
        "end": begin_of(one["end"]),
        "worst": begin_of(one["worst"]),
        "minutes": float(one["end"] - one["begin"]) * (WINDOW / MINUTE),
        "windows": int(one["windows"]),
        "excess": float(one["used"] - one["promised"]),
        "used": float(one["used"]),
        "promised": float(one["promised"]),
        "requested": float(one["requested"]),
        "capacity": None if np.isnan(one["capacity"]) else float(one["capacity"]),
    }


def chosen_policies(judged: JudgedPolicies) -> tuple[list[int], list[ChosenPolicy]]:
    """Return the places of the policies that were in force at all, and which of them was when."""
    policies = sorted({choice.policy or 0 for choice in judged.choices})
    length = judged.schedule.slots_per_period
    chosen = []
    for choice in judged.choices:
        first = choice.period * length
        place = policies.index(choice.policy or 0)
        chosen.append(ChosenPolicy(place, first, first + length))
    return policies, chosen


def ids_of_tasks(store: Store) -> list[str]:
    """Return the ids of all tasks, by their position in the store's index."""
    tasks = store.task_columns(["collection_id", "instance_index"])
    collections = tasks["collection_id"].to_pylist()
    instances = tasks["instance_index"].to_pylist()
    return [f"{one}-{other}" for one, other in zip(collections, instances, strict=True)]


def begin_of(slot: int) -> int:
    """Return when a slot begins, µs."""
    return TRACE_START + int(slot) * WINDOW


def chart(answer: pa.Table) -> charts.Chart:
    """Draw when promises are broken, and by how much: a panel for each resource, in its own unit."""
    import altair as alt

    amounts = amounts_of(answer)
    rows = [{**row, "hour": (row["worst"] - TRACE_START) / HOUR} for row in answer.to_pylist()]
    shown = ("resource", "machine_id", "hour", "minutes", "excess", "used", "promised", "requested")
    panels = []
    for resource, name in RESOURCES.items():
        rows_of_panel = []
        for row in rows:
            if row["resource"] == resource:
                scaled = {column: amounts.value(row[column], resource) for column in AMOUNT_COLUMNS}
                rows_of_panel.append({**row, **scaled})
        if not rows_of_panel:
            continue
        title = f"{name} above the promise ({amounts.unit(resource)})"
        panels.append(
            charts.base(rows_of_panel, height=140)
            .mark_point(filled=True, size=70)
            .encode(
                x=charts.hour_axis(rows),
                y=alt.Y("excess:Q", title=title),
                tooltip=charts.tooltips(rows_of_panel, *shown),
            )
        )
    return alt.vconcat(*panels).properties(title="The worst broken promises")


INCIDENTS = Question(
    name="advice_incidents",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    reads=["instance_usage", "instance_events"],
    reference="our own arithmetic",
)
"""What would have broken."""
