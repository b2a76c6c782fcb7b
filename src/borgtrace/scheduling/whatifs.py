"""The what-ifs of a compaction: each makes other tasks, or cells, of a workload."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from borgtrace.kernels.arrays import Flags, Index, Numbers
from borgtrace.question import NotApplicable
from borgtrace.scheduling.compaction import Workload
from borgtrace.scheduling.machines import UNIT, to_units
from borgtrace.scheduling.plan import Plan

LIMITS = "limits"
RECLAIMED = "reclaimed"
TIB = 1024
"""GiB."""
_BY_LIMITS = (
    "by limits alone: Borg gained by room that is reclaimed from production and used by the rest"
)

_UNBOUND = "neither placement constraints nor anti-affinity"
_IN_THE_REST = "production by limits, the rest by reservations in what production leaves"
_WHOLE = "all tasks of a job that have one priority are placed, or none"


@dataclass(frozen=True, eq=False)
class Moment:
    """What a what-if is made from.

    Attributes
    ----------
    workload
        Everything at its limits.
    usage
        float64 (n, 2), in largest machines; NaN where it was not measured; None without enough of it.
    user
        int64 (n,): code of who submitted a task.
    cores, gib
        Of the largest machine; 0: not known.
    margin
        Reservations are usage and this share more, at most the limit.
    plan
        What an estimator plans the tasks with; None: nobody asked for one.
    """

    workload: Workload
    usage: Numbers | None
    user: Index
    cores: float = 0.0
    gib: float = 0.0
    margin: float = 0.25
    plan: Plan | None = None

    def reserved(self, margin: float, trust: float = 1.0) -> Index:
        """Return limits less a trusted share of what is above usage and its margin: int64 (n, 2).

        Parameters
        ----------
        margin
            Share of usage that is kept beside it.
        trust
            Share of the rest that is given up: 0 keeps the limits.
        """
        if self.usage is None:
            raise NotApplicable("needs usage at that time of nine tasks in ten")
        limits = self.workload.demand.sizes
        used = np.where(np.isnan(self.usage), limits, to_units(self.usage * (1 + margin)))
        return np.rint(limits - trust * (limits - np.minimum(used, limits))).astype(np.int64)

    def reclaimed(self) -> Workload:
        """Return the workload in which the rest takes the room that production does not use."""
        sizes = self.plan.sizes if self.plan and self.plan.by_policy else self.reserved(self.margin)
        # Production is planned by its limits, the rest by its reservations.
        own = np.where(self.workload.is_production[:, None], self.workload.demand.sizes, sizes)
        return replace(self.workload.with_sizes(own), reserved=sizes)

    def planned(self) -> Workload:
        """Return the workload in which every task takes what an estimator says."""
        if self.plan is None:
            raise NotApplicable("needs --plan ESTIMATOR, such as gpa:0.01")
        return replace(self.workload, demand=self.plan.of(self.workload.demand))


Cells = Sequence[Workload]
Make = Callable[[Moment, np.random.Generator], Cells]
"""From a moment and the randomness of a seed to the cells that must hold it, each on its own."""


@dataclass(frozen=True, slots=True)
class WhatIf:
    """One row of the table: its name, the row it is compared with, what Borg's authors published, and a remark."""

    name: str
    make: Make
    beside: str = LIMITS
    published: str = ""
    note: str = ""


def _trusting(trust: float) -> Make:
    return lambda moment, rng: [moment.workload.with_sizes(moment.reserved(0.0, trust))]


def _split(cells: int) -> Make:
    """Deal the jobs, in random order, round robin."""

    def make(moment: Moment, rng: np.random.Generator) -> Cells:
        jobs = moment.workload.jobs
        dealt = rng.permutation(int(jobs.max(initial=0)) + 1)[jobs] % cells
        return [moment.workload.of(dealt == cell) for cell in range(cells)]

    return make


def _segregated(workload: Workload) -> Cells:
    return [workload.of(workload.is_production), workload.of(~workload.is_production)]


def _powers(moment: Moment, rng: np.random.Generator) -> Cells:
    """Round the requests of production up to powers of two, from half a core and 1 GiB on."""
    if not (moment.cores and moment.gib):
        raise NotApplicable(
            "needs --cores-per-unit and --gib-per-unit: what the largest machine has is not published"
        )
    sizes = moment.workload.demand.sizes
    smallest = np.array([0.5 / moment.cores, 1 / moment.gib]) * UNIT
    rounded = np.rint(smallest * 2.0 ** np.ceil(np.log2(np.maximum(sizes / smallest, 1))))
    is_rounded = moment.workload.is_production[:, None] & (sizes > 0)
    return [moment.workload.with_sizes(np.where(is_rounded, rounded, sizes).astype(np.int64))]


def _own_cells(tib: float) -> Make:
    """Give users with so much memory in requests a cell of their own."""

    def make(moment: Moment, rng: np.random.Generator) -> Cells:
        if not moment.gib:
            raise NotApplicable(
                "needs --gib-per-unit: what the largest machine has is not published"
            )
        asked = np.bincount(moment.user, moment.workload.demand.sizes[:, 1])
        large = np.flatnonzero(asked * moment.gib >= tib * TIB * UNIT)
        others: Flags = ~np.isin(moment.user, large)
        return [
            moment.workload.of(part) for part in (others, *(moment.user == user for user in large))
        ]

    return make


WHAT_IFS = (
    WhatIf(LIMITS, lambda moment, rng: [moment.workload]),
    WhatIf(
        "no-constraints", lambda moment, rng: [moment.workload.without_constraints()], note=_UNBOUND
    ),
    WhatIf(
        "whole-jobs", lambda moment, rng: [replace(moment.workload, is_whole=True)], note=_WHOLE
    ),
    WhatIf(
        "planned",
        lambda moment, rng: [moment.planned()],
        note="every task takes what --plan makes of its usage",
    ),
    WhatIf(
        "segregated",
        lambda moment, rng: _segregated(moment.workload),
        LIMITS,
        "+20 to 30 %",
        _BY_LIMITS,
    ),
    *(
        WhatIf(
            f"cells-{n}",
            _split(n),
            LIMITS,
            "more (a curve)",
            _BY_LIMITS,
        )
        for n in (2, 5, 10)
    ),
    WhatIf("powers-of-two", _powers, LIMITS, "+30 to 50 %"),
    *(
        WhatIf(
            f"users-{tib}tib",
            _own_cells(tib),
            LIMITS,
            "+20 to 150 %",
            _BY_LIMITS,
        )
        for tib in (10, 100)
    ),
    WhatIf(
        RECLAIMED,
        lambda moment, rng: [moment.reclaimed()],
        LIMITS,
        "many fewer (a curve)",
        _IN_THE_REST,
    ),
    WhatIf(
        "reclaimed-segregated",
        lambda moment, rng: _segregated(moment.reclaimed()),
        RECLAIMED,
        "+20 to 30 %",
    ),
    *(
        WhatIf(
            f"trust-{round(trust * 100)}",
            _trusting(trust),
            note="limits less this share of what is not used",
        )
        for trust in (0.0, 0.25, 0.5, 0.75, 1.0)
    ),
)
