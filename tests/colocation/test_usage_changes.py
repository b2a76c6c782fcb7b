"""How tasks change: planted shifts, trends, rhythms and bursts are found, and what does not change is left alone."""

from __future__ import annotations

import numpy as np
import pytest

from borgtrace.colocation import Study
from borgtrace.colocation.experiments.usage import usage_changes
from borgtrace.colocation.experiments.usage.usage_changes import changes

from .test_packing_past import on_clock

HOURS = 72
TIME = np.arange(HOURS * 12)
PLANTED = {
    "none": 0 * TIME,
    "level shift": 0.02 * (TIME >= 300),
    "trend": 0.03 * TIME / len(TIME),
    "daily": 0.01 * np.sin(2 * np.pi * TIME / 288),
}


def _noise(n: int, slots: int = HOURS * 12) -> np.ndarray:
    return 0.1 + 0.01 * np.random.default_rng(7).standard_normal((n, slots))


@pytest.mark.parametrize("kind", PLANTED)
def test_what_is_planted_is_found_and_little_else(kind: str) -> None:
    flags_of_kind = changes((_noise(400) + PLANTED[kind]).astype(np.float32))
    shares = {name: flags.mean() for name, flags in flags_of_kind.items()}
    if kind != "none":
        assert shares.pop(kind) > 0.99
    # Each test is at 5 % ÷ 4; of 400 tasks three times as many would be far out.
    assert max(shares.values()) < 3 * 0.0125


def test_bursts_count_once_however_long_they_are() -> None:
    values = np.full((2, 1000), 0.1, np.float32)
    values[:, ::2] = 0.11
    values[0, 100:104] = (
        0.9  # one burst of four samples: 1,000 Gaussian samples have 1.35 above three deviations
    )
    values[1, 50::100] = 0.9  # ten bursts
    flags_of_kind = changes(np.concatenate([values, values], axis=1)[:, :1992])
    assert flags_of_kind["bursty"].tolist() == [False, True]


def test_a_shift_and_a_rhythm_are_both_found() -> None:
    flags_of_kind = changes(
        (_noise(200) + PLANTED["level shift"] + PLANTED["daily"]).astype(np.float32)
    )
    assert (flags_of_kind["level shift"] & flags_of_kind["daily"]).mean() > 0.99


def test_slow_noise_is_seldom_a_change() -> None:
    """Noise that remembers for three hours (AR(1), .97 a slot) has few independent hours."""
    slow = np.zeros((400, len(TIME)))
    steps = np.random.default_rng(8).standard_normal(slow.shape) * 0.01 * (1 - 0.97**2) ** 0.5
    for slot in range(1, len(TIME)):
        slow[:, slot] = 0.97 * slow[:, slot - 1] + steps[:, slot]
    flags_of_kind = changes((0.1 + slow).astype(np.float32))
    assert np.any(list(flags_of_kind.values()), axis=0).mean() < 0.08


def test_what_never_changes_changes_in_no_way() -> None:
    for values in (np.zeros((2, 600)), np.full((2, 600), 0.25)):
        assert not any(flags.any() for flags in changes(values.astype(np.float32)).values())


def test_shares_of_a_pool() -> None:
    planted = np.concatenate(
        [
            _noise(200) + PLANTED["daily"],
            _noise(200)[::-1] + PLANTED["trend"],
        ]
    )
    result = usage_changes.QUESTION.run(Study(on_clock(planted)), size=100)
    rows = {row["kind"]: row for row in result.table.to_pylist()}
    assert set(rows) == {"level shift", "trend", "daily", "bursty", "none"}
    assert {(row["n_tasks"], row["hours"]) for row in rows.values()} == {(400, 72.0)}
    assert rows["daily"]["share"] == pytest.approx(0.5, abs=0.02)
    assert rows["trend"]["share"] == pytest.approx(0.5, abs=0.02)
    assert rows["none"]["share"] < 0.02


def test_under_two_days_there_is_no_rhythm_and_under_half_a_day_nothing() -> None:
    short = usage_changes.QUESTION.run(
        Study(on_clock(_noise(40, 47 * 12))),
        size=10,
        hours=47,
    )
    assert set(short.table["kind"].to_pylist()) == {"level shift", "trend", "bursty", "none"}
    least = usage_changes.QUESTION.run(
        Study(on_clock(_noise(40, 12 * 12))),
        size=10,
        hours=12,
    )
    assert set(least.table["hours"].to_pylist()) == {12.0}
    fewer = usage_changes.QUESTION.run(
        Study(on_clock(_noise(40, 11 * 12))),
        size=10,
        hours=11,
    )
    assert fewer.not_applicable == "no task runs for 12 hours"
