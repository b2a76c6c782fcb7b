"""Policies over the machines of a store: each machine is read once, by workers that share nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from borgtrace.engine import SparkTasks
from borgtrace.engine.packed_records import PackedRecords
from borgtrace.engine.spark_tasks import group_items
from borgtrace.engine.workers import map_workers
from borgtrace.kernels.arrays import Flags, Index, Numbers
from borgtrace.lifecycle.by_machine import MachineUsage
from borgtrace.overcommit.block import MachineBlock, Samples
from borgtrace.overcommit.metrics import scores
from borgtrace.overcommit.policies import PeakPolicy, Prediction
from borgtrace.overcommit.priorities import PriorityRange, priorities
from borgtrace.question import Tables
from borgtrace.question.store_question import Report
from borgtrace.schema import Dialect
from borgtrace.schema.time import AFTER_TRACE, TRACE_START, WINDOW

RESOURCES = ("cpu", "memory")
_MACHINES_PER_CALL = 8
"""Machines that a worker takes at a time: few enough that the last ones do not wait for one worker."""
_ROWS_WORTH_A_TASK = 4_000_000
"""Rows of machines from which they are a task of Spark of their own: some seconds of work."""
Score = Callable[[MachineBlock, int, Sequence[Prediction]], npt.NDArray[Any]]
"""From a machine, the horizon in slots and the prediction of each policy to what is kept of them."""


@dataclass(frozen=True, eq=False)
class Capacities:
    """Capacities of machines from each of their events on; columns of shape (events,), sorted by machine and time.

    Attributes
    ----------
    machine, time
        Of each event.
    cpu, memory
        What the machine has from then on; NaN while it is away, or where none is published.
    is_away
        Whether the machine is not in the cell from then on.
    """

    machine: Index
    time: Index
    cpu: Numbers
    memory: Numbers
    is_away: Flags

    @classmethod
    def of(cls, tables: Tables) -> Capacities:
        """Read the capacities of all machines; NaN while one is away, or where none is published."""
        events = tables.machine_events
        ordered = events.order_by(["machine_id", "time", "source_part", "source_row"])
        rows = tables.fetch(
            ordered.select(
                "machine_id",
                "time",
                "type",
                "cpu_capacity",
                "memory_capacity",
            )
        )
        is_away = rows["type"].to_numpy() == "REMOVE"
        cpu = rows["cpu_capacity"].to_numpy().astype(np.float64)
        memory = rows["memory_capacity"].to_numpy().astype(np.float64)
        return cls(
            machine=rows["machine_id"].to_numpy(),
            time=rows["time"].to_numpy(),
            cpu=np.where(is_away, np.nan, cpu),
            memory=np.where(is_away, np.nan, memory),
            is_away=is_away,
        )

    def at(
        self,
        machine: int,
        slots: Index,
        resource: str,
    ) -> Numbers:
        """Return the capacity of a machine at the end of some slots: float64, NaN where it is not known."""
        events = self._events_of(machine)
        capacity = self.cpu if resource == "cpu" else self.memory
        last_event = self._last_events(events, slots)
        # −1, before the first event, takes the NaN at the end.
        return np.append(capacity[events], np.nan)[last_event]

    def absent_slots(self, machine: int, n_slots: int) -> Index:
        """Return the slots at whose end a machine is not in the cell; none where its events are not known."""
        events = self._events_of(machine)
        if events.start == events.stop:
            return np.empty(0, np.int64)
        slots = np.arange(n_slots)
        last_event = self._last_events(events, slots)
        # −1, before the first event, takes the end: it is away.
        is_away = np.append(self.is_away[events], True)[last_event]
        return slots[is_away]

    def shape(self, machine: int) -> str:
        """Return the last published capacities of a machine as text."""
        events = self._events_of(machine)
        is_published = np.flatnonzero(~np.isnan(self.cpu[events]))
        if not len(is_published):
            return "unknown"
        last = events.start + is_published[-1]
        return f"CPU {self.cpu[last]:.3g}, memory {self.memory[last]:.3g}"

    def _last_events(self, events: slice, slots: Index) -> Index:
        """Return which of a machine's events is the last one before the end of each slot, −1 where there is none."""
        ends = TRACE_START + (slots + 1) * WINDOW
        return np.searchsorted(self.time[events], np.minimum(ends, AFTER_TRACE - 1)) - 1

    def _events_of(self, machine: int) -> slice:
        low, high = np.searchsorted(self.machine, [machine, machine + 1])
        return slice(int(low), int(high))


