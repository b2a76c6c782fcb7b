"""Policies over the machines of a store: each machine is read once, in processes that share nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from borgtrace.engine.processes import map_processes
from borgtrace.kernels.arrays import Index, Numbers
from borgtrace.lifecycle.by_machine import MachineUsage
from borgtrace.overcommit.block import Block, Samples
from borgtrace.overcommit.metrics import scores
from borgtrace.overcommit.policies import Policy, Prediction
from borgtrace.overcommit.priorities import priorities
from borgtrace.question import Tables
from borgtrace.question.store_question import Report
from borgtrace.schema import Dialect
from borgtrace.schema.time import AFTER_TRACE, TRACE_START, WINDOW

RESOURCES = ("cpu", "memory")
_PER_CALL = 8
"""Machines that a process takes at a time: few enough that the last ones do not wait for one process."""
Score = Callable[[Block, int, Sequence[Prediction]], npt.NDArray[Any]]
"""From a machine, the horizon in slots and the prediction of each policy to what is kept of them."""


@dataclass(frozen=True, eq=False)
class Capacities:
    """What machines were, from each of their events on; columns of shape (events,), sorted by machine and time."""

    machine: Index
    time: Index
    cpu: Numbers
    memory: Numbers

    @classmethod
    def of(cls, tables: Tables) -> Capacities:
        """Read the capacities of all machines; NaN while one is away, or where none is published."""
        events = tables.machine_events
        columns = ("machine_id", "time", "type", "cpu_capacity", "memory_capacity")
        rows = tables.fetch(
            events.order_by(
                [
                    "machine_id",
                    "time",
                    "source_part",
                    "source_row",
                ]
            ).select(*columns)
        )
        away = rows["type"].to_numpy() == "REMOVE"
        found = (rows[f"{name}_capacity"].to_numpy().astype(np.float64) for name in RESOURCES)
        cpu, memory = (np.where(away, np.nan, values) for values in found)
        return cls(rows["machine_id"].to_numpy(), rows["time"].to_numpy(), cpu, memory)

    def at(self, machine: int, slots: Index, resource: str) -> Numbers:
        """Return the capacity of a machine at the end of some slots: float64, NaN where it is not known."""
        low, high = np.searchsorted(self.machine, [machine, machine + 1])
        found = np.append(getattr(self, resource)[low:high], np.nan)
        ends = TRACE_START + (slots + 1) * WINDOW
        # −1, before the first event, takes the NaN at the end.
        return found[np.searchsorted(self.time[low:high], np.minimum(ends, AFTER_TRACE - 1)) - 1]

    def shape(self, machine: int) -> str:
        """Return the last published capacities of a machine as text."""
        low, high = np.searchsorted(self.machine, [machine, machine + 1])
        known = np.flatnonzero(~np.isnan(self.cpu[low:high])) + low
        return (
            f"CPU {self.cpu[known[-1]]:.3g}, memory {self.memory[known[-1]]:.3g}"
            if len(known)
            else "unknown"
        )


@dataclass(frozen=True, eq=False)
class Cell:
    """What a replay reads.

    Attributes
    ----------
    usage
        Usage by machine.
    capacities
        Of the machines.
    dialect
        Format of the trace; names the tiers.
    is_capped
        Whether policies see usage as at most the limit of its slot.
    is_literal
        Whether history is kept as Google's simulator does: lost where a task misses a slot, without the slots in which
        nothing ran on the machine.
    pools
        What policies know beyond a machine's past, by resource and name.
    """

    usage: MachineUsage
    capacities: Capacities
    dialect: Dialect
    is_capped: bool = True
    is_literal: bool = False
    pools: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def block(self, place: int, resource: str) -> Block:
        """Return one machine and resource.

        Parameters
        ----------
        place
            Position among the machines of the usage.
        resource
            ``"cpu"`` or ``"memory"``.
        """
        rows = self.usage.rows(place)
        terms = self.usage.terms
        # A term lasts for many rows: what is said of it is read once, and repeated.
        first = np.append(0, np.flatnonzero(rows["term"][1:] != rows["term"][:-1]) + 1)
        held = terms[rows["term"][first]]
        n = np.diff(np.append(first, len(rows)))
        # What has no limit cannot be overcommitted.
        has_limit = ~np.isnan(held[resource])
        kept = np.repeat(has_limit, n)
        held = held[has_limit]
        n = n[has_limit]
        identity, task = np.unique(held["task"].astype(np.int64), return_inverse=True)
        value = rows[resource][kept].astype(np.float64)
        slot = rows["slot"][kept].astype(np.int64)
        is_known = ~np.isnan(value)
        limit = np.repeat(held[resource].astype(np.float64), n)
        every = Samples(np.repeat(task, n), slot, np.where(is_known, value, 0.0), limit)
        capacity = self.capacities.at(int(self.usage.machines[place]), every.slots, resource)
        priority = np.repeat(held["priority"].astype(np.int64), n)
        n_slots = int(self.usage.facts["n_slots"])
        given = every, is_known, priority, identity, n_slots, capacity, resource
        block = Block(*given, self.pools.get(resource, {}))
        return block.without_gaps() if self.is_literal else block

    def seen(self, block: Block) -> Block:
        """Return a block as policies see it: with capped usage, and with the memory of Google's simulator."""
        seen = block.capped() if self.is_capped else block
        return seen.forgetful() if self.is_literal else seen


@dataclass(frozen=True, eq=False)
class Part:
    """A part of a cell on which policies are judged.

    Attributes
    ----------
    cell
        What is replayed.
    tasks
        ``"all"``, ``"high"`` or a tier: the tasks that are predicted, and that count.
    resource
        ``"cpu"`` or ``"memory"``.
    places
        Machines, by their position.
    jobs
        Processes.
    report
        Called with the step, machines done, and how many there are.
    """

    cell: Cell
    tasks: str
    resource: str
    places: Sequence[int]
    jobs: int
    report: Report

    def replay(
        self, policies: Sequence[Policy], horizon: int, score: Score = scores
    ) -> npt.NDArray[Any]:
        """Judge policies on the machines.

        Parameters
        ----------
        policies
            What predicts.
        horizon
            Slots to come whose peak is predicted.
        score
            What is kept of a machine: a function of a module, since processes are handed its name.

        Returns
        -------
        ndarray
            What `score` returns, one entry for each machine.
        """
        chosen = priorities(self.cell.dialect, self.tasks)
        judge = partial(_judged, self.cell, tuple(policies), chosen, self.resource, horizon, score)
        calls = [self.places[at : at + _PER_CALL] for at in range(0, len(self.places), _PER_CALL)]
        found: list[npt.NDArray[Any]] = []
        for judged in map_processes(judge, calls, self.jobs, place=str(self.cell.usage.folder)):
            found.append(judged)
            self.report(
                f"replaying {self.resource} of {self.tasks} tasks",
                sum(map(len, found)),
                len(self.places),
            )
        return np.concatenate(found)


def _judged(
    cell: Cell,
    policies: Sequence[Policy],
    chosen: tuple[int, int],
    resource: str,
    horizon: int,
    score: Score,
    places: Sequence[int],
) -> npt.NDArray[Any]:
    found = []
    for place in places:
        block = cell.block(place, resource).of_priorities(*chosen)
        seen = cell.seen(block)
        found.append(score(block, horizon, [policy.predicted(seen) for policy in policies]))
    return np.stack(found)
