"""Cumulants of the sums of tasks at many tilts θ, from power series: histories are read once for many slots.

K needs Σ exp(θx) over each history, for each slot and each θ that is tried.  Slots are taken in blocks, which share
most of every history: around one θ of the block, Σ exp(θx) is a power series whose coefficients are sums over samples.
Those of a slot are the sum of the samples that all slots of the block share, of the earlier and of the later ones, so
nothing is subtracted.  Far from that θ, and for tasks whose samples lie too far apart, exponentials are added up.
"""

import math
from typing import NamedTuple

import numpy as np

from borgtrace.kernels.arrays import Index, Numbers
from borgtrace.kernels.compiled import compiled
from borgtrace.overcommit.block import Histories

BLOCK = 32
"""Slots that share a series, at most."""
MOST_TERMS = 30
FARTHEST = 2.5
"""The largest exponent of a series: its terms then fall below rounding before `MOST_TERMS`, and cancel little."""
_LAST_TERM = 1e-18
_LEAST_POWER = 1e-100
"""Powers of small numbers end here, before they leave the range of normal numbers, which is slow."""
LEAST_SPREAD = 1e-4
"""Where the variance is a smaller share of the squared ranges of tasks, their series tell it too coarsely."""
_WIDEST = 1.5
"""Slots whose deviations differ by more than this factor within a block are not both served by its series."""


class SumCumulants(NamedTuple):
    """K, K′ and K″ of the sum of the present tasks at some θ."""

    k: float
    mean: float
    variance: float


class PowerSeries(NamedTuple):
    """Power series of the tasks of the slots of a block; a slot's tasks lie side by side.

    Attributes
    ----------
    moments
        Σ exp(θ₀(x − c)) ((x − c)/scale)ᵖ / p! by slot, p and task: (slots, terms, tasks).
    center, length
        c, and the number of samples of a history: (slots, tasks).
    n_tasks
        Tasks of each slot: (slots,).
    direct, n_direct
        Samples whose tasks have no series, and how many: (slots, tasks), (slots,).
    squares
        Sum of the squared radii of the tasks that have series: (slots,).
    sums
        Room for Σ exp(θ(x − c)) of each task, and its derivatives: (3, tasks).
    """

    moments: Numbers
    center: Numbers
    length: Numbers
    n_tasks: Index
    direct: Index
    n_direct: Index
    squares: Numbers
    sums: Numbers


class Tilt(NamedTuple):
    """θ₀ of a block, how far from it its series hold, the unit of their powers, and their number of terms."""

    theta: float
    reach: float
    scale: float
    n_terms: int


def make_series(n_slots: int, n_tasks: int) -> PowerSeries:
    """Return room for the series of a block of so many slots, of at most so many tasks each."""
    return PowerSeries(
        moments=np.zeros((n_slots, MOST_TERMS, n_tasks)),
        center=np.zeros((n_slots, n_tasks)),
        length=np.zeros((n_slots, n_tasks)),
        n_tasks=np.zeros(n_slots, np.int64),
        direct=np.zeros((n_slots, n_tasks), np.int64),
        n_direct=np.zeros(n_slots, np.int64),
        squares=np.zeros(n_slots),
        sums=np.zeros((3, n_tasks)),
    )


class BlockTasks(NamedTuple):
    """Tasks of a block: their first and last warm sample in it, range of their histories, and their place.

    `place` is of every task of the machine, −1 for those that are not in the block.
    """

    first: Index
    last: Index
    center: Numbers
    radius: Numbers
    place: Index


def make_tasks(n_tasks: int) -> BlockTasks:
    """Return room for the tasks of a block, of so many on the machine."""
    return BlockTasks(
        first=np.zeros(n_tasks, np.int64),
        last=np.zeros(n_tasks, np.int64),
        center=np.zeros(n_tasks),
        radius=np.zeros(n_tasks),
        place=np.full(n_tasks, -1),
    )


@compiled()
def find_tasks(histories: Histories, begin: int, end: int, tasks: BlockTasks) -> int:
    """Find the warm tasks of the slots from `begin` to before `end`, and return how many there are."""
    known = histories.known
    n = 0
    for i in known.order[known.offsets[begin] : known.offsets[end]]:
        if not histories.warm[i]:
            continue
        place = tasks.place[known.task[i]]
        if place < 0:
            place = n
            tasks.place[known.task[i]] = place
            tasks.first[place] = i
            n += 1
        tasks.last[place] = i
    for place in range(n):
        values = known.usage[histories.low[tasks.first[place]] : tasks.last[place] + 1]
        least, most = _bounds(values)
        tasks.center[place] = (least + most) / 2
        tasks.radius[place] = (most - least) / 2
    return n


