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
    sums = np.zeros((n_groups, policy.size, N_SUMS), dtype=np.int64)
    # What is the same under every policy is added up once.
    common, factor = (
        np.zeros((n_groups, N_SUMS), dtype=np.int64),
        np.ascontiguousarray(1.0 + margin.T),
    )
    # What each policy reserves depends on what it reserved before.
    reserved, began = np.zeros(policy.size), 0
    for i in range(usage.size):
        of, is_first, is_warm, before, fading = group[i], not continues[i], False, 0.0, 1.0
        if is_first:
            began = start[i]
        else:
            # The first window of all continues nothing (`continues[0]` is false), so that `i - 1` is never −1.
            before = usage[i - 1]
            # Borg leaves a task its limit for the first 300 s (Verma et al., §5.5).
            is_warm = start[i] - began >= _WARM_UP
            # Once for all policies: a power takes longer than all the rest of one.
            fading = 0.5 ** (float(start[i] - start[i - 1]) / half_life) if is_warm else 1.0
        # Integers, so that blocks add up to the same sum in any order.
        common[of, LIMITED] += _scaled(limit[i]) * seconds[i]
        common[of, USED] += _scaled(usage[i]) * seconds[i]
        common[of, SECONDS] += seconds[i]
        for k in range(policy.size):
            kind = LIMIT if is_first or (policy[k] == BORG and not is_warm) else policy[k]
            reserved[k] = _reserved(kind, limit[i], before * factor[of, k], reserved[k], fading)
            # Indexed one by one: a view of the six sums would take as long as all the rest.
            sums[of, k, RESERVED] += _scaled(reserved[k]) * seconds[i]
            if usage[i] > reserved[k]:
                sums[of, k, VIOLATED] += seconds[i]
                sums[of, k, OVERLOAD] += _scaled(usage[i] - reserved[k]) * seconds[i]
    for k in range(policy.size):
        sums[:, k] += common
    return sums.transpose(1, 0, 2)


@compiled(inline=True)
def _reserved(policy: int, limit: float, target: float, reserved: float, fading: float) -> float:
    """Return what a policy reserves after it has `reserved`."""
    if policy == LIMIT:
        return limit
    # Rise to the target at once, sink toward it by half in every half-life.
    if policy == BORG and target < reserved:
        target += (reserved - target) * fading
    return min(limit, target)


@compiled(inline=True)
def _scaled(value: float) -> int:
    # Half upwards, as in `_windows.fixed`: Python rounds halves to even.
    return int(np.floor(value * _ONE + 0.5))
