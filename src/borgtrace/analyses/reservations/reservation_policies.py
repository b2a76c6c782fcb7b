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


MAGIC = 1.5 * 2.0**52
"""Whole numbers up to 2⁵¹ added to this are its last binary digits."""
MAGIC_DIGITS = int(np.float64(MAGIC).view(np.int64))


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


class FollowingWindows(NamedTuple):
    """Windows that follow another one in a run, and wait for the policies `PREVIOUS`; shape (`MOST_PENDING`,) each.

    Attributes
    ----------
    base
        Usage of the window before.
    usage, limit, seconds
        Usage, limit and length.
    """

    base: Numbers
    usage: Numbers
    limit: Numbers
    seconds: Index


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
    following = FollowingWindows(
        base=np.empty(MOST_PENDING),
        usage=np.empty(MOST_PENDING),
        limit=np.empty(MOST_PENDING),
        seconds=np.empty(MOST_PENDING, np.int64),
    )
    _add_previous(windows, firsts, factor, following, sums)
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
    """Add the windows to `sums`, and to `common` what they add under every policy; `_add_previous` does the rest.

    `firsts` are the first policies of each kind, and how many there are; `factor` is 1 + margin, shape (n_groups, p);
    the rest is as in :func:`replay`.
    """
    n_policies = factor.shape[1]
    seconds_faded = 0
    fading = 1.0
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
        else:
            _add_at_limit(pending_of_kind[:, PREVIOUS], usage, limit, seconds)
        if is_warm:
            pending_of_kind[UNDER_MARGIN, BORG] += seconds
            # Once for all policies and windows of one length: a power takes longer than all the rest of a policy.
            if windows.start[i] - windows.start[last] != seconds_faded:
                seconds_faded = windows.start[i] - windows.start[last]
                fading = 0.5 ** (float(seconds_faded) / half_life)
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


@compiled(makes_arrays=False)
def _add_previous(
    windows: LimitedWindows,
    firsts: Index,
    factor: Numbers,
    following: FollowingWindows,
    sums: Index,
) -> None:
    """Add the windows whose margin decides under the policies `PREVIOUS`; `following` is room for some of them."""
    n_following = 0
    group = 0
    last = -1
    for i in range(windows.usage.size):
        if not _is_limited(windows, i):
            continue
        if n_following == MOST_PENDING or windows.group[i] != group:
            _add_following(following, n_following, firsts, factor[group], sums[group])
            n_following = 0
        group = windows.group[i]
        if _follows(windows, last, i):
            following.base[n_following] = windows.usage[last]
            following.usage[n_following] = windows.usage[i]
            following.limit[n_following] = windows.limit[i]
            following.seconds[n_following] = windows.seconds[i]
            n_following += 1
        last = i
    _add_following(following, n_following, firsts, factor[group], sums[group])


@compiled(makes_arrays=False)
def _add_following(
    following: FollowingWindows, n: int, firsts: Index, factor: Numbers, sums: Index
) -> None:
    """Add the first n of some windows to the sums of the policies `PREVIOUS` of a group."""
    for k in range(firsts[PREVIOUS], firsts[BORG]):
        _add_windows_of_policy(
            following.base[:n],
            following.usage[:n],
            following.limit[:n],
            following.seconds[:n],
            factor[k],
            sums[k],
        )


@compiled(makes_arrays=False)
def _add_windows_of_policy(
    base: Numbers, usage: Numbers, limit: Numbers, seconds: Index, factor: float, sums: Index
) -> None:
    """Add windows to the sums of a policy that reserves `factor` times their base.

    A function of its own, over slices, without branches and with sums of integers: so the compiler does several windows
    at once.  A whole number below 2⁵¹ is turned into an integer by its digits behind `MAGIC`, as no instruction for
    several numbers does that on all processors.
    """
    reserved_sum = np.int64(0)
    overload_sum = np.int64(0)
    violated_sum = 0
    above_margin_sum = 0
    for i in range(base.size):
        uncapped = base[i] * factor
        reserved = uncapped if uncapped < limit[i] else limit[i]
        amount = np.floor(reserved * ONE + 0.5) * seconds[i]
        overload = np.floor((usage[i] - reserved) * ONE + 0.5) * seconds[i]
        overload = overload if usage[i] > reserved else 0.0
        reserved_sum += np.float64(amount + MAGIC).view(np.int64) - MAGIC_DIGITS
        overload_sum += np.float64(overload + MAGIC).view(np.int64) - MAGIC_DIGITS
        violated_sum += seconds[i] if usage[i] > reserved else 0
        above_margin_sum += seconds[i] if usage[i] > uncapped else 0
    sums[RESERVED] += reserved_sum
    sums[OVERLOAD] += overload_sum
    sums[VIOLATED] += violated_sum
    sums[ABOVE_MARGIN] += above_margin_sum


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
