"""Which limits would recommenders have set, and how much would they have wasted, throttled or killed?

Every recommender sees the samples of a job in the order of time and recommends one limit for its tasks after each slot
of 300 s, which holds from the next slot on; before the first recommendation a task has its own request. Relative slack
is (mean limit − 95th percentile of usage) ÷ mean limit of a job-day; absolute slack the limits that were not used, in
largest machines. A task is short in a slot whose mean CPU, or largest memory, exceeds the limit: it would have been
throttled, or killed. Nobody knows what a throttled or killed task would have done next: the trace goes on as it was.
CPU is in cores and memory in bytes, for the buckets of histograms are.

Reference: Rzadca et al., EuroSys'20 (Autopilot); kubernetes/autoscaler; koordinator; katalyst-core; gocrane/crane
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from borgtrace.errors import check_names
from borgtrace.overcommit._answers import CHARTS, RESULTS
from borgtrace.overcommit.histogram import unit
from borgtrace.overcommit.recommenders.backtest import Tally
from borgtrace.overcommit.recommenders.recommender import KINDS, Recommender
from borgtrace.overcommit.recommenders.samples import job_samples
from borgtrace.overcommit.replay import RESOURCES
from borgtrace.question import EngineTables, NotApplicable, Row
from borgtrace.question.charts.listed import listed_chart
from borgtrace.question.store_question import StoreQuestion
from borgtrace.store import Store

RESULT = RESULTS["recommenders"]
_GROUPS = ("all", "serving", "batch")
Asked = tuple[Sequence[Recommender], Mapping[str, float]]
"""Recommenders, and cores or bytes of the largest machine by resource."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Backtest(StoreQuestion):
    """The table of recommenders as a question: ``RECOMMENDERS.run(store, cores=64.0, gib=256.0)``."""

    reads: tuple[str, ...] = ("instance_usage", "tasks")

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Recommenders, resources, and the size of the largest machine: 0 where it is not stated."""
        return {"recommenders": tuple(KINDS), "resources": RESOURCES, "cores": 0.0, "gib": 0.0}

    def asked(self, parameters: Mapping[str, Any]) -> Asked:
        """Return recommenders, and cores and bytes of the largest machine."""
        chosen = [Recommender.parsed(text) for text in dict.fromkeys(parameters["recommenders"])]
        check_names("--resource", parameters["resources"], RESOURCES)
        return chosen, {
            name: unit(name, parameters["cores"], parameters["gib"])
            for name in parameters["resources"]
        }

    def answer(self, store: Store, tables: EngineTables, asked: Asked) -> list[Row]:
        """Back-test recommenders on the jobs of a store; see the base."""
        chosen, units = asked
        rows = _rows(store, chosen, units)
        NotApplicable.unless(rows, "no task has both usage and a request")
        return rows


def _rows(store: Store, asked: Sequence[Recommender], units: Mapping[str, float]) -> list[Row]:
    pairs = [(resource, each) for resource in units for each in asked if resource in each.resources]
    tallies = {
        (resource, group, each.label): Tally() for resource, each in pairs for group in _GROUPS
    }
    slots: dict[str, list[tuple[int, int]]] = {resource: [] for resource in units}
    # The same jobs of every resource at a time: a recommender may look at all of them.
    for parts in zip(*(job_samples(store, *given) for given in units.items()), strict=True):
        for samples in filter(len, parts):
            known = replace(samples, beside=tuple(other for other in parts if other is not samples))
            slots[samples.resource].append((int(samples.slot.min()), int(samples.slot.max()) + 1))
            members = np.ones(len(samples), np.bool_), samples.is_serving, ~samples.is_serving
            for recommender in (each for resource, each in pairs if resource == samples.resource):
                recommended = recommender.recommend(known)
                for group, chosen in zip(_GROUPS, members, strict=True):
                    tallies[samples.resource, group, recommender.label].add(
                        samples, recommended, chosen
                    )
    return [
        {
            **dict(zip(RESULT.key, key, strict=True)),
            **_row(tally, units[key[0]], int(np.ptp(slots[key[0]]))),
        }
        for key, tally in tallies.items()
        if tally.jobs
    ]


def _row(tally: Tally, size: float, n_slots: float) -> Row:
    slack, changes = np.concatenate(tally.slack), np.concatenate(tally.changes)
    return {
        "jobs": tally.jobs,
        "job_days": len(changes),
        "slack_mean": float(slack.mean()) if len(slack) else None,
        "slack_median": float(np.median(slack)) if len(slack) else None,
        "machines": tally.unused / size / n_slots,
        "short": tally.short / tally.samples,
        "short_task_days": tally.short_task_days / tally.task_days,
        "unchanged": float((changes == 0).mean()),
        "changes_p99": float(np.percentile(changes, 99)),
    }


RECOMMENDERS = Backtest(
    result=RESULT, compute=_rows, plot=listed_chart(CHARTS, RESULT.name, __name__)
)
