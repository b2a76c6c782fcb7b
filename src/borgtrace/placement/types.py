"""The three small functions a packing is made of, and how they are compiled.

An estimator describes a task by a row of numbers (its *item*) and a machine by a row of the same width
(its *state*); two compiled functions say what happens when they meet, and a packer may add a third:

- ``slack(state, item, capacity, parameters)``: room left if the item joined; negative: it does not fit;
- ``add(state, item)``: the item joins, in place;
- ``score(state, item, capacity, slack)``: among the machines where it fits, the highest score wins.

A capacity is a row too, one number per resource, CPU first.

They have fixed signatures, so the packing kernels take them as first-class arguments: compiled once, whatever
the estimator, at two nanoseconds a call.
"""

from collections.abc import Callable
from typing import Any, Protocol, cast

from numba import types

from borgtrace.kernels.arrays import Numbers
from borgtrace.kernels.compiled import compiled

Row = Numbers


class Slack(Protocol):
    """Type of a fit test."""

    def __call__(self, state: Row, item: Row, capacity: Row, parameters: Row, /) -> float:
        """Room left if the item joined."""


class Add(Protocol):
    """Type of what happens when an item joins."""

    def __call__(self, state: Row, item: Row, /) -> None:
        """Change the state in place."""


class Score(Protocol):
    """Type of a preference among machines."""

    def __call__(self, state: Row, item: Row, capacity: Row, slack: float, /) -> float:
        """Higher is better."""


# Contiguous rows only: lines of a table, and the slices that `cuts` take of them, always are.
_ROW = types.float64[::1]
SLACK_TYPE = types.float64(_ROW, _ROW, _ROW, _ROW)
ADD_TYPE = types.void(_ROW, _ROW)
SCORE_TYPE = types.float64(_ROW, _ROW, _ROW, types.float64)


def slack_kernel(function: Slack, *, cached: bool = True) -> Slack:
    """Compile a fit test (see the module's docstring).

    Parameters
    ----------
    function
        The test, in the part of Python that Numba compiles.
    cached
        Whether to keep the machine code on disk: not for functions made at run time, which have no file.
    """
    return cast(Slack, _compiled(SLACK_TYPE, function, cached))


def add_kernel(function: Add) -> Add:
    """Compile how an item joins a machine's state."""
    return cast(Add, _compiled(ADD_TYPE, function, True))


def score_kernel(function: Score) -> Score:
    """Compile a packer's preference among the machines where an item fits."""
    return cast(Score, _compiled(SCORE_TYPE, function, True))


def _compiled(signature: Any, function: Callable[..., Any], cached: bool) -> Any:
    return compiled(signature, divides_by_zero=True, cached=cached)(function)


@add_kernel
def add_sums(state: Row, item: Row) -> None:
    """Join by adding up: the default, for items whose numbers are sums over the tasks."""
    for k in range(state.size):
        state[k] += item[k]
