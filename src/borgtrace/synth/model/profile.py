"""What a cell looks like: rates, mixes and distributions per tier."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from borgtrace.synth.model.classes import TaskClasses
from borgtrace.synth.model.draws import QuantileCurve, RankShares, Shares
from borgtrace.synth.model.lives import TierLives
from borgtrace.synth.model.targets import FidelityTarget

_LONG = 7200.0
"""Seconds from which on an execution is long (Janus & Rzadca, SoCC'17)."""
CONSTRAINED = 0.25
"""Share of jobs with constraints; with 2.4 rows each this gives .197 rows per task event."""
LENGTHS = (60.0, 300.0, 1800.0, 7200.0, 20000.0)
"""Limits (s) between the classes of run times for which outcomes were counted; the last class is open."""
_PRIVACY = (
    "Distributions of the store carry over (arrivals, sizes, requests, lives, usage, machines), no series, id or name."
    " Groups of fewer than ten jobs are merged, and at either end of a distribution ten values count as their mean."
)


class MachineShape(NamedTuple):
    """A kind of machine: its platform, its capacities, and how common it is (any weight)."""

    platform: str
    cpu: float
    memory: float
    share: float


class Resubmitting(NamedTuple):
    """Resubmissions per new task: on most hours, and over the whole trace."""

    usual: float
    overall: float


# Compared by identity, because shares cannot be keys.
@dataclass(frozen=True, slots=True, eq=False)
class Tier:
    """One tier of a cell.

    Parameters
    ----------
    name
        As in the dialect's tiers.
    priorities
        Shares of priorities among new jobs.
    snapshot_priorities
        The same among tasks alive at the start.
    classes
        Shares of scheduling classes among new jobs.
    snapshot_classes
        The same among tasks alive at the start.
    jobs
        Share of new jobs.
    running, pending
        Tasks per machine at the start.
    single
        Share of new jobs with one task.
    snapshot_sizes
        Distribution of tasks per job at the start.
    cpu, memory
        Requests of tasks alive at the start, and their weights.
    duration
        Distribution of run times, s.
    outcomes
        For each kind of end its share of the runs, by class of run time (:data:`LENGTHS`).
    residual, residual_outcomes
        Remaining run times of executions that began before the trace, and how they end.
    delay
        From SUBMIT to SCHEDULE, s.
    different_machines
        Share of new jobs that want a different machine for each task.
    snapshot_different
        The same, as a share of tasks alive at the start.
    largest
        Largest new job, tasks.
    cpu_use
        Median of CPU used ÷ requested; 0 where the class alone determines how much a task uses.
    memory_use
        Median of memory used ÷ requested.
    gain
        Where the class determines how much a task uses: what its level is multiplied by, because those that would use
        more than twice their request are cut (calibrated: long tasks then use .0274 on average).
    need
        Where the class determines how much a task uses: how much larger its request counts in the order of use.
    overuse
        Largest CPU of a window ÷ requested, of tasks that are short or will fail.
    failing_use_little
        Whether tasks that are going to fail use as little as short ones.
    steady
        Share of steady ones among the tasks that last for a day and end well.  Where it is 0, no task is steady;
        elsewhere short tasks are, and those that are going to fail.
    sizes
        Distribution of tasks per new job of several tasks; that of 2011 where None.
    like
        The tier of 2011 that provides whatever is not published for this one.
    lives
        How its jobs live; where None, each run is drawn from `duration` and `outcomes` on its own.
    is_steady
        Whether what runs at the start are services, each of which another follows when it is over.
    """

    name: str
    priorities: Shares[int]
    snapshot_priorities: Shares[int]
    classes: Shares[int]
    snapshot_classes: Shares[int]
    jobs: float
    running: float
    pending: float
    single: float
    snapshot_sizes: QuantileCurve
    cpu: Shares[float]
    memory: Shares[float]
    duration: QuantileCurve
    outcomes: Mapping[str, Sequence[float]]
    residual: QuantileCurve
    residual_outcomes: Shares[str]
    delay: QuantileCurve
    different_machines: float
    snapshot_different: float
    largest: int = 1_000_000
    cpu_use: float = 0.0
    memory_use: float = 0.62
    gain: float = 1.0
    need: float = 1.0
    overuse: float = math.inf
    failing_use_little: bool = False
    steady: float = 0.0
    sizes: QuantileCurve | None = None
    like: str = ""
    lives: TierLives | None = None
    is_steady: bool = False

    def lasting(self, seconds: float) -> float:
        """Return the share of tasks alive at the start that become long and have not failed after `seconds`."""
        # Janus & Rzadca drop tasks that fail, so only finished tasks and those that still run count as long.
        finished = self.residual_outcomes["FINISH"]
        ended_by_then = self.residual.below(seconds)
        ended = max(ended_by_then - self.residual.below(_LONG), 0.0)
        still_running = 1.0 - self.residual.below(max(seconds, _LONG))
        return still_running + finished * ended


@dataclass(frozen=True, slots=True)
class Profile:
    """A cell of one trace: its tiers and what they share.

    Parameters
    ----------
    tiers
        The tiers; their shares of jobs sum to one.
    jobs_per_hour
        Arrivals per hour and machine.
    shapes
        Kinds of machines.
    resubmitted
        Probability that an EVICT, FAIL, KILL or FINISH is followed by a SUBMIT.
    evicting
        Lowest priority that may evict others.
    first_id
        Collection ids are above it.
    burst
        Share of arrivals that follow the one before within 12 ms.
    users, names
        How jobs are divided among users and logical names.
    looping
        Share of production jobs of up to three tasks that are in a crash loop.
    killed_pending
        Share of submissions that are killed before they run.
    removals, downtime
        Removals per machine and hour, and the seconds from REMOVE to ADD.
    request, memory_request
        Logarithm of what new jobs ask for: mean and deviation.
    likeness
        Correlation of what a task asks for and what it uses, in normal scores.
    cpu_spread, memory_spread
        Deviation of the logarithm of CPU (where tiers determine the use) and of memory used ÷ requested.
    classes
        Classes of tasks.
    request_scale
        Factors on CPU and memory requests.
    has_queue
        Whether collections pass QUEUE and ENABLE, have parents, alloc sets and vertical scaling.
    alloc_jobs
        Share of production jobs that run inside alloc sets.
    request_correlation
        Correlation of CPU and memory requests of new jobs, in logarithms.
    constrained
        Share of jobs with constraints.
    taken
        Ids that no machine may have.
    is_even
        Whether the mean rate over the trace is exact, however busy single hours are.
    tasks_per_job
        Mean number of tasks of the jobs that arrive, which the largest of them make up for; None where it is whatever
        the sizes of a small cell give.
    resubmitting
        Resubmissions per new task; None where crash loops do not make up for what else is not resubmitted.
    short_use
        Distributions of what short tasks use of their CPU and memory requests.
    """

    tiers: tuple[Tier, ...]
    jobs_per_hour: float
    shapes: Sequence[MachineShape]
    resubmitted: dict[str, float]
    evicting: int
    first_id: int
    burst: float
    users: RankShares
    names: RankShares
    looping: float
    killed_pending: float
    removals: float
    downtime: QuantileCurve
    request: tuple[float, float]
    memory_request: tuple[float, float]
    likeness: float
    cpu_spread: float
    memory_spread: float
    classes: TaskClasses
    short_use: tuple[QuantileCurve, QuantileCurve]
    request_scale: tuple[float, float] = (1.0, 1.0)
    has_queue: bool = False
    alloc_jobs: float = 0.0
    request_correlation: float = 0.5
    constrained: float = CONSTRAINED
    taken: tuple[int, ...] = ()
    is_even: bool = False
    tasks_per_job: float | None = None
    resubmitting: Resubmitting | None = None

    @property
    def has_use_by_tier(self) -> bool:
        """Whether tiers determine how much of its request a task uses; else its class alone does."""
        return self.tiers[0].cpu_use > 0.0


@dataclass(frozen=True, slots=True)
class Likeness:
    """What was learned from another trace, for a cell that resembles it.

    Parameters
    ----------
    profile
        Its parameters.
    targets
        What the fidelity report should find again, measured there.
    missing
        What the trace does not tell.
    """

    profile: Profile
    targets: tuple[FidelityTarget, ...] = ()
    missing: tuple[str, ...] = ()

    @property
    def note(self) -> str:
        """What the cell reveals about the trace, and where published figures stand in."""
        if not self.missing:
            return _PRIVACY
        return f"{_PRIVACY} Published figures stand in for {', '.join(self.missing)}."
