"""SplitMix64: 64 even bits from a number, the one mixer behind every reproducible draw and every content digest.

Steele, Lea & Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
"""

import numpy as np

from borgtrace.kernels.arrays import Index, Words
from borgtrace.kernels.compiled import compiled

Keys = Words

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""2⁶⁴ divided by the golden ratio, made odd: its multiples visit all 64-bit numbers, evenly spread."""
MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
MIX_2 = np.uint64(0x94D049BB133111EB)
# Shifts as uint64 too: Numba makes uint64 with int64 a float64, which loses the low bits.
_S27 = np.uint64(27)
_S30 = np.uint64(30)
_S31 = np.uint64(31)


@compiled(inline=True)
def finalized(z: np.uint64) -> np.uint64:
    """Mix the bits of `z`: a bijection, so that two numbers never collide."""
    z = (z ^ (z >> _S30)) * MIX_1
    z = (z ^ (z >> _S27)) * MIX_2
    return z ^ (z >> _S31)


@compiled(inline=True)
def hashed(key: np.uint64, counter: np.uint64) -> np.uint64:
    """Return number `counter` of the random sequence `key`.

    Parameters
    ----------
    key
        Names the sequence.
    counter
        Position in it; any two positions can be asked in any order.
    """
    return finalized(key + counter * GOLDEN)


@compiled()
def _mix_ids(
    seed: np.uint64,
    collection: Keys,
    instance: Keys,
    keys: Keys,
) -> None:
    one = np.uint64(1)
    for i in range(keys.size):
        # One inside the other rather than added, so that the tasks (1, 2) and (2, 1) get different keys.
        key = hashed(seed, one)
        key = hashed(key ^ collection[i], one)
        keys[i] = hashed(key ^ instance[i], one)


def task_keys(seed: int, collection_id: Index, instance_index: Index) -> Keys:
    """Give each task the key of its own random sequence.

    Parameters
    ----------
    seed
        Any int; taken modulo 2⁶⁴.
    collection_id, instance_index
        Identity of the tasks, shape (n,).

    Returns
    -------
    uint64 array of shape (n,)

    Examples
    --------
    >>> ids = np.array([7, 8])
    >>> bool(task_keys(0, ids, ids)[1] == task_keys(0, ids[1:], ids[1:])[0])
    True
    """
    keys = np.empty(len(collection_id), np.uint64)
    # Python's `%` is never negative, so a seed of −1 is as good as any.
    _mix_ids(
        np.uint64(seed % 2**64),
        collection_id.astype(np.uint64),
        instance_index.astype(np.uint64),
        keys,
    )
    return keys
