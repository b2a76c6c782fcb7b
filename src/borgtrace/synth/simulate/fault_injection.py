"""Plant the documented faults in the events of a trace, and record where."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

import numpy as np

from borgtrace.schema import UPDATE_EVENTS
from borgtrace.schema.time import HOUR, SECOND, TRACE_START
from borgtrace.synth.model.fault_rates import FaultRates
from borgtrace.synth.model.hashing import generator
from borgtrace.synth.model.jobs import Job
from borgtrace.synth.model.workload import WorkloadModel
from borgtrace.synth.simulate.event_log import CollectionEvent, InstanceEvent, TraceSegment

Event = TypeVar("Event", CollectionEvent, InstanceEvent)
_ALREADY_SEEN = ""
"""The mark of a task whose event after the missing record has come, and whose end has not."""


class MissingSchedules:
    """Takes SCHEDULE records out of segments, and tracks what that does to the records after them.

    Parameters
    ----------
    rate
        Share of SCHEDULE records inside the trace that are absent.
    rng
        Decides which.
    planted
        Where their places are noted, and those of every FINISH that therefore follows no SCHEDULE.
    """

    def __init__(
        self,
        rate: float,
        rng: np.random.Generator,
        planted: Mapping[str, list[Any]],
    ) -> None:
        self.rate = rate
        self.rng = rng
        self.planted = planted
        self._before: dict[int, str] = {}

    def remove_from(self, segment: TraceSegment) -> None:
        """Take records out of a segment; the next record of each task follows what came before."""
        eligible = [_is_schedule_inside(event) for event in segment.instances]
        removed = set(choose_share(self.rng, self.rate, eligible))
        remaining: list[InstanceEvent] = []
        for number, event in enumerate(segment.instances):
            if number in removed:
                self.planted["missing_schedules"].append(event.place)
                self._before[event.task.serial] = event.before
            else:
                remaining.append(self._after_removals(event))
        segment.instances = remaining

    def _after_removals(self, event: InstanceEvent) -> InstanceEvent:
        """Return an event with what comes before it now."""
        before = self._before.pop(event.task.serial, None)
        if before is None:
            return event
        if event.type in UPDATE_EVENTS:
            # An update does not end the run: a FINISH after it still follows no SCHEDULE.
            self._before[event.task.serial] = _ALREADY_SEEN
        elif event.type == "FINISH":
            self.planted["finished_without_schedule"].append(event.place)
        return replace(event, before=before) if before else event


def _is_schedule_inside(event: InstanceEvent) -> bool:
    # Snapshot rows stay: without its SCHEDULE at time 0 a task would not be running at the start at all.
    is_inside = event.time > TRACE_START
    return event.type == "SCHEDULE" and is_inside and not event.missing


def choose_share(
    rng: np.random.Generator,
    rate: float,
    eligible: Sequence[bool],
) -> list[int]:
    """Choose a share of the eligible numbers; how many is a matter of chance, unless it is all."""
    if rate == 0.0:
        return []
    numbers = np.flatnonzero(eligible).tolist()
    if rate >= 1.0:
        return numbers
    # Poisson, not rounding: rounding would never make a fault of a rate of 16 in 672,074 in a small part.
    count = rng.poisson(rate * len(numbers))
    return choose(rng, numbers, int(count))


def choose(
    rng: np.random.Generator,
    numbers: Sequence[int],
    count: int,
) -> list[int]:
    """Choose so many of rising numbers, or all where there are fewer; in their order."""
    if not numbers:
        return []
    size = min(count, len(numbers))
    chosen = rng.choice(len(numbers), size=size, replace=False)
    return [numbers[place] for place in sorted(chosen)]


REUSED_ID = 6_253_771_429
"""The job id that the real trace uses twice."""


class _LifeEvent(NamedTuple):
    """An event of the reused job, and its seconds after the first."""

    type: str
    seconds: float


_TWO_LIVES = (
    _LifeEvent("SUBMIT", 0.0),
    _LifeEvent("SCHEDULE", 1.7),
    _LifeEvent("FAIL", 43.9),
    _LifeEvent("SUBMIT", 251.4),
    _LifeEvent("SCHEDULE", 253.0),
    _LifeEvent("FINISH", 349.7),
)
_ENDS = ("FAIL", "FINISH", "KILL")
_MADE_UP = {"missing": "SNAPSHOT_BUT_NO_TRANSITION"}
_NO_TRANSITION = {"missing": "NO_SNAPSHOT_OR_TRANSITION"}
_LOST = {"type": "LOST", **_NO_TRANSITION}
PLANTED = (
    "jobs_without_tasks",
    "reused_job",
    "machines_without_capacity",
    "tasks_without_requests",
    "made_up_events",
    "missing_schedules",
    "finished_without_schedule",
    "lost_tasks",
    "lost_jobs",
    "made_up_collections",
)
"""What is planted in events.

