"""The plan of a fetch from a server: which metrics, how many samples, and which stretches of time are missing."""

import math
from dataclasses import dataclass
from pathlib import Path

from borgtrace.errors import UsageError
from borgtrace.fetch.prometheus.folder import FolderQuery
from borgtrace.fetch.prometheus.metrics import Wanted
from borgtrace.fetch.prometheus.selector import Matchers
from borgtrace.fetch.prometheus.stretches import SAMPLES_PER_QUERY, RemainingTime, Stretch

_UNKNOWN_LENGTH = 6 * 3600
"""Seconds of a first query whose number of series is not known."""


@dataclass(frozen=True, slots=True)
class FetchRequest:
    """What a user asks for.

    Attributes
    ----------
    folder
        Where answers are kept.
    matchers
        Conditions on labels.
    period
        First and last time.
    step
        Seconds between samples.

    Raises
    ------
    UsageError
        The first and the last time are no whole multiples of the step: the next fetch would miss its grid.
    """

    folder: Path
    matchers: Matchers
    period: Stretch
    step: int

    def __post_init__(self) -> None:
        period = self.period
        is_on_grid = self.step > 0 and not period.first % self.step and not period.last % self.step
        if not is_on_grid or not 0 <= period.first <= period.last:
            raise UsageError(
                "period",
                "not on the grid of its step",
                expected=f"first and last as whole multiples of {self.step} s, in this order",
                got=f"{period.first} and {period.last}",
            )


@dataclass(frozen=True, slots=True)
class PlannedMetric:
    """What is asked about one metric.

    Attributes
    ----------
    name
        Of the metric.
    series
        Its series in PromQL.
    wanted
        What it says.
    n_series
        Most series at a time, as far as they were counted.
    n_samples
        Samples that are expected in the whole period.
    present, todo
        Stretches of time that are here already, and those to come.
    window
        Points of the grid that one value stands for.
    """

    name: str
    series: str
    wanted: Wanted
    n_series: int
    n_samples: int
    present: tuple[Stretch, ...]
    todo: tuple[Stretch, ...]
    window: int

    def remaining(self, step: int) -> RemainingTime:
        """Return the time to be asked for, in pieces of a good length."""
        points = sum(interval.points(step) for interval in (*self.present, *self.todo))
        length = _UNKNOWN_LENGTH // step
        if self.n_samples:
            length = math.ceil(points * SAMPLES_PER_QUERY / self.n_samples)
        return RemainingTime(list(self.todo), step, self.window, max(self.window, length))

    def expected_samples(self, interval: Stretch, step: int) -> float:
        """Return how many samples a stretch of time should bring."""
        points = sum(each.points(step) for each in (*self.present, *self.todo))
        return (self.n_samples or points) * interval.points(step) / max(points, 1)


@dataclass(frozen=True, slots=True)
class QueryPlan:
    """What a fetch would do.

    Attributes
    ----------
    server, request
        Whom it asks, and for what.
    query
        What the answers have in common.
    metrics
        What is asked, in the order in which it is.
    unknown
        Titles and metrics of what the server does not know in the period.
    unmatched
        Metrics that it knows, none of whose series the selector matches.
    has_windows
        Whether the server gives the last sample of a window, and none that is older.
    """

    server: str
    request: FetchRequest
    query: FolderQuery
    metrics: tuple[PlannedMetric, ...]
    unknown: tuple[Wanted, ...]
    unmatched: tuple[str, ...]
    has_windows: bool

    @property
    def n_samples(self) -> int:
        """Samples that are expected of all metrics."""
        return sum(metric.n_samples for metric in self.metrics)

    @property
    def n_to_come(self) -> int:
        """Samples that are still to come."""
        step = self.request.step
        to_come = 0.0
        for metric in self.metrics:
            to_come += sum(metric.expected_samples(interval, step) for interval in metric.todo)
        return round(to_come)

    def n_queries(self, metric: PlannedMetric) -> int:
        """Return how many queries a metric takes if nothing is refused."""
        remaining = metric.remaining(self.request.step)
        return sum(
            math.ceil(each.points(self.request.step) / remaining.longest) for each in metric.todo
        )
