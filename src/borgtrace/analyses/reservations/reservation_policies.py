"""Replay reservation policies over the usage of tasks, in compiled code."""

from typing import NamedTuple

import numpy as np

from borgtrace.kernels.arrays import Index, Numbers
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
GAP = 300
"""Seconds without a window after which a task starts over: its history is lost."""
HIGHEST_INCREASE = 1000
"""Larger increases count as this one, %."""
N_INCREASES = HIGHEST_INCREASE + 1
MOST_PENDING = 4096
"""Windows whose sums are whole numbers in floats: exact below 2⁵³, with up to 7,000 largest machines in use."""


class LimitedWindows(NamedTuple):
    """Windows of one resource, sorted by task and time; shape (n,) each.

    Attributes
    ----------
    task, machine
        Numbers of the task and of the machine.
    start, seconds
        Start and length, s.
    usage, limit
        Usage and limit of the task. Without either, or with a limit of nothing, no part of it could be reclaimed: such
        windows are left out.
    group
        The group in which each window counts.
    """

    task: Index
    machine: Index
    start: Index
    seconds: Index
    usage: Numbers
    limit: Numbers
    group: Index


@compiled()
def count_increases(windows: LimitedWindows, n_groups: int) -> Index:
    """Add up the seconds of windows by group and increase over the window before in the same run, in whole percent.

    Parameters
    ----------
    windows
        Of a resource.
    n_groups
        How many groups there are.

    Returns
    -------
    ndarray of shape (n_groups, N_INCREASES)
    """
    counts = np.zeros((n_groups, N_INCREASES), np.int64)
    last = -1
    for i in range(windows.usage.size):
        if not _is_limited(windows, i):
            continue
        if _follows(windows, last, i):
            before = windows.usage[last]
            if before != 0.0:
                percent = (windows.usage[i] - before) * 100.0 / before
            else:
                # From 0 to something no finite margin is enough; from 0 to 0 none is needed.
                percent = float(HIGHEST_INCREASE) if windows.usage[i] > 0.0 else 0.0
            whole_percent = int(np.ceil(min(max(percent, 0.0), float(HIGHEST_INCREASE))))
            counts[windows.group[i], whole_percent] += windows.seconds[i]
        last = i
    return counts


def replay(
    windows: LimitedWindows,
    n_groups: int,
    policy: Index,
    margin: Numbers,
    half_life: float,
) -> Index:
    """Replay every policy over the windows of many tasks.

    Parameters
    ----------
    windows
        Of a resource.
    n_groups
        How many groups there are.
    policy, margin
        Policies (`LIMIT`, `PREVIOUS`, `BORG`) of shape (p,), and their margins of shape (p, n_groups).
    half_life
        Seconds in which the distance of `BORG` to its target halves.

    Returns
    -------
    ndarray of shape (p, n_groups, N_SUMS)
        Sums of integers, the same whatever the order of blocks.
    """
    # Policies of one kind side by side: the same arithmetic for all of them at once.
    order = np.argsort(policy, kind="stable")
    firsts = np.searchsorted(policy[order], [LIMIT, PREVIOUS, BORG, BORG + 1])
    factor = np.ascontiguousarray((1.0 + margin.T)[:, order])
    sums = np.zeros((n_groups, policy.size, N_SUMS), np.int64)
    # These are the same under every policy: added up once.
    common = np.zeros((n_groups, N_SUMS), np.int64)
    _add_windows(windows, firsts, factor, half_life, sums, common)
    # Outside of compiled code: arithmetic of whole arrays takes seconds to compile.
    sums += common[:, np.newaxis]
    sums_in_order_of_policies = np.empty_like(sums)
    sums_in_order_of_policies[:, order] = sums
    return sums_in_order_of_policies.transpose(1, 0, 2)


