"""Marks: what is drawn for a row or for a series of rows."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Mark:
    """A mark of Vega-Lite with its fixed properties."""

    kind: str
    style: Mapping[str, Any]


def line(**style: Any) -> Mark:
    """A line per series; ``point=True`` marks the rows."""
    return Mark("line", style)


def step(**style: Any) -> Mark:
    """A step function: every value holds until the next."""
    return Mark("line", {"interpolate": "step-after", **style})


def area(**style: Any) -> Mark:
    """An area under a line, or between ``y`` and ``y2``."""
    return Mark("area", style)


def bar(**style: Any) -> Mark:
    """A bar per row."""
    return Mark("bar", style)


def point(size: int | None = None, *, filled: bool = True, **style: Any) -> Mark:
    """A point per row."""
    return Mark("point", {"filled": filled, **({} if size is None else {"size": size}), **style})


def rect(**style: Any) -> Mark:
    """A rectangle per row: a cell of a heat map."""
    return Mark("rect", style)


def rule(*, dashed: bool = False, **style: Any) -> Mark:
    """A rule across the plot, or a span from ``x`` to ``x2``."""
    return Mark("rule", {**({"strokeDash": [5, 3]} if dashed else {}), **style})


def text(**style: Any) -> Mark:
    """A word per row."""
    return Mark("text", style)


def tick(**style: Any) -> Mark:
    """A short stroke per row."""
    return Mark("tick", style)


def box(**style: Any) -> Mark:
    """A box plot of many rows; whiskers reach the extremes."""
    return Mark("boxplot", {"extent": "min-max", **style})
