"""Which policy overcommits how much, and how often would it have been too much?

Every policy predicts, at the end of each 300 s and for each machine, the peak of the tasks that are there. The oracle
is what they then used together at most within the horizon, each at most its limit of that moment; tasks that come
later do not count. A prediction below it is a violation, and by how much, as a share of it, its severity. Savings are
the part of the limits that is not promised; usable capacity is what limits could grow by. Overload is the share of the
horizon's slots above the prediction. Memory kills are the fewest tasks, of the lowest priority first, that had to die
in the next slot, were the machine filled to its prediction. Intervals (95 %) take machines as the units that vary:
neighboring slots of a machine are no independent evidence. GPA's ρ is per slot, not per horizon.

Reference: Bashir et al., EuroSys'21 (Take it to the limit); googleinterns/cluster-resource-forecast
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

from borgtrace.overcommit.metrics import SEVERITIES
from borgtrace.overcommit.policies import Policy
from borgtrace.question import Row
from borgtrace.schema.time import DAY, HOUR, WINDOW

SLOTS_PER_DAY = DAY // WINDOW


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
