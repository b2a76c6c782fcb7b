"""Which event may follow which, by whom: four published pictures of the life cycle (``graphs.txt``).

Every picture has the states *pending*, *running* and *dead*; they differ in the arrows between them.
Sources: 2011 format document (rev. 2014-11-17, "Job and task life cycles"); Verma et al., "Large-scale
cluster management at Google with Borg", EuroSys'15, Fig. 2; Zhu et al., Fig. 1 and Method 3-2; the
2019 (v3) format document with the event types QUEUE and ENABLE.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from pathlib import Path

from borgtrace.schema.data_files import read_paragraphs

Arrow = tuple[str | None, str]
"""(event, next event); None stands for "no event before"."""


@dataclass(frozen=True, slots=True)
class Graph:
    """A published life cycle as the set of its arrows between events."""

    name: str
    doc: str
    arrows: frozenset[Arrow]


def _graph(head: str, *rules: str) -> Graph:
    name, doc = head.split("|")
    arrows: set[Arrow] = set()
    for rule in rules:
        befores, afters = (side.split() for side in rule.split("→"))
        # Nothing before the arrow: the first event of a life.
        arrows.update(product(befores or (None,), afters))
    return Graph(name, doc, frozenset(arrows))


_DECLARED = read_paragraphs(Path(__file__).with_name("graphs.txt"))
GRAPHS = {graph.name: graph for graph in (_graph(*paragraph) for paragraph in _DECLARED)}
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
    >>> is_legal(GRAPHS["document_2011"], "SUBMIT", "EVICT"), is_legal(GRAPHS["zhu"], "SUBMIT", "EVICT")
    (False, True)
    """
    return (before, after) in graph.arrows
