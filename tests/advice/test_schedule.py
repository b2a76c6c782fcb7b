"""How an advice is judged on traces of each length."""

from __future__ import annotations

import pytest

from borgtrace.advice.schedule import schedule_of
from borgtrace.overcommit import parse_policy
from borgtrace.question import NotApplicable
from borgtrace.schema.time import DAY, HOUR, MINUTE


@pytest.mark.parametrize(
    ("span", "horizon", "period", "histories"),
    [
        (HOUR, 5 * MINUTE, 5 * MINUTE, [15 * MINUTE]),
        (2 * HOUR, 5 * MINUTE, 10 * MINUTE, [30 * MINUTE]),
        (DAY, HOUR, 2 * HOUR, [2 * HOUR]),
        (3 * DAY, HOUR, 6 * HOUR, [2 * HOUR, 10 * HOUR]),
        (7 * DAY, HOUR, DAY, [2 * HOUR, 10 * HOUR, DAY]),
        (30 * DAY, HOUR, DAY, [2 * HOUR, 10 * HOUR, DAY]),
    ],
)
def test_times_follow_the_span(span: int, horizon: int, period: int, histories: list[int]) -> None:
    schedule = schedule_of(span)
    assert (schedule.horizon, schedule.period) == (horizon, period)
    assert list(schedule.histories) == histories


def test_every_candidate_is_a_policy_and_the_limits_come_first() -> None:
    for span in (HOUR, DAY, 30 * DAY):
        candidates = schedule_of(span).candidates()
        assert candidates[0] == "limit"
        assert len({parse_policy(text).label for text in candidates}) == len(candidates)


def test_what_is_shorter_than_an_hour_cannot_be_judged() -> None:
    with pytest.raises(NotApplicable) as caught:
        schedule_of(55 * MINUTE)
    assert (
        str(caught.value)
        == "usage of 55 min is too short to learn from and to judge: this takes 1 h at least"
    )


def test_a_horizon_may_leave_too_few_periods() -> None:
    schedule_of(DAY, horizon=6 * HOUR)
    with pytest.raises(NotApplicable) as caught:
        schedule_of(DAY, horizon=7 * HOUR)
    assert str(caught.value) == (
        "usage of 1 d has too few periods to learn from and to judge with a horizon of 7 h: choose a shorter --horizon"
    )
