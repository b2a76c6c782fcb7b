"""Times of a study: a horizon that ends in the trace, whatever its span, and words for both."""

from __future__ import annotations

import pytest

from borgtrace.question.study_times import in_words, times_for_span, usage_span
from borgtrace.schema.time import DAY, HOUR, MINUTE, SECOND, TRACE_START, WINDOW
from borgtrace.store.manifest import Manifest


@pytest.mark.parametrize(
    ("span", "horizon", "warmup"),
    [
        # Nothing is shorter than a window.
        (0, 5 * MINUTE, 5 * MINUTE),
        (10 * MINUTE, 5 * MINUTE, 5 * MINUTE),
        # A sixth of an hour is 10 min, a quarter of it 15 min.
        (HOUR, 10 * MINUTE, 15 * MINUTE),
        (2 * HOUR, 10 * MINUTE, 30 * MINUTE),
        # A sixth is 4 h: the next round one below it.
        (DAY, 2 * HOUR, 110 * MINUTE),
        (3 * DAY, 12 * HOUR, 110 * MINUTE),
        (6 * DAY - WINDOW, 12 * HOUR, 110 * MINUTE),
        (6 * DAY, DAY, 110 * MINUTE),
        (30 * DAY, DAY, 110 * MINUTE),
    ],
)
def test_the_horizon_fits_six_times_and_the_warmup_four_times(
    span: int, horizon: int, warmup: int
) -> None:
    assert times_for_span(span) == (span, horizon, warmup)


def test_every_span_of_two_windows_or_more_leaves_something_to_judge() -> None:
    for n_windows in range(2, 3000):
        times = times_for_span(n_windows * WINDOW)
        assert times.horizon < times.span
        assert times.warmup < times.span
        assert times.horizon % WINDOW == times.warmup % WINDOW == 0


@pytest.mark.parametrize(
    ("time_range", "span"),
    [
        ({}, 0),
        # What was there before the trace counts from its start on.
        ({"instance_usage": [0, TRACE_START + 10 * MINUTE]}, 10 * MINUTE),
        ({"instance_usage": [DAY, 2 * DAY]}, DAY),
        # A window that has begun counts.
        ({"instance_usage": [TRACE_START, TRACE_START + 601 * SECOND]}, 15 * MINUTE),
    ],
)
def test_the_span_of_usage_is_in_whole_windows(time_range: dict[str, list[int]], span: int) -> None:
    manifest = Manifest("2011", "", "UTC", "", "", {}, (), time_range=time_range)
    assert usage_span(manifest) == span


def test_what_was_chosen_is_a_sentence() -> None:
    sentence = "Horizon 2 h, warm-up at most 1 h 50 min: chosen for 1 d of usage."
    assert times_for_span(DAY).sentence == sentence
    assert in_words(7 * DAY + 3 * HOUR + 5 * MINUTE) == "7 d 3 h"
