"""How many nodes are empty, and who waits, when pods come and go as in the trace?

Pods arrive and run as long as in the trace (from the start, or the arrival of those that never started there, to the
deletion). A pod that fits nowhere waits; whenever a pod leaves, those that wait are tried on its node by arrival, and a
small one may overtake a large one. Levels are means over each day. With fewer nodes, drawn at random, the cell gets
fuller. Fragmentation is the part of the free GPUs that the typical pods of the workload cannot use.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated

import numpy as np
import pyarrow as pa

from borgtrace.engine.workers import map_workers
from borgtrace.kernels.arrays import Index
from borgtrace.question import Answer, Column, NotApplicable, Report, Row, charts, query_answer
from borgtrace.scheduling.gpus.arrivals import PodArrivals
from borgtrace.scheduling.gpus.gpu_charts import labelled_rows
from borgtrace.scheduling.gpus.gpu_options import GpuOptions, NamedPolicy, gpu_policy
from borgtrace.scheduling.gpus.gpu_question import GpuQuestion
from borgtrace.scheduling.gpus.policies import GPU_POLICIES
from borgtrace.scheduling.gpus.queue_replay import (
    EMPTY,
    FRAGMENTED,
    NEVER,
    RUNNING,
    USED,
    WAITING,
    PodTimes,
    Stays,
    replay_stays,
)
from borgtrace.scheduling.gpus.workload import GpuWorkload
from borgtrace.scheduling.scheduler import Scheduler
from borgtrace.schema.bounds import POSITIVE_SHARE

DAY_S = 86_400
DEFAULTS = ("bids", "fgd", "best-fit")

ANSWER = Answer(
    grain="workload, policy, rule for ties and day",
    key=[
        Column("workload", "string", "id", "List of pods."),
        Column("policy", "string", "id", "Policy."),
        Column("ties", "string", "id", "Which of equal nodes is taken: by rank, drawn, by file."),
        Column("day", "int64", "d", "Day since the first pod, from 0."),
    ],
    columns=[
        Column("nodes", "int64", "count", "Nodes."),
        Column("arrived", "int64", "count", "Pods that arrived on this day."),
        Column("empty_nodes", "float64", "count", "Nodes without any pod, on average."),
        Column("running", "float64", "count", "Pods that run, on average."),
        Column("waiting", "float64", "count", "Pods that wait, on average."),
        Column(
            "wait_mean",
            "float64",
            "s",
            "Mean wait of those that arrived on this day and started; NULL without any.",
            nullable=True,
        ),
        Column("never_started", "int64", "count", "Of those that arrived, how many never started."),
        Column("allocation", "float64", "%", "Of all GPUs, how much pods have, on average."),
        Column(
            "fragmentation",
            "float64",
            "%",
            "Of all GPUs, how much is free and of no use to typical pods, on average.",
        ),
    ],
    most_important=["policy", "day", "empty_nodes", "waiting", "wait_mean", "fragmentation"],
)


@dataclass(frozen=True, slots=True)
class GpuQueueOptions(GpuOptions):
    """What is simulated: see :class:`~borgtrace.scheduling.gpus.gpu_options.GpuOptions`.

    Attributes
    ----------
    nodes
        Share of the nodes that are there, drawn at random.
    """

    policies: Sequence[str | Scheduler] = DEFAULTS
    workloads: Sequence[str] = ("default",)
    ties: Sequence[str] = ("file",)
    nodes: Annotated[float, POSITIVE_SHARE] = 1.0


@dataclass(frozen=True, slots=True)
class GpuQueueRun:
    """One replay: a workload on the nodes that are there, a policy, and a rule for ties."""

    workload: GpuWorkload
    name: str
    policy: NamedPolicy
    ties: str


def compute(
    workloads: Sequence[GpuWorkload], options: GpuQueueOptions, report: Report
) -> list[Row]:
    """Return the levels of each day, by workload, policy and rule for ties."""
    runs = []
    for workload in workloads:
        if workload.pods.times is None:
            raise NotApplicable(f"nobody said when the pods of {workload.name} came and went")
        smaller = with_fewer_nodes(workload, options.nodes, options.seed)
        for name, policy in options.named_policies().items():
            for ties in options.ties:
                runs.append(GpuQueueRun(smaller, name, policy, ties))
    rows: list[Row] = []
    replay_one = partial(rows_of_run, seed=options.seed)
    for of_run in map_workers(replay_one, reporting(runs, report), options.jobs, place="gpus"):
        rows += of_run
    return rows


def reporting(runs: Sequence[GpuQueueRun], report: Report) -> Iterator[GpuQueueRun]:
    """Yield the runs, reporting each before."""
    for done, run in enumerate(runs):
        report(f"{run.workload.name}, {run.name}", done, len(runs))
        yield run


def with_fewer_nodes(workload: GpuWorkload, share: float, seed: int) -> GpuWorkload:
    """Return a workload on a share of its nodes, in the order of their file.

    Parameters
    ----------
    workload
        Pods and nodes.
    share
        Of the nodes; at least one is there.
    seed
        Of the draw.
    """
    n_nodes = len(workload.nodes)
    n_kept = max(round(share * n_nodes), 1)
    if n_kept == n_nodes:
        return workload
    kept = np.sort(np.random.default_rng(seed).permutation(n_nodes)[:n_kept])
    return replace(workload, nodes=workload.nodes.in_order(kept))


def rows_of_run(run: GpuQueueRun, *, seed: int) -> list[Row]:
    """Replay a run, and return its days."""
    workload = run.workload
    spans = workload.pods.times
    assert spans is not None
    order = np.argsort(spans[:, 0], kind="stable")
    submitted = spans[order, 0] - spans[order[0], 0]
    times = PodTimes(submitted, spans[order, 1])
    ranks = np.random.default_rng(seed).permutation(len(workload.nodes))
    replayed = workload.run(PodArrivals(order, ranks), run.ties, seed)
    stays = replay_stays(replayed, times, gpu_policy(run.policy), DAY_S)
    return list(rows_by_day(run, stays, submitted))


def rows_by_day(run: GpuQueueRun, stays: Stays, submitted: Index) -> Iterator[Row]:
    """Yield a row for each day."""
    means = stays.totals / DAY_S
    total = run.workload.nodes.total
    has_started = stays.started != NEVER
    waits = stays.started - submitted
    for day in range(len(means)):
        is_new = submitted // DAY_S == day
        started_waits = waits[is_new & has_started]
        yield {
            "workload": run.workload.name,
            "policy": run.name,
            "ties": run.ties,
            "day": day,
            "nodes": len(run.workload.nodes),
            "arrived": int(is_new.sum()),
            "empty_nodes": float(means[day, EMPTY]),
            "running": float(means[day, RUNNING]),
            "waiting": float(means[day, WAITING]),
            "wait_mean": float(started_waits.mean()) if len(started_waits) else None,
            "never_started": int((is_new & ~has_started).sum()),
            "allocation": float(100 * means[day, USED] / total),
            "fragmentation": float(100 * means[day, FRAGMENTED] / total),
        }


def chart(answer: pa.Table) -> charts.Chart:
    """Draw empty nodes, waiting pods and fragmentation over the days, a line for each policy."""
    import altair as alt

    rows = labelled_rows(answer)
    titles = {
        "empty_nodes": "empty nodes",
        "waiting": "waiting pods",
        "fragmentation": "of the GPUs, of no use to typical pods (%)",
    }
    panels = []
    for column, title in titles.items():
        panels.append(
            charts.base(rows, height=140)
            .mark_line(interpolate="step-after")
            .encode(
                x=alt.X("day:Q", title="day"),
                y=alt.Y(f"{column}:Q", title=title, scale=alt.Scale(zero=False)),
                color=alt.Color("policy:N", title=None, sort=list(GPU_POLICIES)),
                strokeDash=alt.StrokeDash("panel:N", title=None),
                tooltip=charts.tooltips(rows, "panel", "policy", "day", column),
            )
        )
    return alt.vconcat(*panels)


def means_in_words(answer: pa.Table) -> str:
    """Return the means over all days of each policy, the most empty nodes first."""
    rows = query_answer(
        answer,
        """
        select
            workload,
            ties,
            policy,
            any_value(nodes) as nodes,
            avg(empty_nodes) as empty_nodes,
            coalesce(sum(wait_mean * (arrived - never_started)) / sum(arrived - never_started), 0)
                as wait,
            sum(never_started)::bigint as never_started
        from answer
        group by workload, ties, policy
        order by workload, ties, avg(empty_nodes) desc, policy
        """,
    )
    parts = []
    for row in rows:
        run = f"{row['policy']} on {row['workload']} (ties: {row['ties']})"
        empty = f"{row['empty_nodes']:.1f} of {row['nodes']:,} nodes empty"
        part = f"{run} {empty}, mean wait {row['wait']:,.0f} s"
        if row["never_started"]:
            part += f", {row['never_started']:,} pods never started"
        parts.append(part)
    return f"Means over all days: {'; '.join(parts)}."


GPU_QUEUE = GpuQuestion(
    name="gpu_queue",
    doc=__doc__,
    answer=ANSWER,
    options=GpuQueueOptions,
    compute=compute,
    chart=chart,
    sentence=means_in_words,
)
"""Pods that come and go: ``GPU_QUEUE.run(folder, policies=("fgd", "best-fit"), nodes=0.02)``."""
