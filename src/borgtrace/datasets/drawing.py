"""Shuffle as NumPy's legacy generator does, whose stream is frozen for ever, in a third of its time."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from borgtrace.kernels.arrays import Index
from borgtrace.kernels.compiled import compiled
from borgtrace.kernels.prefetch import prefetch

States = NDArray[np.uint32]

# The Mersenne Twister (Matsumoto & Nishimura, 1998), as uint32: Numba makes anything else of other types.
_N_STATES = 624
_SHIFT = 397
_UPPER = np.uint32(0x80000000)
_LOWER = np.uint32(0x7FFFFFFF)
_TWIST = np.uint32(0x9908B0DF)
_TEMPER_B = np.uint32(0x9D2C5680)
_TEMPER_C = np.uint32(0xEFC60000)
_ONE = np.uint32(1)
_S7 = np.uint32(7)
_S11 = np.uint32(11)
_S15 = np.uint32(15)
_S18 = np.uint32(18)
_PLACES = 256
"""Numbers that are exchanged together: what is at so many places fits in the nearest cache."""


def shuffled(index: Index, seed: int) -> Index:
    """Shuffle a copy of `index` with NumPy's legacy generator.

    Parameters
    ----------
    index
        What is shuffled: fewer than 2³² numbers.
    seed
        From 0 to 2³²−1.

    Examples
    --------
    >>> shuffled(np.arange(5), 0).tolist()
    [2, 0, 1, 3, 4]
    """
    copy = index.copy()
    # NumPy promises that `RandomState` never changes; `default_rng` may.
    state: Any = np.random.RandomState(seed).get_state(legacy=False)["state"]
    places = np.empty(_PLACES, np.int64)
    _shuffle(copy, state["key"].astype(np.uint32), int(state["pos"]), places)
    return copy


@compiled(makes_arrays=False)
def _shuffle(index: Index, states: States, at: int, places: Index) -> None:
    """Exchange each number, from the last on, with one up to itself, as ``RandomState.shuffle`` does.

    Parameters
    ----------
    index
        Changed.
    states, at
        Those of the generator, and which is next; changed.
    places
        Memory for some places: these are drawn first, so that what is there can be asked for ahead of time.
    """
    last = index.size - 1
    mask = np.uint32(0xFFFFFFFF)
    while last > 0:
        n_places = min(places.size, last)
        for k in range(n_places):
            # The bits that the largest place has: numbers that are larger are drawn again.
            largest = np.uint32(last - k)
            while np.uint32(mask >> _ONE) >= largest:
                mask = np.uint32(mask >> _ONE)
            place = np.uint32(0xFFFFFFFF)
            while place > largest:
                if at == _N_STATES:
                    _twist(states)
                    at = 0
                place = _tempered(states[np.uint64(at)]) & mask
                at += 1
            places[k] = np.int64(place)
            prefetch(index, np.int64(place))
        for k in range(n_places):
            here = np.uint64(last - k)
            there = np.uint64(places[k])
            moved = index[here]
            index[here] = index[there]
            index[there] = moved
        last -= n_places


@compiled(makes_arrays=False)
def _twist(states: States) -> None:
    """Make the next states of all."""
    for k in range(_N_STATES):
        bits = (states[k] & _UPPER) | (states[(k + 1) % _N_STATES] & _LOWER)
        twisted = np.uint32(bits >> _ONE)
        if bits & _ONE:
            twisted ^= _TWIST
        states[k] = states[(k + _SHIFT) % _N_STATES] ^ twisted


@compiled(inline=True)
def _tempered(state: np.uint32) -> np.uint32:
    """Return the number that a state gives."""
    state ^= np.uint32(state >> _S11)
    state ^= np.uint32(state << _S7) & _TEMPER_B
    state ^= np.uint32(state << _S15) & _TEMPER_C
    return np.uint32(state ^ np.uint32(state >> _S18))
