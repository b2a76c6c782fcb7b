"""Windows between the samples of series, and which of them overlap others."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

LONGEST_GAP = 5
"""Steps after which two samples are not of one window."""
FORGOTTEN = 300_000_000
"""Time in µs after which Prometheus forgets a series: samples that are nearer belong together at any step."""

Times = npt.NDArray[np.int64]
Values = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int32]


class SampledSeries(NamedTuple):
    """One series with its samples, in order of time.

    Parameters
    ----------
    times, values
        Its samples.
    machine
        Number of its machine; −1 where it is not known.
    part
        The core that it is of; empty where it is of all.
    life
        The container's life, where that is known.
    cgroup
        Its path in the tree of cgroups.
    copy
        All of its labels but that of the core.
    base
        These without those of replicas.
    """

    times: Times
    values: Values
    machine: int = -1
    part: str = ""
    life: str = ""
    cgroup: str = ""
    copy: str = ""
    base: str = ""


class Steps(NamedTuple):
    """Windows between samples: the increase of a counter in each, or a gauge at its end."""

    starts: Times
    stops: Times
    amounts: Values
    machines: Codes

    def where(self, is_chosen: npt.NDArray[np.bool_]) -> "Steps":
        """Return some of the windows."""
        return Steps(
            self.starts[is_chosen],
            self.stops[is_chosen],
            self.amounts[is_chosen],
            self.machines[is_chosen],
        )


@dataclass(frozen=True)
class Stream:
    """All cores of one copy of one life: times, sums of the values, and what was used since the sample before."""

    series: SampledSeries
    times: Times
    values: Values
    amounts: Values
    n_falls: int

    @property
    def order(self) -> tuple[Any, ...]:
        """A place among others that depends on no order of files."""
        series = self.series
        return (int(self.times[0]), series.life, series.copy, series.part)


def longest_gap(step: int) -> int:
    """Return the longest time between two samples of one window, in µs."""
    return max(LONGEST_GAP * step, FORGOTTEN)


def steps_of(stream: Stream, step: int, *, is_counter: bool) -> Steps:
    """Return the windows between samples of a stream that are near enough to each other.

    Parameters
    ----------
    stream
        The samples.
    step
        The usual time between two of them, in µs.
    is_counter
        Whether they are increases since the sample before; else they are of one moment.
    """
    times = stream.times
    before = np.concatenate([[times[0] - step], times[:-1]])
    is_near = times - before <= longest_gap(step)
    if is_counter:
        is_known = is_near & ~np.isnan(stream.amounts) & (before < times)
    else:
        # A moment stands for the step before it, where the sample before is far.
        before = np.where(is_near, before, times - step)
        is_known = before < times
    machines = np.full(len(times), stream.series.machine, np.int32)
    return Steps(
        before[is_known],
        times[is_known],
        stream.amounts[is_known],
        machines[is_known],
    )


def are_free(joined: Steps, steps: Steps) -> npt.NDArray[np.bool_]:
    """Return which windows overlap none of others."""
    places = np.searchsorted(joined.stops, steps.starts, "right")
    starts = np.append(joined.starts, np.iinfo(np.int64).max)
    return np.asarray(starts[places] >= steps.stops)


def merged(first: Steps, second: Steps) -> Steps:
    """Return the windows of both in order of time."""
    order = np.argsort(np.concatenate([first.stops, second.stops]), kind="stable")
    return Steps(
        np.concatenate([first.starts, second.starts])[order],
        np.concatenate([first.stops, second.stops])[order],
        np.concatenate([first.amounts, second.amounts])[order],
        np.concatenate([first.machines, second.machines])[order],
    )
