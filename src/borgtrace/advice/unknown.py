"""What could an advice not see, and what may that cost?

Gaps in the usage, windows that were not judged, short series, missing requests and limits, usage above requests, and
peaks that are shorter than a measurement. The margin for short peaks is our extrapolation. It compares the highest five
minutes of a machine with its highest ten, and takes the median over machines: shorter peaks may add as much again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import numpy as np
import pyarrow as pa

from borgtrace.advice.judging import JudgedPolicies, Replay
from borgtrace.advice.options import ASSUMED_CORES, ASSUMED_GIB, AdviceOptions
from borgtrace.advice.unseen import Unknown, of_gaps, of_unseen_windows
from borgtrace.notation import ResourceAmounts, integer, percent
from borgtrace.notation.amounts import RESOURCES
from borgtrace.overcommit.block import MachineBlock
from borgtrace.question import Answer, Column, Question, Row
from borgtrace.store import Store

ANSWER = Answer(
    grain="thing that is not known",
    key=[Column("place", "int64", "count", "Place in the list.")],
    columns=[
        Column("subject", "string", "id", "What it is about, in a word or two."),
        Column("sentence", "string", "id", "What is not known, and what that means."),
    ],
)
PEAK_MACHINES = 200
"""Machines whose peaks are looked at, the first ones."""
WORTH_SAYING = 0.005
"""Shares below this are not said."""


def compute(
    store: Store,
    replay: Replay | None,
    policies: Sequence[JudgedPolicies],
    options: AdviceOptions,
    assumed_sizes: bool,
) -> list[Row]:
    """Return a row for each thing that is not known.

    Parameters
    ----------
    store
        An open store.
    replay
        The cell, where it could be replayed.
    policies
        What a walk through it shows of each resource.
    options
        What was asked for.
    assumed_sizes
        Whether the cores or GiB of the largest machine were assumed.
    """
    unknowns: list[Unknown] = []
    # First what may hide a broken promise.
    unknowns += of_gaps(store)
    unknowns += of_unseen_windows(policies)
    unknowns += of_trace(store, assumed_sizes)
    unknowns += of_tasks(store)
    if replay is not None:
        unknowns += of_usage(replay, options)
    rows = []
    for place, (subject, sentence) in enumerate(unknowns, 1):
        rows.append({"place": place, "subject": subject, "sentence": sentence})
    return rows


def of_trace(store: Store, assumed_sizes: bool) -> Iterator[Unknown]:
    """Say what kind of data it is."""
    if store.manifest.is_synthetic:
        yield (
            "synthetic",
            "The trace is synthetic: a generator made it, and no real cell stands behind it.",
        )
    # Without usage nothing is recommended, in no unit.
    if assumed_sizes and store.manifest.tables.get("instance_usage"):
        amounts = ResourceAmounts.of(store.manifest)
        unknown = [RESOURCES[name] for name in RESOURCES if not amounts.is_known(name)]
        yield (
            "sizes",
            f"* The {' and '.join(unknown)} of the largest machine are not known: requests of workloads are "
            f"recommended as if it had {ASSUMED_CORES:g} cores and {ASSUMED_GIB:g} GiB; state them with "
            "--cores-per-unit and --gib-per-unit.",
        )


_COUNTS_OF_TASKS_SQL = """
SELECT
    count(*) AS tasks,
    count(*) FILTER (WHERE n_windows = 0) AS without_usage,
    count(*) FILTER (WHERE cpu_request IS NULL) AS without_cpu,
    count(*) FILTER (WHERE memory_request IS NULL) AS without_memory,
    count(*) FILTER (WHERE container IS NOT NULL) AS containers,
    count(*) FILTER (
        WHERE container IS NOT NULL AND cpu_limit IS NULL AND memory_limit IS NULL
    ) AS without_limits,
    count(*) FILTER (WHERE n_windows > 0 AND seconds < 3600) AS short,
    count(*) FILTER (WHERE gpu_request > 0) AS with_gpus,
    coalesce(sum(n_gaps), 0) AS gaps,
    count(*) FILTER (WHERE n_gaps > 0) AS with_gaps
