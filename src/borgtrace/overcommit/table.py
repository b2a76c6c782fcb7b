"""Which policy overcommits how much, and how often would it have been too much?

Every policy predicts, at the end of each 300 s and for each machine, the peak of the tasks that are there. The oracle
is what they then used together at most within the horizon, each at most its limit of that moment; tasks that come
later do not count. A prediction below it is a violation, and by how much, as a share of it, its severity. Savings are
the part of the limits that is not promised; usable capacity is what limits could grow by. Overload is the share of the
horizon's slots above the prediction. Memory kills are the fewest tasks, of the lowest priority first, that had to die
in the next slot, were the machine filled to its prediction. Intervals (95 %) take machines as the units that vary:
neighboring slots of a machine are no independent evidence. GPA's ρ is per slot, not per horizon.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from scipy.special import stdtrit

from borgtrace.overcommit.metrics import SEVERITIES
from borgtrace.overcommit.policies import Policy
from borgtrace.overcommit.replay import Part
from borgtrace.overcommit.study import ReplayQuestion, Setting
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
        Column("shape", "string", "id", "Shape of the machines, or all."),
        Column("policy", "string", "id", "Policy with its parameters, as --policy reads it."),
    ],
    columns=[
        Column("family", "string", "id", "Policy without its parameters."),
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
        Column("savings_low", "float64", "fraction", "Lower end of its interval.", nullable=True),
        Column("savings_high", "float64", "fraction", "Upper end of its interval.", nullable=True),
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
            "kills", "float64", "1/d", "Memory kills per task and day; NULL for CPU.", nullable=True
        ),
        Column(
            "is_on_front",
            "bool",
            "1",
            "Whether no other policy saves as much with fewer violations.",
        ),
    ],
)


SLOTS_PER_DAY = DAY // WINDOW


def compute(part: Part, policies: Sequence[Policy], options: Setting) -> list[Row]:
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
    horizon = options.horizon // WINDOW
    scores = part.replay(policies, horizon)
    known = {"resource": part.resource, "tasks": part.tasks, "horizon": horizon}
    rows = rows_of(scores, policies, {**known, "shape": "all"})
    if options.shapes:
        machines = part.cell.usage.machines[part.places].tolist()
        shapes = np.array([part.cell.capacities.shape(machine) for machine in machines])
        for shape in np.unique(shapes).tolist():
            rows += rows_of(scores[shapes == shape], policies, {**known, "shape": shape})
    return rows


def rows_of(
    found: npt.NDArray[np.void], policies: Sequence[Policy], known: Mapping[str, Any]
) -> list[Row]:
    """Return a row for each policy from the scores of some machines, those on the front marked.

    Parameters
    ----------
    found
        `borgtrace.overcommit.metrics.SCORE` of shape (machines, policies).
    policies
        Their policies.
    known
        ``resource``, ``tasks``, ``shape`` and ``horizon`` (slots) of all rows.

    Returns
    -------
    list
        No rows where no slot of any machine was judged.
    """
    judged = found[found["instants"][:, 0] > 0]
    if not len(judged):
        return []
    rows = [
        {
            **_described(policy),
            **known,
            "horizon": known["horizon"] * WINDOW / HOUR,
            **_row(judged[:, k]),
        }
        for k, policy in enumerate(policies)
    ]
    for row in rows:
        row["kills"] = row["kills"] if known["resource"] == "memory" else None
        row["is_on_front"] = not any(_is_better(other, row) for other in rows)
    return rows


def _described(policy: Policy) -> Row:
    history = getattr(policy, "history", None)
    return {
        "policy": policy.label,
        "family": getattr(policy, "name", "maximum of several"),
        "history": None if history is None else history * WINDOW / HOUR,
    }


def _is_better(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether one policy saves as much with fewer violations, or more with as few."""
    # Without limits nobody saves anything.
    if one["savings"] is None:
        return False
    pair = one["savings"] - other["savings"], other["rate"] - one["rate"]
    return min(pair) >= 0 and max(pair) > 0


