"""The contract of a peak policy, on machines that are made up."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from borgtrace.kernels.arrays import Flags, Index, Numbers
from borgtrace.overcommit import MachineBlock, PeakPolicy, Samples
from borgtrace.overcommit.policies.registry import POLICY_KINDS, is_policy
from borgtrace.testing.named_rules import check_label, made
from borgtrace.testing.trial import Trials, check_words, same_bytes

_SLOTS = 40
_TASKS = 6
_ROUNDING = 1e-9
_FAR_FROM_LIMITS = 20
"""A peak of so many times the limits of the tasks is in another unit: percent, or cores."""


def check_policy(policy: PeakPolicy | type[PeakPolicy]) -> None:
    """Check that a peak policy keeps its contract; this needs no store.

    It predicts a finite number for each slot of any machine: of one without tasks, one slot or one task, unmeasured
    tasks, usage above limits.  It predicts the same again, does not look ahead, leaves its input as it is, prints
    nothing, and predicts fractions of the largest machine.

    Parameters
    ----------
    policy
        An object, or a class whose parameters have defaults.

    Raises
    ------
    ContractError
        An AssertionError with every failure at once, one sentence each.

    Examples
    --------
    >>> from borgtrace.overcommit import parse_policy
    >>> check_policy(parse_policy("nsigma:n=3"))
    """
    trials = Trials()
    check_words(trials, policy)
    name = str(getattr(policy, "name", None) or policy)
    instance = made(trials, policy, is_policy, POLICY_KINDS.wanted)
    if instance is not None:
        check_label(trials, instance)
        for where, block in machines():
            _check_machine(trials, instance, where, block)
        # Whatever is wrong on one machine shows here, too.
        if not trials.failures:
            _check_order(trials, instance)
        _check_unit(trials, instance)
    trials.raise_all(name)


def _check_machine(trials: Trials, policy: PeakPolicy, where: str, block: MachineBlock) -> None:
    """Check what a policy predicts for one machine."""
    peak = predicted(trials, policy, where, block)
    if peak is None:
        return
    again = predicted(trials, policy, where, fresh(block))
    if again is not None and not same_bytes(peak, again):
        trials.add("it predicts other numbers when it is asked again", where)
        return
    if (peak < 0).any():
        trials.add("it predicts a negative peak", where)
    for position in {len(peak) // 3, 2 * len(peak) // 3} - {0}:
        last = int(block.slots[position - 1])
        earlier = predicted(trials, policy, where, until(block, last))
        # Sums of other lengths are rounded otherwise.
        if earlier is not None and not np.allclose(peak[:position], earlier, _ROUNDING, _ROUNDING):
            trials.add("it looks ahead: earlier peaks change with what comes later", where)
            return


def _check_order(trials: Trials, policy: PeakPolicy) -> None:
    """Check that what a policy predicts for a machine does not depend on the machine before."""
    (where, first), (_, second), *_ = [item for item in machines() if len(item[1].slots) == _SLOTS]
    alone = predicted(trials, policy, where, fresh(first))
    predicted(trials, policy, where, fresh(second))
    after_another = predicted(trials, policy, where, fresh(first))
    if alone is None or after_another is None:
        return
    if not same_bytes(alone, after_another):
        trials.add("what it predicts for a machine depends on the machines before: keep no state")


def _check_unit(trials: Trials, policy: PeakPolicy) -> None:
    for where, block in machines():
        peak = predicted(trials, policy, where, block)
        if where == ORDINARY and peak is not None:
            most = float(np.median(peak / block.limits))
            if most > _FAR_FROM_LIMITS:
                trials.add(
                    f"it predicts {most:,.0f} times the limits of the tasks: peaks are fractions of the "
                    "largest machine, as usage and limits are"
                )


def predicted(
    trials: Trials, policy: PeakPolicy, where: str, block: MachineBlock
) -> Numbers | None:
    """Return what a policy predicts for a machine; None where it fails."""
    samples = block.all
    inputs = [
        samples.task,
        samples.slot,
        samples.usage,
        samples.limit,
        block.is_known,
        block.capacity,
    ]

    def predict() -> Numbers:
        prediction = policy.checked(policy.predict(block), len(block.slots))
        return np.asarray(prediction.peak, np.float64)

    peak: Numbers | None = trials.call(where, predict, inputs)
    return peak


ORDINARY = "on a machine with a few tasks"


def machines() -> Iterator[tuple[str, MachineBlock]]:
    """Yield machines, each with where a sentence says that something went wrong."""
    rng = np.random.default_rng(0)
    task = np.repeat(np.arange(_TASKS), _SLOTS)
    slot = np.tile(np.arange(_SLOTS), _TASKS)
    limit = np.repeat(rng.uniform(0.02, 0.1, _TASKS), _SLOTS)
    usage = limit * rng.uniform(0.1, 0.9, len(task))
    everywhere = np.ones(len(task), np.bool_)
    yield ORDINARY, block_of(task, slot, usage, limit)
    yield "on a machine with tasks above their limits", block_of(task, slot, 3 * limit, limit)
    yield (
        "on a machine with windows that were not measured",
        block_of(task, slot, usage, limit, is_known=rng.random(len(task)) < 0.5),
    )
    yield (
        "on a machine of which nothing was measured",
        block_of(task, slot, usage, limit, is_known=~everywhere),
    )
    yield "on a machine whose tasks use nothing", block_of(task, slot, 0 * usage, limit)
    some = rng.random(len(task)) < 0.3
    yield (
        "on a machine with gaps between its slots",
        block_of(task[some], slot[some], usage[some], limit[some]),
    )
    one = np.arange(len(task)) < 1
    yield (
        "on a machine with one task in one slot",
        block_of(task[one], slot[one], usage[one], limit[one]),
    )
    yield (
        "on a machine without tasks",
        block_of(task[:0], slot[:0], usage[:0], limit[:0]),
    )


def block_of(
    task: Index,
    slot: Index,
    usage: Numbers,
    limit: Numbers,
    is_known: Flags | None = None,
) -> MachineBlock:
    """Return a machine of some samples, of which all were measured where nothing else is said."""
    known = np.ones(len(task), np.bool_) if is_known is None else is_known
    samples = Samples(
        task=task.astype(np.int64),
        slot=slot.astype(np.int64),
        usage=np.where(known, usage, 0.0),
        limit=limit.astype(np.float64),
    )
    n_tasks = int(task.max()) + 1 if len(task) else 0
    return MachineBlock(
        all=samples,
        is_known=known,
        priority=np.zeros(len(task), np.int64),
        identity=np.arange(n_tasks),
        n_slots=_SLOTS,
        capacity=np.ones(len(samples.slots)),
    )


def fresh(block: MachineBlock) -> MachineBlock:
    """Return the same machine without what was predicted for it."""
    samples = block.all
    return block_of(
        samples.task.copy(),
        samples.slot.copy(),
        samples.usage.copy(),
        samples.limit.copy(),
        is_known=block.is_known.copy(),
    )


def until(block: MachineBlock, last: int) -> MachineBlock:
    """Return a machine as it was at the end of a slot; its tasks keep their numbers."""
    samples = block.all
    seen = samples.slot <= last
    return block_of(
        samples.task[seen],
        samples.slot[seen],
        samples.usage[seen],
        samples.limit[seen],
        is_known=block.is_known[seen],
    )