@compiled(inline=True)
def _bounds(values: Numbers) -> tuple[float, float]:
    least = values[0]
    most = values[0]
    for value in values:
        least = min(least, value)
        most = max(most, value)
    return least, most


@compiled()
def choose_tilt(
    variance: Numbers,
    lowest: float,
    highest: float,
    tasks: BlockTasks,
    n_tasks: int,
) -> Tilt:
    """Return the θ₀ from which the series of a block reach the θ that are tried for its slots.

    Parameters
    ----------
    variance
        Of the sum of the tasks in each slot.
    lowest, highest
        Least and largest θ that are tried, in units of 1/σ.
    tasks, n_tasks
        Of the block.
    """
    most = math.sqrt(variance.max())
    least = most
    for value in variance:
        if value > 0:
            least = min(least, math.sqrt(value))
    least = max(least, most / _WIDEST)
    if most <= 0:
        return Tilt(0.0, 0.0, 1.0, 1)
    low = lowest / most
    high = highest / least
    theta = (low + high) / 2
    reach = (high - low) / 2
    scale = 0.0
    for radius in tasks.radius[:n_tasks]:
        if radius * reach <= FARTHEST:
            scale = max(scale, radius)
    if scale <= 0:
        return Tilt(theta, reach, 1.0, 3)
    # The second derivative begins two terms later.
    n_terms = 3
    term = 1.0
    while term > _LAST_TERM and n_terms < MOST_TERMS:
        term *= scale * reach / (n_terms - 2)
        n_terms += 1
    return Tilt(theta, reach, scale, n_terms)


@compiled()
def fill_series(
    histories: Histories,
    begin: int,
    end: int,
    tasks: BlockTasks,
    tilt: Tilt,
    series: PowerSeries,
) -> None:
    """Write the series of the tasks of the slots from `begin` to before `end`, and forget the places of the tasks."""
    known = histories.known
    n_tasks = 0
    # Of each task and slot: the column, −1 where it has none.
    column = np.full((tasks.first.size, end - begin), -1)
    for j in range(begin, end):
        s = j - begin
        series.n_tasks[s] = 0
        series.n_direct[s] = 0
        series.squares[s] = 0.0
        for i in known.order[known.offsets[j] : known.offsets[j + 1]]:
            if not histories.warm[i]:
                continue
            place = tasks.place[known.task[i]]
            n_tasks = max(n_tasks, place + 1)
            if tasks.radius[place] * tilt.reach > FARTHEST:
                series.direct[s, series.n_direct[s]] = i
                series.n_direct[s] += 1
                continue
            q = series.n_tasks[s]
            series.center[s, q] = tasks.center[place]
            series.length[s, q] = i - histories.low[i] + 1
            column[place, s] = q
            series.n_tasks[s] = q + 1
            series.squares[s] += tasks.radius[place] ** 2
    for place in range(n_tasks):
        if tasks.radius[place] * tilt.reach <= FARTHEST:
            _fill_task(histories, begin, tasks, place, column[place], tilt, series)
        tasks.place[known.task[tasks.first[place]]] = -1


@compiled()
def _fill_task(
    histories: Histories,
    begin: int,
    tasks: BlockTasks,
    place: int,
    column: Index,
    tilt: Tilt,
    series: PowerSeries,
) -> None:
    """Write the coefficients of one task: those of the samples that all its slots share, of earlier and later ones."""
    known = histories.known
    low = histories.low
    first = tasks.first[place]
    last = tasks.last[place]
    start = low[first]
    # From `shared` on to `first` every history has all samples; without any, sums begin at the end.
    shared = min(low[last], first + 1)
    powers = np.empty(last + 1 - start)
    distance = np.empty(powers.size)
    slots = np.searchsorted(known.slots, known.slot[first : last + 1]) - begin
    for k in range(powers.size):
        distance[k] = (known.usage[start + k] - tasks.center[place]) / tilt.scale
        powers[k] = math.exp(tilt.theta * tilt.scale * distance[k])
    size = tasks.radius[place] / tilt.scale
    largest = 1.0
    sums_after = np.zeros(powers.size + 1)
    for p in range(tilt.n_terms):
        if largest < _LEAST_POWER:
            powers[:] = 0.0
        common = _sum(powers[shared - start : first + 1 - start])
        # Earlier samples, from the last one backward; later ones, forward.
        total = 0.0
        for k in range(shared - start - 1, -1, -1):
            total += powers[k]
            sums_after[k] = total
        sums_after[shared - start] = 0.0
        later = 0.0
        for i in range(first, last + 1):
            if i > first:
                later += powers[i - start]
            q = column[slots[i - first]]
            if histories.warm[i] and q >= 0:
                begin_of_history = low[i]
                if begin_of_history <= shared:
                    moment = common + sums_after[begin_of_history - start] + later
                else:
                    moment = _sum(powers[begin_of_history - start : i + 1 - start])
                series.moments[slots[i - first], p, q] = moment
        _multiply(powers, distance, 1.0 / (p + 1))
        largest *= size


