"""Fit the parameters with which the generator makes a cell like a store.

Lives, waits, sizes and requests by tier, arrivals, machines, owners and usage become distributions; the published
figures stand in for what the store lacks.  No series is stored, and nothing of fewer than ten: in a distribution
the ten smallest and the ten largest values count as their mean, and smaller groups are merged.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from borgtrace.analyses.fidelity.event_measures import Events, event_measures, read_events, sizes
from borgtrace.analyses.fidelity.task_distributions import (
    FEWEST,
    Columns,
    columns,
    tasks_with_usage,
    tier_like,
    usage_like,
    with_lives,
)
from borgtrace.analyses.fidelity.usage_measures import row_measures, usage_measures
from borgtrace.analyses.fidelity.weighted_measures import Units, renamed, words
from borgtrace.errors import UsageError
from borgtrace.question import EngineTables
from borgtrace.schema.dialects import GOOGLE_2011, dialect
from borgtrace.schema.time import BEFORE_TRACE, HOUR, TRACE_START
from borgtrace.store import Store
from borgtrace.synth.model.draws import QuantileCurve, RankShares
from borgtrace.synth.model.profile import Likeness, MachineShape, Profile, Tier
from borgtrace.synth.model.profiles import PROFILES
from borgtrace.synth.model.targets import TARGETS, TARGETS_2019, FidelityTarget

Fields = dict[str, Any]
"""Parameters of a cell by name."""
Measured = Mapping[tuple[str, str], float]
"""Measured numbers by measure and tier."""
SHARE_WITHIN_10MS = 0.917
"""Share of the generator's bursts that come within 10 ms."""
HIGHEST_BURST = 0.95
HASHED_IDS = 2**40
"""Ids of own data are hashes above this, which none of the generator's reaches."""
TOPICS_OF_CELL = {
    "shapes": "machines",
    "burst": "arrivals",
    "request": "requests",
    "classes": "usage",
    "users": "users",
}
"""What is missing in the store where these parameters of the cell are the published ones."""
TOPICS_OF_TIERS = {
    "duration": "lives",
    "residual": "lives of what runs at first",
    "delay": "waits",
    "sizes": "sizes of jobs",
}
"""The same for parameters of its tiers."""


def fit(store: Store, generation: str) -> Likeness:
    """Return what a store is like, for a cell in one format.

    Parameters
    ----------
    store
        A store with events of tasks.
    generation
        Format of the cell, which has its tiers: ``"2011"`` or ``"2019"``.

    Raises
    ------
    UsageError
        Where the store has no such events.

    Notes
    -----
    Reads all events, and at most four million windows of long tasks.
    """
    if not store.manifest.tables.get("instance_events"):
        raise UsageError(
            "--like",
            "the store has no events of tasks",
            expected="instance_events",
            got=str(store.path),
            way_out="ingest those of its trace too",
        )
    base = PROFILES[generation]
    tables = EngineTables.of(store)
    units = Units.of(tables)
    events = read_events(tables)
    names = names_of_tiers(events.attempts, base)
    events = events._replace(attempts=renamed(events.attempts, names))
    measures = event_measures(events, units)
    if dialect(generation) is GOOGLE_2011:
        measures |= usage_measures(tables, units)
        published_targets = TARGETS
    else:
        measures |= row_measures(tables, units, names)
        published_targets = TARGETS_2019
    measured = {key: float(measure(np.ones(len(units)))) for key, measure in measures.items()}
    use = tasks_with_usage(tables, names)
    tiers = [tier for tier in base.tiers if tier.name in names.values()]
    cell = cell_like(store, events, units, use, measured, replace(base, tiers=tuple(tiers)))
    return Likeness(
        profile=cell,
        targets=measured_targets(published_targets, measured),
        missing=missing_topics(cell, base, tiers),
    )


