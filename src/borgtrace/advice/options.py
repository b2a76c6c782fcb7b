"""The options of an advice; every default suits most clusters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from borgtrace.advice.node_types import read_node_types
from borgtrace.errors import check_names
from borgtrace.extensions import Registry
from borgtrace.overcommit.policies import POLICY_KINDS
from borgtrace.overcommit.recommenders import RECOMMENDER_KINDS
from borgtrace.overcommit.replay import RESOURCES
from borgtrace.schema.bounds import (
    HORIZON,
    PROBABILITY,
    PROCESSES,
    SAMPLE_OR_ALL,
    SEED,
    SHARE,
    TASKS_PER_NODE,
    UNIT_OPTIONS,
    UNIT_SIZE,
    check_fields,
)
from borgtrace.schema.time import Microseconds

ASSUMED_CORES = 64.0
ASSUMED_GIB = 256.0
"""Of the largest machine, where nobody knows it: recommenders have buckets of cores and bytes."""
TARGETS = (0.001, 0.01, 0.05)
"""Risks that are aimed at where none is named: the smallest that the data can show."""


@dataclass(frozen=True, slots=True)
class AdviceOptions:
    """Options of an advice.

    Attributes
    ----------
    target
        Share of the 5-minute windows of a machine in which a promise may be broken; None: the smallest of `TARGETS`
        that so much data can show.
    horizon
        How long a promise holds, µs; None: derived from the length of the trace.
    resources
        ``cpu``, ``memory`` or both.
    policies
        Overcommit policies to choose among; none: a list that suits the length of the trace.
    machines
        Judge policies on a random sample of so many machines; 0 takes all.
    by
        What a workload is: ``owner``, ``name`` (its pattern), ``job`` or ``user``; empty: the first of them that the
        store has.
    recommender
        What recommends requests of workloads; empty: the one that does best in a back-test.
    below_peak
        Whether memory may be recommended below what was seen at its highest.
    prices
        File of node types with their prices, of which the cheapest mix is sought; None: the built-in table.
    headroom
        Share of each node that is left free.
    pods_per_node
        Most tasks on a node.
    cores, gib
        Cores and GiB of the largest machine; 0: as the store knows them.
    seed
        Of the sample, and of the orders of packing.
    jobs
        Processes.
    """

    target: Annotated[float, PROBABILITY] | None = None
    horizon: Annotated[Microseconds, HORIZON] | None = None
    resources: Sequence[str] = RESOURCES
    policies: Sequence[str] = ()
    machines: Annotated[int, SAMPLE_OR_ALL] = 0
    by: str = ""
    recommender: str = ""
    below_peak: bool = False
    prices: Path | None = None
    headroom: Annotated[float, SHARE] = 0.05
    pods_per_node: Annotated[int, TASKS_PER_NODE] = 110
    cores: Annotated[float, UNIT_SIZE] = 0.0
    gib: Annotated[float, UNIT_SIZE] = 0.0
    seed: Annotated[int, SEED] = 0
    jobs: Annotated[int, PROCESSES] = 1

    def __post_init__(self) -> None:
        check_names("--resource", self.resources, RESOURCES)
        policies = [part for policy in self.policies for part in policy.split("+")]
        self._check_rules("--policy", policies, POLICY_KINDS)
        if self.recommender:
            self._check_rules("--recommender", [self.recommender], RECOMMENDER_KINDS)
        check_fields(self, UNIT_OPTIONS)
        if self.prices is not None:
            # They are read when they are needed; a wrong table is said before anything is fetched or computed.
            read_node_types(self.prices)

    @staticmethod
    def _check_rules(option: str, texts: Sequence[str], kinds: Registry[Any]) -> None:
        """Refuse names that nothing has, here: an advice takes no file of one's own, which others offer."""
        names = [text.strip().partition(":")[0] for text in texts]
        check_names(option, names, sorted(kinds), f"no such {kinds.noun}")
