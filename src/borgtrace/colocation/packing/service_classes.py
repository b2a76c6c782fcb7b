"""Classes of service: what each tier is promised, and what is expected of tasks that nobody has seen yet."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from borgtrace.colocation.options import ColocationOptions
from borgtrace.colocation.tasks.pool import TaskPool
from borgtrace.colocation.tasks.streams import CLASSES
from borgtrace.errors import UsageError, check_names
from borgtrace.kernels.arrays import Flags, Index, Numbers
from borgtrace.question import NotApplicable
from borgtrace.schema.dialects import dialect


@dataclass(frozen=True, eq=False)
class ServiceClasses:
    """Classes of service, the laxest promise first.

    Attributes
    ----------
    names
        Tiers.
    targets
        Tolerated probability of overflow of each.
    rank
        int64 (n,): class of each task, its place in `names`; the laxest where its tier has no promise.
    origin
        Where the classes of tasks come from, in words.
    """

    names: tuple[str, ...]
    targets: tuple[float, ...]
    rank: Index
    origin: str

    @classmethod
    def of(cls, pool: TaskPool, promises: str, seed: int) -> ServiceClasses:
        """Class the tasks of a pool by their tiers; without priorities, jobs at random.

        Parameters
        ----------
        pool
            The tasks.
        promises
            As :func:`parse_promises` reads them.
        seed
            Seed of the random classes.

        Raises
        ------
        UsageError
            A promise is for a tier that the trace does not have.
        NotApplicable
            So are the default ones, which nobody asked for.
        """
        target_of_tier = parse_promises(promises)
        names = sorted(target_of_tier, key=target_of_tier.__getitem__, reverse=True)
        trace = dialect(pool.generation or "2011")
        known_tiers = tuple(name for name, _, _ in trace.tiers)
        if promises != ColocationOptions.promises:
            check_names("--slo", names, known_tiers)
        elif not set(names) <= set(known_tiers):
            raise NotApplicable(
                f"the default promises ({promises}) are for tiers that this trace does not have; "
                f"it has {', '.join(known_tiers)}"
            )

        if pool.priority is None or (pool.priority < 0).all():
            n_jobs = int(pool.job.max(initial=0)) + 1
            rng = np.random.default_rng([seed, CLASSES])
            rank_of_job = rng.integers(len(names), size=n_jobs)
            rank = rank_of_job[pool.job]
            origin = "jobs at random"
        else:
            rank_of_tier = {name: rank for rank, name in enumerate(names)}
            priorities, index = np.unique(pool.priority, return_inverse=True)
            rank_of_priority = []
            for priority in priorities.tolist():
                tier = trace.tier_of(priority) if priority >= 0 else ""
                rank_of_priority.append(rank_of_tier.get(tier, 0))
            rank = np.array(rank_of_priority, np.int64)[index]
            origin = "priorities"
        targets = tuple(target_of_tier[name] for name in names)
        return cls(tuple(names), targets, rank, origin)


def parse_promises(text: str) -> dict[str, float]:
    """Read what each tier is promised, as the tolerated share of the time.

    Parameters
    ----------
    text
        Tiers with the share of the time that is promised.

    Raises
    ------
    UsageError
        A part is no promise, or a tier has two.

    Examples
    --------
    >>> parse_promises("production=0.999,free=0.95")
    {'production': 0.001, 'free': 0.05}
    """
    target_of_tier: dict[str, float] = {}
    for promise in text.split(","):
        tier, _, share = promise.partition("=")
        tier = tier.strip()
        try:
            # 1 − 0.999 is 0.0010000000000000009 in floating point, which would stand so in every table.
            target = round(1 - float(share), 12)
        except ValueError:
            target = 0.0
        if not 0 < target < 1 or not tier or tier in target_of_tier:
            raise UsageError(
                "--slo",
                "not a promise",
                expected="TIER=SHARE, each tier once, shares above 0 and below 1",
                got=repr(promise),
                way_out="try production=0.999,free=0.95",
            )
        target_of_tier[tier] = target
    return target_of_tier


def with_priors(
    mean: Numbers,
    variance: Numbers,
    unseen: Flags,
    *groups: Index,
) -> tuple[Numbers, Numbers]:
    """Give tasks that nobody has seen the moments of a task drawn from those of their group.

    Its mean is the mean of the group's, its variance that within tasks plus that between them.

    Parameters
    ----------
    mean, variance
        float64 (n, hours): moments of each task; those of unseen ones are not looked at.
    unseen
        bool (n,): tasks without a past; some task has one.
    groups
        int64 (n,) each: codes of what tasks share (logical name, job), the closest first, −1 unknown; where no seen
        task shares any of them, all seen tasks are the group.
    """
    mean = mean.copy()
    variance = variance.copy()
    left = unseen.copy()
    everybody = np.zeros(len(unseen), np.int64)
    for codes in (*groups, everybody):
        for code in np.unique(codes[left & (codes >= 0)]):
            in_group = codes == code
            seen = in_group & ~unseen
            if not seen.any():
                continue
            filled = in_group & left
            within = variance[seen].mean(axis=0)
            between = mean[seen].var(axis=0)
            variance[filled] = within + between
            mean[filled] = mean[seen].mean(axis=0)
            left &= ~filled
    return mean, variance
