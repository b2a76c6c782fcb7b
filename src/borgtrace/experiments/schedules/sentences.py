"""What an experiment with schedulers found, in words: under which tasks wait least, and by how much less."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from borgtrace.experiments.blocks import LEAST_PERIODS
from borgtrace.experiments.counted import counted
from borgtrace.experiments.schedules.analysis import WaitAnalysis
from borgtrace.experiments.schedules.plan import ALL, SchedulePlan
from borgtrace.notation import number
from borgtrace.question import Row


def sentences(plan: SchedulePlan, analysis: WaitAnalysis) -> str:
    """Return the answer: for each tier the scheduler with the least waits, and its differences from the others.

    Parameters
    ----------
    plan, analysis
        The experiment, and what it found.
    """
    lines = []
    for tier in plan.tiers:
        rows = [row for row in analysis.policies if row["tier"] == tier]
        if not rows:
            lines.append(f"{tier}: not every store has such tasks.")
            continue
        best = min(rows, key=lambda row: row["wait"])
        lines.append(least_wait_in_words(best, n_policies=len(rows)))
        own = [
            row
            for row in analysis.comparisons
            if row["tier"] == tier and best["policy"] in (row["policy"], row["other"])
        ]
        lines += [
            difference_in_words(row) for row in sorted(own, key=lambda row: row["difference"])
        ]
    lines.append(basis(plan, analysis))
    return "\n".join(lines)


def least_wait_in_words(row: Row, n_policies: int) -> str:
    """Say how long tasks wait under a scheduler, and how often they are evicted.

    Parameters
    ----------
    row
        Of the table of schedulers.
    n_policies
        How many were compared.
    """
    tasks = "all tasks" if row["tier"] == ALL else f"{row['tier']} tasks"
    least = "least wait under " if n_policies > 1 else ""
    wait = f"{number(row['wait'], 3)} s"
    if row["wait_low"] is not None:
        wait += f" [{number(row['wait_low'], 3)} to {number(row['wait_high'], 3)}]"
    evictions = number(row["evictions"], 2)
    pending = number(100 * row["pending"], 2)
    return (
        f"{tasks}: {least}{row['policy']}: {wait} a task, with {evictions} evictions a task, "
        f"and {pending} % pending at the end."
    )


def difference_in_words(row: Mapping[str, Any]) -> str:
    """Say how much less tasks wait under one scheduler than under another.

    Examples
    --------
    >>> row = {"policy": "a", "other": "b", "difference": 4.1, "low": 1.2, "high": 7, "is_shown": True}
    >>> difference_in_words(row)
    'Under a tasks wait 4.1 s less than under b [1.2, 7].'
    >>> difference_in_words(row | {"low": -0.1, "is_shown": False})
    'a and b: no difference shown: 4.1 s [-0.1, 7].'
    """
    less = number(row["difference"], 2)
    pair = f"{row['policy']} and {row['other']}"
    if row["low"] is None:
        return f"{pair}: {less} s; one job tells no interval."
    ends = f"[{number(row['low'], 2)}, {number(row['high'], 2)}]"
    if row["is_shown"]:
        return f"Under {row['policy']} tasks wait {less} s less than under {row['other']} {ends}."
    return f"{pair}: no difference shown: {less} s {ends}."


def basis(plan: SchedulePlan, analysis: WaitAnalysis) -> str:
    """Say what the intervals are over, and what they cannot tell."""
    text = f"95 % intervals over {counted(analysis.n_jobs, 'job')}"
    if analysis.n_periods >= LEAST_PERIODS:
        periods = counted(analysis.n_periods, "day" if analysis.days_vary else "hour")
        text += f" and {periods} of arrival"
    n = len(analysis.comparisons)
    if n:
        text += f", those of differences for {counted(n, 'comparison')} together"
    if not analysis.days_vary:
        text += f"; {counted(analysis.n_days, 'day')} cannot tell how other days differ"
    if len(plan.stores) > 1:
        text += f"; means of {len(plan.stores):,} stores"
    return f"{text}."
