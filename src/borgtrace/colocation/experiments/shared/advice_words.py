"""The advice on packing in words: what is advised, how often it overflows, and what that rests on."""

import pyarrow as pa

from borgtrace.colocation.experiments.shared.answers import Row
from borgtrace.colocation.packing.intervals import LEAST_BLOCKS
from borgtrace.question.promises import NOTHING_KEEPS

CANNOT_JUDGE = "Too little usage to judge whether a packing keeps the target"
"""What is said where overflow has no interval: more data could show either."""


def advice(result: pa.Table) -> str:
    """Say what is advised, its overflow, and what that rests on; then the baseline and the overcommit factor.

    Parameters
    ----------
    result
        The answer.
    """
    if not result.num_rows:
        return "No advice: nothing was packed."
    rows = result.to_pylist()
    best = next(row for row in rows if row["is_advised"] or row["is_nearest"])
    is_advised = best["is_advised"]
    way = f"{best['estimator']} {best['parameter']:.3g}"
    is_judged = has_interval(best)
    text = f"{NOTHING_KEEPS}; nearest is {way}"
    if is_advised:
        text = f"Pack by {way}"
    elif not is_judged:
        text = f"{CANNOT_JUDGE}; least overflow was seen with {way}"
    text += f" (target q ≤ {best['target']:.3g}; {best['scope']}): {packing_in_words(best)}."
    text += doubt_of_choice(best)
    text += caveats(best)
    base = next((row for row in rows if is_base(row)), None)
    if base is None:
        return text
    text += f" By requests: {packing_in_words(base)}"
    if is_advised:
        saved = best["saved_request"]
        low = best["saved_request_low"]
        high = best["saved_request_high"]
        text += f"; the advice {saving_in_words(saved, low, high)}"
    largest_factor = next((row for row in rows if row["is_factor"]), None)
    if largest_factor is None and not is_judged:
        return f"{text}. To judge it: a longer trace, or a lower --slo."
    if largest_factor is None:
        return f"{text}. No overcommit factor: not even packing by requests keeps the target by its interval."
    parameter = largest_factor["parameter"]
    overflow = overflow_in_words(largest_factor)
    return f"{text}. Overcommit factor on requests: {parameter:.3g}, {overflow}."


def has_interval(row: Row) -> bool:
    """Whether the overflow of a way of packing has an interval, so that it can be judged."""
    measured = "q_draws" if row["q_series"] is None else "q_series"
    return row[f"{measured}_high"] is not None


def doubt_of_choice(row: Row) -> str:
    """Say where the choice was made without knowing that the advice keeps the target; empty where it was known."""
    if not row["is_advised"] or row["chosen_keeps"]:
        return ""
    q = f"{row['chosen_q']:.2g}"
    upper_end = row["chosen_q_high"]
    ends = "no interval" if upper_end is None else f"up to {upper_end:.2g}"
    return f" Where it was chosen nothing was known to keep it: q {q} [{ends}]."


def is_base(row: Row) -> bool:
    """Whether a row is of packing by requests as they are."""
    return row["estimator"] == "request" and row["parameter"] == 1


def packing_in_words(row: Row) -> str:
    """Say how many machines a way of packing takes, and how often they overflow."""
    machines = with_ends(row, "machines", ".3g")
    text = f"{machines} machines of capacity {row['capacity']:g} for {row['n_tasks']:,} tasks"
    if row["n_unplaceable"]:
        text += f" ({row['n_unplaceable']:.1f} for tasks that fit none)"
    return f"{text}, {overflow_in_words(row)}"


def overflow_in_words(row: Row) -> str:
    """Say how much overflow was measured, on what there is."""
    on_draws = f"{with_ends(row, 'q_draws', '.2g')} on draws"
    if row["q_series"] is None:
        return f"measured q {on_draws}"
    on_series = f"{with_ends(row, 'q_series', '.2g')} on series"
    return f"measured q {on_series}, {on_draws}"


def with_ends(row: Row, name: str, form: str) -> str:
    """Write a number with its interval.

    Parameters
    ----------
    row
        Of the answer.
    name
        Column of the number.
    form
        How numbers are written.

    Examples
    --------
    >>> with_ends({"q": 0.001, "q_low": None, "q_high": None}, "q", ".2g")
    '0.001 [no interval]'
    """
    value = row[name]
    low = row[f"{name}_low"]
    high = row[f"{name}_high"]
    if high is None:
        return f"{value:{form}} [no interval]"
    return f"{value:{form}} [95%: {low:{form}} … {high:{form}}]"


def caveats(row: Row) -> str:
    """Say what the intervals rest on where it is less than days, and that instances share tasks."""
    text = ""
    hours = row["block_hours"]
    if hours == 0:
        text = f" The hours are too short for an interval: fewer than {LEAST_BLOCKS} blocks of an hour."
    elif hours is not None and hours < 24:
        text = (
            f" Intervals draw blocks of {hours:g} h, as there are fewer than {LEAST_BLOCKS} days."
        )
    if row["overlap"] > 0:
        text += (
            f" Of the tasks of {row['n_instances']} instances, "
            f"{row['overlap']:.0%} are in an earlier one."
        )
    return text


def saving_in_words(saved: float, low: float | None, high: float | None) -> str:
    """Say how many machines are saved, or how many more it takes.

    Parameters
    ----------
    saved, low, high
        Share of machines saved, and its interval.

    Examples
    --------
    >>> saving_in_words(0.24, 0.22, 0.25)
    'saves 24% [95%: 22% … 25%] of these machines'
    >>> saving_in_words(-0.45, -0.57, -0.33)
    'takes 45% [95%: 33% … 57%] more machines'
    >>> saving_in_words(0.24, None, None)
    'saves 24% [no interval] of these machines'
    """
    is_saving = saved >= 0
    if low is None or high is None:
        ends = "no interval"
    elif is_saving:
        ends = f"95%: {low:.0%} … {high:.0%}"
    else:
        # A negative saving reads badly; its ends change places when the sign does.
        ends = f"95%: {-high:.0%} … {-low:.0%}"
    if is_saving:
        return f"saves {saved:.0%} [{ends}] of these machines"
    return f"takes {-saved:.0%} [{ends}] more machines"