@dataclass(frozen=True, eq=False)
class ReplayInput:
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
        Whether samples, history and horizons are those of Google's simulator: usage that is missing in a window is 0,
        history is lost where a task misses a slot, and has no slots in which nothing ran on the machine.
    pools
        What policies know beyond a machine's past, by resource and name.
    first_slot
        The first slot of which usage was measured at all: earlier ones, of which events alone are known, show no peak.
    """

    usage: MachineUsage
    capacities: Capacities
    dialect: Dialect
    is_capped: bool = True
    is_literal: bool = False
    pools: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    first_slot: int = 0

    def _measured_rows(self, place: int) -> npt.NDArray[np.void]:
        """Return the rows of a machine since usage was measured."""
        rows = self.usage.rows(place)
        if self.first_slot > 0:
            rows = rows[rows["slot"] >= self.first_slot]
        return rows

    def block(self, place: int, resource: str) -> MachineBlock:
        """Return one machine and resource.

        Parameters
        ----------
        place
            Position among the machines of the usage.
        resource
            ``"cpu"`` or ``"memory"``.
        """
        rows = self._measured_rows(place)
        # A term holds for many rows: it is read once, and repeated.
        is_new_term = np.ones(len(rows), np.bool_)
        is_new_term[1:] = rows["term"][1:] != rows["term"][:-1]
        first = np.flatnonzero(is_new_term)
        n_rows = np.diff(np.append(first, len(rows)))
        terms = self.usage.terms[rows["term"][first]]
        # A task without a limit cannot be overcommitted.
        has_limit = ~np.isnan(terms[resource])
        rows = rows[np.repeat(has_limit, n_rows)]
        terms = terms[has_limit]
        n_rows = n_rows[has_limit]
        identity, task = np.unique(terms["task"].astype(np.int64), return_inverse=True)
        usage = rows[resource].astype(np.float64)
        is_known = ~np.isnan(usage)
        priority = np.repeat(terms["priority"].astype(np.int64), n_rows)
        samples = Samples(
            task=np.repeat(task, n_rows),
            slot=rows["slot"].astype(np.int64),
            usage=np.where(is_known, usage, 0.0),
            limit=np.repeat(terms[resource].astype(np.float64), n_rows),
        )
        if self.is_literal:
            first, samples = _combine_repeated(samples)
            priority = priority[first]
            is_known = np.ones(len(samples), np.bool_)
        machine = int(self.usage.machines[place])
        n_slots = int(self.usage.facts["n_slots"])
        return MachineBlock(
            all=samples,
            is_known=is_known,
            priority=priority,
            identity=identity,
            n_slots=n_slots,
            capacity=self.capacities.at(machine, samples.slots, resource),
            resource=resource,
            pools=self.pools.get(resource, {}),
            absent_slots=self.capacities.absent_slots(machine, n_slots),
            is_literal=self.is_literal,
        )

    def as_seen(self, block: MachineBlock) -> MachineBlock:
        """Return a block as policies see it: with capped usage, and with the memory of Google's simulator."""
        if self.is_capped:
            block = block.capped()
        return block.without_gaps().forgetful() if self.is_literal else block


