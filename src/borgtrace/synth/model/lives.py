"""How jobs of 2011 live: how long their tasks run, whether the whole job is killed, and whether it goes on for good.

Sources contradict each other, and this is what is followed:

* Job durations and ends are those of all jobs of the month (job events); run times of the tasks of large jobs, which
  own most tasks, those of the first 19.65 hours (task events); how often runs fail, are killed, evicted and repeated,
  the totals of the month.  A month with the failures of the first hours (.0071 an hour for free tasks) would have
  a quarter of a million failures of free tasks; the month has 11.8 million.
* Zhu et al. print that 40 % of the finished tasks run less than 5 minutes and 80 % less than 30.  Traces of 5 to 50
  rows can then be at most about a third of all, not the 74 % that the pipeline description prints: run times are
  those of Zhu et al., which the first hours confirm (40.8 % and 77.4 %).
* The stock of tasks neither drains nor surges.  The counts of the month end with fewer tasks than they begin with
  (104,635 after 144,339), Zhu et al. see more; production ends as it begins (61,850 after 56,053) in both.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from borgtrace.synth.model.draws import QuantileCurve

SMALL = 100
"""Tasks of a job up to which its runs are those of jobs; larger ones have the runs of their tier's tasks."""
SHORTEST_FINISH = 8.4
"""Seconds that all but two of 18,217,975 finished tasks run at least."""
LONGEST_FINISH = 8.969 * 86400.0
"""Seconds that the longest of them runs."""
SURVIVING = 0.58
"""Share of services that outlive a month: 2,331 of the 3,986 jobs alive at the start span the whole trace."""
MONTH = 29 * 86400.0
"""Length of the trace of 2011, s."""


@dataclass(frozen=True, slots=True)
class TierLives:
    """How the jobs of a tier live.

    Parameters
    ----------
    small
        Seconds that the tasks of small jobs run.
    large
        The same for large jobs.
    killed
        Seconds after which a small job is killed, if it is.
    small_ends, large_ends
        For each kind of end its share of the runs, by class of run time
        (:data:`~borgtrace.synth.model.profile.LENGTHS`).
    doomed
        Share of small jobs that are killed as a whole.
    lasting
        Seconds that the tasks of the most latency-sensitive jobs run.
    killed_waiting
        Share of the waits in large jobs that end in a KILL.
    back_after_kill
        Share of the tasks of large jobs that come back after a KILL of their run.
    updated
        Share of runs with an update.
    """

    small: QuantileCurve
    large: QuantileCurve
    killed: QuantileCurve
    small_ends: Mapping[str, Sequence[float]]
    large_ends: Mapping[str, Sequence[float]]
    doomed: float
    lasting: QuantileCurve
    killed_waiting: float
    back_after_kill: float
    updated: float


@dataclass(frozen=True, slots=True)
class JobPlan:
    """How the tasks of one job run.

    Parameters
    ----------
    run_times
        Seconds that a run lasts.
    ends
        For each kind of end its share of the runs, by class of run time.
    middle, width
        Which part of `run_times` the job's runs come from: runs of a job are alike.
    lifetime
        Seconds from the first SCHEDULE to the KILL of the whole job; infinite where it is not killed.
    outlasts
        Whether none of its runs finishes before that.
    killed_waiting
        Share of its waits that end in a KILL.
    waiting
        Where in the waits of its tier those of its tasks lie: they wait together; None where each waits on its own.
    back_after_kill
        Share of its tasks that come back after a KILL of their run.
    is_service
        Whether its tasks always come back, and another job follows it.
    """

    run_times: QuantileCurve
    ends: Mapping[str, Sequence[float]]
    middle: float = 0.5
    width: float = 1.0
    lifetime: float = math.inf
    outlasts: bool = False
    killed_waiting: float = 0.0
    waiting: float | None = None
    back_after_kill: float = 0.0
    is_service: bool = False

    def seconds(self, u: float) -> float:
        """Return how long a run lasts, at a place in [0, 1) of the job's part of the run times."""
        # Reflected at 0 and 1: places that are even over all jobs stay even.
        place = abs(self.middle + self.width * (u - 0.5))
        return self.run_times.at(min(place, 2.0 - place))


WAIT_OF_KILLED = (9.6, 1.2)
"""Mean and deviation of the logarithm of the seconds after which a waiting task is killed."""
WAITING_WIDTH = 0.04
"""Which part of the waits of its tier the tasks of a small job cover."""


def service_plan(run_times: QuantileCurve, shares: Mapping[str, float], u: float) -> JobPlan:
    """Return the plan of a service, whose tasks always come back until it is replaced.

    Parameters
    ----------
    run_times
        Seconds that a run lasts.
    shares
        How its runs end.
    u
        Place of its lifetime among those of services, in [0, 1).
    """
    # Exponential: what is left of a service does not depend on how long it has been there.
    mean_lifetime = -MONTH / math.log(SURVIVING)
    return JobPlan(
        run_times=run_times,
        ends={kind: (share,) * 6 for kind, share in shares.items()},
        lifetime=-mean_lifetime * math.log(1.0 - u),
        is_service=True,
    )


def looping_plan(lifetime: float) -> JobPlan:
    """Return the plan of a job in a crash loop: its tasks fail and come back until the job is killed.

    Parameters
    ----------
    lifetime
        Seconds until then.
    """
    return JobPlan(
        # Half of the failed runs of the first hours last less than 156 s.
        run_times=QuantileCurve.through({0.0: 20.0, 0.5: 120.0, 1.0: 400.0}),
        ends={"FAIL": (1.0,) * 6},
        lifetime=lifetime,
        outlasts=True,
    )
