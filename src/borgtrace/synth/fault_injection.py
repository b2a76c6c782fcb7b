"""Plants the documented faults in the events of a trace, and remembers where."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from borgtrace.schema.enums import EVENT_TYPE
from borgtrace.schema.time import HOUR, SECOND, TRACE_START
from borgtrace.synth.event_log import CollectionEvent, InstanceEvent, TraceSegment
from borgtrace.synth.fault_rates import FaultRates
from borgtrace.synth.hashing import generator
from borgtrace.synth.missing_records import MissingSchedules, Place, place_of
from borgtrace.synth.workload import Workload

REUSED_ID: Final = 6_253_771_429
"""The job id that the real trace uses twice."""
_LIVES: Final = (
    ("SUBMIT", 0.0),
    ("SCHEDULE", 1.7),
    ("FAIL", 43.9),
    ("SUBMIT", 251.4),
    ("SCHEDULE", 253.0),
    ("FINISH", 349.7),
)
"""Events of the reused job, s after its first: two lives."""
_ENDS: Final = ("FAIL", "FINISH", "KILL")


@dataclass(slots=True)
class InjectedFaults:
    """What was planted: lists of places, counts where there are many.

    Attributes
    ----------
    jobs_without_tasks, reused_job
        Collection ids.
    machines_without_capacity
        Machine ids, one entry per row.
    tasks_without_requests, made_up_events, missing_schedules, finished_without_schedule
        (collection id, instance index, time) of each row: with missing info, absent, or a FINISH that therefore
        follows no SCHEDULE.
    lost_jobs, made_up_collections
        (collection id, time) of each row with missing info.
    missing_usage, above_one, bad_counters
        Usage records.
    """

    jobs_without_tasks: list[int] = field(default_factory=list)
    reused_job: list[int] = field(default_factory=list)
    machines_without_capacity: list[int] = field(default_factory=list)
    tasks_without_requests: list[Place] = field(default_factory=list)
    made_up_events: list[Place] = field(default_factory=list)
    missing_schedules: list[Place] = field(default_factory=list)
    finished_without_schedule: list[Place] = field(default_factory=list)
    lost_jobs: list[tuple[int, int]] = field(default_factory=list)
    made_up_collections: list[tuple[int, int]] = field(default_factory=list)
    missing_usage: int = 0
    above_one: int = 0
    bad_counters: int = 0


class FaultInjector:
    """Changes segments on their way to the writer.

    Small traces get at least one machine without capacity, one task without requests and one job without tasks;
    all else comes as often as published.
    """

    def __init__(self, rates: FaultRates, workload: Workload, bounds: list[int], seed: int) -> None:
        self.rates, self.workload = rates, workload
        # Names of streams are part of the data: under another name the same seed plants other faults.
        self.rng = generator(seed, "planting")
        self.injected = InjectedFaults()
        self._schedules = MissingSchedules(rates.no_schedule, generator(seed, "mislaid"))
        self.injected.missing_schedules = self._schedules.missing
        self.injected.finished_without_schedule = self._schedules.finished
        self._extra: list[tuple[int, CollectionEvent | InstanceEvent]] = []
        if rates.no_tasks > 0.0:
            self._plan(bounds)

    def _plan(self, bounds: list[int]) -> None:
        start, end = bounds[0], bounds[-1]
        hours = (end - start) / HOUR
        jobs = self.workload.profile.jobs_per_hour * len(self.workload.machines) * hours
        for _ in range(max(1, round(self.rates.no_tasks * jobs))):
            # In the first half, so that the KILL after it lies inside the trace. Counted by the jobs that are to be
            # expected: those that will arrive are not known yet.
            begin = start + int(self.rng.random() * (end - start) * 0.5)
            self._ghost(begin, begin + int(self.rng.random() * (end - begin)))
        if self.rates.reuses_id and end - start > 400 * SECOND:
            # Where the real one is (33,912 s with the offset), or in the middle of a trace too short for that.
            begin = min(TRACE_START + 33_312 * SECOND, start + (end - start - 360 * SECOND) // 2)
            self._reuse(begin)
        self._extra.sort(key=lambda item: item[0])

    def _ghost(self, begin: int, end: int) -> None:
        """A job with events of its own but none of its task."""
        job = self.workload.new_job(self.workload.profile.tiers[0], 1)
        self.injected.jobs_without_tasks.append(job.id)
        # Submitted and scheduled in one microsecond and killed long after, as job 6377830001 of the real trace.
        for time, kind in ((begin, "SUBMIT"), (begin, "SCHEDULE"), (end, "KILL")):
            self._extra.append((time, CollectionEvent(time, kind, job)))

    def _reuse(self, begin: int) -> None:
        job = self.workload.new_job(self.workload.profile.tiers[0], 1)
        job.id = REUSED_ID
        self.injected.reused_job.append(job.id)
        before = ""
        machine = int(self.rng.integers(len(self.workload.machines)))
        for kind, seconds in _LIVES:
            time = begin + int(seconds * SECOND)
            where = -1 if kind == "SUBMIT" else machine
            self._extra.append((time, CollectionEvent(time, kind, job)))
            self._extra.append((time, InstanceEvent(time, kind, job.tasks[0], before, where)))
            before = kind

    def inject(self, segments: Iterator[TraceSegment]) -> Iterator[TraceSegment]:
        """Yield the segments with faults."""
        rates = self.rates
        for segment in segments:
            self._insert(segment)
            if rates.no_requests > 0.0 and segment.number == 0:
                self._forget_requests(segment)
            if rates.no_capacity > 0.0:
                self._forget_capacity(segment)
            # The order matters: a row that was made up is neither taken out afterward nor made up again, so that no
            # row is in two lists of the truth.
            self._make_up(segment, rates.made_up, EVENT_TYPE.names)
            self._make_up(segment, rates.made_up_updates, ("UPDATE_RUNNING",))
            self._schedules.remove_from(segment)
            self._lose(segment)
            yield segment

    def _insert(self, segment: TraceSegment) -> None:
        mine = [item for item in self._extra if item[0] < segment.end]
        if not mine:
            return
        self._extra = self._extra[len(mine) :]
        for _, event in mine:
            if isinstance(event, CollectionEvent):
                segment.collections.append(event)
            else:
                segment.instances.append(event)
        # Stable sorts: among equal times what was planted comes after what was simulated.
        segment.collections.sort(key=lambda e: e.time)
        segment.instances.sort(key=lambda e: e.time)

    def _forget_requests(self, segment: TraceSegment) -> None:
        rows = [i for i, e in enumerate(segment.instances) if e.time == 0 and e.type == "SUBMIT"]
        count = max(1, round(self.rates.no_requests * len(rows)))
        # Tasks, not rows: the SCHEDULE at time 0 of such a task has no requests either (291 rows of part 0).
        chosen = {segment.instances[rows[i]].task for i in self._choose(len(rows), count)}
        for i, event in enumerate(segment.instances):
            if event.time == 0 and event.task in chosen:
                missing = "EXISTS_BUT_NO_CREATION"
                segment.instances[i] = replace(event, missing=missing, has_request=False)
                self.injected.tasks_without_requests.append(place_of(event))

    def _forget_capacity(self, segment: TraceSegment) -> None:
        rows = [i for i, e in enumerate(segment.machines) if e.type == "ADD"]
        # At least one at the start, however small the trace.
        count = round(self.rates.no_capacity * len(rows)) or int(segment.number == 0)
        for i in self._choose(len(rows), count):
            event = segment.machines[rows[i]]
            segment.machines[rows[i]] = replace(event, is_unknown=True)
            self.injected.machines_without_capacity.append(int(self.workload.machines.ids[event.machine]))

    def _make_up(self, segment: TraceSegment, rate: float, types: tuple[str, ...]) -> None:
        may_be = [e.type in types and e.time > 0 and e.missing is None for e in segment.instances]
        for i in self._some(rate, may_be):
            event = segment.instances[i]
            segment.instances[i] = replace(event, missing="SNAPSHOT_BUT_NO_TRANSITION")
            self.injected.made_up_events.append(place_of(event))

    def _lose(self, segment: TraceSegment) -> None:
        """Let some jobs be lost, and make up some events of others."""
        events = segment.collections
        for i in self._some(self.rates.lost_jobs, [e.type in _ENDS for e in events]):
            events[i] = replace(events[i], type="LOST", missing="NO_SNAPSHOT_OR_TRANSITION")
            self.injected.lost_jobs.append((events[i].job.id, events[i].time))
        open_to = [e.time > 0 and e.missing is None for e in events]
        for i in self._some(self.rates.made_up_collections, open_to):
            events[i] = replace(events[i], missing="SNAPSHOT_BUT_NO_TRANSITION")
            self.injected.made_up_collections.append((events[i].job.id, events[i].time))

    def _some(self, rate: float, may_be: list[bool]) -> list[int]:
        """Choose a share of what may be chosen; how many is a matter of chance."""
        if rate == 0.0:
            return []
        # Poisson, not rounding: rounding would never make a fault of a rate of 16 in 672,074 in a small part.
        rows = np.flatnonzero(may_be)
        return [int(rows[i]) for i in self._choose(len(rows), int(self.rng.poisson(rate * len(rows))))]

    def _choose(self, total: int, count: int) -> list[int]:
        chosen = self.rng.choice(total, size=min(count, total), replace=False) if total else np.array([])
        return sorted(int(i) for i in chosen)
