"""What a cell looks like: rates, mixes and distributions per tier, as data."""

from dataclasses import dataclass

from borgtrace.synth.classes import Classes
from borgtrace.synth.draws import QuantileCurve, Shares
from borgtrace.synth.targets import Target

_LONG = 7200.0
"""Seconds from which on an execution is long (Janus & Rzadca, SoCC'17)."""
CONSTRAINED = 0.25
"""Share of jobs with constraints; with 2.4 rows each this gives .197 rows per task event."""
_PRIVACY = (
    "Distributions of the store carry over (arrivals, sizes, requests, lives, usage, machines), no series, id or name."
    " Groups of fewer than ten jobs are merged, and at either end of a distribution ten values count as their mean."
)
Ranking = tuple[tuple[float, ...], float, int, float]
"""Shares of the first ranks; exponent of the power law of the others, the last rank, and the law's shift."""
LENGTHS = (60.0, 300.0, 1800.0, 7200.0, 20000.0)
"""Limits (s) of the lengths of executions by which outcomes were counted."""


# Compared by identity, because shares are no keys.
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
        Requests of tasks alive at the start.
    duration, outcomes
        How long an execution lasts (s), and shares of how it ends, each by :data:`LENGTHS`; the last bin is open.
    residual, residual_outcomes
        The same for executions that began before the trace, whatever they last.
    delay
        From SUBMIT to SCHEDULE, s.
    different_machines, snapshot_different
        Share of jobs (of tasks alive at the start) that want different machines.
    largest
        Largest new job, tasks.
    cpu_use
        Median of CPU used ÷ requested; 0 where the class alone says how much a task uses.
    memory_use
        The same of memory.
    sizes
        Distribution of tasks per new job of several tasks; that of 2011 where None.
    like
        Tier of 2011 that it has all other numbers of.
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
    outcomes: dict[str, list[float]]
    residual: QuantileCurve
    residual_outcomes: Shares[str]
    delay: QuantileCurve
    different_machines: float
    snapshot_different: float
    largest: int = 1_000_000
    cpu_use: float = 0.0
    memory_use: float = 0.62
    sizes: QuantileCurve | None = None
    like: str = ""

    def lasting(self, seconds: float) -> float:
        """Return which share of the tasks alive at the start becomes long and has not failed after `seconds`."""
        # Janus & Rzadca drop tasks that fail, so only finished ones and those that still run count as long tasks.
        finished = self.residual_outcomes["FINISH"]
        ended = max(self.residual.below(seconds) - self.residual.below(_LONG), 0.0)
        return 1.0 - self.residual.below(max(seconds, _LONG)) + finished * ended


@dataclass(frozen=True, slots=True)
class Profile:
    """A cell of one trace: its tiers and what they share.

    Parameters
    ----------
    tiers
        Shares of jobs over the tiers sum to one.
    jobs_per_hour
        Arrivals per hour and machine.
    shapes
        Machine shapes: (platform, CPU, memory, share).
    resubmitted
        Probability that EVICT, FAIL, KILL, FINISH is followed by SUBMIT.
    evicting
        Lowest priority that may evict others.
    request_scale
        Factors on CPU and memory requests.
    has_queue
        Whether collections pass QUEUE and ENABLE, have parents, alloc sets and vertical scaling.
    alloc_jobs
        Share of production jobs that run inside alloc sets.
    first_id
        Collection ids are above it.
    request_correlation
        Correlation of CPU and memory requests of new jobs, in logarithms.
    constrained
        Share of jobs with constraints.
    burst
        Share of arrivals that follow the one before within 12 ms.
    users, names
        How jobs are divided among users and logical names.
    looping
        Share of production jobs of up to three tasks that are in a crash loop.
    killed_pending
        Share of submissions that are killed before they run.
    removals, downtime
        How often an hour a machine goes, and for how many seconds.
    request, memory_request
        Logarithm of what new jobs ask for: mean and deviation.
    likeness
        Correlation of what a task asks for and what it uses, in normal scores.
    cpu_spread, memory_spread
        Deviation of the logarithm of CPU (where tiers tell the use) and memory used ÷ requested.
    classes
        Classes of tasks.
    taken
        Ids that no machine may have.
    is_even
        Whether the mean rate over the trace is exact, however busy single hours are.
    short_use
        What short tasks, the last class, use of their CPU and memory requests; where None, they are of the other
        classes and use a part of what those do.
    """

    tiers: tuple[Tier, ...]
    jobs_per_hour: float
    shapes: list[tuple[str, float, float, float]]
    resubmitted: dict[str, float]
    evicting: int
    first_id: int
    burst: float
    users: Ranking
    names: Ranking
    looping: float
    killed_pending: float
    removals: float
    downtime: QuantileCurve
    request: tuple[float, float]
    memory_request: tuple[float, float]
    likeness: float
    cpu_spread: float
    memory_spread: float
    classes: Classes
    request_scale: tuple[float, float] = (1.0, 1.0)
    has_queue: bool = False
    alloc_jobs: float = 0.0
    request_correlation: float = 0.5
    constrained: float = CONSTRAINED
    taken: tuple[int, ...] = ()
    is_even: bool = False
    short_use: tuple[QuantileCurve, QuantileCurve] | None = None

    @property
    def has_use_by_tier(self) -> bool:
        """Whether tiers say how much of its request a task uses; else its class alone does."""
        return self.tiers[0].cpu_use > 0.0


@dataclass(frozen=True, slots=True)
class Likeness:
    """What was found of another trace, for a cell like it.

    Parameters
    ----------
    profile
        Its parameters.
    targets
        What the fidelity report is to find again, measured there.
    missing
        What the trace does not tell.
    """

    profile: Profile
    targets: tuple[Target, ...] = ()
    missing: tuple[str, ...] = ()

    @property
    def note(self) -> str:
        """What the cell tells of the trace, and where published figures stand in."""
        instead = (
            f" Published figures stand in for {', '.join(self.missing)}." if self.missing else ""
        )
        return _PRIVACY + instead
