"""The arrays that replays use, for loops of one's own: usage by machine, as it is mapped, and block by block."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import overload

from borgtrace.errors import check_names
from borgtrace.kernels.arrays import Index
from borgtrace.lifecycle.by_machine import Rows
from borgtrace.overcommit.block import MachineBlock
from borgtrace.overcommit.options import ReplayOptions
from borgtrace.overcommit.priorities import PriorityRange, priorities
from borgtrace.overcommit.replay import RESOURCES, ReplayInput
from borgtrace.overcommit.replay_question import open_replay
from borgtrace.question import EngineTables
from borgtrace.question.store_question import Report, no_report
from borgtrace.store import Store


@dataclass(frozen=True, eq=False)
class MachineBlocks(Sequence[MachineBlock]):
    """Usage and limits of tasks by machine: ``blocks[k]`` is that of the machine with the id ``machines[k]``.

    A block is made when it is asked for.  `rows` and `terms` are the arrays behind it, mapped into memory: nothing is
    copied, and they are read-only.

    Attributes
    ----------
    input
        What a replay of the store reads.
    resource
        ``"cpu"`` or ``"memory"``: of blocks; rows have both.
    chosen
        Priorities of the tasks that blocks have.
    """

    input: ReplayInput
    resource: str
    chosen: PriorityRange

    @property
    def machines(self) -> Index:
        """Ids of the machines, ascending: int64 (machines,)."""
        return self.input.usage.machines

    @property
    def n_slots(self) -> int:
        """Slots of 300 s from the beginning of the trace; slot 0 begins at 600 s of the trace's clock."""
        return int(self.input.usage.facts["n_slots"])

    @property
    def terms(self) -> Rows:
        """What is promised to tasks: structured (terms,), sorted by task and time.

        Fields ``task`` (uint32: position in the store's table of tasks), ``time`` (int64, µs: from when on), ``cpu``
        and ``memory`` (float32: limits as fractions of the largest machine, NaN for none) and ``priority`` (int16).
        """
        return self.input.usage.terms

    def rows(self, place: int) -> Rows:
        """Return what tasks used on a machine: structured (rows,), sorted by task and slot.

        Fields ``term`` (uint32: place in `terms`), ``slot`` (int32), ``cpu`` and ``memory`` (float32: usage as
        fractions of the largest machine, NaN where a task ran and was not measured).

        Parameters
        ----------
        place
            Position of the machine in `machines`.
        """
        return self.input.usage.rows(place)

    def __len__(self) -> int:
        return len(self.machines)

    @overload
    def __getitem__(self, place: int) -> MachineBlock: ...

    @overload
    def __getitem__(self, place: slice) -> list[MachineBlock]: ...

    def __getitem__(self, place: int | slice) -> MachineBlock | list[MachineBlock]:
        """Return the block of a machine, or those of several."""
        if isinstance(place, slice):
            return [self[k] for k in range(*place.indices(len(self)))]
        position = range(len(self))[place]
        block = self.input.block(position, self.resource)
        return block.of_priorities(self.chosen.lowest, self.chosen.highest)


def machine_blocks(
    store: Store,
    resource: str = "cpu",
    *,
    tasks: str = "all",
    metric: str = "",
    report: Report = no_report,
) -> MachineBlocks:
    """Return usage and limits by machine, as replays of overcommit policies use them.

    Parameters
    ----------
    store
        An open store.
    resource
        ``"cpu"`` or ``"memory"``.
    tasks
        ``"all"``, ``"high"`` (high priority) or a tier.
    metric
        What is taken as usage, such as ``"maximum_cpu"``; the default of the trace's format where empty.
    report
        Told the step, how much of it is done, and how much there is.

    Raises
    ------
    UsageError
        For an unknown resource, tier or metric.

    Notes
    -----
    Usage is sorted by machine once, and kept beside the store; then this takes milliseconds.
    """
    check_names("resource", [resource], RESOURCES)
    options = ReplayOptions(policies=("limit",), resources=(resource,))
    if metric:
        options = replace(options, metrics=(metric,))
    tables = EngineTables.of(store, None, memory=store.memory)
    replay_input = open_replay(store, tables, options, report)
    return MachineBlocks(replay_input, resource, priorities(replay_input.dialect, tasks))
