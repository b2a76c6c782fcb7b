"""Scheduling records that are missing: the task runs and ends, but nothing says that it was placed."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from borgtrace.schema import UPDATE_EVENTS
from borgtrace.schema.time import TRACE_START
from borgtrace.synth.event_log import InstanceEvent, TraceSegment

Place = tuple[int, int, int]
_ALREADY: Final = ""
"""A task whose event after the missing record has come, and whose end has not."""


class MissingSchedules:
    """Takes SCHEDULE records out of segments, and remembers what that does to the records after them.

    Parameters
    ----------
    rate
        Share of SCHEDULE records inside the trace that are absent.
    rng
        Decides which.
    """

    def __init__(self, rate: float, rng: np.random.Generator) -> None:
        self.rate, self.rng = rate, rng
        self.missing: list[Place] = []
        self.finished: list[Place] = []
        self._open: dict[int, str] = {}

    def remove_from(self, segment: TraceSegment) -> None:
        """Take records out of a segment; the next record of each task follows what came before."""
        gone = self._choose(segment.instances)
        if gone or self._open:
            segment.instances = [
                self._follow(event) for i, event in enumerate(segment.instances) if not self._take(i in gone, event)
            ]

    def _choose(self, events: list[InstanceEvent]) -> set[int]:
        if self.rate == 0.0:
            return set()
        # Snapshot rows stay: without its SCHEDULE at time 0 a task would not be running at the start at all.
        rows = [i for i, e in enumerate(events) if e.type == "SCHEDULE" and e.time > TRACE_START and not e.missing]
        count = min(int(self.rng.poisson(self.rate * len(rows))), len(rows))
        return {rows[i] for i in self.rng.choice(len(rows), size=count, replace=False)} if count else set()

    def _take(self, is_gone: bool, event: InstanceEvent) -> bool:
        if is_gone:
            self.missing.append(place_of(event))
            self._open[event.task.serial] = event.before
        return is_gone

    def _follow(self, event: InstanceEvent) -> InstanceEvent:
        before = self._open.get(event.task.serial) if self._open else None
        if before is None:
            return event
        # An update does not end the run, so the task stays open: its FINISH still follows no SCHEDULE.
        if event.type in UPDATE_EVENTS:
            self._open[event.task.serial] = _ALREADY
        else:
            del self._open[event.task.serial]
            if event.type == "FINISH":
                self.finished.append(place_of(event))
        return replace(event, before=before) if before != _ALREADY else event


def place_of(event: InstanceEvent) -> Place:
    """Return collection id, instance index and time (µs) of a record."""
    return event.task.job.id, event.task.index, event.time
