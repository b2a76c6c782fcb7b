"""Classes of service: what each tier is promised, and what is expected of tasks that nobody has seen yet."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from borgtrace.colocation.pool import Pool
from borgtrace.errors import UsageError, check_names
from borgtrace.kernels.arrays import Flags, Index, Numbers
from borgtrace.schema.dialects import dialect


@dataclass(frozen=True, eq=False)
class Classes:
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
    def of(
        cls,
        pool: Pool,
        promises: str,
        seed: int,
    ) -> Classes:
        """Class the tasks of a pool by their tiers; without priorities jobs at random, and says so.

        Parameters
        ----------
        pool
            The tasks.
        promises
            As :func:`parse_promises` reads them.
        seed
            Seed of the random classes.
        """
        given = parse_promises(promises)
        names = tuple(sorted(given, key=lambda name: -given[name]))
        targets = tuple(given[name] for name in names)
        trace = dialect(pool.generation or "2011")
        check_names("--slo", names, tuple(name for name, _, _ in trace.tiers))
        if pool.priority is None or (pool.priority < 0).all():
            drawn = np.random.default_rng([seed, 7]).integers(
                len(names), size=int(pool.job.max(initial=0)) + 1
            )
            return cls(names, targets, drawn[pool.job], "jobs at random")
        kinds, index = np.unique(pool.priority, return_inverse=True)
        tiers = [trace.tier_of(int(kind)) if kind >= 0 else "" for kind in kinds]
        ranks = np.array([names.index(tier) if tier in names else 0 for tier in tiers], np.int64)
        return cls(names, targets, ranks[index], "priorities")


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
    found: dict[str, float] = {}
    for part in text.split(","):
        name, _, share = (word.strip() for word in part.partition("="))
        try:
            # 1 − 0.999 is 0.0010000000000000009 in floating point, which would stand so in every table.
            target = round(1 - float(share), 12)
        except ValueError:
            target = 0.0
        if not 0 < target < 1 or not name or name in found:
            expected = "TIER=SHARE, each tier once, shares above 0 and below 1"
            way_out = "try production=0.999,free=0.95"
            raise UsageError(
                "--slo", "not a promise", expected=expected, got=repr(part), way_out=way_out
            )
        found[name] = target
    return found


def with_priors(
    mean: Numbers, variance: Numbers, unseen: Flags, *groups: Index
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
    for codes in (*groups, np.zeros(len(unseen), np.int64)):
        for code in np.unique(codes[left & (codes >= 0)]):
            known = ~unseen & (codes == code)
            if known.any():
                asked = left & (codes == code)
                variance[asked] = variance[known].mean(axis=0) + mean[known].var(axis=0)
                mean[asked] = mean[known].mean(axis=0)
                left &= ~asked
    return mean, variance
