"""How many tasks jobs have.

Among the 15,165 jobs that arrive in the first 19.65 hours of 2011 a fifth have several tasks: some a frequent size,
some two to ten, the others a Pareto tail from ten on, which is steeper above a thousand (.73 % have more than 1,000
tasks, .1 % more than 3,818).  Over the month a job has 37.83 tasks.  Most tasks belong to a few hundred huge jobs; a
small cell has none of them, so there the tail up to its largest job is heavier, and the mean is the same.
"""

import random
from collections.abc import Mapping

from borgtrace.synth.model.draws import EvenSequence, Stratified, pick
from borgtrace.synth.model.hashing import generator
from borgtrace.synth.model.profile import Profile, Tier

SIZE_ATOMS = {
    2: 8,
    11: 6,
    50: 5,
    15: 4,
    9: 3,
    110: 3,
    100: 3,
    14: 2,
}
"""Frequent sizes of jobs with several tasks, in the order of their frequency in the real trace, and their weights."""
FREQUENT = 0.20
"""Share of the jobs with several tasks that have one of these sizes."""
FEW = 0.45
"""Share of them that have one of these sizes or 2 to 10 tasks."""
TAIL_BEGINS = 10
"""Smallest job of the tail."""
TAIL = 0.585
"""Pareto exponent of tasks per job from 10 on."""
KNEE = 1000
"""Tasks of a job from which on the tail has another exponent."""
LARGEST_OF_ALL = 90_050
"""Tasks of the largest real job."""
_EXPONENTS = (-2.0, 3.0)
"""Exponents above the knee that are tried."""


class JobSizes:
    """Draws the sizes of the jobs that arrive.

    Parameters
    ----------
    profile
        Tiers, and the mean number of tasks.
    machines
        Number of machines.
    seed
        Decides where even sequences begin.
    rng
        Where all other random numbers come from.

    Attributes
    ----------
    largest
        Tasks of the largest job.
    exponent
        Pareto exponent of the tail above the knee.
    """

    def __init__(
        self,
        profile: Profile,
        machines: int,
        seed: int,
        rng: random.Random,
    ) -> None:
        self.random = rng
        self.profile = profile
        # The tail below has no finite mean: cut at a size that grows with the cell (the largest real job: 90,050).
        self.largest = max(10, 10 * machines)
        self.exponent = TAIL
        self._strata = {tier.name: Stratified(rng) for tier in profile.tiers}
        self._even: Mapping[str, EvenSequence] = {}
        if profile.tasks_per_job is not None:
            self.largest = largest_of(machines)
            self.exponent = self._exponent_for(profile.tasks_per_job)
            first = generator(seed, "sizes").random(len(profile.tiers))
            self._even = {
                tier.name: EvenSequence(place)
                for tier, place in zip(profile.tiers, first.tolist(), strict=True)
            }

    def draw(self, tier: Tier) -> int:
        """Draw the number of tasks of a new job."""
        u = self._place(tier)
        if u < tier.single:
            return 1
        u = (u - tier.single) / (1.0 - tier.single)
        largest = min(self.largest, tier.largest)
        if tier.sizes:
            return min(round(tier.sizes.at(u)), largest)
        if u < FREQUENT:
            return min(pick(SIZE_ATOMS, self.random.random()), largest)
        if u < FEW:
            return min(self.random.randint(2, 10), largest)
        place = (u - FEW) / (1.0 - FEW) if self._even else self.random.random()
        return min(largest, int(tail_at(place, largest + 1.0, self.exponent)))

    def _place(self, tier: Tier) -> float:
        # Even where the largest jobs have most of the tasks: any day then has as many as any other.
        if self._even:
            return self._even[tier.name].draw()
        return self._strata[tier.name].draw() if tier.sizes else self.random.random()

    def _exponent_for(self, wanted: float) -> float:
        """Return the exponent above the knee for which the mean size of all jobs comes nearest to one."""
        low, high = _EXPONENTS
        # The mean falls with the exponent: halve the interval until it is narrow.
        for _ in range(40):
            middle = 0.5 * (low + high)
            if self.mean(middle) > wanted:
                low = middle
            else:
                high = middle
        return low

    def mean(self, exponent: float) -> float:
        """Return the mean size of the jobs of all tiers, for an exponent above the knee."""
        total = 0.0
        weights = 0.0
        for tier in self.profile.tiers:
            largest = min(self.largest, tier.largest)
            several = mean_of_several(largest, exponent)
            total += tier.jobs * (tier.single + (1.0 - tier.single) * several)
            weights += tier.jobs
        return total / weights


def largest_of(machines: int) -> int:
    """Return the tasks of the largest job of a cell of 2011."""
    # Ten tasks per machine; somewhat more where that would leave out the jobs that have most tasks.
    of_small_cell = min(15 * machines, 5000)
    return min(max(10, 10 * machines, of_small_cell), LARGEST_OF_ALL)


def tail_at(place: float, largest: float, exponent: float) -> float:
    """Return the size at a cumulative probability of the tail: two Pareto distributions, cut at `largest`.

    Parameters
    ----------
    place
        From 0 to 1.
    largest
        Where the tail is cut.
    exponent
        That above the knee; not 0.

    Examples
    --------
    >>> round(tail_at(0.5, 1e9, 0.585), 1)          # 10 × 2^(1 / .585)
    32.7
    """
    if largest <= KNEE:
        return _pareto_at(place, TAIL_BEGINS, largest, TAIL)
    above = (TAIL_BEGINS / KNEE) ** TAIL
    if place < 1.0 - above:
        return float(TAIL_BEGINS * (1.0 - place) ** (-1.0 / TAIL))
    return _pareto_at((place - 1.0 + above) / above, KNEE, largest, exponent)


def _pareto_at(place: float, low: float, high: float, exponent: float) -> float:
    """Return the value at a cumulative probability of a Pareto distribution on [low, high], by inversion."""
    beyond = (high / low) ** -exponent
    return float(low * (1.0 - place * (1.0 - beyond)) ** (-1.0 / exponent))


def _pareto_mean(low: float, high: float, exponent: float) -> float:
    """Return the mean of a Pareto distribution on [low, high]."""
    ratio = high / low
    # At an exponent of 0 or 1 the formula has a removable gap, which no bisection hits exactly.
    return float(
        low
        * exponent
        / (exponent - 1.0)
        * (1.0 - ratio ** (1.0 - exponent))
        / (1.0 - ratio**-exponent)
    )


def mean_of_several(largest: float, exponent: float) -> float:
    """Return the mean size of jobs with several tasks of which the largest has `largest`."""
    weight = sum(SIZE_ATOMS.values())
    frequent = sum(min(size, largest) * count for size, count in SIZE_ATOMS.items()) / weight
    few = sum(min(size, largest) for size in range(2, 11)) / 9.0
    if largest <= TAIL_BEGINS:
        tail = float(largest)
    elif largest <= KNEE:
        tail = _pareto_mean(TAIL_BEGINS, largest + 1.0, TAIL)
    else:
        above = (TAIL_BEGINS / KNEE) ** TAIL
        below_knee = (1.0 - above) * _pareto_mean(TAIL_BEGINS, KNEE, TAIL)
        tail = below_knee + above * _pareto_mean(KNEE, largest + 1.0, exponent)
    return FREQUENT * frequent + (FEW - FREQUENT) * few + (1.0 - FEW) * tail
