"""The three small functions a packing is made of, and how they are compiled.

An estimator describes a task by a row of numbers (its *item*) and a machine by a row of the same width
(its *state*).  Two compiled functions say what happens when they meet, and a packer may add a third:

- ``slack(state, item, capacity, parameters)``: room left if the item joined; negative: it does not fit;
- ``add(state, item)``: the item joins, in place;
- ``score(state, item, capacity, slack)``: among the machines where it fits, the highest score wins.

A capacity is a row too, one number per resource, CPU first.

Their signatures are fixed, so the packing kernels take them as arguments: the kernels are compiled once, whatever
the estimator, and a call takes two nanoseconds.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, Protocol, cast

from numba import types
from numba.extending import typeof_impl
from numba.types import CompileResultWAP

from borgtrace.kernels.arrays import Numbers
from borgtrace.kernels.compiled import compiled, is_compiled

Row = Numbers


class Slack(Protocol):
    """Type of a fit test."""

    def __call__(self, state: Row, item: Row, capacity: Row, parameters: Row, /) -> float:
        """Return the room left if the item joined."""


class Add(Protocol):
    """Type of how an item joins."""

    def __call__(self, state: Row, item: Row, /) -> None:
        """Change the state in place."""


class Score(Protocol):
    """Type of a preference among machines."""

    def __call__(self, state: Row, item: Row, capacity: Row, slack: float, /) -> float:
        """Return the score of a machine where the item fits; higher is better."""


# Contiguous rows only: rows of a table, and the slices that cuts take of them, always are.
_ROW = types.float64[::1]
SLACK_TYPE = types.float64(_ROW, _ROW, _ROW, _ROW)
ADD_TYPE = types.void(_ROW, _ROW)
SCORE_TYPE = types.float64(
    _ROW,
    _ROW,
    _ROW,
    types.float64,
)


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


@cache
def as_slack_kernel(function: Any) -> Slack:
    """Return a fit test compiled: as it is where it has been, else compiled now, once in a process."""
    return cast(Slack, function if is_compiled(function) else slack_kernel(function, cached=False))


@cache
def as_add_kernel(function: Any) -> Add:
    """Return how an item joins, compiled: as it is where it has been, else compiled now, once in a process."""
    return cast(Add, function if is_compiled(function) else _compiled(ADD_TYPE, function, False))


class KernelArgument(CompileResultWAP):
    """A compiled function as kernels take it: its address and its type are known, and not looked up at each call.

    A call with the functions themselves takes 160 µs, more than most packings.
    """

    def __init__(self, result: Any) -> None:
        super().__init__(result)
        self.numba_type = types.FunctionType(result.signature)


@typeof_impl.register(KernelArgument)
def _type_of_argument(argument: KernelArgument, context: Any) -> Any:
    return argument.numba_type


def as_argument(function: Any, signature: Any) -> Any:
    """Return a compiled function as kernels take it, made once in a process.

    Parameters
    ----------
    function
        One of the three.
    signature
        Its type.
    """
    return _argument(function, signature)


@cache
def _argument(function: Any, signature: Any) -> KernelArgument:
    return KernelArgument(function.get_compile_result(signature))


def score_kernel(function: Score) -> Score:
    """Compile a packer's preference among the machines where an item fits."""
    return cast(Score, _compiled(SCORE_TYPE, function, True))


def _compiled(
    signature: Any,
    function: Callable[..., Any],
    cached: bool,
) -> Any:
    return compiled(signature, divides_by_zero=True, cached=cached)(function)


@compiled(inline=True)
def sum_with(
    state: Row,
    item: Row,
    column: int,
) -> float:
    """Return a number of the machine with the item, where it adds up over tasks."""
    return state[column] + item[column]


@compiled(inline=True)
def room_above(
    state: Row,
    item: Row,
    column: int,
    capacity: float,
) -> float:
    """Return the capacity left above a number of the machine with the item.

    In this order of subtractions everywhere: kernels that give the same packing must agree to the last bit.
    """
    return capacity - state[column] - item[column]


@add_kernel
def add_sums(state: Row, item: Row) -> None:
    """Let an item join by adding up: the default, for rows of sums over the tasks."""
    for k in range(state.size):
        state[k] += item[k]
