"""Which limits would recommenders have set, and how much would they have wasted, throttled or killed?

Every recommender sees the samples of a job in the order of time and recommends one limit for its tasks after each slot
of 300 s, which holds from the next slot on; before the first recommendation a task has its own request. Relative slack
is (mean limit − 95th percentile of usage) ÷ mean limit of a job-day; absolute slack the limits that were not used, in
largest machines. A task is short in a slot whose mean CPU, or largest memory, exceeds the limit: it would have been
throttled, or killed. Nobody knows what a throttled or killed task would have done next: the trace goes on as it was.
CPU is in cores and memory in bytes, for the buckets of histograms are.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from borgtrace.errors import check_names
from borgtrace.overcommit.histogram import unit
from borgtrace.overcommit.recommenders.backtest import Tally
from borgtrace.overcommit.recommenders.recommender import KINDS, Recommender
from borgtrace.overcommit.recommenders.samples import job_samples
from borgtrace.overcommit.replay import RESOURCES
from borgtrace.question import Answer, Column, EngineTables, NotApplicable, Row, charts
from borgtrace.question.store_question import Report, StoreQuestion
from borgtrace.store import Store

ANSWER = Answer(
    grain="resource, tasks and recommender",
    key=[
        Column("resource", "string", "id", "Resource: cpu or memory."),
        Column(
            "tasks", "string", "id", "Tasks: all, serving (production tier and above) or batch."
        ),
        Column("recommender", "string", "id", "Recommender."),
    ],
    columns=[
        Column("jobs", "int64", "count", "Jobs with usage and a request."),
        Column("job_days", "int64", "count", "Days of jobs."),
        Column(
            "slack_mean",
            "float64",
            "fraction",
            "Mean relative slack of the job-days; NULL without a limit.",
            nullable=True,
        ),
        Column(
            "slack_median",
            "float64",
            "fraction",
            "Median relative slack of the job-days; NULL without a limit.",
            nullable=True,
        ),
        Column(
            "machines",
            "float64",
            "1",
            ("Absolute slack: limits that are not used, in largest machines, mean over the trace."),
        ),
        Column("short", "float64", "fraction", "Share of the measured task time above the limit."),
        Column(
            "short_task_days",
            "float64",
            "fraction",
            "Share of the days of tasks with such a time: would-be kills, for memory.",
        ),
        Column(
            "unchanged",
            "float64",
            "fraction",
            "Share of the job-days in which the recommendation does not change.",
        ),
        Column("changes_p99", "float64", "1/d", "99th percentile of the changes of a job-day."),
    ],
)


_GROUPS = ("all", "serving", "batch")


@dataclass(frozen=True, slots=True)
class RecommenderOptions:
    """What a back-test of recommenders may be told.

    Attributes
    ----------
    recommenders
        Recommenders as text.
    resources
        ``cpu``, ``memory`` or both.
    cores, gib
        Cores and GiB of the largest machine; 0 where not stated.
    """

    recommenders: Sequence[str] = tuple(KINDS)
    resources: Sequence[str] = RESOURCES
    cores: float = 0.0
    gib: float = 0.0

    def __post_init__(self) -> None:
        self.parsed()
        check_names("--resource", self.resources, RESOURCES)
        self.units()

    def parsed(self) -> list[Recommender]:
        """Return the recommenders, each once; refuse those that there are not."""
        return [Recommender.parsed(text) for text in dict.fromkeys(self.recommenders)]

    def units(self) -> dict[str, float]:
        """Return cores or bytes of the largest machine by resource."""
        return {resource: unit(resource, self.cores, self.gib) for resource in self.resources}


def compute(
    store: Store, tables: EngineTables, options: RecommenderOptions, report: Report
) -> list[Row]:
    """Back-test recommenders on the jobs of a store.

    Parameters
    ----------
    store
        An open store.
    tables
        Not looked at.
    options
        Recommenders, and the size of the largest machine.
    report
        Not told anything.

    Raises
    ------
    NotApplicable
        Where no task has both usage and a request.
    """
    rows = _rows(store, options.parsed(), options.units())
    if not rows:
        raise NotApplicable("no task has both usage and a request")
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
            **dict(zip(ANSWER.key_names, key, strict=True)),
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


def chart(answer: pa.Table) -> charts.Chart:
    """Draw: slack against shortage of recommended limits."""
    import altair as alt

    rows = answer.to_pylist()
    return (
        charts.base(rows, width=210, height=180)
        .mark_point(filled=True, size=60)
        .encode(
            x=alt.X("slack_mean:Q", title="mean relative slack"),
            y=alt.Y("short:Q", title="share of task time above the limit"),
            color=alt.Color("recommender:N", title="recommender"),
            tooltip=charts.tooltips(rows),
        )
        .facet(
            row=charts.rows_of_panels("resource"),
            column=charts.columns_of_panels("tasks"),
        )
        .resolve_scale(y="independent")
        .properties(title="Slack against shortage of recommended limits")
    )


RECOMMENDERS = StoreQuestion(
    name="recommenders",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    options=RecommenderOptions,
    chart=chart,
    reads=["instance_usage", "tasks"],
    reference=(
        "Rzadca et al., EuroSys'20 (Autopilot); kubernetes/autoscaler; koordinator; "
        "katalyst-core; gocrane/crane"
    ),
)
"""The table of recommenders: ``RECOMMENDERS.run(store, cores=64.0, gib=256.0)``."""
