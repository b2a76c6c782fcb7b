"""Random numbers by counter: a value depends on its key alone, never on who asked first.

Every random quantity of a synthetic trace is a hash of (seed, purpose, owner, time).  A part, a block
or a task can therefore be generated alone, in any order and on any number of processes, and the
bytes stay the same.  The mixer is that of SplitMix64 (:mod:`borgtrace.kernels.hashing`).
"""

import hashlib
import random

import numpy as np

from borgtrace.kernels.compiled import compiled
from borgtrace.kernels.hashing import GOLDEN, MIX_2, finalized

_TO_UNIT = 2.0**-53


@compiled(inline=True)
def mix(key: np.uint64, word: np.uint64) -> np.uint64:
    """Return a 64-bit hash of a key and one more word."""
    return finalized(key ^ (word * GOLDEN + MIX_2))


@compiled(inline=True)
def unit(bits: np.uint64) -> float:
    """Return the uniform number in the open interval (0, 1) that 64 random bits stand for."""
    # 53 bits, half a step away from both ends: logarithms and normal scores of it are finite.
    upper_bits = bits >> np.uint64(11)
    return (float(upper_bits) + 0.5) * _TO_UNIT


def key(seed: int, *words: str | int) -> int:
    """Return a 64-bit key for a purpose, from a seed and names or numbers.

    Examples
    --------
    >>> key(1, "usage") == key(1, "usage"), key(1, "usage") == key(2, "usage")
    (True, False)
    """
    # A separator that no name contains: ("a", "bc") and ("ab", "c") must be different keys.
    parts = [str(int(seed)), *map(str, words)]
    text = "\x1f".join(parts)
    digest = hashlib.blake2b(text.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little")


def generator(seed: int, *words: str | int) -> np.random.Generator:
    """Return a separate NumPy generator for one purpose.

    Examples
    --------
    >>> a, b = generator(1, "jobs"), generator(1, "jobs")
    >>> bool(a.random() == b.random())
    True
    """
    # Named, not `default_rng`, whose generator NumPy may change: a seed must give the same trace forever.
    bits = np.random.PCG64(key(seed, *words))
    return np.random.Generator(bits)


def python_random(seed: int, *words: str | int) -> random.Random:
    """Return a separate generator of Python's own for one purpose: single draws from it are faster than NumPy's."""
    own_seed = generator(seed, *words).integers(2**62)
    return random.Random(int(own_seed))
