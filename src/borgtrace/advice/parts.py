"""The parts of an advice: each an answer of its own, about one store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from borgtrace.advice.options import AdviceOptions
from borgtrace.question import Result
from borgtrace.store import Store


@dataclass(frozen=True, slots=True, eq=False)
class AdviceParts:
    """What is advised about a cell.

    Attributes
    ----------
    store
        The cell.
    options
        What was asked for, with the sizes of the largest machine as far as they are known.
    value
        How far requests may be overcommitted, at what risk, by resource.
    periods
        The walk behind it.
    machines
        How many nodes hold the workload, today's and others.
    incidents
        What would have broken.
    workloads
        What to set for each workload.
    unknown
        What could not be seen.
    """

    store: Store
    options: AdviceOptions
    value: Result
    periods: Result
    machines: Result
    incidents: Result
    workloads: Result
    unknown: Result

    @property
    def results(self) -> Sequence[Result]:
        """All parts, in the order of the page."""
        return (
            self.value,
            self.periods,
            self.machines,
            self.incidents,
            self.workloads,
            self.unknown,
        )
