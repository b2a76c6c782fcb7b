"""Which event may follow which: four published life cycles.

Each has the states *pending*, *running* and *dead*; they differ in the arrows between them.
Sources: 2011 format document (rev. 2014-11-17, "Job and task life cycles"); Verma et al., "Large-scale
cluster management at Google with Borg", EuroSys'15, Fig. 2; Zhu et al., Fig. 1 and Method 3-2; the
2019 (v3) format document with the event types QUEUE and ENABLE.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from borgtrace.schema import TERMINAL_EVENTS

Arrow = tuple[str | None, str]
"""(event, next event); None stands for "no event before"."""


@dataclass(frozen=True, slots=True)
class Graph:
    """A published life cycle as the set of its arrows between events."""

    name: str
    doc: str
    arrows: frozenset[Arrow]


@dataclass(frozen=True, slots=True)
class SuccessionRule:
    """Events, each of which may be followed by any of some others."""

    before: Sequence[str | None]
    after: Sequence[str]


def arrows(*rules: SuccessionRule) -> frozenset[Arrow]:
    """Return the arrows that some rules allow."""
    allowed: set[Arrow] = set()
    for rule in rules:
        allowed.update(product(rule.before, rule.after))
    return frozenset(allowed)


_BEGINS = SuccessionRule([None], ["SUBMIT"])
_RUNNING = SuccessionRule(
    ["SCHEDULE", "UPDATE_RUNNING"],
    ["EVICT", "FAIL", "FINISH", "KILL", "LOST", "UPDATE_RUNNING"],
)
# After FINISH as well: 9,786 finished tasks were submitted again in the first 19.65 h of 2011.
_SUBMITTED_AGAIN = SuccessionRule(TERMINAL_EVENTS, ["SUBMIT"])

_DOCUMENT_2011 = Graph(
    "document_2011",
    "Format document of 2011: a pending task is scheduled, fails, is killed or lost; eviction needs a machine.",
    arrows(
        _BEGINS,
        SuccessionRule(
            ["SUBMIT", "UPDATE_PENDING"],
            ["SCHEDULE", "UPDATE_PENDING", "FAIL", "KILL", "LOST"],
        ),
        _RUNNING,
        _SUBMITTED_AGAIN,
    ),
)
_BORG_PAPER = Graph(
    "borg_paper",
    "Borg paper, Fig. 2: eviction leads back to pending, so that SCHEDULE may follow it at once "
    "(the trace writes a SUBMIT in between).",
    arrows(
        _BEGINS,
        SuccessionRule(
            ["SUBMIT", "UPDATE_PENDING", "EVICT"],
            ["SCHEDULE", "UPDATE_PENDING", "FAIL", "KILL", "LOST"],
        ),
        _RUNNING,
        _SUBMITTED_AGAIN,
    ),
)
_ZHU = Graph(
    "zhu",
    "Zhu et al., Fig. 1: as the 2011 document, and a pending task may be evicted.",
    arrows(
        _BEGINS,
        SuccessionRule(
            ["SUBMIT", "UPDATE_PENDING"],
            ["SCHEDULE", "UPDATE_PENDING", "EVICT", "FAIL", "KILL", "LOST"],
        ),
        _RUNNING,
        _SUBMITTED_AGAIN,
    ),
)
_DOCUMENT_2019 = Graph(
    "document_2019",
    "Format document of 2019 (v3): SUBMIT, then perhaps QUEUE and ENABLE, then SCHEDULE.",
    arrows(
        _BEGINS,
        SuccessionRule(
            ["SUBMIT", "UPDATE_PENDING"],
            ["QUEUE", "ENABLE", "SCHEDULE", "UPDATE_PENDING", "FAIL", "KILL", "LOST"],
        ),
        # A queued task is not eligible for the scheduler until it is enabled: no SCHEDULE after QUEUE.
        SuccessionRule(["QUEUE"], ["ENABLE", "UPDATE_PENDING", "FAIL", "KILL", "LOST"]),
        SuccessionRule(
            ["ENABLE"],
            ["QUEUE", "SCHEDULE", "UPDATE_PENDING", "FAIL", "KILL", "LOST"],
        ),
        _RUNNING,
        _SUBMITTED_AGAIN,
    ),
)

GRAPHS = {graph.name: graph for graph in (_DOCUMENT_2011, _BORG_PAPER, _ZHU, _DOCUMENT_2019)}
"""The published life cycles by name."""


def is_legal(
    graph: Graph,
    before: str | None,
    after: str,
) -> bool:
    """Whether `after` may directly follow `before` (None: be the first event) in a life cycle.

    Parameters
    ----------
    graph
        A published life cycle.
    before, after
        Types of neighboring events; `before` is None for the first event of a life.

    Examples
    --------
    >>> is_legal(GRAPHS["document_2011"], "SUBMIT", "EVICT"), is_legal(GRAPHS["zhu"], "SUBMIT", "EVICT")
    (False, True)
    """
    return (before, after) in graph.arrows