def _row(machines: npt.NDArray[np.void]) -> Row:
    """Return the metrics of one policy from its scores on machines, each of which has instants."""
    total = {name: machines[name].sum(axis=0) for name in machines.dtype.names or ()}
    rates = machines["violations"] / machines["instants"]
    rate, low, high = ratio(machines["violations"], machines["instants"])
    saved, saved_low, saved_high = ratio(machines["limit"] - machines["peak"], machines["limit"])
    quantiles = np.percentile(rates, (50, 90, 99, 100))
    upto = np.cumsum(total["severities"])
    return {
        "machines": len(machines),
        "instants": int(total["instants"]),
        "rate": rate,
        "rate_low": None if low is None else max(low, 0.0),
        "rate_high": None if high is None else min(high, 1.0),
        **dict(
            zip(("rate_p50", "rate_p90", "rate_p99", "rate_worst"), quantiles.tolist(), strict=True)
        ),
        "severity": float(total["severity"] / total["instants"]),
        "severity_p99": int(np.searchsorted(upto, 0.99 * upto[-1])) / SEVERITIES,
        "severity_given": _share(total["severity"], total["violations"]),
        "savings_machine": _share(total["saved"], total["limited"]),
        "savings": saved,
        "savings_low": saved_low,
        "savings_high": saved_high,
        "usable": _share(total["limit"] - total["peak"], total["peak"]),
        "clipped": float(total["clipped"] / total["instants"]),
        "changes": _share(total["changes"] * SLOTS_PER_DAY, total["pairs"]),
        "cold": _share(total["cold"], total["samples"]) or 0.0,
        "overload": float(total["overload"] / total["instants"]),
        "excess": _share(total["excess"], total["over"]),
        "kills": _share(total["kills"] * SLOTS_PER_DAY, total["samples"]) or 0.0,
    }


def _share(part: float, whole: float) -> float | None:
    return float(part / whole) if whole > 0 else None


def ratio(parts: npt.NDArray[Any], wholes: npt.NDArray[Any]) -> tuple[Any, Any, Any]:
    """Return Σ parts ÷ Σ wholes with a 95 % interval; units are independent, and both their numbers vary.

    The variance of a ratio of means by linearization (Cochran, Sampling Techniques, § 6.4), with Student's quantile.

    Parameters
    ----------
    parts, wholes
        Of each unit, shape (n,).

    Returns
    -------
    tuple
        The ratio, and the ends of its interval: None where nothing is to be divided by, or of fewer than two units.
    """
    whole = float(wholes.sum())
    if whole <= 0:
        return None, None, None
    found, n = float(parts.sum()) / whole, len(parts)
    if n < 2:
        return found, None, None
    residuals = parts - found * wholes
    error = stdtrit(n - 1, 0.975) * np.sqrt(n / (n - 1) * (residuals**2).sum()) / whole
    return found, found - float(error), found + float(error)


def chart(answer: pa.Table) -> charts.Chart:
    """Draw: savings against violations (filled: front)."""
    import altair as alt

    # A curve for each family and history; the front is filled.
    rows = query_answer(
        answer,
        """
        select *, family || if(coalesce(history, 0) = 0, '', format(', {:g} h', history))
            as curve from answer
        where savings is not null
        """,
    )
    base = charts.base(rows).encode(
        x=alt.X("rate:Q", title="violation rate"),
        y=alt.Y("savings:Q", title="limits that are not promised"),
        color=alt.Color("family:N", title="family"),
        detail="curve:N",
    )
    lines = base.mark_line(strokeWidth=1, opacity=0.5).encode(
        tooltip=charts.tooltips(rows, "rate", "savings", "family", "curve"),
    )
    points = base.mark_point(filled=False, size=45).encode(
        fill=alt.Fill("family:N", title="family"),
        fillOpacity=alt.condition("datum.is_on_front", alt.value(0.9), alt.value(0.0)),
        tooltip=charts.tooltips(rows),
    )
    return (
        alt.layer(lines, points)
        .facet(
            row=charts.rows_of_panels("resource"),
            column=charts.columns_of_panels("tasks"),
        )
        .properties(title="Savings against violations (filled: front)")
    )


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
        and policy = 'nsigma:n=5,history=2h,warmup=2h+task-percentile:q=99,history=2h,warmup=2h'
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
        and policy = 'nsigma:n=5,history=2h,warmup=2h'
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
    reference=(
        "Bashir et al., EuroSys'21 (Take it to the limit); googleinterns/cluster-resource-forecast"
    ),
)
"""The table of policies: ``REPLAY.run(store, policies=("limit", "nsigma:n=3"))``."""