The first two are collection ids, the third machine ids, one entry per row.  All others are places of rows: collection
id, of tasks the instance index, and time (µs).  These rows have missing info, or are absent, or are a FINISH that
follows no SCHEDULE."""


class FaultInjector:
    """Changes segments on their way to the writer.

    Small traces get at least one machine without capacity, one task without requests and one job without tasks;
    all else comes as often as published.

    Parameters
    ----------
    rates
        How often faults are injected.
    workload
        Draws the jobs that are planted.
    bounds
        Limits of the parts, µs.
    seed
        Decides which events have faults.

    Attributes
    ----------
    planted
        What was injected, by the names of :data:`PLANTED`.
    pending
        Planted events that are still to be inserted, in time order.
    """

    def __init__(
        self,
        rates: FaultRates,
        workload: WorkloadModel,
        bounds: list[int],
        seed: int,
    ) -> None:
        self.rates = rates
        self.workload = workload
        # Names of streams are part of the data: under another name the same seed plants other faults.
        self.rng = generator(seed, "planting")
        self.planted: dict[str, list[Any]] = {name: [] for name in PLANTED}
        self._schedules = MissingSchedules(
            rates.no_schedule,
            generator(seed, "mislaid"),
            self.planted,
        )
        self.pending: list[CollectionEvent | InstanceEvent] = []
        if rates.no_tasks > 0.0:
            self._plan_jobs(bounds[0], bounds[-1])

    def _plan_jobs(self, start: int, end: int) -> None:
        """Plan the jobs without tasks, and the job whose id is used twice."""
        # Counted by the jobs that are expected: those that will arrive are not known yet.
        jobs_per_hour = self.workload.profile.jobs_per_hour * len(self.workload.machines)
        jobs = jobs_per_hour * (end - start) / HOUR
        count = max(1, round(self.rates.no_tasks * jobs))
        for _ in range(count):
            # In the first half, so that the KILL after it lies inside the trace.
            until_begin = self.rng.random() * (end - start) * 0.5
            begin = start + int(until_begin)
            until_kill = self.rng.random() * (end - begin)
            kill = begin + int(until_kill)
            self._plan_job_without_tasks(begin, kill)
        if self.rates.reuses_id and end - start > 400 * SECOND:
            # At the real time (33,912 s with the offset), or in the middle of a trace too short for that.
            spare_time = end - start - 360 * SECOND
            middle = start + spare_time // 2
            real_time = TRACE_START + 33_312 * SECOND
            self._plan_reused_job(min(real_time, middle))
        self.pending.sort(key=lambda event: event.time)

    def _plan_job_without_tasks(self, begin: int, kill: int) -> None:
        job = self._new_job()
        self.planted["jobs_without_tasks"].append(job.id)
        # Submitted and scheduled in one microsecond and killed long after, as job 6377830001 of the real trace.
        self.pending += [
            CollectionEvent(begin, "SUBMIT", job),
            CollectionEvent(begin, "SCHEDULE", job),
            CollectionEvent(kill, "KILL", job),
        ]

    def _plan_reused_job(self, begin: int) -> None:
        job = self._new_job()
        job.id = REUSED_ID
        self.planted["reused_job"].append(job.id)
        task = job.tasks[0]
        before = ""
        n_machines = len(self.workload.machines)
        machine = int(self.rng.integers(n_machines))
        for event in _TWO_LIVES:
            time = begin + int(event.seconds * SECOND)
            where = -1 if event.type == "SUBMIT" else machine
            self.pending += [
                CollectionEvent(time, event.type, job),
                InstanceEvent(time, event.type, task, before, where),
            ]
            before = event.type

    def _new_job(self) -> Job:
        """Draw a job of one task in the lowest tier."""
        lowest_tier = self.workload.profile.tiers[0]
        return self.workload.new_job(lowest_tier, 1)

    def inject(self, segments: Iterator[TraceSegment]) -> Iterator[TraceSegment]:
        """Yield the segments with faults."""
        for segment in segments:
            self._insert_planned(segment)
            if self.rates.no_requests > 0.0 and segment.number == 0:
                self._forget_requests(segment)
            if self.rates.no_capacity > 0.0:
                self._forget_capacity(segment)
            # The order matters: a row that was made up is neither taken out afterward nor made up again, so that no
            # row is in two lists of the truth.
            self._mark_instances(segment)
            self._schedules.remove_from(segment)
            self._mark_collections(segment)
            yield segment

    def _mark_instances(self, segment: TraceSegment) -> None:
        events = segment.instances
        whole = [_is_whole(event) for event in events]
        self._mark(events, whole, "made_up_events", self.rates.made_up, _MADE_UP)
        updates = [_is_whole(event) and event.type == "UPDATE_RUNNING" for event in events]
        self._mark(
            events,
            updates,
            "made_up_events",
            self.rates.made_up_updates,
            _MADE_UP,
        )

        lost = [_is_whole(event) and event.type == "LOST" for event in events]
        self._mark(events, lost, "lost_tasks", self.rates.lost_tasks, _NO_TRANSITION)

    def _mark_collections(self, segment: TraceSegment) -> None:
        events = segment.collections
        ends = [event.type in _ENDS for event in events]
        self._mark(events, ends, "lost_jobs", self.rates.lost_jobs, _LOST)
        whole = [_is_whole(event) for event in events]
        rate = self.rates.made_up_collections
        self._mark(events, whole, "made_up_collections", rate, _MADE_UP)

    def _mark(
        self,
        events: list[Event],
        eligible: list[bool],
        name: str,
        rate: float,
        change: Mapping[str, str],
    ) -> None:
        """Change a share of the eligible events, and note their places."""
        for number in choose_share(self.rng, rate, eligible):
            fields: dict[str, Any] = dict(change)
            events[number] = replace(events[number], **fields)
            self.planted[name].append(events[number].place)

    def _insert_planned(self, segment: TraceSegment) -> None:
        due = [event for event in self.pending if event.time < segment.end]
        self.pending = self.pending[len(due) :]
        segment.collections += [event for event in due if isinstance(event, CollectionEvent)]
        segment.instances += [event for event in due if isinstance(event, InstanceEvent)]
        # Stable sorts: among equal times what was planted comes after what was simulated.
        segment.collections.sort(key=lambda event: event.time)
        segment.instances.sort(key=lambda event: event.time)

    def _forget_requests(self, segment: TraceSegment) -> None:
        events = segment.instances
        submits = [
            number
            for number, event in enumerate(events)
            if event.time == 0 and event.type == "SUBMIT"
        ]
        count = max(1, round(self.rates.no_requests * len(submits)))
        chosen_rows = choose(self.rng, submits, count)
        # Tasks, not rows: the SCHEDULE at time 0 of such a task has no requests either (291 rows of part 0).
        chosen = {events[number].task for number in chosen_rows}
        for number, event in enumerate(events):
            if event.time == 0 and event.task in chosen:
                events[number] = replace(
                    event,
                    missing="EXISTS_BUT_NO_CREATION",
                    has_request=False,
                )
                self.planted["tasks_without_requests"].append(event.place)

    def _forget_capacity(self, segment: TraceSegment) -> None:
        events = segment.machines
        adds = [number for number, event in enumerate(events) if event.type == "ADD"]
        # At least one at the start, however small the trace.
        least = 1 if segment.number == 0 else 0
        count = round(self.rates.no_capacity * len(adds)) or least
        for number in choose(self.rng, adds, count):
            events[number] = replace(events[number], is_unknown=True)
            machine_id = self.workload.machines.ids[events[number].machine]
            self.planted["machines_without_capacity"].append(int(machine_id))


def _is_whole(event: CollectionEvent | InstanceEvent) -> bool:
    """Return whether an event lies inside the trace and has no missing info."""
    return event.time > 0 and event.missing is None
