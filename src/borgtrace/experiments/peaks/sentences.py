"""What an experiment found, in words: what saves most at the target, and how the others differ from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from borgtrace.experiments.counted import counted
from borgtrace.experiments.peaks.analysis import FamilyPart, PeakAnalysis
from borgtrace.experiments.peaks.curves import LIMITS
from borgtrace.experiments.peaks.plan import PeakPlan
from borgtrace.notation import number, percent
from borgtrace.question.shares import with_interval


def sentences(plan: PeakPlan, analysis: PeakAnalysis) -> str:
    """Return the answer: for each resource and group of tasks the best family, and its differences to the others.

    Parameters
    ----------
    plan, analysis
        The experiment, and what it found.
    """
    lines = []
    parts: dict[tuple[str, str], list[int]] = {}
    for place, family in enumerate(analysis.families):
        parts.setdefault((family.resource, family.tasks), []).append(place)
    for (resource, tasks), places in parts.items():
        best = max(places, key=lambda place: analysis.families[place].mixture.savings)
        family = analysis.families[best]
        margin = analysis.margins[best]
        found = result_of(family, None if np.isnan(margin) else float(margin))
        most = "most is saved by " if len(places) > 1 else ""
        lines.append(
            f"{resource}, {tasks} tasks, at a violation rate of {percent(plan.target)}: {most}{found}."
        )
        lines += differences_from(family, analysis.comparisons)
    if lines:
        lines.append(basis(plan, analysis))
    return "\n".join(lines)


def result_of(family: FamilyPart, margin: float | None) -> str:
    """Say what a family saves at the target, and with which policies."""
    mixture = family.mixture
    low = None if margin is None else mixture.savings - margin
    high = None if margin is None else mixture.savings + margin
    saved = with_interval(mixture.savings, low, high)
    return f"{family.family}: {saved} of the limits, with {settings_of(family)}"


def settings_of(family: FamilyPart) -> str:
    """Say which policies of a family are used on how many machines.

    Parameters
    ----------
    family
        With its mixture.
    """
    mixture = family.mixture
    bold = name_in(family, mixture.bold)
    if mixture.careful == mixture.bold:
        if mixture.bold == LIMITS:
            return bold
        return f"{bold} (violation rate {percent(mixture.rate)})"
    careful = name_in(family, mixture.careful)
    return f"{bold} on {percent(mixture.share, 2)} of the machines, {careful} on the others"


def name_in(family: FamilyPart, place: int) -> str:
    """Return the name of a setting."""
    return "the limits" if place == LIMITS else family.policies[place]


def differences_from(best: FamilyPart, comparisons: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a sentence for each comparison of the best family, the smallest difference first."""
    own = [
        row
        for row in comparisons
        if (row["resource"], row["tasks"]) == (best.resource, best.tasks)
        and best.family in (row["family"], row["other"])
    ]
    return [difference_in_words(row) for row in sorted(own, key=lambda row: row["difference"])]


def difference_in_words(row: Mapping[str, Any]) -> str:
    """Say how two families differ at the same risk.

    Examples
    --------
    >>> row = {"family": "a", "other": "b", "difference": 0.021, "low": 0.008, "high": 0.033, "is_shown": True}
    >>> difference_in_words(row)
    'a saves 2.1 points more than b [0.8, 3.3] at the same risk.'
    >>> difference_in_words(row | {"low": -0.001, "is_shown": False})
    'a and b: no difference shown: 2.1 points [-0.1, 3.3] at the same risk.'
    """
    points = number(100 * row["difference"], 2)
    if row["low"] is None:
        return f"{row['family']} saves {points} points more than {row['other']}; one machine tells no interval."
    ends = f"[{number(100 * row['low'], 2)}, {number(100 * row['high'], 2)}]"
    if row["is_shown"]:
        return f"{row['family']} saves {points} points more than {row['other']} {ends} at the same risk."
    pair = f"{row['family']} and {row['other']}"
    return f"{pair}: no difference shown: {points} points {ends} at the same risk."


def basis(plan: PeakPlan, analysis: PeakAnalysis) -> str:
    """Say what the intervals are over, and what they cannot tell."""
    machines = counted(analysis.n_machines, "machine")
    days = counted(analysis.n_days, "day")
    over = f"{machines} and {days}" if analysis.days_vary else machines
    text = f"95 % intervals over {over}"
    n = len(analysis.comparisons)
    if n:
        text += f", those of differences for {counted(n, 'comparison')} together"
    if not analysis.days_vary:
        text += f"; {days} cannot tell how other days differ"
    if len(plan.stores) > 1:
        text += f"; means of {len(plan.stores):,} stores"
    return f"{text}."
