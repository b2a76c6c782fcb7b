"""Horizon, warm-up and periods by default, from the span of a store's usage.

A horizon of a day, which the papers take, judges nothing in a trace of a day: no slot of it has a whole day to come.
So the times follow the span of the usage: the horizon fits six times into it, so that a policy is chosen on some
stretches and judged on others; the warm-up is at most a quarter of it, so that most of it is judged after it.  What is
advised has a shorter horizon (`borgtrace.advice.schedule`), for few machines can show no more; the rest is here.
"""

from typing import NamedTuple

from borgtrace.schema.time import DAY, HOUR, MINUTE, TRACE_START, WINDOW, Microseconds
from borgtrace.store import Store
from borgtrace.store.manifest import Manifest

_ROUND_HORIZONS = (
    DAY,
    12 * HOUR,
    6 * HOUR,
    2 * HOUR,
    HOUR,
    30 * MINUTE,
    10 * MINUTE,
    WINDOW,
)
"""Horizons that may be chosen, the longest first: nobody plans for 3 h 25 min."""
_HORIZONS_IN_SPAN = 6
HISTORIES_IN_SPAN = 4
"""So often what is looked back on fits into the usage, so that most of it is judged after it."""
LONGEST_WARMUP = 110 * MINUTE
"""22 of the 24 windows that policies of recent usage look back on (Bashir et al., EuroSys'21: two hours)."""


class StudyTimes(NamedTuple):
    """The times of a study, in µs.

    Attributes
    ----------
    span
        From the beginning of the first window of usage to the end of the last one.
    horizon
        How far ahead peaks are predicted; also the length of a stretch on which a chosen policy is judged.
    warmup
        History that a task needs at most before its usage is believed.
    """

    span: Microseconds
    horizon: Microseconds
    warmup: Microseconds

    @property
    def sentence(self) -> str:
        """What was chosen, and from what."""
        return (
            f"Horizon {in_words(self.horizon)}, warm-up at most {in_words(self.warmup)}: "
            f"chosen for {in_words(self.span)} of usage."
        )


def study_times(store: Store) -> StudyTimes:
    """Return the times that suit the usage in a store.

    Parameters
    ----------
    store
        An open store; only its manifest is read.
    """
    return times_for_span(usage_span(store.manifest))


def usage_span(manifest: Manifest) -> Microseconds:
    """Return how long usage was measured, in whole windows; 0 where the store holds none.

    Parameters
    ----------
    manifest
        Of a store.
    """
    first, last = manifest.time_range.get("instance_usage") or (0, 0)
    measured = last - max(first, TRACE_START)
    # A trace of a day may end a second early: a window that has begun counts.
    n_windows = -(-measured // WINDOW)
    return max(0, n_windows) * WINDOW


def times_for_span(span: Microseconds) -> StudyTimes:
    """Return the times that suit a span of usage.

    Parameters
    ----------
    span
        In µs.

    Examples
    --------
    >>> [in_words(times_for_span(span).horizon) for span in (10 * MINUTE, 2 * HOUR, DAY, 7 * DAY)]
    ['5 min', '10 min', '2 h', '1 d']
    >>> [in_words(times_for_span(span).warmup) for span in (10 * MINUTE, 2 * HOUR, DAY, 7 * DAY)]
    ['5 min', '30 min', '1 h 50 min', '1 h 50 min']
    """
    longest_horizon = span // _HORIZONS_IN_SPAN
    fitting = [horizon for horizon in _ROUND_HORIZONS if horizon <= longest_horizon]
    horizon = fitting[0] if fitting else WINDOW
    warmup = min(LONGEST_WARMUP, whole_windows(span // HISTORIES_IN_SPAN))
    return StudyTimes(span, horizon, warmup)


def whole_windows(time: Microseconds) -> Microseconds:
    """Return a time rounded down to whole windows, at least one.

    Parameters
    ----------
    time
        In µs.

    Examples
    --------
    >>> in_words(whole_windows(DAY // 7)), in_words(whole_windows(MINUTE))
    ('3 h 25 min', '5 min')
    """
    return max(time // WINDOW, 1) * WINDOW


def in_words(time: Microseconds) -> str:
    """Return a time as people write it, in its two largest units.

    Parameters
    ----------
    time
        In µs.

    Examples
    --------
    >>> in_words(DAY), in_words(110 * MINUTE), in_words(29 * DAY + 5 * HOUR + MINUTE), in_words(0)
    ('1 d', '1 h 50 min', '29 d 5 h', '0 s')
    """
    parts = []
    for unit, size in (("d", DAY), ("h", HOUR), ("min", MINUTE), ("s", MINUTE // 60)):
        amount, time = divmod(time, size)
        if amount:
            parts.append(f"{amount} {unit}")
    return " ".join(parts[:2]) or "0 s"