def names_of_tiers(attempts: pa.Table, base: Profile) -> dict[str, str]:
    """Return the tier of the cell for each tier of the store; one of fewer than ten jobs joins the next lower."""
    tier_of_attempt = words(attempts, "tier")
    job_of_attempt = attempts["collection_id"].to_numpy()
    similar_tiers = tiers_by_similar_name(base)
    names = {
        name: similar_tiers.get(name, "production") for name in np.unique(tier_of_attempt).tolist()
    }
    tiers = [tier.name for tier in base.tiers if tier.name in names.values()]
    for tier in tiers[::-1]:
        members = [name for name, tier_of_name in names.items() if tier_of_name == tier]
        jobs = np.unique(job_of_attempt[np.isin(tier_of_attempt, members)])
        if len(tiers) > 1 and len(jobs) < FEWEST:
            position = tiers.index(tier)
            tiers.remove(tier)
            names |= dict.fromkeys(members, tiers[max(position - 1, 0)])
    return names


def tiers_by_similar_name(base: Profile) -> dict[str, str]:
    """Return the tier of the cell that each tier of 2011 and 2019 is like."""
    # 2019 states which tier of 2011 each of its tiers is like.
    like_2011 = {tier.name: tier.like for tier in PROFILES["2019"].tiers}
    like_2019 = {old: new for new, old in reversed(like_2011.items())}
    own = {tier.name: tier.name for tier in base.tiers}
    return like_2019 | like_2011 | own


def cell_like(
    store: Store,
    events: Events,
    units: Units,
    use: Columns,
    measured: Measured,
    base: Profile,
) -> Profile:
    """Return the parameters of a cell like a store; those of `base` where the store has none."""
    machines = columns(events.machines)
    runs = with_lives(columns(events.attempts), machines)
    jobs = arriving_jobs(events, runs)
    # Where no machine is named, there are as many as the requests fill.
    n_machines = len(units.machines) or math.ceil(use["cpu_request"].sum())
    hours = max((events.last - TRACE_START) / HOUR, 1.0)
    last_job = int(units.jobs[-1])
    return replace(
        base,
        taken=tuple(units.machines.tolist()),
        first_id=max(last_job + 1, base.first_id) if last_job < HASHED_IDS else base.first_id,
        # Lives in crash loops are among those of the store, and so are the sizes of its jobs.
        looping=0.0,
        resubmitting=None,
        tasks_per_job=None,
        request_scale=(1.0, 1.0),
        is_even=True,
        **fields_of_machines(machines, measured, base),
        **fields_of_arrivals(runs, jobs, use, measured, base),
        jobs_per_hour=max(len(jobs["size"]) / n_machines / hours, 1e-9),
        **usage_like(store, use),
        tiers=tuple(tier_like(tier, runs, jobs, use, n_machines) for tier in base.tiers),
    )


def arriving_jobs(events: Events, runs: Columns) -> Columns:
    """Return the jobs that arrive, with ``size``, ``tier`` and requests of their first task."""
    ids, first_runs = np.unique(runs["collection_id"], return_index=True)
    jobs = columns(events.jobs)
    position = np.minimum(np.searchsorted(ids, jobs["collection_id"]), len(ids) - 1)
    first_run = first_runs[position]
    return {
        **jobs,
        "tier": runs["tier"][first_run],
        "cpu_request": runs["cpu_request"][first_run],
        "memory_request": runs["memory_request"][first_run],
        "size": sizes(events.attempts, events.jobs),
    }


def fields_of_machines(machines: Columns, measured: Measured, base: Profile) -> Fields:
    """Return shapes of machines, and how often and for how long they go away."""
    is_at_start = (machines["time"] == BEFORE_TRACE) & (machines["type"] == "ADD")
    cpu = machines["cpu_capacity"][is_at_start]
    memory = machines["memory_capacity"][is_at_start]
    capacities = np.stack([cpu, memory], axis=1)
    is_known = ~np.isnan(capacities).any(axis=1)
    shapes, counts = np.unique(capacities[is_known], axis=0, return_counts=True)
    if not len(shapes):
        return {}
    machine_shapes = [
        MachineShape(f"S{number}", shape_cpu, shape_memory, count)
        for number, ((shape_cpu, shape_memory), count) in enumerate(
            zip(shapes.tolist(), counts.tolist(), strict=True)
        )
    ]
    removals = measured["removals_per_machine_hour", "machines"]
    downtime = base.downtime
    scale = measured["downtime_p50", "machines"] / base.downtime.at(0.5)
    if np.isfinite(scale):
        scaled = tuple(scale * seconds for seconds in base.downtime.values)
        downtime = QuantileCurve(base.downtime.shares, scaled)
    return {
        "shapes": machine_shapes,
        "removals": float(np.nan_to_num(removals)),
        "downtime": downtime,
    }


