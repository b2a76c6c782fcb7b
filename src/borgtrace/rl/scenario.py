"""What episodes replay: the tasks and machines of a store, read once and shared by any number of environments."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np

import borgtrace.store
from borgtrace.kernels.arrays import Index
from borgtrace.question import EngineTables
from borgtrace.rl.episode import OF_CANDIDATE, OF_TASK, Episode
from borgtrace.scheduling.candidates import make_candidates
from borgtrace.scheduling.changes import no_changes
from borgtrace.scheduling.events import DRAW, MODEL
from borgtrace.scheduling.gangs import no_gangs
from borgtrace.scheduling.heap import Heap, make_heap
from borgtrace.scheduling.machines import make_cell, settle
from borgtrace.scheduling.policies import parse_policy
from borgtrace.scheduling.replay import (
    PAUSE,
    UNRESERVED,
    ScheduleInput,
    arrivals_of,
    calibrated,
    demand_of,
    make_state,
    with_factor,
)
from borgtrace.scheduling.room import room_of
from borgtrace.scheduling.simulate import waits_of
from borgtrace.scheduling.state import COLUMNS, NEVER, RAN_ON, ReplayRule, ReplayState
from borgtrace.store import Store

Arrays = TypeVar("Arrays", bound=tuple)  # type: ignore[type-arg]


@dataclass(frozen=True, eq=False)
class Scenario:
    """A trace to be scheduled again.

    Attributes
    ----------
    trace
        Tasks as they arrive, and machines as they come and go.
    factor
        Share of their requests that tasks below production take.
    start
        The state in which every episode begins; no episode changes it.
    lines
        int64 (machines,): the line of `trace` of each machine of the state.
    """

    trace: ScheduleInput
    factor: float
    start: ReplayState
    lines: Index

    @classmethod
    def of(cls, store: Store | Path | str, factor: float = 0.0) -> Scenario:
        """Read a store.

        Parameters
        ----------
        store
            The store, or where it is.
        factor
            Share of their requests that tasks below production take; 0: the largest with which what runs at first
            fits, as ``borgtrace simulate`` takes it.

        Raises
        ------
        NotApplicable
            Without tasks that arrive, or machines with a capacity.
        """
        if not isinstance(store, Store):
            store = borgtrace.store.open(store)
        last = store.manifest.time_range["instance_events"][1]
        trace = ScheduleInput.of(EngineTables.of(store), last)
        factor = factor or calibrated(trace)
        demand = demand_of(trace, factor)
        capacity = trace.machines.capacity
        cell, lines = make_cell(capacity, np.arange(len(capacity)), demand)
        cell.is_up[:] = False
        for machine in range(len(lines)):
            settle(cell, machine)
        jobs = arrivals_of(trace, demand)
        start = make_state(
            trace, cell, lines, jobs, no_gangs(len(trace.tasks)), UNRESERVED, no_changes()
        )
        return cls(trace, factor, start, lines)

    def begin(self, candidates: int, seed: int) -> Episode:
        """Return an episode in which nothing has happened."""
        start = self.start
        replay = start._replace(
            cell=_copy(start.cell),
            queue=_copy(start.queue),
            held=start.held.copy(),
            row_of=start.row_of.copy(),
        )
        n = len(self.trace.tasks)
        progress = np.zeros(6, np.int64)
        progress[DRAW] = seed
        progress[MODEL] = -1
        policy = parse_policy("best-fit")
        return Episode(
            replay=replay,
            rule=ReplayRule(policy.kind, policy.k, False, PAUSE, None),
            agenda=make_heap(3 * n + 1024),
            known=make_candidates(replay.cell),
            rows=np.full((n + n // 8 + 1024, COLUMNS), NEVER),
            progress=progress,
            machines=np.full(candidates, -1, np.int64),
            observation=np.zeros(candidates * OF_CANDIDATE + OF_TASK, np.float32),
            mask=np.zeros(candidates, np.bool_),
            pending=np.zeros(4, np.int64),
        )

    def measure(self, episode: Episode, n_rows: int) -> dict[str, float | None]:
        """Return what ``borgtrace simulate`` says of a schedule: waits, and room that was stranded."""
        rows = episode.rows[:n_rows].copy()
        ran_on = rows[:, RAN_ON]
        rows[:, RAN_ON] = np.where(ran_on >= 0, self.lines[ran_on], NEVER)
        planned = with_factor(self.trace.tasks, self.factor)
        return {**waits_of(self.trace, rows), **room_of(self.trace, rows, planned)}


def grown(episode: Episode) -> Episode:
    """Return an episode with more room for rows and for what is to come."""
    n = len(episode.replay.jobs.time)
    agenda = episode.agenda
    return episode._replace(
        rows=np.concatenate((episode.rows, np.full((n + 1024, COLUMNS), NEVER))),
        agenda=Heap(np.tile(agenda.keys, 2), np.tile(agenda.values, (2, 1)), agenda.size),
    )


def _copy(arrays: Arrays) -> Arrays:
    """Return a named tuple with copies of its arrays."""
    values = [value.copy() if isinstance(value, np.ndarray) else value for value in arrays]
    return type(arrays)(*values)
