"""How much does a laxer target for best-effort tasks save?

Beyond Janus & Rzadca (SoCC'17): production and best-effort tasks share machines. Production has precedence, so it
suffers when production alone exceeds the machine (target ρ = .001), best-effort when all together do (target .05).
Compared: both promises at once, the strict one for all tasks, and separate machines for each class.

Reference: Janus & Rzadca, SoCC'17, §7 (future work).
"""

import numpy as np
import pyarrow as pa

from borgtrace.colocation import Experiment, Options, Study
from borgtrace.colocation.experiment import PACKING
from borgtrace.colocation.experiments._charts import from_data
from borgtrace.colocation.experiments._columns import RESULTS
from borgtrace.colocation.experiments._rows import Row, mean
from borgtrace.colocation.experiments._scopes import OWN
from borgtrace.colocation.instances import Instance
from borgtrace.colocation.quality import least_machines, overflow_counts
from borgtrace.kernels.arrays import Flags, Index
from borgtrace.placement import Gpa, Observation, Packing, TwoTargets, pack
from borgtrace.placement.estimators.two_targets import RATIO
from borgtrace.recipe import Claims, at_most, below
from borgtrace.recipe.charts import Chart, Plot, added, axis, box
from borgtrace.schema.dialects import dialect

RESULT = RESULTS["packing_two_targets"]
TARGET = 0.001
WAYS = ("two targets", "strict for all", "separate machines")


def compute(study: Study, options: Options) -> pa.Table:
    """Pack production and best-effort tasks in three ways."""
    pool = study.pool(options)
    is_production, classes = production(pool.priority, pool.generation, pool.job, options.seed)
    return study.instances(options).table(lambda instance: _rows(instance, is_production[instance.tasks], classes))


def production(priority: Index | None, generation: str, job: Index, seed: int) -> tuple[Flags, str]:
    """Which tasks are production, bool (n,): by priority; without priorities a random half of the jobs, and says so.

    Parameters
    ----------
    priority
        int64 (n,) or None: priority of each task, −1 where unknown.
    generation
        Trace whose tiers the priorities belong to.
    job
        int64 (n,): job of each task, dense from 0.
    seed
        Seed of the random half.
    """
    if priority is None or (priority < 0).all():
        rng = np.random.default_rng([seed, 7])
        return (rng.random(int(job.max(initial=0)) + 1) < 0.5)[job], "a random half of the jobs"
    kinds, index = np.unique(priority, return_inverse=True)
    trace = dialect(generation or "2011")
    named = np.array([p >= 0 and trace.tier_of(int(p)) in ("production", "monitoring") for p in kinds])
    return named[index], "priorities"


def _rows(instance: Instance, is_production: Flags, classes: str) -> list[Row]:
    seen = instance.seen.with_more(is_production=is_production)
    packings = [pack(TwoTargets(TARGET), seen), pack(Gpa(TARGET), seen), _separate(instance, is_production)]
    # Best-effort tasks throttled to nothing: what is left is whether production alone exceeds the machine.
    values = np.where(is_production[:, None], instance.inst, np.float32(0))
    alone = overflow_counts(values, packings)
    together = overflow_counts(instance.inst, packings)
    n = instance.inst.shape[1]
    # Machines without production cannot fail it, and would make its share look better.
    used = [max(1, len(np.unique(p.bins[is_production & (p.bins >= 0)]))) for p in packings]
    return [
        {
            "way": way,
            "instance": instance.number,
            "m_abs": packing.n_bins,
            "lower_bound": least_machines(seen.mean, placed=packing),
            "q_production": float(alone[k] / (used[k] * n)),
            "q_all": float(together[k] / (max(1, packing.n_bins) * n)),
            "n_production": int(is_production.sum()),
            "n_tasks": len(seen),
            "classes": classes,
        }
        for k, (way, packing) in enumerate(zip(WAYS, packings, strict=True))
    ]


def _separate(instance: Instance, is_production: Flags) -> Packing:
    """Each class on machines of its own, each with its own target."""
    bins, rows, machines = np.full(len(is_production), -1), [np.empty((0, 1))], 0
    for chosen, target in ((is_production, TARGET), (~is_production, RATIO * TARGET)):
        if chosen.any():
            packing = pack(Gpa(target), Observation(instance.inst[chosen]))
            # The second class is numbered after the machines of the first.
            bins[chosen] = np.where(packing.bins >= 0, packing.bins + machines, -1)
            rows.append(packing.rows)
            machines += len(packing.rows)
    return Packing(bins, np.concatenate(rows), np.arange(machines))


def plot(result: pa.Table) -> Chart:
    """Draw machines per way of packing."""
    rows = added(result, m=lambda row: row["m_abs"] / row["lower_bound"])
    x = from_data("m", "machines ÷ lower bound")
    chart = Plot(rows, RESULT, x=x, y=axis("way", order=WAYS)).add(box())
    return chart.draw("Two promises on one machine", height=None)


def _ratio(result: pa.Table, way: str) -> float:
    return mean(result, "m_abs", way=WAYS[0]) / mean(result, "m_abs", way=way)


CLAIMS = Claims("", scope=OWN, kind="criterion")


@CLAIMS.add("two-targets-machines", below(1))
def _targets_machines(result: pa.Table) -> float:
    """two targets need fewer machines than the strict one for all (ratio)"""
    return _ratio(result, "strict for all")


@CLAIMS.add("two-targets-mixing", at_most(1))
def _targets_mixing(result: pa.Table) -> float:
    """two targets need no more machines than separate ones (ratio)"""
    return _ratio(result, "separate machines")


@CLAIMS.add("two-targets-production", at_most(1.8))
def _targets_production(result: pa.Table) -> float:
    """production keeps .001 (q ÷ ρ; 1.6 is the paper's gpa)"""
    return mean(result, "q_production", way="two targets") / TARGET


@CLAIMS.add("two-targets-all", at_most(1.1))
def _targets_all(result: pa.Table) -> float:
    """all keep .05 (q ÷ ρ)"""
    return mean(result, "q_all", way="two targets") / (RATIO * TARGET)


EXPERIMENT = Experiment(RESULT, compute, plot, tuple(CLAIMS), order=430, options=PACKING)
