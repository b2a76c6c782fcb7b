"""What a store is like: the parameters with which the generator makes a cell like it.

Lives, waits, sizes and requests by tier, arrivals, machines, owners and usage become distributions; the published
figures stand in for what the store does not tell.  No series is kept, and nothing of fewer than ten: in a distribution
the ten smallest and the ten largest values count as their mean, and smaller groups are merged.
"""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from borgtrace.analyses.fidelity import task_distributions as like
from borgtrace.analyses.fidelity.event_measures import Events, event_measures, read_events, sizes
from borgtrace.analyses.fidelity.task_distributions import FEWEST, Columns, columns
from borgtrace.analyses.fidelity.usage_measures import row_measures, usage_measures
from borgtrace.analyses.fidelity.weighted_measures import Units, renamed, words
from borgtrace.errors import UsageError
from borgtrace.question import EngineTables
from borgtrace.schema.dialects import GOOGLE_2011, dialect
from borgtrace.schema.time import BEFORE_TRACE, HOUR, TRACE_START
from borgtrace.store import Store
from borgtrace.synth.model.draws import QuantileCurve, RankShares
from borgtrace.synth.model.profile import Likeness, MachineShape, Profile
from borgtrace.synth.model.profiles import PROFILES
from borgtrace.synth.model.targets import TARGETS, TARGETS_2019

Fields = dict[str, Any]
_IN_BURST = 0.917
"""Share of the generator's bursts that come within 10 ms."""
_OF_CELLS = {
    "shapes": "machines",
    "burst": "arrivals",
    "request": "requests",
    "classes": "usage",
    "users": "users",
}
_OF_TIERS = {
    "duration": "lives",
    "residual": "lives of what runs at first",
    "delay": "waits",
    "sizes": "sizes of jobs",
}
"""What is not told where these parameters are the published ones."""


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
        what, expected, way_out = (
            "the store has no events of tasks",
            "instance_events",
            "ingest those of its trace too",
        )
        raise UsageError("--like", what, expected=expected, got=str(store.path), way_out=way_out)
    tables, base, is_2011 = (
        EngineTables.of(store),
        PROFILES[generation],
        dialect(generation) is GOOGLE_2011,
    )
    units, events = Units.of(tables), read_events(tables)
    names = _names(events.attempts, base)
    events = events._replace(attempts=renamed(events.attempts, names))
    measures = event_measures(events, units)
    measures |= usage_measures(tables, units) if is_2011 else row_measures(tables, units, names)
    measured = {key: float(measure(np.ones(len(units)))) for key, measure in measures.items()}
    machines = columns(events.machines)
    runs, use = (
        like.with_lives(columns(events.attempts), machines),
        like.tasks_with_usage(tables, names),
    )
    jobs = _jobs(events, runs)
    # Of machines that nobody names there are as many as the requests fill.
    counted = len(units.machines) or math.ceil(use["cpu_request"].sum())
    hours = max((events.last - TRACE_START) / HOUR, 1.0)
    found = [tier for tier in base.tiers if tier.name in names.values()]
    # Lives in crash loops are among those of the store.
    own: Fields = {"taken": tuple(units.machines.tolist())}
    # Ids of own data are hashes, which none of the generator's meets.
    own["first_id"] = (
        max(int(units.jobs[-1]) + 1, base.first_id) if units.jobs[-1] < 2**40 else base.first_id
    )
    own |= {"looping": 0.0, "request_scale": (1.0, 1.0), "is_even": True}
    cell = replace(
        base,
        **own,
        **_machines(machines, measured, base),
        **_arrivals(runs, jobs, use, measured, base),
        jobs_per_hour=max(len(jobs["size"]) / counted / hours, 1e-9),
        **like.usage_like(store, use),
        tiers=tuple(like.tier_like(tier, runs, jobs, use, counted) for tier in found),
    )
    # What is 0 there, or was not measured, is no target.
    targets = [
        replace(target, published=value, grade="S", source="the store it is like")
        for target in (TARGETS if is_2011 else TARGETS_2019)
        if np.isfinite(value := measured.get((target.measure, target.tier), 0.0)) and value
    ]
    missing = [
        what for name, what in _OF_CELLS.items() if getattr(cell, name) is getattr(base, name)
    ]
    for name, what in _OF_TIERS.items():
        is_old = [
            getattr(new, name) is getattr(old, name)
            for new, old in zip(cell.tiers, found, strict=True)
        ]
        missing += [what] if all(is_old) else []
    return Likeness(cell, tuple(targets), tuple(missing))