def fields_of_arrivals(
    runs: Columns, jobs: Columns, use: Columns, measured: Measured, base: Profile
) -> Fields:
    """Return bursts, owners and requests of jobs that arrive, kills of pending tasks, resubmissions."""
    is_submitted = runs["submit_time"] > TRACE_START
    is_killed = runs["end_type"] == "KILL"
    is_killed_pending = is_submitted & np.isnan(runs["schedule_time"]) & is_killed
    resubmitted = dict(base.resubmitted)
    for kind in ("EVICT", "FAIL", "KILL"):
        share = measured[f"resubmitted_after_{kind}", "all"]
        if np.isfinite(share):
            resubmitted[kind] = share
    fields: Fields = {
        "killed_pending": float(is_killed_pending.sum() / max(is_submitted.sum(), 1)),
        "resubmitted": resubmitted,
        "users": shares_of_owners(jobs["user"], base.users),
        "names": shares_of_owners(jobs["name"], base.names),
    }
    if len(jobs["size"]) > 1:
        share_within_10ms = measured["arrivals_within_10ms", "all"]
        fields["burst"] = min(share_within_10ms / SHARE_WITHIN_10MS, HIGHEST_BURST)
    for resource, field in (("cpu", "request"), ("memory", "memory_request")):
        requests = jobs[f"{resource}_request"]
        if (requests > 0.0).sum() < FEWEST:
            requests = use[f"{resource}_request"]
        logarithms = np.log(requests[requests > 0.0])
        if len(logarithms) >= FEWEST:
            spread = max(float(logarithms.std()), 0.01)
            fields[field] = (float(logarithms.mean()), spread)
    return fields


def shares_of_owners(owners: Any, default: Any) -> Any:
    """Return how jobs are divided among their owners, of whom at most ten have a share of their own."""
    _, n_jobs = np.unique(owners, return_counts=True)
    if len(n_jobs) < 2:
        return default
    largest = np.sort(n_jobs[n_jobs >= FEWEST])[::-1][:FEWEST]
    # The others have some share, so that nothing is divided by 0.
    shares = largest / (n_jobs.sum() * 1.001)
    n_ranks = max(len(n_jobs), len(shares) + FEWEST)
    return RankShares(shares.tolist(), default.exponent, n_ranks, default.shift)


def measured_targets(
    published: Iterable[FidelityTarget], measured: Measured
) -> tuple[FidelityTarget, ...]:
    """Return targets with the numbers of the store; a number that is 0, or was not measured, is no target."""
    targets = []
    for target in published:
        value = measured.get((target.measure, target.tier), 0.0)
        if np.isfinite(value) and value:
            targets.append(
                FidelityTarget(
                    measure=target.measure,
                    tier=target.tier,
                    published=value,
                    grade="S",
                    source="the store it is like",
                    # How exact the published number is says nothing about that of the store.
                    is_judged=target.is_judged,
                )
            )
    return tuple(targets)


def missing_topics(cell: Profile, base: Profile, tiers: Sequence[Tier]) -> tuple[str, ...]:
    """Return the topics on which the store has nothing: their parameters are still the published ones."""
    topics = [
        topic
        for name, topic in TOPICS_OF_CELL.items()
        if getattr(cell, name) is getattr(base, name)
    ]
    for name, topic in TOPICS_OF_TIERS.items():
        are_published = [
            getattr(tier, name) is getattr(published, name)
            for tier, published in zip(cell.tiers, tiers, strict=True)
        ]
        if all(are_published):
            topics.append(topic)
    return tuple(topics)
