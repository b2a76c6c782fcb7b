"""The what-ifs of a compaction: each changes the tasks of a workload, or divides it among cells."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from borgtrace.kernels.arrays import Flags, Index, Numbers
from borgtrace.question import NotApplicable
from borgtrace.scheduling.compaction import CellWorkload
from borgtrace.scheduling.machines import MEMORY, UNIT, to_units
from borgtrace.scheduling.plan import TaskPlan

LIMITS = "limits"
RECLAIMED = "reclaimed"
GIB_PER_TIB = 1024
BY_LIMITS = (
    "by limits alone: Borg gained by room that is reclaimed from production and used by the rest"
)


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

    workload: CellWorkload
    usage: Numbers | None
    user: Index
    cores: float = 0.0
    gib: float = 0.0
    margin: float = 0.25
    plan: TaskPlan | None = None

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
        with_margin = to_units(self.usage * (1 + margin))
        used = np.where(np.isnan(self.usage), limits, with_margin)
        unused = limits - np.minimum(used, limits)
        return np.rint(limits - trust * unused).astype(np.int64)

    def reclaimed(self) -> CellWorkload:
        """Return the workload in which the rest takes the room that production does not use."""
        plan = self.plan
        by_policy = plan is not None and plan.by_policy
        reserved = plan.sizes if plan and by_policy else self.reserved(self.margin)
        # Production is planned by its limits, the rest by its reservations.
        is_production = self.workload.is_production[:, None]
        sizes = np.where(is_production, self.workload.demand.sizes, reserved)
        return replace(self.workload.with_sizes(sizes), reserved=reserved)

    def planned(self) -> CellWorkload:
        """Return the workload in which every task takes what an estimator says."""
        if self.plan is None:
            raise NotApplicable("needs --plan ESTIMATOR, such as gpa:0.01")
        return replace(self.workload, demand=self.plan.of(self.workload.demand))


Cells = Sequence[CellWorkload]
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


def as_it_is(moment: Moment, rng: np.random.Generator) -> Cells:
    """Keep the workload."""
    return [moment.workload]


def without_constraints(moment: Moment, rng: np.random.Generator) -> Cells:
    """Drop constraints."""
    return [moment.workload.without_constraints()]


def whole_jobs(moment: Moment, rng: np.random.Generator) -> Cells:
    """Place jobs whole or not at all."""
    return [replace(moment.workload, is_whole=True)]


def planned(moment: Moment, rng: np.random.Generator) -> Cells:
    """Let tasks take what an estimator says."""
    return [moment.planned()]


def segregated(moment: Moment, rng: np.random.Generator) -> Cells:
    """Give production and the rest a cell each."""
    return two_cells(moment.workload)


def reclaimed(moment: Moment, rng: np.random.Generator) -> Cells:
    """Let the rest use what production does not."""
    return [moment.reclaimed()]


def reclaimed_segregated(moment: Moment, rng: np.random.Generator) -> Cells:
    """Do both."""
    return two_cells(moment.reclaimed())


def two_cells(workload: CellWorkload) -> Cells:
    """Divide a workload into production and the rest."""
    return [workload.of(workload.is_production), workload.of(~workload.is_production)]


def trusting(trust: float) -> Make:
    """Give up a share of what is not used."""

    def make(moment: Moment, rng: np.random.Generator) -> Cells:
        return [moment.workload.with_sizes(moment.reserved(0.0, trust))]

    return make


def split_into(n_cells: int) -> Make:
    """Deal the jobs, in random order, round robin."""

    def make(moment: Moment, rng: np.random.Generator) -> Cells:
        jobs = moment.workload.jobs
        n_jobs = int(jobs.max(initial=0)) + 1
        cell_of_task = rng.permutation(n_jobs)[jobs] % n_cells
        return [moment.workload.of(cell_of_task == cell) for cell in range(n_cells)]

    return make


def powers_of_two(moment: Moment, rng: np.random.Generator) -> Cells:
    """Round the requests of production up to powers of two, from half a core and 1 GiB on."""
    if not (moment.cores and moment.gib):
        raise NotApplicable(
            "needs --cores-per-unit and --gib-per-unit: what the largest machine has is not published"
        )
    sizes = moment.workload.demand.sizes
    smallest = np.array([0.5 / moment.cores, 1 / moment.gib]) * UNIT
    doublings = np.ceil(np.log2(np.maximum(sizes / smallest, 1)))
    rounded = np.rint(smallest * 2.0**doublings)
    is_rounded = moment.workload.is_production[:, None] & (sizes > 0)
    return [moment.workload.with_sizes(np.where(is_rounded, rounded, sizes).astype(np.int64))]


def own_cells(tib: float) -> Make:
    """Give users with so much memory in requests a cell of their own."""

    def make(moment: Moment, rng: np.random.Generator) -> Cells:
        if not moment.gib:
            raise NotApplicable(
                "needs --gib-per-unit: what the largest machine has is not published"
            )
        workload = moment.workload
        memory_of_user = np.bincount(moment.user, workload.demand.sizes[:, MEMORY])
        large_users = np.flatnonzero(memory_of_user * moment.gib >= tib * GIB_PER_TIB * UNIT)
        others: Flags = ~np.isin(moment.user, large_users)
        cells = [workload.of(others)]
        for user in large_users:
            cells.append(workload.of(moment.user == user))
        return cells

    return make


def what_if_cells(n_cells: int) -> WhatIf:
    """Return the what-if of several cells."""
    return WhatIf(
        f"cells-{n_cells}",
        split_into(n_cells),
        published="more (a curve)",
        note=BY_LIMITS,
    )


def what_if_users(tib: int) -> WhatIf:
    """Return the what-if of cells of users."""
    return WhatIf(
        f"users-{tib}tib",
        own_cells(tib),
        published="+20 to 150 %",
        note=BY_LIMITS,
    )


def what_if_trust(trust: float) -> WhatIf:
    """Return the what-if of a share that is given up."""
    return WhatIf(
        f"trust-{round(trust * 100)}",
        trusting(trust),
        note="limits less this share of what is not used",
    )


WHAT_IFS = (
    WhatIf(LIMITS, as_it_is),
    WhatIf(
        "no-constraints",
        without_constraints,
        note="neither placement constraints nor anti-affinity",
    ),
    WhatIf(
        "whole-jobs",
        whole_jobs,
        note="all tasks of a job that have one priority are placed, or none",
    ),
    WhatIf(
        "planned",
        planned,
        note="every task takes what --plan makes of its usage",
    ),
    WhatIf(
        "segregated",
        segregated,
        published="+20 to 30 %",
        note=BY_LIMITS,
    ),
    what_if_cells(2),
    what_if_cells(5),
    what_if_cells(10),
    WhatIf(
        "powers-of-two",
        powers_of_two,
        published="+30 to 50 %",
    ),
    what_if_users(10),
    what_if_users(100),
    WhatIf(
        RECLAIMED,
        reclaimed,
        published="many fewer (a curve)",
        note="production by limits, the rest by reservations in what production leaves",
    ),
    WhatIf(
        "reclaimed-segregated",
        reclaimed_segregated,
        beside=RECLAIMED,
        published="+20 to 30 %",
    ),
    what_if_trust(0.0),
    what_if_trust(0.25),
    what_if_trust(0.5),
    what_if_trust(0.75),
    what_if_trust(1.0),
)
"""All what-ifs, in the order of the table."""
