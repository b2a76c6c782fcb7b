"""Which estimator, which parameter, what does it save: the choice among many ways of packing.

A way of packing is *chosen* on one set of instances and *judged* on another: other tasks, where the pool has enough,
and always other draws.  So the overflow and the savings shown are those of tasks the choice has not seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from borgtrace.colocation.grid import Cell, Grid, Outcome
from borgtrace.kernels.arrays import Numbers
from borgtrace.placement import Estimator, Percentile, Request, estimators

Z = 1.96
"""Half-width of a 95 % confidence interval in standard errors."""
OVERCOMMIT = (1.0, 1.25, 1.5, 2.0, 3.0, 5.0)
"""Overcommit factors on requests that are tried."""


@dataclass(frozen=True)
class Interval:
    """A mean over instances with its 95 % confidence interval."""

    mean: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float] | Numbers) -> Interval:
        """Of independent values; a single one has no width.

        Examples
        --------
        >>> found = Interval.of([1.0, 3.0])  # the standard error is √2 ÷ √2
        >>> round(found.low, 9), found.mean, round(found.high, 9)
        (0.04, 2.0, 3.96)
        """
        array = np.asarray(values, np.float64)
        half = Z * float(array.std(ddof=1)) / len(array) ** 0.5 if len(array) > 1 else 0.0
        mean = float(array.mean())
        return cls(mean, mean - half, mean + half)


def candidates(target: float, has_requests: bool) -> list[Estimator]:
    """Every way that is tried: the paper's, each estimator with a target around it, and overcommitted requests.

    Parameters
    ----------
    target
        Tolerated probability of overflow.
    has_requests
        Whether requests of the tasks are known.
    """
    kinds = estimators().values()
    tried: list[Estimator] = [estimator for kind in kinds for estimator in kind.family()]
    for kind in kinds:
        if kind.targets and not kind.needs_more:
            # Around the target: a test that is too lax or too careful may keep it when told half or twice of it.
            tried += [kind(share * target) for share in (0.5, 1.0, 2.0) if share * target < 1]
    if has_requests:
        tried += [Request(factor) for factor in OVERCOMMIT]
    # The paper's targets and those around this one may meet.
    return list(dict.fromkeys(tried))


def advise(choosing: Grid, judging: Grid, target: float, capacity: float = 1.0) -> list[dict[str, Any]]:
    """Choose a way of packing on one grid and judge all of them on another.

    Parameters
    ----------
    choosing, judging
        Instances that share no draws.
    target
        Tolerated probability of overflow, between 0 and 1.
    capacity
        Of every machine.

    Returns
    -------
    list of dict
        One for each way of packing, by number of machines: ``estimator`` and ``parameter``; ``machines`` (with one of
        its own for every unplaceable task), ``q`` (share of overflows), ``saved_request`` and ``saved_maximum`` (share
        of machines saved against packing by request, and by the maximum seen; None where unknown), each with the
        ``_low`` and ``_high`` end of its interval; ``n_unplaceable``; ``overcommit`` (known requests ÷ capacity of
        the machines, or None); ``keeps_target`` (whether the upper end of q's interval met the target *where the
        choice was made*); ``is_on_front`` (no other has both fewer machines and fewer overflows); ``is_advised``
        (fewest machines among those that keep the target).
    """
    plain = [Cell(e, capacity=capacity) for e in candidates(target, judging.instances.pool.has_requests)]
    # Learning happens where choosing does, so that the judging instances stay unseen by both.
    cells = [Cell(choosing.prepared(cell.estimator, cell), capacity=capacity) for cell in plain]
    tried, judged = _by_cell(choosing, cells), _by_cell(judging, cells)
    # The upper end, not the mean: of many ways that hover around the target, some seem to keep it by luck.
    wanted = [cell for cell in cells if _q(tried[cell]).high <= target]
    # The choice looks at its own instances alone; `judged` is for what is shown.
    best = min(wanted, key=lambda cell: (_machines(tried[cell]).mean(), _q(tried[cell]).mean), default=None)
    by_request = next((judged[c] for c in cells if c.estimator == Request(1.0)), None)
    by_maximum = next(judged[c] for c in cells if c.estimator == Percentile(100))
    front = _front([(float(_machines(judged[c]).mean()), _q(judged[c]).mean) for c in cells])
    found = []
    for cell, is_on_front in zip(cells, front, strict=True):
        outcomes = judged[cell]
        row = {
            "estimator": cell.estimator.name,
            "parameter": float(cell.estimator.parameter),
            "n_unplaceable": float(np.mean([outcome.n_unplaceable for outcome in outcomes])),
            "overcommit": _overcommit(judging, outcomes, capacity),
            "keeps_target": cell in wanted,
            "is_on_front": is_on_front,
            "is_advised": cell == best,
        }
        row |= _columns("machines", Interval.of(_machines(outcomes))) | _columns("q", _q(outcomes))
        row |= _columns("saved_request", _saved(outcomes, by_request))
        found.append(row | _columns("saved_maximum", _saved(outcomes, by_maximum)))
    return sorted(found, key=lambda row: (row["machines"], f"{row['estimator']} {row['parameter']:g}"))


def _columns(name: str, interval: Interval | None) -> dict[str, float | None]:
    """Mean and ends of an interval, by the names of their columns."""
    values = (None, None, None) if interval is None else (interval.mean, interval.low, interval.high)
    return dict(zip((name, f"{name}_low", f"{name}_high"), values, strict=True))


def _by_cell(grid: Grid, cells: Sequence[Cell]) -> dict[Cell, list[Outcome]]:
    grid.outcomes(cells)  # all in one pass
    return {cell: grid.outcomes([cell]) for cell in cells}


def _machines(outcomes: Sequence[Outcome]) -> Numbers:
    return np.array([outcome.machines for outcome in outcomes], np.float64)


def _q(outcomes: Sequence[Outcome]) -> Interval:
    interval = Interval.of([outcome.q for outcome in outcomes])
    # A symmetric interval around a small share may reach below 0.
    return Interval(interval.mean, max(interval.low, 0.0), interval.high)


def _saved(outcomes: Sequence[Outcome], base: Sequence[Outcome] | None) -> Interval | None:
    """Share of machines saved, instance by instance; None where there is nothing to compare with."""
    if base is None:
        return None
    # Paired: what makes an instance large makes it large for both, and does not widen the interval.
    return Interval.of(1 - _machines(outcomes) / np.maximum(_machines(base), 1))


def _overcommit(grid: Grid, outcomes: Sequence[Outcome], capacity: float) -> float | None:
    """Known requests per instance ÷ capacity of the machines in use; None where no request is known."""
    requests = grid.instances.pool.cpu_request
    if requests is None or not grid.instances.pool.has_requests:
        return None
    asked = [np.nansum(requests[grid.instances.tasks(o.instance)]) for o in outcomes]
    used = [outcome.machines for outcome in outcomes]
    return float(np.sum(asked) / max(np.sum(used) * capacity, 1e-12))


def _front(points: Sequence[tuple[float, float]]) -> list[bool]:
    """Whether no other point is at most as large in both coordinates and smaller in one."""
    return [not any(o[0] <= p[0] and o[1] <= p[1] and (o[0] < p[0] or o[1] < p[1]) for o in points) for p in points]
