"""The three tables of an experiment with schedulers: its cells, its schedulers over all stores, and their pairs."""

from __future__ import annotations

from borgtrace.experiments.estimates import estimate_columns, not_asked
from borgtrace.experiments.pairs import difference_columns
from borgtrace.experiments.schedules.chart import draw_differences, draw_tradeoffs
from borgtrace.question import Answer, Column, Question

TIER = Column("tier", "string", "id", "Tier of the tasks; all: of all tiers together.")
FAMILY = Column("family", "string", "id", "Family of schedulers.")
POLICY = Column("policy", "string", "id", "Scheduler, as the experiment names it.")
MEASURED = [
    *estimate_columns(
        "wait",
        "Mean time that a task waited, again after evictions; to the end if it waits then.",
        "s",
    ),
    *estimate_columns("evictions", "Mean number of evictions of a task by another.", "count"),
    Column("pending", "float64", "fraction", "Share of the tasks that wait at the end."),
]
COUNTED = [
    Column("jobs", "int64", "count", "Jobs with tasks that arrived."),
    Column("tasks", "int64", "count", "Attempts of tasks that arrived."),
]

RUNS = Question(
    name="cells",
    doc="""What did tasks wait under each scheduler, in each store and with each seed?

    A row for each cell of the experiment and tier.
    """,
    answer=Answer(
        grain="store, tier, family, policy and seed",
        key=[
            Column("store", "string", "id", "Store, as the experiment names it."),
            TIER,
            FAMILY,
            POLICY,
            Column("seed", "int64", "id", "Seed of the random order of machines."),
        ],
        columns=[*COUNTED, *MEASURED],
    ),
    compute=not_asked,
    chart=draw_tradeoffs,
)
POLICIES = Question(
    name="policies",
    doc="""Under which scheduler do tasks wait how long, and how often are they evicted?

    Means over the stores, each of which counts as much as another, and over the seeds.
    """,
    answer=Answer(
        grain="tier, family and policy",
        key=[TIER, FAMILY, POLICY],
        columns=[
            Column("stores", "int64", "count", "Stores."),
            *COUNTED,
            *MEASURED,
            Column(
                "is_on_front",
                "bool",
                "1",
                "Whether under no other tasks wait as little with fewer evictions, or less with as few.",
            ),
        ],
        most_important=["policy", "wait", "evictions", "tier", "pending", "wait_high", "family"],
    ),
    compute=not_asked,
    chart=draw_tradeoffs,
)
COMPARISONS = Question(
    name="comparisons",
    doc="""How much less do tasks wait under one scheduler than under another?

    The same tasks arrive in both, so that what they share cancels out. Intervals are 95 % for all pairs together (the
    largest |t|, drawn from the covariance over blocks of jobs and days).
    """,
    answer=Answer(
        grain="tier and two schedulers",
        key=[
            TIER,
            Column("policy", "string", "id", "Scheduler under which tasks wait less."),
            Column("other", "string", "id", "Scheduler that it is compared with."),
        ],
        columns=[
            Column("wait", "float64", "s", "Mean wait under the scheduler."),
            Column("other_wait", "float64", "s", "Mean wait under the other."),
            *difference_columns("How much less tasks wait.", "s"),
        ],
    ),
    compute=not_asked,
    chart=draw_differences,
)
