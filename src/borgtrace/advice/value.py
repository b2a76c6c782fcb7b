"""How far may requests be overcommitted, and at what risk?

For each period of the trace, a policy is chosen by the periods before it: of the policies that kept the target there,
the one that saved most. A policy kept the target if its rate of broken promises was within it, at the upper end of its
95 % interval and of what one more period is expected to bring. The chosen policy is then judged on its own period,
which it has not seen. The rate is the share of the 5-minute windows of a machine after which its tasks, within the
horizon, use more together than was promised; each task counts at most its request. Windows are not judged if too little
was measured in or after them. Where nothing but the requests themselves keeps the target, the answer says so, and
names the safest policy that was tried. Intervals come from differences between machines; none ends below 3 ÷ trials,
where a trial is one machine for one horizon.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from borgtrace.advice.judging import JudgedPolicies
from borgtrace.advice.verdict import verdict_of
from borgtrace.notation.amounts import RESOURCES
from borgtrace.overcommit.walk_forward import savings, violation_rate
from borgtrace.question import Answer, Column, Question, Row, charts
from borgtrace.question.answer_sizes import amounts_of
from borgtrace.question.promises import is_kept
from borgtrace.schema.time import HOUR, TRACE_START

ANSWER = Answer(
    grain="resource",
    key=[Column("resource", "string", "id", "Resource: cpu or memory.")],
    columns=[
        Column("target", "float64", "fraction", "Rate of broken promises that is aimed at."),
        Column("horizon", "float64", "h", "How long a promise holds."),
        Column("period", "float64", "h", "How often the policy is chosen anew."),
        Column("machines", "int64", "count", "Machines with judged windows."),
        Column("windows", "int64", "count", "Judged windows of machines, of 5 minutes."),
        Column("judged_from", "int64", "us", "Begin of the first judged period."),
        Column("judged_to", "int64", "us", "End of the last judged period."),
        Column("periods", "int64", "count", "Judged periods."),
        Column("periods_kept", "int64", "count", "Those that kept the target by their value."),
        Column(
            "requested",
            "float64",
            "machines",
            "Requests of the tasks that run, mean over the judged time, in largest machines.",
        ),
        Column("promised", "float64", "machines", "What was promised in their place."),
        Column(
            "savings", "float64", "fraction", "Share of the requests that need not be promised."
        ),
        Column("rate", "float64", "fraction", "Rate of broken promises in the judged periods."),
        Column(
            "rate_low",
            "float64",
            "fraction",
            "Lower end of its interval; NULL with fewer than two machines.",
            nullable=True,
        ),
        Column("rate_high", "float64", "fraction", "Upper end of its interval."),
        Column(
            "is_kept",
            "bool",
            "1",
            "Whether the target was kept, by that interval; NULL where it cannot tell.",
            nullable=True,
        ),
        Column(
            "verdict",
            "string",
            "id",
            "kept; not certain: the interval reaches above the target; above, perhaps by chance: it reaches below it; "
            "missed; or nothing promised: hardly less than the requests was.",
        ),
        Column(
            "trials",
            "float64",
            "count",
            "Trials of a judged period, a trial being one machine for one horizon; mean.",
        ),
        Column(
            "policy",
            "string",
            "id",
            "Policy that all periods advise for what comes after them; NULL where nothing keeps the target.",
            nullable=True,
        ),
        Column(
            "policy_savings",
            "float64",
            "fraction",
            "What it saved in all periods.",
            nullable=True,
        ),
        Column(
            "safest",
            "string",
            "id",
            "Policy other than the requests that was safest in all periods; NULL without one.",
            nullable=True,
        ),
        Column("safest_savings", "float64", "fraction", "What it saved there.", nullable=True),
        Column("safest_rate", "float64", "fraction", "Its rate there.", nullable=True),
        Column("safest_low", "float64", "fraction", "Lower end of its interval.", nullable=True),
        Column("safest_high", "float64", "fraction", "Upper end of its interval.", nullable=True),
    ],
)


def compute(judged: Sequence[JudgedPolicies]) -> list[Row]:
    """Return a row for each resource.

    Parameters
    ----------
    judged
        What a walk through the trace shows of each.
    """
    return [row_of(one) for one in judged]


def row_of(judged: JudgedPolicies) -> Row:
    """Return what the walk of one resource comes to."""
    schedule = judged.schedule
    horizon = schedule.horizon_slots
    walked = judged.walked
    rate = violation_rate(walked, horizon)
    n_slots = slots_seen(judged, walked)
    n_windows = sum(choice.instants for choice in judged.choices)
    first = judged.choices[0].period
    last = judged.choices[-1].period
    row: Row = {
        "resource": judged.resource,
        "target": judged.target,
        "horizon": schedule.horizon / HOUR,
        "period": schedule.period / HOUR,
        "machines": int((walked["instants"] > 0).sum()),
        "windows": n_windows,
        "judged_from": TRACE_START + first * schedule.period,
        "judged_to": TRACE_START + (last + 1) * schedule.period,
        "periods": len(judged.choices),
        "periods_kept": count_kept_periods(judged),
        "requested": float(walked["limit"].sum() / n_slots),
        "promised": float(walked["peak"].sum() / n_slots),
        "savings": savings(walked) or 0.0,
        "rate": rate.value,
        "rate_low": rate.low,
        "rate_high": rate.high,
        "is_kept": is_kept(rate.low, rate.high, judged.target),
    }
    row["verdict"] = verdict_of(row)
    row["trials"] = n_windows / horizon / len(judged.choices)
    return row | row_of_next(judged) | row_of_safest(judged)


def slots_seen(judged: JudgedPolicies, walked: npt.NDArray[np.void]) -> float:
    """Return of how many slots the sums of a walk are.

    Windows that were not judged count like the others: without them a cell with a gap would seem smaller.
    """
    seen = walked["instants"].sum()
    return float(judged.n_judged_slots * seen / (seen + walked["unseen"].sum()))


def count_kept_periods(judged: JudgedPolicies) -> int:
    """Count the judged periods whose rate is within the target."""
    n_kept = 0
    for choice in judged.choices:
        n_broken = choice.judged["violations"].sum()
        n_kept += bool(n_broken <= judged.target * choice.instants)
    return n_kept


def row_of_next(judged: JudgedPolicies) -> Row:
    """Return the policy that all periods advise for what comes after them."""
    best = judged.next_policy
    if best is None:
        return {"policy": None, "policy_savings": None}
    place, _ = best
    return {
        "policy": judged.policies[place].label,
        "policy_savings": savings(judged.known[:, place]),
    }


def row_of_safest(judged: JudgedPolicies) -> Row:
    """Return the safest policy that overcommits at all."""
    safest = judged.safest_policy
    if safest is None:
        return dict.fromkeys(
            ("safest", "safest_savings", "safest_rate", "safest_low", "safest_high")
        )
    place, rate = safest
    return {
        "safest": judged.policies[place].label,
        "safest_savings": savings(judged.known[:, place]),
        "safest_rate": rate.value,
        "safest_low": rate.low,
        "safest_high": rate.high,
    }


def chart(answer: pa.Table) -> charts.Chart:
    """Draw what is requested and what was promised of each resource: a panel for each, in its own unit."""
    import altair as alt

    amounts = amounts_of(answer)
    panels = []
    for row in answer.to_pylist():
        resource = row["resource"]
        rows = []
        for amount in ("requested", "promised"):
            value = amounts.value(row[amount], resource)
            rows.append({"resource": resource, "amount": amount, "value": value})
        panels.append(
            charts.base(rows, height=56)
            .mark_bar()
            .encode(
                x=alt.X("value:Q", title=amounts.heading(RESOURCES[resource], resource)),
                y=alt.Y("amount:N", title=None, sort=["requested", "promised"]),
                tooltip=charts.tooltips(rows),
            )
        )
    return alt.vconcat(*panels).properties(title="Requested, and promised in its place")


VALUE = Question(
    name="advice_value",
    doc=__doc__,
    answer=ANSWER,
    compute=compute,
    chart=chart,
    reads=["instance_usage", "instance_events"],
    reference="Bashir et al., EuroSys'21 (Take it to the limit)",
)
"""What an advice begins with."""
