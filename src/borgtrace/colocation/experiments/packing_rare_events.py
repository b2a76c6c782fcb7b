"""Which estimators meet a target of 99.9 %?

Beyond Janus & Rzadca (SoCC'17), their future work: GPA overflows 60 % more often than it promises at ρ = .001, because
the sum of a few bursty tasks is skewed. Here every estimator with a target runs at ρ = .001 on the pool and on a
heavier-tailed twin of it (1 % of the windows are bursts of 12 times the usage), with and without rebalancing; q is
measured on draws that no estimator has seen. *Predicted* is the mean overflow an estimator itself predicts for its
finished machines; *matched* is the number of machines that GPA needs when its target is set, on the same instances, to
give the same overflow: an estimator that needs no more machines at equal overflow wastes nothing. Estimators that
learn do so on held-out instances: other tasks, where the pool has enough, and always other draws.

Reference: Janus & Rzadca, SoCC'17, §7 (future work).
"""

import numpy as np

from borgtrace.colocation import Cell, Experiment, Grid, Options, Study
from borgtrace.colocation.experiment import PACKING
from borgtrace.colocation.experiments._answers import RESULTS, Row
from borgtrace.colocation.experiments._outcomes import OUTCOMES, summaries, to_table
from borgtrace.colocation.heavy_tail import heavy_tail
from borgtrace.colocation.study import halves
from borgtrace.kernels.arrays import Numbers
from borgtrace.placement import Estimator, Gpa, estimators

Curve = tuple[Numbers, Numbers]

AS_IT_IS, HEAVY_TAIL = "as it is", "heavier tail"


def candidates(target: float) -> list[Estimator]:
    """Every estimator with a target, at that target."""
    return [kind(target) for kind in estimators().values() if kind.targets and not kind.needs_more]


def compute(study: Study, options: Options) -> list[Row]:
    """Run every estimator with a target on both pools."""
    twin = heavy_tail(study.pool(options), options.seed)
    rows = _rows(AS_IT_IS, *study.halves(options), options.target)
    return rows + _rows(HEAVY_TAIL, *halves(twin, options, study.workers), options.target)


def _rows(name: str, grid: Grid, learning: Grid, target: float) -> list[Row]:
    learned = [learning.prepared(e, Cell(e)) for e in candidates(target)]
    used = {estimator.name: estimator.used for estimator in learned}
    ways = [Cell(estimator, is_rebalanced=r) for estimator in learned for r in (False, True)]
    found, curve = _averages(grid, ways), _gpa_curve(grid, target)
    # The curve is of packings without rebalancing, so a way is looked up there by its own without.
    plain = {row["estimator"]: row["q"] for row in found if not row["is_rebalanced"]}
    rows = [
        {name: row[name] for name in RESULTS["packing_rare_events"].names if name in row}
        for row in found
    ]
    known = {"pool": name, "target": target}
    for row in rows:
        name = row["estimator"]
        row.update(known, matched_machines=_matched(plain[name], curve), used=used[name])
    return rows


def _averages(grid: Grid, ways: list[Cell]) -> list[Row]:
    return summaries(to_table(grid.outcomes(ways), OUTCOMES))


def _gpa_curve(grid: Grid, target: float) -> Curve:
    """Log q and mean machines of GPA, not rebalanced, over a fine range of targets around `target`."""
    # Far down: on the heavier tail only targets many powers of ten below keep q within the one wanted.
    told = target * np.geomspace(1e-14, 3, 100)
    found = _averages(grid, [Cell(Gpa(float(t)), is_rebalanced=False) for t in told])
    q, machines = (np.array([row[name] for row in found]) for name in ("q", "machines"))
    # Interpolation needs a rising q, and packings are discrete; 1e-12 stands for none seen, which has no logarithm.
    return np.log(np.maximum.accumulate(np.maximum(q, 1e-12))), machines


def _matched(q: float, curve: Curve) -> float | None:
    """Machines of GPA at overflow q, interpolated between targets; None outside their range."""
    if q <= 0 or not curve[0][0] <= np.log(q) <= curve[0][-1]:
        return None
    return float(np.interp(np.log(q), *curve))


EXPERIMENT = Experiment.declared(compute, order=370, options=(*PACKING, "target"))
