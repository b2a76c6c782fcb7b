"""Replays of reservation policies over the usage of tasks."""

import numpy as np
from numpy.typing import NDArray

from borgtrace.kernels.compiled import compiled

LIMIT, PREVIOUS, BORG = 0, 1, 2
"""Policies: the whole limit; previous usage plus a margin; the limit that decays toward that."""
N_SUMS = 6
RESERVED, LIMITED, USED, OVERLOAD, SECONDS, VIOLATED = range(N_SUMS)
"""What is summed: reservation, limit, usage and usage over the reservation (2⁻²⁰ s each), time and time in
violation (s)."""
_ONE = float(2**20)
LEAST = 0.5 / _ONE
"""Smaller requests are rounded to nothing."""
_WARM_UP = 300


@compiled()
def replay(
    continues: NDArray[np.bool_],
    start: NDArray[np.int64],
    seconds: NDArray[np.int64],
    usage: NDArray[np.float64],
    limit: NDArray[np.float64],
    group: NDArray[np.int64],
    n_groups: int,
    policy: NDArray[np.int64],
    margin: NDArray[np.float64],
    half_life: float,
) -> NDArray[np.int64]:
    """Replay every policy over the windows of many tasks.

    Parameters
    ----------
    continues
        Whether a window follows the one before it in the same run of the same task; shape (n,).
    start, seconds
        Start and length of the windows, s.
    usage, limit
        What the task used and asked for, without NaN.
    group, n_groups
        What each window counts for.
    policy, margin
        Policies (`LIMIT`, `PREVIOUS`, `BORG`) of shape (p,), and their margins of shape (p, n_groups).
    half_life
        Seconds in which the distance of `BORG` to its target halves.

    Returns
    -------
    ndarray of shape (p, n_groups, N_SUMS)
        Sums of integers, the same whatever the order of blocks.
    """
    n = usage.size
    sums = np.zeros((policy.size, n_groups, N_SUMS), dtype=np.int64)
    # Each policy is replayed from the first window on: what it reserves depends on what it reserved before.
    for k in range(policy.size):
        reserved, began = 0.0, 0
        for i in range(n):
            if not continues[i]:
                began = start[i]
            # The first window of all continues nothing (`continues[0]` is false), so that `i - 1` below is never −1.
            if policy[k] == LIMIT or not continues[i]:
                reserved = limit[i]
            else:
                target = usage[i - 1] * (1.0 + margin[k, group[i]])
                if policy[k] == PREVIOUS:
                    reserved = min(limit[i], target)
                # Borg leaves a task its limit for the first 300 s (Verma et al., §5.5).
                elif start[i] - began < _WARM_UP:
                    reserved = limit[i]
                else:
                    passed = float(start[i] - start[i - 1])
                    reserved = min(limit[i], _decay(reserved, target, passed, half_life))
            cell = sums[k, group[i]]
            # Integers, so that blocks add up to the same sum in any order.
            cell[RESERVED] += _scaled(reserved) * seconds[i]
            cell[LIMITED] += _scaled(limit[i]) * seconds[i]
            cell[USED] += _scaled(usage[i]) * seconds[i]
            cell[SECONDS] += seconds[i]
            if usage[i] > reserved:
                cell[VIOLATED] += seconds[i]
                cell[OVERLOAD] += _scaled(usage[i] - reserved) * seconds[i]
    return sums


@compiled(inline=True)
def _scaled(value: float) -> int:
    # Half upwards, as in `_windows.fixed`: Python rounds halves to even.
    return int(np.floor(value * _ONE + 0.5))


@compiled(inline=True)
def _decay(reserved: float, target: float, passed: float, half_life: float) -> float:
    """Rise to the target at once, sink toward it by half in every half-life."""
    if target >= reserved:
        return target
    return target + (reserved - target) * 0.5 ** (passed / half_life)