def _names(attempts: pa.Table, base: Profile) -> dict[str, str]:
    """Return the tier of the cell for each tier of the store; one of fewer than ten jobs is put to the next lower."""
    own, jobs = words(attempts, "tier"), attempts["collection_id"].to_numpy()
    # 2019 says which tier of 2011 each of its tiers is like; a trace without tiers is production.
    of_2019 = {tier.name: tier.like for tier in PROFILES["2019"].tiers}
    alike = (
        {old: new for new, old in reversed(of_2019.items())}
        | of_2019
        | {tier.name: tier.name for tier in base.tiers}
    )
    names = {name: alike.get(name, "production") for name in np.unique(own).tolist()}
    order = [tier.name for tier in base.tiers if tier.name in names.values()]
    for name in order[::-1]:
        members = [mine for mine, its in names.items() if its == name]
        if len(order) > 1 and len(np.unique(jobs[np.isin(own, members)])) < FEWEST:
            place = order.index(name)
            order.remove(name)
            names |= dict.fromkeys(members, order[max(place - 1, 0)])
    return names


def _jobs(events: Events, runs: Columns) -> Columns:
    """Return the jobs that arrive, with ``size``, ``tier`` and requests of their first task."""
    ids, firsts = np.unique(runs["collection_id"], return_index=True)
    jobs = columns(events.jobs)
    place = firsts[np.minimum(np.searchsorted(ids, jobs["collection_id"]), len(ids) - 1)]
    first = {name: runs[name][place] for name in ("tier", "cpu_request", "memory_request")}
    return {**jobs, **first, "size": sizes(events.attempts, events.jobs)}


def _machines(machines: Columns, measured: Any, base: Profile) -> Fields:
    """Shapes, and how often machines go."""
    is_there = (machines["time"] == BEFORE_TRACE) & (machines["type"] == "ADD")
    has = np.stack([machines[f"{name}_capacity"][is_there] for name in ("cpu", "memory")], axis=1)
    shapes, n = np.unique(has[~np.isnan(has).any(axis=1)], axis=0, return_counts=True)
    if not len(shapes):
        return {}
    longer = measured["downtime_p50", "machines"] / base.downtime.at(0.5)
    away = tuple(longer * seconds for seconds in base.downtime.values)
    return {
        "shapes": [
            MachineShape(f"S{i}", cpu, memory, count)
            for i, ((cpu, memory), count) in enumerate(
                zip(shapes.tolist(), n.tolist(), strict=True)
            )
        ],
        "removals": float(np.nan_to_num(measured["removals_per_machine_hour", "machines"])),
        "downtime": QuantileCurve(base.downtime.shares, away)
        if np.isfinite(longer)
        else base.downtime,
    }


def _arrivals(runs: Columns, jobs: Columns, use: Columns, measured: Any, base: Profile) -> Fields:
    """Rates, owners and requests of jobs that arrive, kills of what waits, resubmissions."""
    back = {
        kind: measured[f"resubmitted_after_{kind}", "all"] for kind in ("EVICT", "FAIL", "KILL")
    }
    submitted = runs["submit_time"] > TRACE_START
    killed = submitted & np.isnan(runs["schedule_time"]) & (runs["end_type"] == "KILL")
    fields: Fields = {
        "killed_pending": float(killed.sum() / max(submitted.sum(), 1)),
        "resubmitted": base.resubmitted
        | {kind: share for kind, share in back.items() if np.isfinite(share)},
        "users": _ranks(jobs["user"], base.users),
        "names": _ranks(jobs["name"], base.names),
    }
    if len(jobs["size"]) > 1:
        fields["burst"] = min(measured["arrivals_within_10ms", "all"] / _IN_BURST, 0.95)
    for name, field in (("cpu", "request"), ("memory", "memory_request")):
        asked = jobs[f"{name}_request"]
        asked = asked if (asked > 0.0).sum() >= FEWEST else use[f"{name}_request"]
        logs = np.log(asked[asked > 0.0])
        fields |= (
            {field: (float(logs.mean()), max(float(logs.std()), 0.01))}
            if len(logs) >= FEWEST
            else {}
        )
    return fields


def _ranks(owners: Any, default: Any) -> Any:
    """Return how jobs are divided among their owners, of whom ten may keep a share of their own."""
    n = np.unique(owners, return_counts=True)[1]
    if len(n) < 2:
        return default
    # The others have some share, so that nothing is divided by 0.
    head = np.sort(n[n >= FEWEST])[::-1][:FEWEST] / (n.sum() * 1.001)
    n_ranks = max(len(n), len(head) + FEWEST)
    return RankShares(head.tolist(), default.exponent, n_ranks, default.shift)