FROM tasks
WHERE collection_type IS DISTINCT FROM 'ALLOC_SET'
"""
"""How many tasks there are, and how many of them lack something."""


def of_tasks(store: Store) -> Iterator[Unknown]:
    """Say what the tasks lack: windows, a history, requests."""
    counts = store.sql(_COUNTS_OF_TASKS_SQL).to_pylist()[0]
    n_tasks = counts["tasks"]
    share_of_tasks = partial(_share_of_tasks, n_tasks=n_tasks)
    if not n_tasks:
        return
    if counts["without_usage"] == n_tasks:
        yield "no usage", "No task has measured usage: nothing could be judged or recommended."
    elif counts["without_usage"] > WORTH_SAYING * n_tasks:
        n = share_of_tasks(counts["without_usage"])
        yield (
            "no usage",
            f"{n} have no measured usage: they count as if they used all they request.",
        )
    yield from _of_requests(counts)
    if counts["containers"] and counts["without_limits"] == counts["containers"]:
        yield (
            "no limits",
            "No limits found: no container has a limit of CPU or memory that is known, and none is recommended.",
        )
    if counts["with_gpus"]:
        n = share_of_tasks(counts["with_gpus"])
        yield "GPUs", f"{n} request GPUs: nodes with prices are packed with CPU and memory alone."
    yield from _of_measurements(counts)


def _share_of_tasks(n: int, n_tasks: int) -> str:
    return f"{integer(n)} of {integer(n_tasks)} tasks ({percent(n / n_tasks, 2)})"


def _of_measurements(counts: Mapping[str, int]) -> Iterator[Unknown]:
    """Say how many tasks were measured with gaps, or for a short time."""
    n_tasks = counts["tasks"]
    share_of_tasks = partial(_share_of_tasks, n_tasks=n_tasks)
    if counts["gaps"]:
        n = share_of_tasks(counts["with_gaps"])
        yield (
            "gaps",
            f"{n} have gaps in their usage, {integer(counts['gaps'])} in all: where their machine was judged all the "
            "same, they count as using nothing in them.",
        )
    if counts["short"] > WORTH_SAYING * n_tasks:
        n = share_of_tasks(counts["short"])
        yield "short series", f"{n} were measured for less than an hour: too short to learn from."


def _of_requests(counts: Mapping[str, int]) -> Iterator[Unknown]:
    """Say how many tasks request nothing of a resource."""
    missing = []
    for resource, title in RESOURCES.items():
        n_missing = counts[f"without_{resource}"]
        if n_missing:
            tasks = _share_of_tasks(n_missing, counts["tasks"])
            missing.append(f"{tasks} have no request of {title}")
    if missing:
        yield (
            "no requests",
            f"{'; '.join(missing)}: what they use is in no promise, comes on top of it, and machines are packed as if "
            "it were nothing.",
        )


def of_usage(replay: Replay, options: AdviceOptions) -> Iterator[Unknown]:
    """Say what the usage of machines does not show: usage above requests, machines left out, peaks that are short."""
    facts = replay.input.usage.facts
    n_rows = facts["n_rows"]
    without_machine = facts["without_machine"]
    if without_machine > WORTH_SAYING * n_rows:
        yield (
            "no machine",
            f"{integer(without_machine)} windows name no machine, or lie within an alloc set: they are not judged.",
        )
    n_machines = len(replay.input.usage.machines)
    if len(replay.places) < n_machines:
        n_judged = integer(len(replay.places))
        yield (
            "sample",
            f"Policies were judged on {n_judged} of {integer(n_machines)} machines, drawn at random.",
        )
    for resource in options.resources:
        yield from _of_resource(replay, resource)
    margin = margin_for_short_peaks(replay, options)
    if margin is not None:
        yield (
            "short peaks",
            "CPU is a mean of 5 minutes: shorter peaks are not seen. The highest 5 minutes of a machine are "
            f"{percent(margin, 2)} above its highest 10 (median); shorter peaks may add as much again "
            "(our extrapolation).",
        )


def _of_resource(replay: Replay, resource: str) -> Iterator[Unknown]:
    """Say how much of a resource no policy was judged on, or no promise counts."""
    title = RESOURCES[resource]
    blocks = [replay.input.block(place, resource) for place in replay.places[:PEAK_MACHINES]]
    if not any(len(block.known) for block in blocks):
        yield (
            "not judged",
            f"Of {title} no policy was judged: no task on a machine has both usage and a request of it.",
        )
    above = share_above_requests(blocks)
    if above > WORTH_SAYING:
        yield (
            "above requests",
            f"{percent(above, 2)} of the {title} that is used lies above the request of its task: "
            "promises count it only up to the request.",
        )


def share_above_requests(blocks: Sequence[MachineBlock]) -> float:
    """Return which share of what is used lies above the limits of the tasks."""
    used = 0.0
    above = 0.0
    for block in blocks:
        known = block.known
        used += float(known.usage.sum())
        above += float(np.maximum(known.usage - known.limit, 0.0).sum())
    return above / used if used > 0 else 0.0


def margin_for_short_peaks(replay: Replay, options: AdviceOptions) -> float | None:
    """Return how much higher the highest slot of a machine is than its highest two; None where nothing tells."""
    if "cpu" not in options.resources:
        return None
    ratios = []
    for place in replay.places[:PEAK_MACHINES]:
        block = replay.input.block(place, "cpu")
        known = block.known
        if len(known) < 2:
            continue
        by_slot = np.bincount(known.slot, known.usage)
        pairs = (by_slot[1:] + by_slot[:-1]) / 2
        highest = pairs.max(initial=0.0)
        if highest > 0:
            ratios.append(by_slot.max() / highest - 1)
    return float(np.median(ratios)) if ratios else None


def chart(answer: pa.Table) -> None:
    """Draw nothing: these are sentences."""


UNKNOWN = Question(
    name="advice_unknown",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    reads=["tasks"],
    reference="our own arithmetic",
)
"""What an advice could not see."""
