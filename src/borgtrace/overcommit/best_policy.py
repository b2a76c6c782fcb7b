"""The answer of a replay in words: which policy saves most at a rate that people accept."""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from borgtrace.notation import percent
from borgtrace.question.promises import keeps
from borgtrace.question.shares import with_interval
from borgtrace.schema.time import HOUR, WINDOW

ACCEPTED_RATE = 0.01
"""Violation rate that the sentence is about; the question about a target has any."""
LEAST_SAVINGS = 0.001
"""Share of the limits: a policy that saves less is no answer, however seldom or often it promises too little."""
LIMIT = "limit"


def best_policies(answer: pa.Table) -> str:
    """Return a sentence for each resource and group of tasks.

    Parameters
    ----------
    answer
        Of a replay.
    """
    rows_by_part: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in answer.to_pylist():
        if row["shape"] == "all":
            rows_by_part.setdefault((row["resource"], row["tasks"]), []).append(row)
    sentences = []
    for (resource, tasks), rows in rows_by_part.items():
        sentences.append(f"{resource}, {tasks} tasks: {best_of(rows)}")
    return "\n".join(sentences)


def best_of(rows: Sequence[Mapping[str, Any]]) -> str:
    """Say which policy saves most within the accepted rate, or how the safest one does.

    Parameters
    ----------
    rows
        Of one resource and group of tasks, a policy each.
    """
    saving = [row for row in rows if row["policy"] != LIMIT and row["savings"] is not None]
    if not saving:
        return "without limits, or by the limits alone, nothing is overcommitted."
    if len(saving) == 1:
        return f"{outcome(saving[0])}."
    useful = [row for row in saving if row["savings"] >= LEAST_SAVINGS]
    keeping = [row for row in useful if keeps(upper_end(row), ACCEPTED_RATE)]
    accepted = percent(ACCEPTED_RATE)
    if keeping:
        best = max(keeping, key=lambda row: row["savings"])
        return f"of {len(saving)} policies, most is saved within {accepted} by {outcome(best)}."
    safest = min(useful, key=upper_end, default=None)
    if safest is None:
        return f"no policy tested saves as much as {percent(LEAST_SAVINGS)} of the limits."
    trials = safest["instants"] * (WINDOW / HOUR) / safest["horizon"]
    few = ""
    if trials < 3 / ACCEPTED_RATE:
        few = (
            f" {trials:,.0f} machine-horizons were seen; {accepted} takes {3 / ACCEPTED_RATE:,.0f}."
        )
    return f"no policy tested surely keeps {accepted}; of those that save, the safest is {outcome(safest)}.{few}"


def outcome(row: Mapping[str, Any]) -> str:
    """Say what a policy saves, and how often it promises too little.

    Parameters
    ----------
    row
        Of the answer.
    """
    rate = with_interval(row["rate"], row["rate_low"], upper_end(row))
    savings = f"{percent(row['savings'])} of the limits saved"
    if row["savings"] < 0:
        savings = f"{percent(-row['savings'])} more than the limits promised"
    return f"{row['policy']}: {savings}, violation rate {rate}"


def upper_end(row: Mapping[str, Any]) -> float:
    """Return the upper end of the interval of a rate, at least 3 ÷ trials (the rule of three).

    Parameters
    ----------
    row
        Of the answer.
    """
    horizon_slots = row["horizon"] * HOUR / WINDOW
    # Instants of one horizon share most of their peak: together they are one trial.
    unseen = 3 * max(horizon_slots, 1) / row["instants"]
    known = row["rate"] if row["rate_high"] is None else row["rate_high"]
    return float(min(max(known, unseen), 1.0))
