"""Which policy a sentence names: one that saves, and of those the one that promises too little most seldom."""

from __future__ import annotations

from typing import Any

from borgtrace.overcommit.best_policy import best_of


def row(policy: str, savings: float, rate: float) -> dict[str, Any]:
    """A policy on 44 instants of 10 minutes: 22 horizons, so that 3 ÷ 22 = 13.6 % may go unseen."""
    return {
        "policy": policy,
        "savings": savings,
        "rate": rate,
        "rate_low": 0.0,
        "rate_high": rate,
        "horizon": 1 / 6,
        "instants": 44,
    }


def test_a_policy_that_saves_nothing_is_not_the_safest() -> None:
    nothing = row("task-percentile", 0.0000656, 0.0)
    some = row("borg:phi=0.9", 0.1, 0.05)
    assert best_of([row("limit", 0.0, 0.0), nothing, some]) == (
        "no policy tested surely keeps 1 %; of those that save, the safest is borg:phi=0.9: 10 % of the limits saved, "
        "violation rate 5 % [0 to 13.6]. 22 machine-horizons were seen; 1 % takes 300."
    )


def test_where_no_policy_saves_none_is_named() -> None:
    rows = [row("limit", 0.0, 0.0), row("max", 0.0, 0.0), row("task-percentile", 0.0000656, 0.0)]
    assert best_of(rows) == "no policy tested saves as much as 0.1 % of the limits."


def test_a_policy_that_saves_nothing_is_no_best_one() -> None:
    rows = [row("max", 0.0009, 0.0), row("average", 0.0001, 0.0)]
    for one in rows:
        one["instants"] = 2_000_000
    assert best_of(rows) == "no policy tested saves as much as 0.1 % of the limits."
