"""Which event may follow which, by whom: four published pictures of the life cycle.

Every picture has the states *pending*, *running* and *dead*; they differ in the arrows between them.
Sources: 2011 format document (rev. 2014-11-17, "Job and task life cycles"); Verma et al., "Large-scale
cluster management at Google with Borg", EuroSys'15, Fig. 2; Zhu et al., Fig. 1 and Method 3-2; the
2019 (v3) format document with the event types QUEUE and ENABLE.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from borgtrace.schema import TERMINAL_EVENTS

Arrow = tuple[str | None, str]
"""(event, next event); None stands for "no event before"."""


@dataclass(frozen=True, slots=True)
class Graph:
    """A published life cycle as the set of its arrows between events."""

    name: str
    doc: str
    arrows: frozenset[Arrow]


def _arrows(*rules: tuple[Iterable[str | None], Iterable[str]]) -> frozenset[Arrow]:
    return frozenset((before, after) for befores, afters in rules for before in befores for after in afters)


_BORN = ((None,), ("SUBMIT",))
_PENDING = ("SUBMIT", "UPDATE_PENDING")
_RUNNING = ("SCHEDULE", "UPDATE_RUNNING")
_PENDING_ENDS = ("FAIL", "KILL", "LOST")
_RUN = (_RUNNING, (*TERMINAL_EVENTS, "UPDATE_RUNNING"))
# After FINISH too: 9,786 finished tasks were submitted again in the first 19.65 h of 2011.
_DEAD = (TERMINAL_EVENTS, ("SUBMIT",))

DOCUMENT_2011 = Graph(
    "document_2011",
    "Format document of 2011: a pending task is scheduled, fails, is killed or lost; eviction needs a machine.",
    _arrows(_BORN, (_PENDING, ("SCHEDULE", "UPDATE_PENDING", *_PENDING_ENDS)), _RUN, _DEAD),
)
BORG_PAPER = Graph(
    "borg_paper",
    "Borg paper, Fig. 2: eviction leads back to pending, so that SCHEDULE may follow it at once "
    "(the trace writes a SUBMIT in between).",
    _arrows(
        _BORN,
        (_PENDING, ("SCHEDULE", "UPDATE_PENDING", *_PENDING_ENDS)),
        _RUN,
        _DEAD,
        (("EVICT",), ("SCHEDULE", "UPDATE_PENDING", *_PENDING_ENDS)),
    ),
)
ZHU = Graph(
    "zhu",
    "Zhu et al., Fig. 1: as the 2011 document, and a pending task may be evicted.",
    _arrows(_BORN, (_PENDING, ("SCHEDULE", "UPDATE_PENDING", "EVICT", *_PENDING_ENDS)), _RUN, _DEAD),
)
DOCUMENT_2019 = Graph(
    "document_2019",
    "Format document of 2019 (v3): SUBMIT, then perhaps QUEUE and ENABLE, then SCHEDULE.",
    _arrows(
        _BORN,
        (_PENDING, ("QUEUE", "ENABLE", "SCHEDULE", "UPDATE_PENDING", *_PENDING_ENDS)),
        # What is queued is not eligible for the scheduler until it is enabled: no SCHEDULE here.
        (("QUEUE",), ("ENABLE", "UPDATE_PENDING", *_PENDING_ENDS)),
        (("ENABLE",), ("QUEUE", "SCHEDULE", "UPDATE_PENDING", *_PENDING_ENDS)),
        _RUN,
        _DEAD,
    ),
)

GRAPHS: dict[str, Graph] = {graph.name: graph for graph in (DOCUMENT_2011, BORG_PAPER, ZHU, DOCUMENT_2019)}
"""The published life cycles by name."""


def is_legal(graph: Graph, before: str | None, after: str) -> bool:
    """Whether `after` may directly follow `before` (None: be the first event) in a life cycle.

    Parameters
    ----------
    graph
        A published life cycle.
    before, after
        Types of neighboring events; `before` is None for the first event of a life.

    Examples
    --------
    >>> is_legal(DOCUMENT_2011, "SUBMIT", "EVICT"), is_legal(ZHU, "SUBMIT", "EVICT")
    (False, True)
    """
    return (before, after) in graph.arrows
