"""How close is a synthetic trace to what is published about the real one?

Every calibration target of the 2011 generator is measured through the ordinary tables.  A judged target
holds when the measured number lies within 10 % of the published one, or the published one within the
95 % bootstrap interval over jobs (tasks of a job are not independent).  On a real trace the same table
shows how far the trace at hand is from the first 19.65 hours that most targets come from.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from borgtrace.analyses._fidelity import Measure, job_measures, run_measures, start_measures, usage_measures
from borgtrace.analyses._processes import jobs_only
from borgtrace.analyses._windows import tier
from borgtrace.recipe import Claim, NotApplicable, Recipe, Tables
from borgtrace.schema import Column, Table
from borgtrace.schema.time import AFTER_TRACE, BEFORE_TRACE, HOUR, SECOND, TRACE_START
from borgtrace.synth.targets import TARGETS, Target

if TYPE_CHECKING:
    import altair as alt

TOLERANCE: Final = 0.10
RESULT = Table(
    "fidelity", "calibration target", ("measure", "tier"),
    (
        Column("measure", "string", "id", "What is measured.", nullable=False),
        Column("tier", "string", "id", "Group of tasks, or all.", nullable=False),
        Column("published", "float64", "1", "The published number.", nullable=False),
        Column("measured", "float64", "1", "The number measured on this trace."),
        Column("deviation", "float64", "1", "Measured minus published, as a fraction of the published."),
        Column("low", "float64", "1", "Lower end of the 95 % bootstrap interval over jobs."),
        Column("high", "float64", "1", "Upper end of the 95 % bootstrap interval over jobs."),
        Column("verdict", "string", "id", "fits, does not fit, reported, or not measured.", nullable=False),
        Column("grade", "string", "id", "A from real bytes, C printed, D third party, E arithmetic.",
               nullable=False),
        Column("reference", "string", "id", "Where the published number comes from.", nullable=False),
    ),
)  # fmt: skip


def compute(tables: Tables, *, resamples: int = 200, seed: int = 0) -> pa.Table:
    """Return every target beside its measurement."""
    if tables.generation != "2011":
        raise NotApplicable("the targets are those of 2011")
    measures = _measures(tables)
    rng = np.random.default_rng(seed)
    jobs = measures.pop(("jobs", "all"))(np.empty(0))
    samples = [rng.poisson(1.0, size=int(jobs)).astype(float) for _ in range(resamples)]
    rows = []
    for target in TARGETS:
        measure = measures.get((target.measure, target.tier))
        measured = low = high = None
        if measure is not None:
            measured = measure(np.ones(int(jobs)))
            values = np.array([measure(sample) for sample in samples])
            values = values[np.isfinite(values)]
            if len(values):
                low, high = (float(v) for v in np.percentile(values, [2.5, 97.5]))
        rows.append(_row(target, measured, low, high))
    return pa.Table.from_pylist(rows)


def _row(target: Target, measured: float | None, low: float | None, high: float | None) -> dict[str, object]:
    deviation = None
    verdict = "not measured"
    if measured is not None and np.isfinite(measured):
        deviation = (measured - target.published) / abs(target.published)
        inside = low is not None and high is not None and low <= target.published <= high
        fits = abs(deviation) <= TOLERANCE or inside
        verdict = ("fits" if fits else "does not fit") if target.is_judged else "reported"
    return {
        "measure": target.measure, "tier": target.tier, "published": target.published, "measured": measured,
        "deviation": deviation, "low": low, "high": high, "verdict": verdict, "grade": target.grade,
        "reference": target.source,
    }  # fmt: skip


def _measures(tables: Tables) -> dict[tuple[str, str], Measure]:
    """Fetch what the measures need; jobs are numbered 0 … n − 1 over all of it."""
    attempts = jobs_only(tables.instance_attempts)
    found = tables.fetch(
        attempts.select(
            "collection_id", "instance_index", "begin_time", "submit_time", "schedule_time", "end_time",
            "end_type", "left_time", "next_time", "cpu_request", "memory_request",
            tier=tier(attempts.priority, tables.generation),
        ),
        "attempts",
    )  # fmt: skip
    events = tables.collection_events
    first = events.filter((events.type == "SUBMIT") & (events.time >= TRACE_START))
    jobs = tables.fetch(
        first.group_by("collection_id").aggregate(
            class_=first.scheduling_class.min(),
            user=first.user.min(),
            name=first.collection_logical_name.min(),
        ),
        "jobs",
    )
    usage = tables.tasks
    long = usage.filter((usage.n_windows >= 24) & (usage.mean_sampled_cpu > 0) & (usage.max_average_cpu <= 1))
    tasks = tables.fetch(
        long.select("collection_id", "mean_sampled_cpu", "std_sampled_cpu", "mean_average_cpu", "std_average_cpu"),
        "long_tasks",
    )  # fmt: skip
    if not found.num_rows:
        raise NotApplicable("the store holds no attempts")
    ids = np.unique(
        np.concatenate([t["collection_id"].to_numpy() for t in (found, jobs, tasks) if t.num_rows])
    )
    measures = dict(run_measures(_runs(found, ids)))
    machines, capacity = _machines(tables)
    if machines:
        measures |= start_measures(_at_start(found, ids), machines, capacity)
        hours = (int(np.max(found["begin_time"].to_numpy())) - TRACE_START) / HOUR
        measures |= job_measures(_jobs(jobs, found, ids), machines * max(hours, 1e-9))
    if tasks.num_rows:
        numbered = tasks.append_column(
            "job", pa.array(np.searchsorted(ids, tasks["collection_id"].to_numpy()))
        )
        measures |= usage_measures(numbered)
    measures["jobs", "all"] = lambda _: float(len(ids))
    return measures


def _machines(tables: Tables) -> tuple[int, tuple[float, float]]:
    events = tables.machine_events
    known = events.filter((events.time == BEFORE_TRACE) & (events.type == "ADD"))
    total = tables.fetch(
        known.aggregate(n=known.machine_id.nunique(), cpu=known.cpu_capacity.sum(), memory=known.memory_capacity.sum()),
        "machines",
    ).to_pylist()  # fmt: skip
    if not total or not total[0]["n"]:
        return 0, (1.0, 1.0)
    return int(total[0]["n"]), (float(total[0]["cpu"] or 1.0), float(total[0]["memory"] or 1.0))


def _at_start(found: pa.Table, ids: NDArray[np.int64]) -> pa.Table:
    scheduled = _numbers(found, "schedule_time")
    mine = found.filter(pa.array(scheduled == BEFORE_TRACE))
    return mine.append_column("job", pa.array(np.searchsorted(ids, mine["collection_id"].to_numpy())))


def _numbers(table: pa.Table, name: str) -> NDArray[np.float64]:
    return table[name].to_numpy(zero_copy_only=False).astype(float)


def _runs(found: pa.Table, ids: NDArray[np.int64]) -> pa.Table:
    """Return attempts with the columns that :func:`run_measures` reads."""
    submit, schedule = _numbers(found, "submit_time"), _numbers(found, "schedule_time")
    left, end = _numbers(found, "left_time"), _numbers(found, "end_time")
    last = float(np.nanmax(np.concatenate([schedule, end[end < AFTER_TRACE], [TRACE_START]])))
    has_run, has_ended = ~np.isnan(schedule), ~np.isnan(end)
    until = np.where(np.isnan(left), last, np.minimum(left, last))
    hours = np.where(has_run, np.maximum(until - np.maximum(schedule, TRACE_START), 0.0) / HOUR, 0.0)
    is_new = has_run & (schedule >= TRACE_START)
    return pa.table(
        {
            "job": np.searchsorted(ids, found["collection_id"].to_numpy()),
            "tier": np.array(found["tier"].to_pylist(), dtype=str),
            "run_s": np.where(has_run, (until - schedule) / SECOND, np.nan),
            "has_ended": has_ended,
            "began_inside": is_new,
            "hours": np.nan_to_num(hours),
            "end": np.array([kind or "" for kind in found["end_type"].to_pylist()], dtype=str),
            "came_back": ~np.isnan(_numbers(found, "next_time")),
            "wait_s": np.where(is_new & (submit >= TRACE_START), (schedule - submit) / SECOND, np.nan),
        }
    )


def _jobs(jobs: pa.Table, found: pa.Table, ids: NDArray[np.int64]) -> pa.Table:
    names = {"MOST_INSENSITIVE": 0, "INSENSITIVE": 1, "SENSITIVE": 2, "MOST_SENSITIVE": 3}
    pairs = np.unique(
        np.stack([found["collection_id"].to_numpy(), found["instance_index"].to_numpy().astype(np.int64)]),
        axis=1,
    )
    owner, size = np.unique(pairs[0], return_counts=True)
    sizes = dict(zip(owner.tolist(), size.tolist(), strict=True))
    return pa.table(
        {
            "job": np.searchsorted(ids, jobs["collection_id"].to_numpy()),
            "class": np.array([names.get(c, -1) for c in jobs["class_"].to_pylist()]),
            "user": [u or "" for u in jobs["user"].to_pylist()],
            "name": [n or "" for n in jobs["name"].to_pylist()],
            "n_tasks": np.array(
                [sizes.get(c, np.nan) for c in jobs["collection_id"].to_pylist()], dtype=float
            ),
        }
    )


def plot(result: pa.Table) -> alt.Chart:
    """Draw the deviation of every target, with its interval."""
    import altair as alt

    rows = [
        {**row, "target": f"{row['measure']}, {row['tier']}"}
        for row in result.to_pylist()
        if row["deviation"] is not None
    ]
    chart: alt.Chart = (
        alt.Chart(alt.Data(values=rows), title="Deviation from the published numbers", width=420)
        .mark_point(filled=True)
        .encode(
            x=alt.X("deviation:Q", title="(measured − published) / published", axis=alt.Axis(format="%")),
            y=alt.Y("target:N", title=None, sort=None),
            color=alt.Color("verdict:N", title=None),
            tooltip=["target:N", "published:Q", "measured:Q", "low:Q", "high:Q", "reference:N"],
        )
    )
    return chart


def _share_fitting(result: pa.Table) -> float:
    verdicts = [v for v in result["verdict"].to_pylist() if v in ("fits", "does not fit")]
    if not verdicts:
        raise NotApplicable("no target could be measured")
    return verdicts.count("fits") / len(verdicts)


CLAIMS = (
    Claim("SYNTH-fidelity", "judged targets lie within 10 % or in the bootstrap interval", "all",
          _share_fitting, lambda share: share == 1.0, "calibration targets of the generator"),
)  # fmt: skip
RECIPE = Recipe(
    "fidelity", compute, plot, RESULT, CLAIMS, reads=("instance_events",),
    reference="published facts about the 2011 trace", order=900,
)  # fmt: skip