def _combine_repeated(samples: Samples) -> tuple[Index, Samples]:
    """Return samples with one of each task and slot, the largest usage under the largest limit, and the first of each.

    Google's simulator has a row where a window has another limit than the one before in the slot.
    """
    is_first = np.ones(len(samples), np.bool_)
    is_first[1:] = (np.diff(samples.task) != 0) | (np.diff(samples.slot) != 0)
    first = np.flatnonzero(is_first)
    if len(first) == len(samples):
        return first, samples
    combined = replace(
        samples.take(is_first),
        usage=np.maximum.reduceat(samples.usage, first),
        limit=np.maximum.reduceat(samples.limit, first),
    )
    return first, combined


@dataclass(frozen=True, eq=False)
class ReplayPart:
    """A part of a replay on which policies are judged.

    Attributes
    ----------
    input
        What is replayed.
    tasks
        ``"all"``, ``"high"`` or a tier: the tasks that are predicted, and that count.
    resource
        ``"cpu"`` or ``"memory"``.
    places
        Machines, by their position.
    jobs
        Processes; or tasks of Spark, whose workers see the folder of the usage under the same name.
    report
        Called with the step, machines done, and how many there are.
    """

    input: ReplayInput
    tasks: str
    resource: str
    places: Sequence[int]
    jobs: int | SparkTasks
    report: Report

    def replay(
        self,
        policies: Sequence[PeakPolicy],
        horizon: int,
        score: Score = scores,
    ) -> npt.NDArray[Any]:
        """Judge policies on the machines.

        Parameters
        ----------
        policies
            What predicts.
        horizon
            Slots to come whose peak is predicted.
        score
            Judges the predictions for a machine: a function of a module, since processes receive its name.

        Returns
        -------
        ndarray
            What `score` returns, one entry for each machine.
        """
        judge = partial(
            _judge_machines,
            self.input,
            tuple(policies),
            priorities(self.input.dialect, self.tasks),
            self.resource,
            horizon,
            score,
        )
        order = self._order()
        step = f"replaying {self.resource} of {self.tasks} tasks"
        n_done = 0
        results: list[npt.NDArray[Any]] = []
        for result in self._map(judge, [self.places[position] for position in order]):
            results.append(result)
            n_done += len(result)
            self.report(step, n_done, len(self.places))
        return np.concatenate(results)[np.argsort(order)]

    def _order(self) -> Index:
        """Return the positions of the machines in the order in which they are judged."""
        if isinstance(self.jobs, SparkTasks):
            # So a worker copies few of the files in which machines are.
            return np.argsort(self.input.usage.buckets(self.places), kind="stable")
        return np.arange(len(self.places))

    def _map(
        self,
        judge: Callable[[Sequence[int]], npt.NDArray[Any]],
        places: Sequence[int],
    ) -> Iterator[npt.NDArray[Any]]:
        """Yield the results of some machines after the other."""
        usage = self.input.usage
        if isinstance(self.jobs, SparkTasks):
            groups = group_items(places, usage.n_rows(places).tolist(), worth=_ROWS_WORTH_A_TASK)
            for packed in self.jobs.map(partial(_judge_and_pack, judge), groups):
                yield packed.array()
            return
        calls = (
            places[first : first + _MACHINES_PER_CALL]
            for first in range(0, len(places), _MACHINES_PER_CALL)
        )
        yield from map_workers(judge, calls, self.jobs, place=str(usage.folder))


def _judge_and_pack(
    judge: Callable[[Sequence[int]], npt.NDArray[Any]],
    places: Sequence[int],
) -> PackedRecords:
    return PackedRecords.of(judge(places))


def _judge_machines(
    replay_input: ReplayInput,
    policies: Sequence[PeakPolicy],
    chosen: PriorityRange,
    resource: str,
    horizon: int,
    score: Score,
    places: Sequence[int],
) -> npt.NDArray[Any]:
    results = []
    for place in places:
        block = replay_input.block(place, resource)
        block = block.of_priorities(chosen.lowest, chosen.highest)
        seen = replay_input.as_seen(block)
        predictions = [policy.predicted(seen) for policy in policies]
        results.append(score(block, horizon, predictions))
    return np.stack(results)
