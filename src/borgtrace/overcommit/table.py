"""Which policy overcommits how much, and how often would it have been too much?

At the end of each 300 s, every policy predicts for each machine the peak of the tasks that are there. The oracle is the
highest usage that these tasks then reached together within the horizon, each at most its limit of that moment; later
tasks do not count. A prediction below the oracle is a violation; its severity is how far below, as a share of the
oracle. Savings are the part of the limits that is not promised; usable capacity is what limits could grow by. Overload
is the share of the horizon's slots above the prediction. Memory kills are the fewest tasks, lowest priority first, that
would have to be killed in the next slot if the machine were filled to its prediction; a task without a measurement
there is not killed, because nobody knows what that would free. Intervals (95 %) come from differences between machines,
because neighboring slots of a machine are no independent evidence. GPA's ρ is per slot, not per horizon.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from borgtrace.notation import percent
from borgtrace.overcommit.best_policy import ACCEPTED_RATE, best_policies
from borgtrace.overcommit.metrics import SEVERITIES
from borgtrace.overcommit.options import ReplayOptions
from borgtrace.overcommit.policies import PeakPolicy
from borgtrace.overcommit.rates import SLOTS_PER_DAY, ratio, share
from borgtrace.overcommit.replay import ReplayPart
from borgtrace.overcommit.replay_question import ReplayQuestion
from borgtrace.question import (
    Answer,
    Claim,
    Column,
    Row,
    Scope,
    between,
    charts,
    near,
    query_answer,
    sql,
)
from borgtrace.schema.time import DAY, HOUR, WINDOW

ANSWER = Answer(
    grain="resource, tasks, machine shape and policy",
    key=[
        Column("resource", "string", "id", "Resource: cpu or memory."),
        Column(
            "tasks",
            "string",
            "id",
            "Tasks that are predicted and judged: all, high (high priority), or a tier.",
        ),
        Column("shape", "string", "id", "DecayingHistogram of the machines, or all."),
        Column("policy", "string", "id", "PeakPolicy with its parameters, as --policy reads it."),
    ],
    columns=[
        Column("family", "string", "id", "PeakPolicy without its parameters."),
        Column(
            "history",
            "float64",
            "h",
            "History that the policy looks back on; NULL without one.",
            nullable=True,
        ),
        Column("horizon", "float64", "h", "Horizon of the oracle."),
        Column("machines", "int64", "count", "Machines with judged slots."),
        Column("instants", "int64", "count", "Judged slots of machines."),
        Column(
            "rate",
            "float64",
            "fraction",
            "Violation rate: share of the instants whose prediction is below the oracle.",
        ),
        Column(
            "rate_low",
            "float64",
            "fraction",
            "Lower end of its interval; NULL with fewer than two machines.",
            nullable=True,
        ),
        Column(
            "rate_high",
            "float64",
            "fraction",
            "Upper end of its interval; NULL with fewer than two machines.",
            nullable=True,
        ),
        Column("rate_p50", "float64", "fraction", "Median of the machines' violation rates."),
        Column(
            "rate_p90", "float64", "fraction", "90th percentile of the machines' violation rates."
        ),
        Column(
            "rate_p99", "float64", "fraction", "99th percentile of the machines' violation rates."
        ),
        Column("rate_worst", "float64", "fraction", "Highest violation rate of a machine."),
        Column("severity", "float64", "fraction", "Mean severity over all instants."),
        Column(
            "severity_p99",
            "float64",
            "fraction",
            "99th percentile of the severity, rounded up to a thousandth.",
        ),
        Column(
            "severity_given",
            "float64",
            "fraction",
            "Mean severity of the violations; NULL without any.",
            nullable=True,
        ),
        Column(
            "savings_machine",
            "float64",
            "fraction",
            "Mean over instants of the savings; NULL where no limit is above 0.",
            nullable=True,
        ),
        Column(
            "savings",
            "float64",
            "fraction",
            "Savings of the cell: limits that are not promised; NULL without limits.",
            nullable=True,
        ),
        Column(
            "savings_low",
            "float64",
            "fraction",
            "Lower end of its interval.",
            nullable=True,
        ),
        Column(
            "savings_high",
            "float64",
            "fraction",
            "Upper end of its interval.",
            nullable=True,
        ),
        Column(
            "usable",
            "float64",
            "fraction",
            ("Usable capacity gained: limits ÷ predictions − 1; NULL where nothing is predicted."),
            nullable=True,
        ),
        Column(
            "clipped",
            "float64",
            "fraction",
            "Share of the instants whose prediction is the sum of the limits or more.",
        ),
        Column(
            "changes",
            "float64",
            "1/d",
            ("Changes of the prediction by more than 5 % per machine and day; NULL for one slot."),
            nullable=True,
        ),
        Column(
            "cold",
            "float64",
            "fraction",
            (
                "Share of the measured tasks in slots that counted their limit, for too little "
                "was known."
            ),
        ),
        Column(
            "overload", "float64", "fraction", "Share of the horizon's slots above the prediction."
        ),
        Column(
            "excess",
            "float64",
            "fraction",
            "Mean excess of those slots, in capacities of the machine; NULL without any.",
            nullable=True,
        ),
        Column(
            "kills",
            "float64",
            "1/d",
            "Memory kills per day of a measured task in judged slots; NULL for CPU.",
            nullable=True,
        ),
        Column(
            "is_on_front",
            "bool",
            "1",
            "Whether no other policy saves as much with fewer violations.",
        ),
    ],
    most_important=[
        "policy",
        "rate",
        "savings",
        "resource",
        "tasks",
        "rate_high",
        "shape",
        "is_on_front",
        "rate_worst",
        "machines",
        "rate_low",
    ],
)


def compute(
    part: ReplayPart,
    policies: Sequence[PeakPolicy],
    options: ReplayOptions,
) -> list[Row]:
    """Return the rows of some tasks and one resource; none where nothing could be judged.

    Parameters
    ----------
    part
        What is replayed.
    policies
        What is judged on it.
    options
        Horizon, and whether there are rows for each shape of machine.
    """
    scores = part.replay(policies, options.horizon_slots)
    subject = {
        "resource": part.resource,
        "tasks": part.tasks,
        "horizon": options.horizon_slots * WINDOW / HOUR,
    }
    rows = rows_of(scores, policies, {**subject, "shape": "all"})
    if options.shapes:
        machines = part.input.usage.machines[part.places].tolist()
        shapes = np.array([part.input.capacities.shape(machine) for machine in machines])
        for shape in np.unique(shapes).tolist():
            of_shape = scores[shapes == shape]
            rows += rows_of(of_shape, policies, {**subject, "shape": shape})
    return rows


def rows_of(
    scores: npt.NDArray[np.void],
    policies: Sequence[PeakPolicy],
    subject: Mapping[str, Any],
) -> list[Row]:
    """Return a row for each policy from the scores of some machines, those on the front marked.

    Parameters
    ----------
    scores
        `borgtrace.overcommit.metrics.SCORE` of shape (machines, policies).
    policies
        Their policies.
    subject
        ``resource``, ``tasks``, ``shape`` and ``horizon`` (hours) of all rows.

    Returns
    -------
    list
        No rows where no slot of any machine was judged.
    """
    judged = scores[scores["instants"][:, 0] > 0]
    if not len(judged):
        return []
    rows = []
    for k, policy in enumerate(policies):
        row = {
            **describe(policy),
            **subject,
            **summarize(judged[:, k]),
        }
        # CPU is throttled; only memory kills.
        if subject["resource"] != "memory":
            row["kills"] = None
        rows.append(row)
    for row in rows:
        row["is_on_front"] = not any(is_better(other, row) for other in rows)
    return rows


def describe(policy: PeakPolicy) -> Row:
    """Return the policy's name with and without its parameters, and its history in hours."""
    history = getattr(policy, "history", None)
    return {
        "policy": policy.label,
        "family": getattr(policy, "name", "maximum of several"),
        "history": None if history is None else history * WINDOW / HOUR,
    }


