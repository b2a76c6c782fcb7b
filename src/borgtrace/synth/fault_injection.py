"""Plants the documented faults in the events of a trace, and remembers where."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from borgtrace.schema import UPDATE_EVENTS
from borgtrace.schema.time import HOUR, SECOND, TRACE_START
from borgtrace.synth.event_log import CollectionEvent, InstanceEvent, TraceSegment
from borgtrace.synth.fault_rates import FaultRates
from borgtrace.synth.hashing import generator
from borgtrace.synth.workload import Workload

_ALREADY = ""
"""A task whose event after the missing record has come, and whose end has not."""


class MissingSchedules:
    """Takes SCHEDULE records out of segments, and remembers what that does to the records after them.

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
        self, rate: float, rng: np.random.Generator, planted: Mapping[str, list[Any]]
    ) -> None:
        self.rate, self.rng, self.planted = rate, rng, planted
        self._open: dict[int, str] = {}

    def remove_from(self, segment: TraceSegment) -> None:
        """Take records out of a segment; the next record of each task follows what came before."""
        # Snapshot rows stay: without its SCHEDULE at time 0 a task would not be running at the start at all.
        may_be = [
            e.type == "SCHEDULE" and e.time > TRACE_START and not e.missing
            for e in segment.instances
        ]
        gone = set(choose_share(self.rng, self.rate, may_be))
        events, segment.instances = segment.instances, []
        for i, event in enumerate(events):
            if i in gone:
                self.planted["missing_schedules"].append(event.place)
                self._open[event.task.serial] = event.before
                continue
            before = self._open.pop(event.task.serial, None)
            # An update does not end the run, so the task stays open: its FINISH still follows no SCHEDULE.
            if before is not None and event.type in UPDATE_EVENTS:
                self._open[event.task.serial] = _ALREADY
            elif before is not None and event.type == "FINISH":
                self.planted["finished_without_schedule"].append(event.place)
            segment.instances.append(replace(event, before=before) if before else event)


def choose_share(rng: np.random.Generator, rate: float, may_be: Sequence[bool]) -> list[int]:
    """Choose a share of what may be chosen; how many is a matter of chance."""
    if rate == 0.0:
        return []
    rows = np.flatnonzero(may_be).tolist()
    # Poisson, not rounding: rounding would never make a fault of a rate of 16 in 672,074 in a small part.
    return choose(rng, rows, int(rng.poisson(rate * len(rows))))


def choose(rng: np.random.Generator, rows: Sequence[int], count: int) -> list[int]:
    """Choose so many of rising numbers, or all where there are fewer; in their order."""
    chosen = rng.choice(len(rows), size=min(count, len(rows)), replace=False) if rows else ()
    return [rows[i] for i in sorted(chosen)]


REUSED_ID = 6_253_771_429
"""The job id that the real trace uses twice."""
_LIVES = (
    *(("SUBMIT", 0.0), ("SCHEDULE", 1.7), ("FAIL", 43.9)),
    *(("SUBMIT", 251.4), ("SCHEDULE", 253.0), ("FINISH", 349.7)),
)
"""Events of the reused job, s after its first: two lives."""
_ENDS = ("FAIL", "FINISH", "KILL")
PLANTED = (
    *(
        "jobs_without_tasks",
        "reused_job",
        "machines_without_capacity",
        "tasks_without_requests",
        "made_up_events",
    ),
    *("missing_schedules", "finished_without_schedule", "lost_jobs", "made_up_collections"),
)
"""What is planted in events.

The first two are collection ids, the third machine ids, one entry per row.  All others are places of rows: collection
id, of tasks the instance index, and time (µs); of rows with missing info, or absent, or a FINISH that therefore follows
no SCHEDULE."""


