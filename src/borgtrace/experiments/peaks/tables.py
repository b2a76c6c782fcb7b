"""The three tables of an experiment: its cells, its policies over all stores, and pairs of families at one risk."""

from __future__ import annotations

from borgtrace.experiments.estimates import estimate_columns, not_asked
from borgtrace.experiments.pairs import difference_columns
from borgtrace.experiments.peaks.chart import draw_differences, draw_tradeoffs
from borgtrace.question import Answer, Column, Question

RESOURCE = Column("resource", "string", "id", "Resource: cpu or memory.")
TASKS = Column("tasks", "string", "id", "Tasks that are predicted and judged.")
FAMILY = Column("family", "string", "id", "Family of policies.")
POLICY = Column("policy", "string", "id", "Policy of the family, as the experiment names it.")


RATE = estimate_columns(
    "rate", "Violation rate: share of the instants whose prediction is below the peak to come."
)
SAVINGS = estimate_columns(
    "savings", "Share of the limits that is not promised; NULL without limits."
)
INSTANTS = Column("instants", "int64", "count", "Judged slots of machines.")

RUNS = Question(
    name="cells",
    doc="""What did each policy save and risk, on each store and sample of machines?

    A row for each cell of the experiment, resource and group of tasks.
    """,
    answer=Answer(
        grain="store, resource, tasks, family, policy and seed",
        key=[
            Column("store", "string", "id", "Store, as the experiment names it."),
            RESOURCE,
            TASKS,
            FAMILY,
            POLICY,
            Column("seed", "int64", "id", "Seed of the sample of machines."),
        ],
        columns=[
            Column("parameters", "string", "id", "The policy with all of its parameters."),
            Column("machines", "int64", "count", "Machines with judged slots."),
            Column("days", "int64", "count", "Days with judged slots."),
            INSTANTS,
            *RATE,
            *SAVINGS,
        ],
    ),
    compute=not_asked,
    chart=draw_tradeoffs,
)
POLICIES = Question(
    name="policies",
    doc="""Which policy saves how much at which risk, over all stores?

    Means over the stores, each of which counts as much as another. A machine that several seeds have drawn counts once.
    """,
    answer=Answer(
        grain="resource, tasks, family and policy",
        key=[RESOURCE, TASKS, FAMILY, POLICY],
        columns=[
            Column("stores", "int64", "count", "Stores."),
            Column("machines", "int64", "count", "Machines with judged slots, in all stores."),
            INSTANTS,
            *RATE,
            *SAVINGS,
            Column(
                "is_on_front",
                "bool",
                "1",
                "Whether no other policy saves as much with fewer violations, or more with as few.",
            ),
        ],
        most_important=["policy", "rate", "savings", "resource", "tasks", "rate_high", "family"],
    ),
    compute=not_asked,
    chart=draw_tradeoffs,
)
COMPARISONS = Question(
    name="comparisons",
    doc="""How much more does one family of policies save than another, at the same risk?

    Each family is mixed of its policies so that the violation rate is the target. Intervals are 95 % for all pairs
    together (the largest |t|, drawn from the covariance over blocks of machines and days).
    """,
    answer=Answer(
        grain="resource, tasks and two families",
        key=[
            RESOURCE,
            TASKS,
            Column("family", "string", "id", "Family that saves more."),
            Column("other", "string", "id", "Family that it is compared with."),
        ],
        columns=[
            Column("savings", "float64", "fraction", "Savings of the family at the target."),
            Column("other_savings", "float64", "fraction", "Savings of the other at the target."),
            *difference_columns("What it saves more.", "fraction"),
        ],
    ),
    compute=not_asked,
    chart=draw_differences,
)