def is_better(row: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether one policy saves as much with fewer violations, or more with as few."""
    # Without limits nobody saves anything.
    if row["savings"] is None:
        return False
    more_saved = row["savings"] - other["savings"]
    fewer_violations = other["rate"] - row["rate"]
    return min(more_saved, fewer_violations) >= 0 and max(more_saved, fewer_violations) > 0


def summarize(machines: npt.NDArray[np.void]) -> Row:
    """Return the metrics of one policy from its scores on machines, each of which has instants."""
    total = {name: machines[name].sum(axis=0) for name in machines.dtype.names or ()}
    rate = ratio(machines["violations"], machines["instants"])
    savings = ratio(machines["limit"] - machines["peak"], machines["limit"])
    rates = machines["violations"] / machines["instants"]
    rate_p50, rate_p90, rate_p99, rate_worst = np.percentile(rates, (50, 90, 99, 100)).tolist()
    severities_up_to = np.cumsum(total["severities"])
    severity_p99 = int(np.searchsorted(severities_up_to, 0.99 * severities_up_to[-1])) / SEVERITIES
    return {
        "machines": len(machines),
        "instants": int(total["instants"]),
        "rate": rate.value,
        "rate_low": None if rate.low is None else max(rate.low, 0.0),
        "rate_high": None if rate.high is None else min(rate.high, 1.0),
        "rate_p50": rate_p50,
        "rate_p90": rate_p90,
        "rate_p99": rate_p99,
        "rate_worst": rate_worst,
        "severity": float(total["severity"] / total["instants"]),
        "severity_p99": severity_p99,
        "severity_given": share(total["severity"], total["violations"]),
        "savings_machine": share(total["saved"], total["limited"]),
        "savings": savings.value,
        "savings_low": savings.low,
        "savings_high": savings.high,
        "usable": share(total["limit"] - total["peak"], total["peak"]),
        "clipped": float(total["clipped"] / total["instants"]),
        "changes": share(total["changes"] * SLOTS_PER_DAY, total["pairs"]),
        "cold": share(total["cold"], total["samples"]) or 0.0,
        "overload": float(total["overload"] / total["instants"]),
        "excess": share(total["excess"], total["over"]),
        "kills": share(total["kills"] * SLOTS_PER_DAY, total["judged_samples"]) or 0.0,
    }


def chart(answer: pa.Table) -> charts.Chart:
    """Draw savings against violations: a curve for each family and history; the front is filled.

    A dashed line stands at the rate that the answer in words is about.
    """
    import altair as alt

    rows = query_answer(
        answer,
        """
        select *, family || if(coalesce(history, 0) = 0, '', format(', {:g} h', history))
            as curve from answer
        where savings is not null
        """,
    )
    rows = [{**row, "accepted_rate": ACCEPTED_RATE} for row in rows]
    rate_accepted = f"{percent(ACCEPTED_RATE)} of the time"
    return (
        alt.layer(*_layers(rows))
        .facet(
            row=charts.rows_of_panels("resource"),
            column=charts.columns_of_panels("tasks"),
        )
        .properties(title=f"Savings against violations (filled: front; dashed: {rate_accepted})")
    )


def _layers(rows: list[Row]) -> tuple[charts.Chart, ...]:
    """Return the line at the accepted rate, the curves and the points of a panel."""
    import altair as alt

    whole = charts.base(rows)
    accepted = whole.mark_rule(strokeDash=[5, 3]).encode(
        x=alt.X("mean(accepted_rate):Q", title="violation rate")
    )
    base = whole.encode(
        x=alt.X("rate:Q", title="violation rate"),
        y=alt.Y("savings:Q", title="limits that are not promised"),
        color=alt.Color("family:N", title="family"),
        detail="curve:N",
    )
    lines = base.mark_line(strokeWidth=1, opacity=0.5).encode(
        tooltip=charts.tooltips(rows, "rate", "savings", "family", "curve"),
    )
    points = base.mark_point(filled=False, size=45).encode(
        fill=alt.Fill("family:N", legend=None),
        fillOpacity=alt.condition("datum.is_on_front", alt.value(0.9), alt.value(0.0)),
        tooltip=charts.tooltips(rows),
    )
    return accepted, lines, points


WEEK_2019 = Scope(
    traces=("2019",),
    is_general=True,
    span=7 * DAY,
    free=(
        "seed",
        "policies",
        "machines",
        "jobs",
        "tasks",
        "resources",
        "shapes",
        "cores",
        "gib",
        "target",
        "model",
        "period",
        "most_warmup",
    ),
)

CLAIMS = [
    Claim(
        "BASH-usable",
        statement=(
            "the larger of N-sigma and a percentile of each task makes 10 to 16 % more CPU "
            "usable (theirs in production, with parameters that are not published)"
        ),
        source="Bashir et al., EuroSys'21, abstract",
        scope=WEEK_2019,
        measure=sql(
            """
        select usable from answer where tasks = 'all' and shape = 'all' and resource = 'cpu'
        and policy = 'nsigma:n=5,history=2h,warmup=1h50m+task-percentile:q=99,history=2h,warmup=1h50m'
        """,
            otherwise="the policy of the claim was not replayed",
        ),
        criterion=between(0.1, 0.16, "10 to 16 %"),
    ),
    Claim(
        "MUSE-clipped",
        statement=(
            "5 standard deviations over 2 h reach the sum of the limits in 94 % of the instants"
        ),
        source="muse-research-lab/resource-overcommitment-predictors, notebook, a sample of cell a",
        scope=WEEK_2019,
        measure=sql(
            """
        select clipped from answer where tasks = 'all' and shape = 'all' and resource = 'cpu'
        and policy = 'nsigma:n=5,history=2h,warmup=1h50m'
        """,
            otherwise="the policy of the claim was not replayed",
        ),
        criterion=near(0.9402, within=0.05),
    ),
]

REPLAY = ReplayQuestion(
    name="overcommit",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    claims=CLAIMS,
    sentence=best_policies,
    reference=(
        "Bashir et al., EuroSys'21 (Take it to the limit); googleinterns/cluster-resource-forecast"
    ),
    looks_ahead=True,
)
"""The table of policies: ``REPLAY.run(store, policies=("limit", "nsigma:n=3"))``."""