class FaultInjector:
    """Changes segments on their way to the writer.

    Small traces get at least one machine without capacity, one task without requests and one job without tasks;
    all else comes as often as published.

    Attributes
    ----------
    planted
        What was injected, by the names of :data:`PLANTED`.
    """

    def __init__(self, rates: FaultRates, workload: Workload, bounds: list[int], seed: int) -> None:
        self.rates, self.workload = rates, workload
        # Names of streams are part of the data: under another name the same seed plants other faults.
        self.rng = generator(seed, "planting")
        self.planted: dict[str, list[Any]] = {name: [] for name in PLANTED}
        self._schedules = MissingSchedules(
            rates.no_schedule, generator(seed, "mislaid"), self.planted
        )
        self._extra: list[CollectionEvent | InstanceEvent] = []
        if rates.no_tasks > 0.0:
            self._plan(bounds[0], bounds[-1])

    def _plan(self, start: int, end: int) -> None:
        jobs = (
            self.workload.profile.jobs_per_hour * len(self.workload.machines) * (end - start) / HOUR
        )
        for _ in range(max(1, round(self.rates.no_tasks * jobs))):
            # In the first half, so that the KILL after it lies inside the trace. Counted by the jobs that are to be
            # expected: those that will arrive are not known yet.
            begin = start + int(self.rng.random() * (end - start) * 0.5)
            self._ghost(begin, begin + int(self.rng.random() * (end - begin)))
        if self.rates.reuses_id and end - start > 400 * SECOND:
            # Where the real one is (33,912 s with the offset), or in the middle of a trace too short for that.
            begin = min(TRACE_START + 33_312 * SECOND, start + (end - start - 360 * SECOND) // 2)
            self._reuse(begin)
        self._extra.sort(key=lambda event: event.time)

    def _ghost(self, begin: int, end: int) -> None:
        """A job with events of its own but none of its task."""
        job = self.workload.new_job(self.workload.profile.tiers[0], 1)
        self.planted["jobs_without_tasks"].append(job.id)
        # Submitted and scheduled in one microsecond and killed long after, as job 6377830001 of the real trace.
        for time, kind in ((begin, "SUBMIT"), (begin, "SCHEDULE"), (end, "KILL")):
            self._extra.append(CollectionEvent(time, kind, job))

    def _reuse(self, begin: int) -> None:
        job = self.workload.new_job(self.workload.profile.tiers[0], 1)
        job.id = REUSED_ID
        self.planted["reused_job"].append(job.id)
        before = ""
        machine = int(self.rng.integers(len(self.workload.machines)))
        for kind, seconds in _LIVES:
            time = begin + int(seconds * SECOND)
            where = -1 if kind == "SUBMIT" else machine
            self._extra += [
                CollectionEvent(time, kind, job),
                InstanceEvent(time, kind, job.tasks[0], before, where),
            ]
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
            made_up = {"missing": "SNAPSHOT_BUT_NO_TRANSITION"}
            tasks, jobs = segment.instances, segment.collections
            self._mark(
                tasks, [_is_whole(e) for e in tasks], "made_up_events", rates.made_up, made_up
            )
            updates = [_is_whole(e) and e.type == "UPDATE_RUNNING" for e in tasks]
            self._mark(tasks, updates, "made_up_events", rates.made_up_updates, made_up)
            self._schedules.remove_from(segment)
            lost = {"type": "LOST", "missing": "NO_SNAPSHOT_OR_TRANSITION"}
            self._mark(jobs, [e.type in _ENDS for e in jobs], "lost_jobs", rates.lost_jobs, lost)
            self._mark(
                jobs,
                [_is_whole(e) for e in jobs],
                "made_up_collections",
                rates.made_up_collections,
                made_up,
            )
            yield segment

    def _insert(self, segment: TraceSegment) -> None:
        mine = [event for event in self._extra if event.time < segment.end]
        self._extra = self._extra[len(mine) :]
        segment.collections += [event for event in mine if isinstance(event, CollectionEvent)]
        segment.instances += [event for event in mine if isinstance(event, InstanceEvent)]
        # Stable sorts: among equal times what was planted comes after what was simulated.
        segment.collections.sort(key=lambda e: e.time)
        segment.instances.sort(key=lambda e: e.time)

    def _forget_requests(self, segment: TraceSegment) -> None:
        rows = [i for i, e in enumerate(segment.instances) if e.time == 0 and e.type == "SUBMIT"]
        count = max(1, round(self.rates.no_requests * len(rows)))
        # Tasks, not rows: the SCHEDULE at time 0 of such a task has no requests either (291 rows of part 0).
        chosen = {segment.instances[i].task for i in choose(self.rng, rows, count)}
        for i, event in enumerate(segment.instances):
            if event.time == 0 and event.task in chosen:
                segment.instances[i] = replace(
                    event, missing="EXISTS_BUT_NO_CREATION", has_request=False
                )
                self.planted["tasks_without_requests"].append(event.place)

    def _forget_capacity(self, segment: TraceSegment) -> None:
        rows = [i for i, e in enumerate(segment.machines) if e.type == "ADD"]
        # At least one at the start, however small the trace.
        count = round(self.rates.no_capacity * len(rows)) or int(segment.number == 0)
        for i in choose(self.rng, rows, count):
            event = segment.machines[i]
            segment.machines[i] = replace(event, is_unknown=True)
            self.planted["machines_without_capacity"].append(
                int(self.workload.machines.ids[event.machine])
            )

    def _mark(
        self, events: list[Any], may_be: list[bool], name: str, rate: float, change: dict[str, str]
    ) -> None:
        """Change a share of the events that may be changed, and note their places."""
        for i in choose_share(self.rng, rate, may_be):
            events[i] = replace(events[i], **change)
            self.planted[name].append(events[i].place)


def _is_whole(event: CollectionEvent | InstanceEvent) -> bool:
    """Return whether an event lies inside the trace and has no missing info."""
    return event.time > 0 and event.missing is None