@compiled()
def _add_windows(
    windows: LimitedWindows,
    firsts: Index,
    factor: Numbers,
    half_life: float,
    sums: Index,
    common: Index,
) -> None:
    """Add the windows to `sums`, and to `common` what they add under every policy.

    `firsts` are the first policies of each kind, and how many there are; `factor` is 1 + margin, shape (n_groups, p);
    the rest is as in :func:`replay`.
    """
    n_policies = factor.shape[1]
    # The reservation of each policy depends on the one before.
    reserved = np.zeros(n_policies)
    # Sums of the windows since the last one was added to `sums`: whole numbers, of each policy and of each kind.
    pending = np.zeros((N_SUMS, n_policies))
    pending_of_kind = np.zeros((N_SUMS, 3))
    n_pending = 0
    pending_group = 0
    last = -1
    start_of_run = 0
    for i in range(windows.usage.size):
        if not _is_limited(windows, i):
            continue
        group = windows.group[i]
        if n_pending == MOST_PENDING or group != pending_group:
            _add_pending(pending, pending_of_kind, firsts, sums[pending_group])
            n_pending = 0
        pending_group = group
        n_pending += 1
        usage = windows.usage[i]
        limit = windows.limit[i]
        seconds = windows.seconds[i]
        common[group, LIMITED] += scaled(limit) * seconds
        common[group, USED] += scaled(usage) * seconds
        common[group, SECONDS] += seconds
        if usage > limit:
            common[group, ABOVE_LIMIT] += seconds
        follows = _follows(windows, last, i)
        if not follows:
            start_of_run = windows.start[i]
        # The first window of a run has its limit, and with Borg all do until the task is warm.
        is_warm = windows.start[i] - start_of_run >= WARM_UP
        _add_at_limit(pending_of_kind[:, LIMIT], usage, limit, seconds)
        if follows:
            pending_of_kind[UNDER_MARGIN, PREVIOUS] += seconds
            for k in range(firsts[PREVIOUS], firsts[BORG]):
                target = windows.usage[last] * factor[group, k]
                _add_under_margin(pending, k, usage, limit, target, seconds)
        else:
            _add_at_limit(pending_of_kind[:, PREVIOUS], usage, limit, seconds)
        if is_warm:
            pending_of_kind[UNDER_MARGIN, BORG] += seconds
            # Once for all policies: a power takes longer than all the rest of one.
            fading = 0.5 ** (float(windows.start[i] - windows.start[last]) / half_life)
            for k in range(firsts[BORG], firsts[BORG + 1]):
                target = windows.usage[last] * factor[group, k]
                # Rise to the target at once, but sink toward it by half in every half-life.
                faded = target + (reserved[k] - target) * fading
                uncapped = faded if target < reserved[k] else target
                reserved[k] = _add_under_margin(pending, k, usage, limit, uncapped, seconds)
        else:
            _add_at_limit(pending_of_kind[:, BORG], usage, limit, seconds)
            reserved[:] = limit
        last = i
    _add_pending(pending, pending_of_kind, firsts, sums[pending_group])


@compiled(inline=True)
def _is_limited(windows: LimitedWindows, i: int) -> bool:
    """Return whether a window has usage and a limit of something."""
    # A limit that is NaN is not at least anything.
    return not np.isnan(windows.usage[i]) and windows.limit[i] >= LEAST


@compiled(inline=True)
def _follows(windows: LimitedWindows, last: int, i: int) -> bool:
    """Return whether a window follows the last one in the same run of the same task."""
    if last < 0 or windows.task[i] != windows.task[last]:
        return False
    # A gap means that the task was away, or that its records are missing: either way the past is no guide.
    end = windows.start[last] + windows.seconds[last]
    return windows.machine[i] == windows.machine[last] and windows.start[i] - end < GAP


@compiled(inline=True)
def _add_under_margin(
    pending: Numbers, k: int, usage: float, limit: float, uncapped: float, seconds: int
) -> float:
    """Add a window that a margin decides to the sums of policy k, and return what it reserves."""
    reserved = min(limit, uncapped)
    # No branches, and whole numbers as floats: so the compiler does several policies at once.
    pending[RESERVED, k] += np.floor(reserved * ONE + 0.5) * seconds
    pending[VIOLATED, k] += seconds if usage > reserved else 0.0
    overload = np.floor((usage - reserved) * ONE + 0.5) * seconds
    pending[OVERLOAD, k] += overload if usage > reserved else 0.0
    pending[ABOVE_MARGIN, k] += seconds if usage > uncapped else 0.0
    return reserved


@compiled(inline=True)
def _add_at_limit(pending: Numbers, usage: float, limit: float, seconds: int) -> None:
    """Add a window that has its limit to the sums of a kind of policies."""
    pending[RESERVED] += scaled(limit) * seconds
    if usage > limit:
        pending[VIOLATED] += seconds
        pending[OVERLOAD] += scaled(usage - limit) * seconds


@compiled()
def _add_pending(pending: Numbers, pending_of_kind: Numbers, firsts: Index, sums: Index) -> None:
    """Add what is pending to the sums of a group, and begin anew."""
    for kind in range(3):
        for k in range(firsts[kind], firsts[kind + 1]):
            for j in range(N_SUMS):
                sums[k, j] += int(pending[j, k]) + int(pending_of_kind[j, kind])
    pending[:] = 0.0
    pending_of_kind[:] = 0.0


@compiled(inline=True)
def scaled(value: float) -> int:
    """Round a resource to a whole number of 2⁻²⁰."""
    # Half upwards, as in `windows.fixed`: Python rounds halves to even.
    return int(np.floor(value * ONE + 0.5))
