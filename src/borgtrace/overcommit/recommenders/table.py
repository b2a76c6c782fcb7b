"""Which limits would recommenders have set, and how much would they have wasted, throttled or killed?

Every recommender sees the samples of a job in the order of time. After each slot of 300 s it recommends one limit for
the job's tasks, which holds from the next slot on; before the first recommendation a task has its own request. Relative
slack is (mean limit − 95th percentile of usage) ÷ mean limit of a job-day; absolute slack is the limits that were not
used, in largest machines. A task is short in a slot whose mean CPU, or largest memory, exceeds the limit: it would have
been throttled, or killed. Nobody knows what a throttled or killed task would have done next: the trace goes on as it
was. CPU is in cores and memory in bytes, as the buckets of the histograms are.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, NamedTuple

import numpy as np
import pyarrow as pa

from borgtrace.errors import check_names
from borgtrace.kernels.arrays import Flags
from borgtrace.notation import percent, with_stored_sizes
from borgtrace.overcommit.histogram import size_of_unit
from borgtrace.overcommit.recommenders.backtest import Tally
from borgtrace.overcommit.recommenders.recommender import OwnRequest, Recommender
from borgtrace.overcommit.recommenders.registry import RECOMMENDER_KINDS, parse_recommender
from borgtrace.overcommit.recommenders.samples import JobSamples, job_samples
from borgtrace.overcommit.replay import RESOURCES
from borgtrace.question import Answer, Column, EngineTables, NotApplicable, Row, charts
from borgtrace.question.store_question import Report, StoreQuestion
from borgtrace.schema.bounds import UNIT_OPTIONS, UNIT_SIZE, check_fields
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
    most_important=[
        "recommender",
        "short",
        "slack_mean",
        "resource",
        "tasks",
        "machines",
        "short_task_days",
    ],
)

ACCEPTED_SHORTAGE = 0.01
"""Share of task time above the limit that the sentence is about."""


@dataclass(frozen=True, slots=True)
class RecommenderOptions:
    """Options of a back-test of recommenders.

    Attributes
    ----------
    recommenders
        Recommenders as text.
    resources
        ``cpu``, ``memory`` or both.
    cores, gib
        Cores and GiB of the largest machine; 0 for what the store knows.
    """

    recommenders: Sequence[str] = tuple(RECOMMENDER_KINDS.own)
    resources: Sequence[str] = RESOURCES
    cores: Annotated[float, UNIT_SIZE] = 0.0
    gib: Annotated[float, UNIT_SIZE] = 0.0

    def __post_init__(self) -> None:
        check_fields(self, UNIT_OPTIONS)
        self.parsed()
        check_names("--resource", self.resources, RESOURCES)

    def parsed(self) -> list[Recommender]:
        """Return the recommenders, each once; refuse unknown ones."""
        return [parse_recommender(text) for text in dict.fromkeys(self.recommenders)]

    def units(self) -> dict[str, float]:
        """Return cores or bytes of the largest machine by resource."""
        units = {}
        for resource in self.resources:
            units[resource] = size_of_unit(resource, self.cores, self.gib)
        return units


def compute(
    store: Store,
    tables: EngineTables,
    options: RecommenderOptions,
    report: Report,
) -> list[Row]:
    """Back-test recommenders on the jobs of a store.

    Parameters
    ----------
    store
        An open store.
    tables, report
        Not used.
    options
        Recommenders, and the size of the largest machine where the store does not know it.

    Raises
    ------
    UsageError
        Where nobody says the size of the largest machine.
    NotApplicable
        Where no task has both usage and a request.
    """
    units = with_stored_sizes(options, store.manifest).units()
    backtest = RecommenderBacktest(options.parsed(), units)
    samples_of_each = [job_samples(store, resource, unit) for resource, unit in units.items()]
    # The same jobs of every resource at a time: a recommender may look at all of them.
    for samples_of_jobs in zip(*samples_of_each, strict=True):
        backtest.add(samples_of_jobs)
    rows = backtest.rows()
    if not rows:
        raise NotApplicable("no task has both usage and a request")
    return rows


class TallyKey(NamedTuple):
    """What a row of the answer is about."""

    resource: str
    tasks: str
    recommender: str


class RecommenderBacktest:
    """Recommenders judged on jobs, some at a time.

    Parameters
    ----------
    recommenders
        What is judged.
    units
        Cores or bytes of the largest machine by resource.
    """

    def __init__(self, recommenders: Sequence[Recommender], units: Mapping[str, float]) -> None:
        self.units = units
        self.recommenders: dict[str, list[Recommender]] = {}
        self.tallies: dict[TallyKey, Tally] = {}
        # Of each resource, the first slot and the one after the last of all samples.
        self.first_slot: dict[str, int] = {}
        self.end_slot: dict[str, int] = {}
        for resource in units:
            judged = [
                recommender for recommender in recommenders if resource in recommender.resources
            ]
            self.recommenders[resource] = judged
            for recommender in judged:
                for tasks in ("all", "serving", "batch"):
                    self.tallies[TallyKey(resource, tasks, recommender.label)] = Tally()

    def add(self, samples_of_jobs: Sequence[JobSamples]) -> None:
        """Judge the recommenders on some jobs.

        Parameters
        ----------
        samples_of_jobs
            Samples of the same jobs, of each resource.
        """
        for samples in samples_of_jobs:
            if not len(samples):
                continue
            resource = samples.resource
            first = int(samples.slot.min())
            end = int(samples.slot.max()) + 1
            self.first_slot[resource] = min(first, self.first_slot.get(resource, first))
            self.end_slot[resource] = max(end, self.end_slot.get(resource, end))
            others = tuple(other for other in samples_of_jobs if other is not samples)
            with_others = replace(samples, beside=others)
            groups: dict[str, Flags] = {
                "all": np.ones(len(samples), np.bool_),
                "serving": samples.is_serving,
                "batch": ~samples.is_serving,
            }
            for recommender in self.recommenders[resource]:
                recommended = recommender.recommended(with_others)
                for tasks, chosen in groups.items():
                    tally = self.tallies[TallyKey(resource, tasks, recommender.label)]
                    tally.add(samples, recommended, chosen)

    def rows(self) -> list[Row]:
        """Return a row of each resource, tasks and recommender with jobs."""
        rows = []
        for key, tally in self.tallies.items():
            if tally.jobs:
                n_slots = self.end_slot[key.resource] - self.first_slot[key.resource]
                summary = summarize(tally, self.units[key.resource], n_slots)
                rows.append({**key._asdict(), **summary})
        return rows


def summarize(
    tally: Tally,
    size: float,
    n_slots: int,
) -> Row:
    """Return the columns of a row from its sums.

    Parameters
    ----------
    tally
        The sums.
    size
        Cores or bytes of the largest machine.
    n_slots
        Slots of the trace that have samples, from the first to the last.
    """
    slack = np.concatenate(tally.slack)
    changes = np.concatenate(tally.changes)
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


def least_slack(answer: pa.Table) -> str:
    """Return a sentence for each resource: which recommender wastes least within a shortage that people accept.

    Parameters
    ----------
    answer
        Rows of this question.
    """
    rows_by_resource: dict[str, list[Row]] = {}
    for row in answer.to_pylist():
        if row["tasks"] == "all" and row["slack_mean"] is not None:
            rows_by_resource.setdefault(row["resource"], []).append(row)
    sentences = []
    accepted = percent(ACCEPTED_SHORTAGE)
    for resource, rows in rows_by_resource.items():
        keeping = [row for row in rows if row["short"] <= ACCEPTED_SHORTAGE]
        if keeping:
            best = min(keeping, key=lambda row: (row["slack_mean"], _is_change(row)))
            lead = f"of {len(rows)}, least is wasted, with at most {accepted} of the time above the limit, by"
        else:
            best = min(rows, key=lambda row: (row["short"], _is_change(row)))
            lead = f"none of {len(rows)} recommenders keeps {accepted}; least time is spent above the limit by"
        name = best["recommender"] if _is_change(best) else "the requests as they are"
        sentences.append(
            f"{resource}: {lead} {name}: {percent(best['slack_mean'])} of the limits not used, "
            f"{percent(best['short'])} of the time above them."
        )
    return "\n".join(sentences)


def _is_change(row: Row) -> bool:
    """Whether a recommender is more than the requests as they are, which are named where others do as well."""
    return bool(row["recommender"] != OwnRequest.name)


def chart(answer: pa.Table) -> charts.Chart:
    """Draw slack against shortage of recommended limits."""
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


def named_recommenders(options: RecommenderOptions) -> dict[str, Recommender]:
    """Return the recommenders of a back-test by name."""
    return {recommender.name: recommender for recommender in options.parsed()}


RECOMMENDERS = StoreQuestion(
    name="recommenders",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    options=RecommenderOptions,
    code=named_recommenders,
    chart=chart,
    sentence=least_slack,
    reads=["instance_usage", "tasks"],
    reference=(
        "Rzadca et al., EuroSys'20 (Autopilot); kubernetes/autoscaler; koordinator; "
        "katalyst-core; gocrane/crane"
    ),
)
"""The table of recommenders: ``RECOMMENDERS.run(store, cores=64.0, gib=256.0)``."""