@compiled(makes_arrays=False)
def _multiply(powers: Numbers, distance: Numbers, factor: float) -> None:
    for k in range(powers.size):
        powers[k] *= distance[k] * factor


@compiled(makes_arrays=False)
def _sum(values: Numbers) -> float:
    """Return the sum of some values, in eight parts side by side, for one addition waits for the one before."""
    a = 0.0
    b = 0.0
    c = 0.0
    d = 0.0
    e = 0.0
    f = 0.0
    g = 0.0
    h = 0.0
    k = 0
    while k + 8 <= values.size:
        a += values[k]
        b += values[k + 1]
        c += values[k + 2]
        d += values[k + 3]
        e += values[k + 4]
        f += values[k + 5]
        g += values[k + 6]
        h += values[k + 7]
        k += 8
    while k < values.size:
        a += values[k]
        k += 1
    return ((a + b) + (c + d)) + ((e + f) + (g + h))


@compiled()
def cumulants_of_series(
    theta: float,
    s: int,
    tilt: Tilt,
    series: PowerSeries,
    histories: Histories,
) -> SumCumulants:
    """Return the cumulants of the sum of the tasks of a slot of the block, at a θ within the reach of its series."""
    n = series.n_tasks[s]
    zeroth = series.sums[0, :n]
    first = series.sums[1, :n]
    second = series.sums[2, :n]
    zeroth[:] = 0.0
    first[:] = 0.0
    second[:] = 0.0
    step = (theta - tilt.theta) * tilt.scale
    power = 1.0
    once = 0.0
    twice = 0.0
    for p in range(tilt.n_terms):
        _add_terms(series.moments[s, p, :n], power, once, twice, zeroth, first, second)
        twice = twice * step + 2 * once
        once = once * step + power
        power = power * step
    k = 0.0
    mean = 0.0
    variance = 0.0
    product = 1.0
    centers = 0.0
    for q in range(n):
        ratio = first[q] / zeroth[q]
        mean += ratio
        variance += second[q] / zeroth[q] - ratio**2
        centers += series.center[s, q]
        product *= zeroth[q] / series.length[s, q]
        # A factor is at most e⁵ or so: sixteen of them are far from overflow.
        if q % 16 == 15:
            k += math.log(product)
            product = 1.0
    k += math.log(product) + theta * centers
    mean = mean * tilt.scale + centers
    variance = max(variance, 0.0) * tilt.scale**2
    for i in series.direct[s, : series.n_direct[s]]:
        own = cumulants_of_task(theta, histories.known.usage[histories.low[i] : i + 1])
        k += own.k
        mean += own.mean
        variance += own.variance
    return SumCumulants(k, mean, variance)


@compiled(makes_arrays=False)
def _add_terms(
    moments: Numbers,
    power: float,
    once: float,
    twice: float,
    zeroth: Numbers,
    first: Numbers,
    second: Numbers,
) -> None:
    """Add a term of each task's series and of its derivatives; over slices, which the compiler vectorizes."""
    for q in range(moments.size):
        zeroth[q] += moments[q] * power
        first[q] += moments[q] * once
        second[q] += moments[q] * twice


@compiled()
def cumulants_of_task(theta: float, history: Numbers) -> SumCumulants:
    """Return the cumulants of one task at some θ ≥ 0, from exponentials."""
    # Relative to the highest sample, so that no exponential exceeds 1, whatever θ.
    top = history.max()
    total = 0.0
    first = 0.0
    second = 0.0
    for value in history:
        distance = value - top
        weight = math.exp(theta * distance)
        total += weight
        first += weight * distance
        second += weight * distance**2
    return SumCumulants(
        theta * top + math.log(total / history.size),
        top + first / total,
        max(second / total - (first / total) ** 2, 0.0),
    )


@compiled()
def cumulants_of_slot(theta: float, j: int, histories: Histories) -> SumCumulants:
    """Return the cumulants of the sum of the warm tasks of a slot at some θ ≥ 0, from exponentials."""
    known = histories.known
    k = 0.0
    mean = 0.0
    variance = 0.0
    for i in known.order[known.offsets[j] : known.offsets[j + 1]]:
        if histories.warm[i]:
            own = cumulants_of_task(theta, known.usage[histories.low[i] : i + 1])
            k += own.k
            mean += own.mean
            variance += own.variance
    return SumCumulants(k, mean, variance)
