"""A fit test as the packing kernels take it: one test over whole rows, or two, each over its part of the rows.

Combining two compiled functions at run time would compile again, half a second for each pair.  So a pair stays two
functions, and the *cuts* say which part of a row each of them gets.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numba import types

from borgtrace.kernels.arrays import Index
from borgtrace.kernels.compiled import compiled
from borgtrace.placement.types import ADD_TYPE, SLACK_TYPE, Add, Row, Slack, as_argument

SLACK = types.FunctionType(SLACK_TYPE)
ADD = types.FunctionType(ADD_TYPE)
ROWS = types.float64[:, ::1]
ROW = types.float64[::1]
INDEX = types.int64[::1]
NO_CUTS: Index = np.empty(0, np.int64)
"""One test over whole rows."""


def packing_kernel(signature: Any) -> Any:
    """Return a decorator that compiles a kernel which takes functions: once, whichever they are."""
    return compiled(signature, divides_by_zero=True)


@packing_kernel(
    types.float64(
        SLACK,
        SLACK,
        INDEX,
        ROW,
        ROW,
        ROW,
        ROW,
    )
)
def room_for(slack, other, cuts, state, item, capacity, parameters):  # type: ignore[no-untyped-def]
    """Return the room left if the item joined: that of the only test, or the smaller of both.

    Parameters
    ----------
    slack, other, cuts
        From :attr:`FitTest.slacks`.
    state, item
        float64 (w,): the machine, and the task that might join.
    capacity, parameters
        One number per resource; what both tests were given.
    """
    if cuts.size == 0:
        return slack(state, item, capacity, parameters)
    low = cuts[0]
    end = cuts[1]
    n = cuts[2]
    room = slack(
        state[low:end],
        item[low:end],
        capacity[:1],
        parameters[:n],
    )
    # Only the sign matters where a test fails: skip the second one.
    if room < 0:
        return room
    other_room = other(
        state[end:],
        item[end:],
        capacity[1:],
        parameters[n:],
    )
    # The scarcer resource counts, so Best Fit compares machines by what will run out first.
    return min(room, other_room)


@packing_kernel(
    types.void(
        ADD,
        ADD,
        INDEX,
        ROW,
        ROW,
    )
)
def join(add, other, cuts, state, item):  # type: ignore[no-untyped-def]
    """Let the item join, for every test; columns before the first cut add up.

    Parameters
    ----------
    add, other, cuts
        From :attr:`FitTest.adds` and :attr:`FitTest.cuts`.
    state
        float64 (w,): the machine, changed in place.
    item
        float64 (w,): the task.
    """
    if cuts.size == 0:
        add(state, item)
        return
    low = cuts[0]
    end = cuts[1]
    for k in range(low):
        state[k] += item[k]
    add(state[low:end], item[low:end])
    other(state[end:], item[end:])


@dataclass(frozen=True, eq=False)
class FitTest:
    """The compiled functions of one test, or of two.

    Attributes
    ----------
    slack, add
        See :mod:`borgtrace.placement.types`.
    other_slack, other_add, cuts
        Those of a second test.  With `cuts` = (low, end, n) the first test gets columns low … end − 1 of states
        and items, the first capacity and the first n parameters; the second gets what follows.

    Examples
    --------
    >>> from borgtrace.placement.types import add_sums, slack_kernel
    >>> size = slack_kernel(lambda state, item, capacity, parameters: capacity[0] - state[0] - item[0], cached=False)
    >>> both = FitTest(size, add_sums, size, add_sums, np.array([0, 1, 0]))
    >>> row = np.array([0.25, 0.5])
    >>> both.room(row, row, np.ones(2), np.empty(0))  # 1 − ½ and 1 − 1
    0.0
    """

    slack: Slack
    add: Add
    other_slack: Slack | None = None
    other_add: Add | None = None
    cuts: Index = field(default_factory=lambda: NO_CUTS)

    @property
    def slacks(self) -> tuple[Slack, Slack, Index]:
        """Arguments of a kernel that tests."""
        # A kernel always takes two functions; without cuts it never calls the second.
        slack = as_argument(self.slack, SLACK_TYPE)
        other = as_argument(self.other_slack, SLACK_TYPE) if self.other_slack else slack
        return slack, other, self.cuts

    @property
    def adds(self) -> tuple[Add, Add]:
        """Arguments of a kernel that lets items join (after those of :attr:`slacks`)."""
        add = as_argument(self.add, ADD_TYPE)
        return add, as_argument(self.other_add, ADD_TYPE) if self.other_add else add

    def room(
        self,
        state: Row,
        item: Row,
        capacity: Row,
        parameters: Row,
    ) -> float:
        """Return the room left if the item joined; negative where it does not fit.

        Parameters
        ----------
        state, item
            float64 (w,): the machine, and the task that might join.
        capacity, parameters
            One number per resource; what both tests were given.
        """
        # Far cheaper than passing functions to a kernel.
        if not self.cuts.size:
            return self.slack(state, item, capacity, parameters)
        return float(
            room_for(
                *self.slacks,
                state,
                item,
                capacity,
                parameters,
            )
        )

    def join(self, state: Row, item: Row) -> None:
        """Let the item join, in place.

        Parameters
        ----------
        state
            float64 (w,): the machine, changed in place.
        item
            float64 (w,): the task.
        """
        if not self.cuts.size:
            self.add(state, item)
        else:
            join(
                *self.adds,
                self.cuts,
                state,
                item,
            )
