"""Scheduling records that are missing: the task runs and ends, but nothing says that it was placed."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from borgtrace.schema import UPDATE_EVENTS
from borgtrace.schema.time import TRACE_START
from borgtrace.synth.event_log import TraceSegment

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
    planted
        Where their places are noted, and those of every FINISH that therefore follows no SCHEDULE.
    """

    def __init__(self, rate: float, rng: np.random.Generator, planted: Mapping[str, list[Any]]) -> None:
        self.rate, self.rng, self.planted = rate, rng, planted
        self._open: dict[int, str] = {}

    def remove_from(self, segment: TraceSegment) -> None:
        """Take records out of a segment; the next record of each task follows what came before."""
        # Snapshot rows stay: without its SCHEDULE at time 0 a task would not be running at the start at all.
        may_be = [e.type == "SCHEDULE" and e.time > TRACE_START and not e.missing for e in segment.instances]
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
