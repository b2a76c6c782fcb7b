"""What runs at the busiest moment, and the shares of it that are promised."""

from __future__ import annotations

from dataclasses import dataclass

from borgtrace.question import Row
from borgtrace.scheduling.workload import KnownMachines, TaskAttempts

NOT_TODAY: Row = {"cpu_requested": None, "memory_requested": None, "overfull": None}
"""What is known of today's nodes alone."""


@dataclass(frozen=True, slots=True, eq=False)
class PackedMoment:
    """What runs at the busiest moment.

    Attributes
    ----------
    at
        µs on the trace's clock.
    machines, tasks
        What is there.
    promised
        Shares of CPU and memory requests that are promised.
    """

    at: int
    machines: KnownMachines
    tasks: TaskAttempts
    promised: tuple[float, float]

    @property
    def plan(self) -> str:
        """What tasks take, as ``borgtrace compact --plan`` reads it."""
        cpu, memory = self.promised
        return f"share:{cpu:.4g},{memory:.4g}"
