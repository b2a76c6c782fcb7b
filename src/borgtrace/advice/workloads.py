"""What should each workload request?

A workload is what `by` says: the tasks of one owner (such as a Deployment), of one pattern of names, of one job, or of
one user. A recommender sees the 5-minute samples of all tasks of a workload in the order of time, and recommends one
request for each of them. A back-test on the whole trace counts how often a sample lay above the recommendation before
it. Unless a recommender is named, the back-test chooses the one that reserves least with at most 5 % of the samples of
CPU, and .1 % of those of memory, above it. Memory is never recommended below the highest sample, unless that is asked
for, and CPU never more than 15 % above it. Where a container was killed because it ran out of memory, memory is at
least 15 % above the limit at that time, since the usage that killed it was not seen. A limit keeps its ratio to the
request, as VPA does it, and is at least 15 % above the highest sample. Nobody knows what a task that waited, or was
killed, would have done next: the trace goes on as it was.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from borgtrace.advice.grouping import Workloads, workloads_of
from borgtrace.advice.oom_kills import MARGIN_ABOVE_LIMIT, oom_kills_of
from borgtrace.advice.options import AdviceOptions
from borgtrace.advice.recommending import (
    CANDIDATES,
    TOLERATED,
    RecommendedWorkload,
    Recommending,
)
from borgtrace.advice.workload_samples import workload_samples
from borgtrace.kernels.arrays import Numbers
from borgtrace.notation import short_name
from borgtrace.notation.amounts import BYTES_PER_GIB
from borgtrace.overcommit.recommenders.registry import parse_recommender
from borgtrace.overcommit.replay_question import first_measured_slot
from borgtrace.question import Answer, Column, NotApplicable, Question, Row, charts
from borgtrace.question.store_question import Report
from borgtrace.question.study_times import in_words
from borgtrace.schema.time import DAY, HOUR, TRACE_START, WINDOW
from borgtrace.schema.types import Unit
from borgtrace.store import Store

LEAST_WINDOWS = 12
"""Samples of a workload below which nothing is recommended: an hour of one task."""
LIMIT_MARGIN = 0.15
"""A limit is at least so much above the highest sample, which is one of five minutes: what is shorter is not seen."""
NOTHING_JUDGED = "too little history for any recommender that was tried"
LEAST_SEEN = HOUR
"""A workload must have been seen over so much of time."""
SHARE_OF_TRACE = 0.25
"""It must have been seen over so much of the trace, or a day."""


def _columns(resource: str, unit: Unit) -> list[Column]:
    """Return the columns about one resource."""
    name = {"cpu": "CPU", "memory": "memory"}[resource]
    return [
        *_columns_of_sizes(resource, name, unit),
        Column(
            f"{resource}_short",
            "float64",
            "fraction",
            "Share of the samples above what was recommended before them; NULL where none was.",
            nullable=True,
        ),
        *_columns_of_samples(resource, unit),
        Column(f"{resource}_recommender", "string", "id", "Who recommends; empty where skipped."),
        Column(f"{resource}_skip", "string", "id", "Why nothing is recommended; else empty."),
    ]


def _columns_of_samples(resource: str, unit: Unit) -> list[Column]:
    """Return the columns of what was seen."""
    return [
        Column(
            f"{resource}_p95", "float64", unit, "95th percentile of the samples.", nullable=True
        ),
        Column(f"{resource}_peak", "float64", unit, "The largest sample.", nullable=True),
        Column(
            f"{resource}_peak_time", "int64", "us", "Begin of the largest sample.", nullable=True
        ),
    ]


def _columns_of_sizes(resource: str, name: str, unit: Unit) -> list[Column]:
    """Return the columns of what a task requests, is limited to, and is recommended."""
    doc_of_column = {
        "request": f"{name} that a task requests, the median; NULL unknown.",
        "limit": f"Limit of {name} of a task, the median; NULL unknown.",
        "recommended": (
            f"{name} that is recommended as the request of a task; NULL where skipped."
        ),
        "limit_recommended": (
            f"{name} that is recommended as its limit; NULL without one now, or where skipped."
        ),
    }
    return [
        Column(f"{resource}_{column}", "float64", unit, doc, nullable=True)
        for column, doc in doc_of_column.items()
    ]


ANSWER = Answer(
    grain="workload",
    key=[
        Column("workload", "string", "id", "Its name."),
        Column("kind", "string", "id", "Kind of its owner, such as Deployment; empty unknown."),
    ],
    columns=[
        Column("cluster", "string", "id", "Its cluster, of Kubernetes; empty unknown."),
        Column("namespace", "string", "id", "Its namespace; empty unknown."),
        Column("owner", "string", "id", "Its owner's name; empty unknown."),
        Column("container", "string", "id", "Its container; empty unknown."),
        Column("tasks", "int64", "count", "Tasks in the last hour; all where it had ended."),
        Column("windows", "int64", "count", "5-minute samples of its tasks."),
        *_columns("cpu", "cores"),
        *_columns("memory", "GiB"),
        Column("oom_kills", "int64", "count", "Times that one of its tasks was OOM-killed."),
        Column(
            "oom_limit",
            "float64",
            "GiB",
            "Highest limit of memory in force at one of them; NULL where there was none.",
            nullable=True,
        ),
    ],
)


@dataclass(frozen=True, slots=True, eq=False)
class ResourceAdvice:
    """What is recommended of one resource, by the place of the workload.

    Attributes
    ----------
    resource
        ``"cpu"`` or ``"memory"``.
    recommender
        Place and name of who recommends; None where nothing could be judged.
    of_workload
        Recommendations.
    unit
        What an amount is divided by: cores stay, bytes become GiB.
    """

    resource: str
    recommender: tuple[int, str] | None
    of_workload: dict[int, RecommendedWorkload]
    unit: float


def compute(
    store: Store,
    options: AdviceOptions,
    report: Report,
) -> list[Row]:
    """Return a row for each workload with usage.

    Parameters
    ----------
    store
        An open store.
    options
        How tasks are grouped, who recommends, and the size of the largest machine.
    report
        Called with the progress.

    Raises
    ------
    NotApplicable
        Where no task has usage.
    """
    workloads = workloads_of(store, options.by)
    slots = slots_of_usage(store)
    limits = limits_of_tasks(store, options)
    oom_kills = oom_kills_of(store)
    advices = {}
    for resource in ("cpu", "memory"):
        advices[resource] = advise_resource(store, workloads, resource, slots.stop, options, report)
    places = sorted({place for advice in advices.values() for place in advice.of_workload})
    NotApplicable.unless(places, "no task has usage")
    rows = []
    for place in places:
        workload = workloads.all[place]
        row: Row = {
            "workload": workload.name,
            "kind": workload.owner_kind,
            "cluster": workload.cluster,
            "namespace": workload.namespace,
            "owner": workload.owner,
            "container": workload.container,
        }
        of_task = workloads.of_task == place
        n_kills, killed_at = oom_kills.of(of_task)
        oom_limit = killed_at * options.gib
        row |= {"oom_kills": n_kills, "oom_limit": known_or_none(oom_limit)}
        least = {"cpu": 0.0, "memory": least_memory(oom_limit)}
        for resource, advice in advices.items():
            limit = median_of(limits[resource][of_task])
            row |= columns_of(advice, place, limit, least[resource], slots)
        rows.append(row)
    return rows


def slots_of_usage(store: Store) -> range:
    """Return the slots of 300 s in which usage was measured, from the first window to the last one."""
    _, last = store.manifest.time_range.get("instance_usage") or (0, 0)
    return range(first_measured_slot(store.manifest), math.ceil((last - TRACE_START) / WINDOW))


def limits_of_tasks(store: Store, options: AdviceOptions) -> dict[str, Numbers]:
    """Return the limits of all tasks, in cores and bytes; NaN where none is known."""
    tasks = store.task_columns(["cpu_limit", "memory_limit"])
    sizes = {"cpu": options.cores, "memory": options.gib * BYTES_PER_GIB}
    limits = {}
    for resource, size in sizes.items():
        limit = tasks[f"{resource}_limit"].to_numpy().astype(np.float64)
        limits[resource] = limit * size
    return limits


def median_of(values: Numbers) -> float:
    """Return the median of the known values; NaN where there are none."""
    known = values[~np.isnan(values)]
    return float(np.median(known)) if len(known) else math.nan


def advise_resource(
    store: Store,
    workloads: Workloads,
    resource: str,
    n_slots: int,
    options: AdviceOptions,
    report: Report,
) -> ResourceAdvice:
    """Return what is recommended of one resource."""
    names = (options.recommender,) if options.recommender else CANDIDATES
    recommenders = [parse_recommender(name) for name in names]
    recommenders = [one for one in recommenders if resource in one.resources]
    recommending = Recommending(
        recommenders,
        n_slots,
        never_below_peak=not options.below_peak,
    )
    size = options.cores if resource == "cpu" else options.gib * BYTES_PER_GIB
    of_workload = {}
    for samples in workload_samples(store, workloads, resource, size):
        for one in recommending.add(samples):
            of_workload[one.workload] = one
        report(f"recommending {resource}", len(of_workload), len(workloads.all))
    best = recommending.totals.best(TOLERATED[resource])
    return ResourceAdvice(
        resource=resource,
        recommender=None if best is None else (best, recommenders[best].label),
        of_workload=of_workload,
        unit=1.0 if resource == "cpu" else BYTES_PER_GIB,
    )


def least_memory(oom_limit: float) -> float:
    """Return the bytes that are recommended at least where a task was OOM-killed at a limit of so many GiB."""
    if math.isnan(oom_limit):
        return 0.0
    return oom_limit * (1 + MARGIN_ABOVE_LIMIT) * BYTES_PER_GIB


def columns_of(
    advice: ResourceAdvice,
    place: int,
    limit: float,
    least: float,
    slots: range,
) -> Row:
    """Return the columns of one resource of a workload, which is recommended at least so much."""
    names = [column.name for column in _columns(advice.resource, "1")]
    row: Row = dict.fromkeys(names)
    row |= {f"{advice.resource}_recommender": "", f"{advice.resource}_skip": "no usage"}
    one = advice.of_workload.get(place)
    if one is None:
        return row
    skip = why_skipped(one, slots)
    if not skip and advice.recommender is None:
        skip = NOTHING_JUDGED
    row |= _measured_columns(advice, one, limit)
    row[f"{advice.resource}_skip"] = skip
    if skip or advice.recommender is None:
        return row
    number, name = advice.recommender
    recommended = float(one.recommended[number])
    if math.isnan(recommended):
        return row | {f"{advice.resource}_skip": f"{name} had too little to recommend anything"}
    recommended = max(recommended, least)
    limit_recommended = limit_beside(recommended, one, limit)
    judged = int(one.judged[number])
    return row | {
        f"{advice.resource}_recommended": recommended / advice.unit,
        f"{advice.resource}_limit_recommended": known_or_none(limit_recommended / advice.unit),
        f"{advice.resource}_short": float(one.short[number] / judged) if judged else None,
        f"{advice.resource}_recommender": name,
    }


def _measured_columns(advice: ResourceAdvice, workload: RecommendedWorkload, limit: float) -> Row:
    """Return what was seen of one resource of a workload."""
    return {
        "tasks": workload.tasks,
        "windows": workload.windows,
        f"{advice.resource}_request": known_or_none(workload.request / advice.unit),
        f"{advice.resource}_limit": known_or_none(limit / advice.unit),
        f"{advice.resource}_p95": workload.p95 / advice.unit,
        f"{advice.resource}_peak": workload.peak / advice.unit,
        f"{advice.resource}_peak_time": TRACE_START + workload.peak_slot * WINDOW,
    }


def limit_beside(recommended: float, one: RecommendedWorkload, limit: float) -> float:
    """Return the limit beside a recommended request; NaN where there is none now."""
    if math.isnan(limit):
        return math.nan
    ratio = limit / one.request if one.request > 0 else 1.0
    return max(recommended * max(ratio, 1.0), one.peak * (1 + LIMIT_MARGIN))


def why_skipped(one: RecommendedWorkload, slots: range) -> str:
    """Return why nothing is recommended for a workload; empty where something may be.

    Parameters
    ----------
    one
        The workload.
    slots
        Those in which usage was measured.
    """
    if not one.is_running:
        ended = (slots.stop - 1 - one.last_slot) * WINDOW
        return f"ended {in_words(ended)} before the end of the trace"
    seen = (one.last_slot - one.first_slot + 1) * WINDOW
    needed = max(LEAST_SEEN, min(DAY, int(len(slots) * WINDOW * SHARE_OF_TRACE)))
    if one.windows < LEAST_WINDOWS or seen < needed:
        samples = "1 sample" if one.windows == 1 else f"{one.windows:,} samples"
        return f"seen for {in_words(seen)} only, {samples}"
    return ""


def known_or_none(value: float) -> float | None:
    """Return a number, or None where it is not known."""
    return None if math.isnan(value) else value


def chart(answer: pa.Table) -> charts.Chart:
    """Draw what is requested and what is recommended of the workloads that change most."""
    import altair as alt

    rows = []
    for row in largest_changes(answer.to_pylist(), 20):
        for amount in ("request", "recommended"):
            value = row[f"cpu_{amount}"]
            if value is not None:
                cores = value * row["tasks"]
                name = short_name(row["workload"])
                rows.append({"workload": name, "amount": amount, "cores": cores})
    return (
        charts.base(rows, title="CPU of all tasks of a workload", height=24 * len(rows))
        .mark_bar()
        .encode(
            x=alt.X("cores:Q", title="cores"),
            y=alt.Y("workload:N", title=None, sort=None),
            yOffset=alt.YOffset("amount:N", sort=["request", "recommended"]),
            color=alt.Color("amount:N", title=None, sort=["request", "recommended"]),
            tooltip=charts.tooltips(rows),
        )
    )


def largest_changes(rows: Sequence[Row], n: int) -> list[Row]:
    """Return the workloads whose tasks together change most, in cores and in units of 4 GiB."""

    def change(row: Row) -> float:
        total = 0.0
        for resource, weight in (("cpu", 1.0), ("memory", 0.25)):
            request = row[f"{resource}_request"]
            recommended = row[f"{resource}_recommended"]
            if recommended is not None:
                total += abs((request or 0.0) - recommended) * row["tasks"] * weight
        return total

    ordered = sorted(rows, key=lambda row: (-change(row), row["workload"]))
    return [row for row in ordered[:n] if change(row) > 0]


WORKLOADS = Question(
    name="advice_workloads",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    reads=["instance_usage"],
    reference="Rzadca et al., EuroSys'20 (Autopilot); kubernetes/autoscaler",
)
"""What to set for each workload."""
