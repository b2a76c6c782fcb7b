"""Draw how the jobs of a cell live: one plan for each job, spread evenly over jobs and over the tasks of large ones."""

import random
from dataclasses import replace

from borgtrace.synth.model.draws import Stratified
from borgtrace.synth.model.lives import SMALL, JobPlan, TierLives, service_plan
from borgtrace.synth.model.profile import Tier

MOST_SENSITIVE = 3
"""The scheduling class whose tasks usually run long (Zhu et al., Observation 10)."""
WIDTH_OF_SMALL = 0.1
"""Which part of the run times of its tier the tasks of a small job cover."""
WIDTH_OF_LARGE = 0.3
"""The same for a large job, up to a number of tasks."""
HUGE = 500
"""Tasks of a job from which on each runs on its own: a few such jobs own most tasks, and must not all run long."""


class JobPlans:
    """Draws plans.

    Parameters
    ----------
    rng
        Where the random numbers come from.
    """

    def __init__(self, rng: random.Random) -> None:
        self.random = rng
        self._places = Stratified(rng)
        self._dooms = Stratified(rng, block=64)
        self._kills = Stratified(rng)
        self._services = Stratified(rng, block=64)

    def place(self) -> float:
        """Draw where in the run times of its tier the runs of a new job lie."""
        return self._places.draw()

    def new(
        self,
        tier: Tier,
        size: int,
        place: float,
        scheduling_class: int,
    ) -> JobPlan | None:
        """Draw the plan of a job that arrives; None where the tier has no lives.

        Parameters
        ----------
        tier, size, scheduling_class
            What the job is.
        place
            Where in the run times of its tier its runs lie.
        """
        lives = tier.lives
        if lives is None:
            return None
        if scheduling_class == MOST_SENSITIVE:
            return JobPlan(lives.lasting, lives.large_ends, back_after_kill=lives.back_after_kill)
        return self._small(lives, place) if size <= SMALL else self._large(lives, size, place)

    def _small(self, lives: TierLives, place: float) -> JobPlan:
        plan = JobPlan(
            run_times=lives.small,
            ends=lives.small_ends,
            middle=place,
            width=WIDTH_OF_SMALL,
            waiting=self.random.random(),
        )
        if self._dooms.draw() >= lives.doomed:
            return plan
        return replace(plan, lifetime=lives.killed.at(self._kills.draw()), outlasts=True)

    def _large(self, lives: TierLives, size: int, place: float) -> JobPlan:
        plan = JobPlan(
            run_times=lives.large,
            ends=lives.large_ends,
            back_after_kill=lives.back_after_kill,
        )
        if size >= HUGE:
            return replace(plan, killed_waiting=lives.killed_waiting)
        return replace(plan, middle=place, width=WIDTH_OF_LARGE, waiting=self.random.random())

    def alive(self, tier: Tier, scheduling_class: int, *, is_waiting: bool) -> JobPlan | None:
        """Draw the plan of a job alive at the start: of a service, or for the runs after its first."""
        if tier.is_steady and not is_waiting:
            return self.service(tier)
        # Theirs are the runs of large jobs, to which most of what runs belongs.
        return self.new(tier, HUGE, 0.5, scheduling_class)

    def service(self, tier: Tier) -> JobPlan:
        """Draw the plan of a service."""
        return service_plan(tier.residual, tier.residual_outcomes, self._services.draw())
