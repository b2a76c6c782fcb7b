"""What a paper prints: its tables and figures in its order, and the question that answers each."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from borgtrace.errors import UsageError, did_you_mean
from borgtrace.report.papers import papers_cited
from borgtrace.reproduction.axes import Draw
from borgtrace.scheduling.gpus import GpuFolder
from borgtrace.schema.dialects import Citation
from borgtrace.store import Store
from borgtrace.store import open as open_store


def open_trace(path: str | Path, memory: str) -> Store:
    """Open the store that most papers are reproduced on.

    Parameters
    ----------
    path
        Its folder.
    memory
        Of the engine.
    """
    return open_store(path, memory=memory)


Shape = Literal["figure", "table", "nothing"]
"""How an answer is shown; "nothing": only the claims on it belong to the item."""
NO_LETTER = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemAnswer:
    """A question that answers a table or figure, and what of its answer belongs there.

    Parameters
    ----------
    question
        Its name: one of the catalog, ``"overcommit"`` or ``"compaction"``.
    parameters
        Those that differ from their defaults.
    claims
        Ids of the claims on it that belong to the item; where None, all that name the paper first.
    shape
        How the answer is shown.
    panel
        Which panel of the question's chart is the paper's figure; the whole chart where None.
    draw
        Draws the answer on the paper's axes, where the question's chart has others.
    is_wide
        Whether the figure needs both columns of a page.
    lacks
        Says why an answer has not what the item shows, though it has rows; returns an empty text where it has.
    """

    question: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    claims: tuple[str, ...] | None = None
    shape: Shape = "figure"
    panel: int | None = None
    draw: Draw | None = None
    is_wide: bool = False
    lacks: Callable[[pa.Table], str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedItem:
    """A table or figure of a paper, or a result in its text.

    Parameters
    ----------
    name
        As the paper calls it: ``"Fig. 8"``, ``"Table 1"``; a word or two for what it does not number.
    title
        What it shows.
    axes
        What lies on its axes, or stands in its rows and columns.
    answers
        The questions that answer it, the one that is shown first.
    needs
        Why no question answers it: what it would need.
    note
        What to know when the two are compared.
    """

    name: str
    title: str
    axes: str = ""
    answers: tuple[ItemAnswer, ...] = ()
    needs: str = ""
    note: str = ""

    @property
    def slug(self) -> str:
        """The name for files, anchors and options, such as ``fig-8``."""
        return NO_LETTER.sub("-", self.name.lower()).strip("-")


@dataclass(frozen=True, kw_only=True)
class PublishedPaper:
    """A paper: what it prints, in its order.

    Parameters
    ----------
    name
        First author and year, such as ``"zhu2015"``.
    mark
        The author by whom claims name it.
    trace
        The trace it is about, in words.
    items
        Its tables and figures.
    note
        What to know of the list.
    opens
        Opens what the paper is reproduced on: a store, or files that none has all of.
    """

    name: str
    mark: str
    trace: str
    items: tuple[PublishedItem, ...]
    note: str = ""
    opens: Callable[[str | Path, str], Store | GpuFolder] = open_trace

    @cached_property
    def citation(self) -> Citation:
        """How it is cited."""
        (citation,) = papers_cited(self.mark)
        return citation

    def chosen(self, names: Sequence[str]) -> tuple[PublishedItem, ...]:
        """Return items by name, in the order of the paper; all where no name is given.

        Parameters
        ----------
        names
            As the paper has them, or as options: ``Fig. 8`` and ``fig-8`` are the same.

        Raises
        ------
        UsageError
            There is no such item.
        """
        slugs = [item.slug for item in self.items]
        wanted = set()
        for name in names:
            slug = NO_LETTER.sub("-", name.lower()).strip("-")
            if slug not in slugs:
                raise UsageError(
                    "--only",
                    f"no such table or figure of {self.name}",
                    got=name,
                    way_out=did_you_mean(slug, slugs)
                    or f"all of them: borgtrace reproduce {self.name} --list",
                )
            wanted.add(slug)
        return tuple(item for item in self.items if not names or item.slug in wanted)
