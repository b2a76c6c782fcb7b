"""Series of one container → its measurements: cores are added, lives follow each other, copies fill gaps.

A container that starts again is a new series, and so is one that another server or by another path was collected. Two
series at one time are never taken for one counter: they are copies, of which one is read, or two things of one name,
which nothing here could tell apart.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from borgtrace.ingest.convert.series_steps import (
    SampledSeries,
    Steps,
    Stream,
    Values,
    are_free,
    longest_gap,
    merged,
    steps_of,
)

_SMALLEST_FALL = 0.9
"""A counter that falls to more of its value was not reset: copies of one counter differ by so little."""
_STALE_STEPS = 2
"""Steps that a series which ended may go on to change for, since its last value is of a moment before."""


@dataclass(frozen=True)
class JoinedSteps:
    """The windows of a container.

    Parameters
    ----------
    steps
        In order of time; no two overlap.
    n_copies
        Series that repeat others.
    n_falls
        Steps in which a counter fell for no reason that is known.
    """

    steps: Steps
    n_copies: int = 0
    n_falls: int = 0


class SeriesConflictError(Exception):
    """Two series of one name and time are not copies of each other.

    Parameters
    ----------
    first, second
        Their labels.
    """

    def __init__(self, first: SampledSeries, second: SampledSeries) -> None:
        super().__init__()
        self.first = first
        self.second = second


def join_series(
    series: Sequence[SampledSeries],
    usual_step: int,
    *,
    is_counter: bool,
) -> JoinedSteps:
    """Return the windows of a container, of all series of one metric that are about it.

    Parameters
    ----------
    series
        The series.
    usual_step
        Time between samples, where these are too few to tell.
    is_counter
        Whether values are counted since the container began; else they are of one moment.

    Raises
    ------
    SeriesConflictError
        Two of them differ at the same times.
    """
    step = _step_of(series, usual_step)
    streams = _streams(_without_inner(series), is_counter=is_counter)
    n_falls = sum(stream.n_falls for stream in streams)
    if len(streams) == 1:
        steps = steps_of(streams[0], step, is_counter=is_counter)
        return JoinedSteps(steps, n_falls=n_falls)
    streams = _in_turn(streams, step)
    return _assembled(streams, step, n_falls, is_counter=is_counter)


def _step_of(series: Sequence[SampledSeries], usual_step: int) -> int:
    steps = np.concatenate([np.diff(one.times) for one in series])
    steps = steps[steps > 0]
    return int(np.median(steps)) if len(steps) > 2 else usual_step or int(max(steps, default=0))


def _without_inner(series: Sequence[SampledSeries]) -> list[SampledSeries]:
    """Leave out cgroups inside another one of these: their use is counted there already."""
    places = {one.cgroup.rstrip("/") for one in series if one.cgroup}
    if len(places) < 2:
        return list(series)
    inner = {
        place
        for place in places
        if any(place.startswith(f"{outer}/") for outer in places if outer != place)
    }
    return [one for one in series if one.cgroup.rstrip("/") not in inner]


def _streams(series: Sequence[SampledSeries], *, is_counter: bool) -> list[Stream]:
    """Return what is counted together: the cores of each copy of each life."""
    parts_of_copy: dict[tuple[str, str, bool], list[SampledSeries]] = {}
    for one in series:
        key = (one.life, one.copy, bool(one.part))
        parts_of_copy.setdefault(key, []).append(_distinct(one))
    streams = [_summed(parts, is_counter=is_counter) for parts in parts_of_copy.values()]
    return sorted((stream for stream in streams if len(stream.times)), key=lambda one: one.order)


def _distinct(series: SampledSeries) -> SampledSeries:
    """Keep one sample at each time: files overlap.

    Raises
    ------
    SeriesConflictError
        Two samples at one time are not the same, nor nearly.
    """
    if len(series.times) < 2:
        return series
    is_repeated = np.diff(series.times) == 0
    if not is_repeated.any():
        return series
    # Values at one time ascend.
    before = series.values[:-1][is_repeated]
    after = series.values[1:][is_repeated]
    if (before < _SMALLEST_FALL * after).any():
        raise SeriesConflictError(series, series)
    is_last = np.append(~is_repeated, True)
    return series._replace(times=series.times[is_last], values=series.values[is_last])


def _summed(parts: Sequence[SampledSeries], *, is_counter: bool) -> Stream:
    """Add up the cores of one copy, at the times at which each that is there was sampled."""
    if len(parts) == 1:
        (series,) = parts
        amounts, n_falls = _amounts(series.values, is_counter=is_counter)
        return Stream(series, series.times, series.values, amounts, n_falls)
    all_times, n_sampled = np.unique(
        np.concatenate([part.times for part in parts]), return_counts=True
    )
    first_times = np.sort([part.times[0] for part in parts])
    last_times = np.sort([part.times[-1] for part in parts])
    n_alive = np.searchsorted(first_times, all_times, "right") - np.searchsorted(
        last_times, all_times, "left"
    )
    times = all_times[n_sampled == n_alive]
    values = np.zeros(len(times))
    amounts = np.zeros(len(times))
    n_falls = 0
    for part in sorted(parts, key=lambda one: one.part):
        _, places, own_places = np.intersect1d(times, part.times, return_indices=True)
        own_values = part.values[own_places]
        own_amounts, own_falls = _amounts(own_values, is_counter=is_counter)
        values[places] += own_values
        # A core that was not there before adds nothing yet.
        amounts[places[1:]] += own_amounts[1:]
        n_falls += own_falls
    if len(amounts):
        amounts[0] = np.nan
    return Stream(parts[0], times, values, amounts if is_counter else values, n_falls)


def _amounts(values: Values, *, is_counter: bool) -> tuple[Values, int]:
    """Return what was used since the sample before, NaN where nothing says it, and how often a counter fell a little.

    A counter that falls was reset, and counts from 0: its increase is the new value.
    """
    if not is_counter:
        return values, 0
    before = values[:-1]
    after = values[1:]
    is_fall = after < before
    is_reset = is_fall & (after < _SMALLEST_FALL * before)
    increases = np.where(is_reset, after, after - before)
    is_unknown = is_fall & ~is_reset
    increases[is_unknown] = np.nan
    return np.concatenate([[np.nan], increases]), int(is_unknown.sum())


def _in_turn(streams: list[Stream], step: int) -> list[Stream]:
    """End the streams of lives that were over when the next one began.

    Raises
    ------
    SeriesConflictError
        Two streams go on at one time, and are no copies.
    """
    in_turn = list(streams)
    for place, earlier in enumerate(streams):
        for later in streams[place + 1 :]:
            own_times = in_turn[place].times
            is_past = not len(own_times) or later.times[0] > own_times[-1]
            if is_past or _are_replicas(earlier.series, later.series):
                continue
            is_earlier = earlier.times[0] < later.times[0]
            if is_earlier and _is_over(earlier, int(later.times[0]), step):
                in_turn[place] = _cut(in_turn[place], int(later.times[0]))
            elif not _agree(earlier, later):
                raise SeriesConflictError(earlier.series, later.series)
    return [stream for stream in in_turn if len(stream.times)]


def _are_replicas(first: SampledSeries, second: SampledSeries) -> bool:
    """Return whether labels say that two series are of one container at one time."""
    if first.life != second.life:
        return False
    return bool(first.life) or first.base == second.base


def _is_over(stream: Stream, time: int, step: int) -> bool:
    """Return whether a stream changes no more after a time: a server repeats the last value for some minutes."""
    values = stream.values[stream.times >= time + _STALE_STEPS * step]
    return len(values) == 0 or bool((values == values[0]).all())


def _cut(stream: Stream, time: int) -> Stream:
    is_before = stream.times < time
    return replace(
        stream,
        times=stream.times[is_before],
        values=stream.values[is_before],
        amounts=stream.amounts[is_before],
    )


def _agree(first: Stream, second: Stream) -> bool:
    """Return whether two streams are of one thing: their values hardly differ, nor do they grow apart."""
    begun = max(first.times[0], second.times[0])
    ended = min(first.times[-1], second.times[-1])
    times = second.times[(second.times >= begun) & (second.times <= ended)]
    ours = np.interp(times, first.times, first.values)
    theirs = np.interp(times, second.times, second.values)
    differences = np.abs(ours - theirs)
    growths = np.abs(np.diff(theirs))
    usual_growth = float(np.median(growths)) if len(growths) else 0.0
    largest_growth = float(growths.max()) if len(growths) else 0.0
    is_close = np.median(differences) <= 0.01 * np.median(theirs) + 1.5 * usual_growth
    our_growth = abs(ours[-1] - ours[0])
    their_growth = abs(theirs[-1] - theirs[0])
    allowed = 0.05 * max(our_growth, their_growth) + 0.5 * largest_growth
    return bool(is_close and abs(our_growth - their_growth) <= allowed)


def _assembled(
    streams: Sequence[Stream],
    step: int,
    n_falls: int,
    *,
    is_counter: bool,
) -> JoinedSteps:
    """Take the windows of the longest stream, those of others where it has none, and those between two lives."""
    steps_of_stream = [steps_of(stream, step, is_counter=is_counter) for stream in streams]
    longest_first = sorted(
        range(len(streams)),
        key=lambda place: (-len(steps_of_stream[place].stops), streams[place].order),
    )
    joined = steps_of_stream[longest_first[0]]
    n_copies = 0
    for place in longest_first[1:]:
        steps = steps_of_stream[place]
        is_free = are_free(joined, steps)
        n_copies += not is_free.all()
        joined = merged(joined, steps.where(is_free))
    if is_counter:
        seams = _seams(streams, step)
        is_free = are_free(joined, seams)
        joined = merged(joined, seams.where(is_free))
    return JoinedSteps(joined, n_copies, n_falls)


def _seams(streams: Sequence[Stream], step: int) -> Steps:
    """Return the windows between the last sample of a life and the first one of the next."""
    seams = []
    for later in streams:
        begun = int(later.times[0])
        earlier = [stream for stream in streams if stream.times[-1] < begun]
        if not earlier:
            continue
        last = max(earlier, key=lambda stream: (int(stream.times[-1]), stream.order))
        start = int(last.times[-1])
        amount = _amount_between(last, later)
        if begun - start <= longest_gap(step) and not np.isnan(amount):
            seams.append((start, begun, amount, later.series.machine))
    # Copies of a life begin with it: of windows that overlap, the first is taken.
    distinct: list[tuple[int, int, float, int]] = []
    for seam in sorted(seams):
        if not distinct or seam[0] >= distinct[-1][1]:
            distinct.append(seam)
    columns = list(zip(*distinct, strict=True)) or [(), (), (), ()]
    return Steps(
        np.array(columns[0], np.int64),
        np.array(columns[1], np.int64),
        np.array(columns[2], np.float64),
        np.array(columns[3], np.int32),
    )


def _amount_between(last: Stream, later: Stream) -> float:
    """Return what was used between two lives; NaN where that is not known."""
    lives = {last.series.life, later.series.life}
    if len(lives) == 2 and "" not in lives:
        # Another container: it counts from 0.
        return float(later.values[0])
    values = np.array([last.values[-1], later.values[0]])
    return float(_amounts(values, is_counter=True)[0][1])
