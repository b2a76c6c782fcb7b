"""What does it save to promise best-effort tasks less?

Past Janus & Rzadca (SoCC'17): production and best-effort tasks share machines.  Production has precedence, so it
suffers when production alone exceeds the machine (target ρ = .001), best-effort when all together do (target .05).
Compared: both promises at once, the strict one for everybody, and separate machines for each class.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from borgtrace.colocation.experiments._grids import Scale, instances_of
from borgtrace.colocation.instances import Instance
from borgtrace.colocation.quality import lower_bound, overflow_counts
from borgtrace.colocation.source import pool_of
from borgtrace.placement.estimators.gpa import Gpa
from borgtrace.placement.estimators.observation import Observation
from borgtrace.placement.estimators.two_targets import RATIO, TwoTargets
from borgtrace.placement.packing import Packing, pack
from borgtrace.recipe import Claim, NotApplicable, Recipe, Tables
from borgtrace.schema import Column, Table
from borgtrace.schema.tiers import tier_of

if TYPE_CHECKING:
    import altair as alt

RESULT = Table(
    "packing_two_targets",
    "way of packing and instance",
    ("way", "instance"),
    (
        Column("way", "string", "id", "Way of packing.", nullable=False),
        Column("instance", "int64", "id", "Number of the instance.", nullable=False),
        Column("m_abs", "int64", "1", "Machines in use.", nullable=False),
        Column("lower_bound", "int64", "1", "Machines that the mean usage fills.", nullable=False),
        Column(
            "q_production",
            "float64",
            "fraction",
            "Share of (machine with production, draw) in which production alone exceeds the machine.",
            nullable=False,
        ),
        Column("q_all", "float64", "fraction", "Share of (machine, draw) in which all exceed it.", nullable=False),
        Column("n_production", "int64", "1", "Production tasks.", nullable=False),
        Column("n_tasks", "int64", "1", "Tasks.", nullable=False),
        Column("classes", "string", "id", "Where the classes come from.", nullable=False),
    ),
)
TARGET = 0.001
WAYS = ("two targets", "strict for all", "separate machines")


def compute(
    tables: Tables,
    *,
    tasks: int = 100_000,
    realizations: int = 10_000,
    instances: int = 5,
    size: int = 1_000,
    seed: int = 0,
) -> pa.Table:
    """Pack production and best-effort tasks in three ways."""
    pool = pool_of(tables, tasks=tasks, seed=seed)
    is_production, classes = production(pool.priority, pool.generation, pool.job, seed)
    drawn = instances_of(tables, Scale(tasks, realizations, instances, size, seed))
    rows = drawn.map(lambda instance: _rows(instance, is_production[instance.tasks], classes))
    return pa.Table.from_pylist([row for some in rows for row in some])


def production(
    priority: NDArray[np.int64] | None, generation: str, job: NDArray[np.int64], seed: int
) -> tuple[NDArray[np.bool_], str]:
    """Which tasks are production: by priority; without priorities a random half of the jobs, and says so."""
    if priority is None or (priority < 0).all():
        rng = np.random.default_rng([seed, 7])
        return (rng.random(int(job.max(initial=0)) + 1) < 0.5)[job], "a random half of the jobs"
    kinds, index = np.unique(priority, return_inverse=True)
    generation = generation or "2011"
    named = np.array([p >= 0 and tier_of(int(p), generation) in ("production", "monitoring") for p in kinds])
    return named[index], "priorities"


def _rows(instance: Instance, is_production: NDArray[np.bool_], classes: str) -> list[dict[str, Any]]:
    seen = instance.seen.with_more(is_production=is_production)
    packings = {
        "two targets": pack(TwoTargets(TARGET), seen),
        "strict for all": pack(Gpa(TARGET), seen),
        "separate machines": _separate(instance, is_production),
    }
    values = np.where(is_production[:, None], instance.inst, np.float32(0))
    alone = overflow_counts(values, list(packings.values())).sum(axis=1)
    together = overflow_counts(instance.inst, list(packings.values())).sum(axis=1)
    n, bound = instance.inst.shape[1], lower_bound(instance.inst)
    used = [max(1, len(np.unique(p.bins[is_production & (p.bins >= 0)]))) for p in packings.values()]
    return [
        {
            "way": way,
            "instance": instance.number,
            "m_abs": packing.n_bins,
            "lower_bound": bound,
            "q_production": float(alone[k] / (used[k] * n)),
            "q_all": float(together[k] / (max(1, packing.n_bins) * n)),
            "n_production": int(is_production.sum()),
            "n_tasks": len(seen),
            "classes": classes,
        }
        for k, (way, packing) in enumerate(packings.items())
    ]


def _separate(instance: Instance, is_production: NDArray[np.bool_]) -> Packing:
    """Each class on machines of its own, each with its own target."""
    bins, rows, machines = np.full(len(is_production), -1), [np.empty((0, 1))], 0
    for chosen, target in ((is_production, TARGET), (~is_production, RATIO * TARGET)):
        if chosen.any():
            packing = pack(Gpa(target), Observation(instance.inst[chosen]))
            bins[chosen] = np.where(packing.bins >= 0, packing.bins + machines, -1)
            rows.append(packing.rows)
            machines += len(packing.rows)
    return Packing(bins, np.concatenate(rows), np.arange(machines))


def plot(result: pa.Table) -> alt.Chart:
    """Draw machines per way of packing."""
    import altair as alt

    return (
        alt.Chart(alt.Data(values=result.to_pylist()))
        .transform_calculate(m="datum.m_abs / datum.lower_bound")
        .mark_boxplot(extent="min-max")
        .encode(
            x=alt.X("m:Q", title="machines ÷ lower bound", scale=alt.Scale(zero=False)),
            y=alt.Y("way:N", title=None, sort=list(WAYS)),
        )
        .properties(width=420, title="Two promises on one machine")
    )


def mean(result: pa.Table, column: str, way: str) -> float:
    """Mean of a column over the instances of one way of packing."""
    kept = [row[column] for row in result.to_pylist() if row["way"] == way]
    if not kept:
        raise NotApplicable("not among the ways of packing that were run")
    return float(np.mean(kept))


CLAIMS = (
    Claim(
        "two-targets-machines",
        "two targets need fewer machines than the strict one for all (ratio)",
        "< 1",
        lambda r: mean(r, "m_abs", "two targets") / mean(r, "m_abs", "strict for all"),
        lambda v: v < 1,
    ),
    Claim(
        "two-targets-mixing",
        "two targets need no more machines than separate ones (ratio)",
        "≤ 1",
        lambda r: mean(r, "m_abs", "two targets") / mean(r, "m_abs", "separate machines"),
        lambda v: v <= 1,
    ),
    Claim(
        "two-targets-production",
        "production keeps .001 (q ÷ ρ; 1.6 is the paper's gpa)",
        "≤ 1.8",
        lambda r: mean(r, "q_production", "two targets") / TARGET,
        lambda v: v <= 1.8,
    ),
    Claim(
        "two-targets-all",
        "all keep .05 (q ÷ ρ)",
        "≤ 1.1",
        lambda r: mean(r, "q_all", "two targets") / (RATIO * TARGET),
        lambda v: v <= 1.1,
    ),
)

RECIPE = Recipe(
    "packing_two_targets",
    compute,
    plot,
    RESULT,
    CLAIMS,
    reads=("instance_usage", "tasks"),
    reference="Janus & Rzadca, SoCC'17, §7 (future work)",
    order=430,
)
