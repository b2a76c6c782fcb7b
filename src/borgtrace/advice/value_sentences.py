"""How far to overcommit, at what risk, in sentences; and what to do where a target was not kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from borgtrace.advice.verdict import LEAST_SAVINGS, Verdict
from borgtrace.notation import Notation, integer, percent
from borgtrace.notation.amounts import RESOURCES, ResourceAmounts
from borgtrace.question import Result
from borgtrace.question.promises import keeps
from borgtrace.question.shares import with_interval
from borgtrace.question.study_times import in_words
from borgtrace.schema.time import DAY, HOUR, Microseconds

Row = Mapping[str, Any]


def judged_sentence(value: Result, notation: Notation) -> str:
    """Say on what policies were judged, and how."""
    if value.not_applicable:
        return f"No policy could be judged: {value.not_applicable}."
    row = value.table.to_pylist()[0]
    begin, end = (
        notation.clock.wall(row[name]) or notation.clock.text(row[name])
        for name in ("judged_from", "judged_to")
    )
    period = in_words(hours(row["period"]))
    horizon = in_words(hours(row["horizon"]))
    return (
        f"Judged from {begin} to {end} on {integer(row['machines'])} machines: each period of {period} by a policy "
        f"chosen on the periods before; a promise holds for {horizon}."
    )


def with_capital(text: str) -> str:
    """Return a text that begins a sentence.

    Examples
    --------
    >>> with_capital("memory"), with_capital("CPU")
    ('Memory', 'CPU')
    """
    return text[0].upper() + text[1:]


def hours(amount: float) -> Microseconds:
    """Return an amount of hours in µs."""
    return round(amount * HOUR)


def saves(value: Result) -> bool:
    """Whether less than the requests was promised of any resource."""
    return any(row["verdict"] != Verdict.NOTHING for row in value.table.to_pylist())


def value_sentences(value: Result, amounts: ResourceAmounts) -> list[str]:
    """Return how far each resource may be overcommitted."""
    return [value_sentence(row, amounts) for row in value.table.to_pylist()]


def value_sentence(row: Row, amounts: ResourceAmounts) -> str:
    """Return how far a resource may be overcommitted, at what risk; or would have been, where the target was missed."""
    verdict = Verdict(row["verdict"])
    title = with_capital(RESOURCES[row["resource"]])
    if verdict == Verdict.NOTHING:
        return f"{title}: {nothing_keeps(row)}"
    requested = amounts.number(row["requested"], row["resource"])
    promised = amounts.text(row["promised"], row["resource"])
    change = f"from {requested} to {promised} ({percent(row['savings'], 2)})"
    risk = f"{with_interval(row['rate'], row['rate_low'], row['rate_high'])} of 5-minute windows per machine"
    target = percent(row["target"])
    kept = periods_kept(row)
    if verdict == Verdict.MISSED:
        return (
            f"{title} requests would have been cut {change}, and the target was missed: a risk of {risk}, aimed at "
            f"{target}, {kept}. {instead(row)}"
        )
    if verdict == Verdict.ABOVE:
        return (
            f"{title} requests would have been cut {change} at a risk of {risk}, above the {target} aimed at, perhaps "
            f"by chance; {kept}. {instead(row)}"
        )
    sentence = (
        f"{title} requests may be cut {change} at a risk of {risk}; aimed at {target}, {kept}"
    )
    if verdict == Verdict.UNCERTAIN:
        return (
            f"{sentence}; the interval reaches above {target}, so that more data may show a miss."
        )
    return f"{sentence}."


def instead(row: Row) -> str:
    """Say what to do where the target was not kept: the safest policy tested, where that keeps it, else nothing."""
    if row["safest"] is None:
        return "Promise what is requested."
    risk = with_interval(row["safest_rate"], row["safest_low"], row["safest_high"])
    name = policy_name(row["safest"])
    if not keeps(row["safest_high"], row["target"]):
        return f"Promise what is requested: the safest tested, {name}, has a risk of {risk}."
    return (
        f"Promise what is requested, or try the safest tested: {name} cuts {percent(row['safest_savings'], 2)} at a "
        f"risk of {risk} (over all periods, not held out)."
    )


def periods_kept(row: Row) -> str:
    """Say in how many periods the target was kept."""
    period = hours(row["period"])
    noun = "days" if period == DAY else f"periods of {in_words(period)}"
    return f"kept on {row['periods_kept']} of {row['periods']} {noun}"


def nothing_keeps(row: Row) -> str:
    """Say that nothing but the requests was known to keep the target in time, and what may be tried."""
    target = percent(row["target"])
    if row["policy"] is not None and row["policy_savings"] >= LEAST_SAVINGS:
        return (
            f"nothing was known to keep {target} early enough to be judged on later periods; by all periods together, "
            f"{policy_name(row['policy'])} keeps it and cuts requests by {percent(row['policy_savings'], 2)}: "
            "wait for more days before you rely on it."
        )
    sentence = f"nothing tested is known to keep {target} {in_each_period(row)}"
    if row["safest"] is None:
        return f"{sentence}, and nothing promises less than is requested."
    risk = with_interval(row["safest_rate"], row["safest_low"], row["safest_high"])
    if row["safest_low"] is not None and row["safest_low"] > row["target"]:
        # Nothing to try: what saves least often breaks the target for certain.
        return f"{sentence}: of what saves, {policy_name(row['safest'])} comes nearest, at a risk of {risk}."
    return (
        f"{sentence}; over all periods together, not held out, the safest tested, {policy_name(row['safest'])}, would "
        f"cut requests by {percent(row['safest_savings'], 2)} at a risk of {risk} of 5-minute windows per machine."
    )


def in_each_period(row: Row) -> str:
    """Say of which periods each must keep the target, and where one broken promise is more of it than that."""
    period = hours(row["period"])
    text = "on each day" if period == DAY else f"in each period of {in_words(period)}"
    share = 1.0 / row["trials"]
    if share <= row["target"]:
        return text
    horizon = in_words(hours(row["horizon"]))
    return f"{text}, of which one machine above its promise for {horizon} is {percent(share, 2)}"


def policy_name(label: str) -> str:
    """Return a policy without how long it waits, which nobody reads in a sentence."""
    parts = [part for part in label.split(",") if not part.startswith("warmup=")]
    return ",".join(parts)
