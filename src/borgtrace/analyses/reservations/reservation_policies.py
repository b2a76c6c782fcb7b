"""Replay reservation policies over the usage of tasks, in compiled code."""

import numpy as np
from numpy.typing import NDArray

from borgtrace.kernels.compiled import compiled

LIMIT = 0
"""The policy that reserves the whole limit."""
PREVIOUS = 1
"""The policy that reserves the previous usage plus a margin."""
BORG = 2
"""The policy whose reservation decays from the limit toward previous usage plus a margin."""
N_SUMS = 9
(
    RESERVED,
    LIMITED,
    USED,
    OVERLOAD,
    SECONDS,
    VIOLATED,
    ABOVE_LIMIT,
    UNDER_MARGIN,
    ABOVE_MARGIN,
) = range(N_SUMS)
"""Columns of the sums: reservation, limit, usage and usage over the reservation (2⁻²⁰ s each); time, time in violation,
time with usage above the limit, time for which a margin decides, and time with usage above past usage and margin (s).
"""
ONE = float(2**20)
LEAST = 0.5 / ONE
"""Smaller requests are rounded to nothing."""
WARM_UP = 300
"""Seconds for which Borg leaves a task its limit (Verma et al., §5.5)."""


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
        Usage and limit of the task, without NaN.
    group, n_groups
        The group in which each window counts, shape (n,), and how many groups there are.
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
    # These are the same under every policy: added up once.
    common = np.zeros((n_groups, N_SUMS), dtype=np.int64)
    factor = np.ascontiguousarray(1.0 + margin.T)
    windows = (continues, start, seconds, usage, limit, group)
    _add_windows(*windows, policy, factor, half_life, sums, common)
    # Outside of compiled code: arithmetic of whole arrays takes seconds to compile.
    sums += common[:, np.newaxis]
    return sums.transpose(1, 0, 2)


@compiled()
def _add_windows(
    continues: NDArray[np.bool_],
    start: NDArray[np.int64],
    seconds: NDArray[np.int64],
    usage: NDArray[np.float64],
    limit: NDArray[np.float64],
    group: NDArray[np.int64],
    policy: NDArray[np.int64],
    factor: NDArray[np.float64],
    half_life: float,
    sums: NDArray[np.int64],
    common: NDArray[np.int64],
) -> None:
    """Add the windows to `sums`, and to `common` what they add under every policy.

    `factor` is 1 + margin, of shape (n_groups, p); the rest is as in :func:`replay`.
    """
    # The reservation of each policy depends on the one before.
    reserved = np.zeros(policy.size)
    start_of_run = 0
    for i in range(usage.size):
        g = group[i]
        is_first = not continues[i]
        if is_first:
            start_of_run = start[i]
        # The first window of all begins a run (`continues[0]` is false), so `i - 1` is never −1.
        previous_usage = 0.0 if is_first else usage[i - 1]
        is_warm = start[i] - start_of_run >= WARM_UP
        fading = 1.0
        if is_warm:
            # Once for all policies: a power takes longer than all the rest of one.
            fading = 0.5 ** (float(start[i] - start[i - 1]) / half_life)
        # Integers, so that blocks add up to the same sum in any order.
        common[g, LIMITED] += scaled(limit[i]) * seconds[i]
        common[g, USED] += scaled(usage[i]) * seconds[i]
        common[g, SECONDS] += seconds[i]
        if usage[i] > limit[i]:
            common[g, ABOVE_LIMIT] += seconds[i]
        for k in range(policy.size):
            kind = _policy_in_force(policy[k], is_first, is_warm)
            target = previous_usage * factor[g, k]
            uncapped = reservation(kind, limit[i], target, reserved[k], fading)
            reserved[k] = min(limit[i], uncapped)
            # Indexed one by one: a view of the sums would take as long as all the rest.
            sums[g, k, RESERVED] += scaled(reserved[k]) * seconds[i]
            if usage[i] > reserved[k]:
                sums[g, k, VIOLATED] += seconds[i]
                sums[g, k, OVERLOAD] += scaled(usage[i] - reserved[k]) * seconds[i]
            if kind != LIMIT:
                sums[g, k, UNDER_MARGIN] += seconds[i]
                if usage[i] > uncapped:
                    sums[g, k, ABOVE_MARGIN] += seconds[i]


@compiled(inline=True)
def _policy_in_force(policy: int, is_first: bool, is_warm: bool) -> int:
    """Return the policy of a window: the first of a run has its limit, and with Borg all do until it is warm."""
    reserves_limit = is_first or (policy == BORG and not is_warm)
    return LIMIT if reserves_limit else policy


@compiled(inline=True)
def reservation(policy: int, limit: float, target: float, reserved: float, fading: float) -> float:
    """Return what a policy would reserve next, after it has `reserved`, if it could exceed the limit."""
    if policy == LIMIT:
        return limit
    # Rise to the target at once, but sink toward it by half in every half-life.
    if policy == BORG and target < reserved:
        target += (reserved - target) * fading
    return target


@compiled(inline=True)
def scaled(value: float) -> int:
    """Round a resource to a whole number of 2⁻²⁰."""
    # Half upwards, as in `windows.fixed`: Python rounds halves to even.
    return int(np.floor(value * ONE + 0.5))
