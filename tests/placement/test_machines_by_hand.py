"""Machines that are opened, chosen, filled up and kept apart, by hand, on capacities that are met exactly."""

from __future__ import annotations

import numpy as np
import pytest

from borgtrace.placement.estimators.gpa import Gpa
from borgtrace.placement.estimators.multi_resource import MultiResource
from borgtrace.placement.estimators.observation import Observation
from borgtrace.placement.estimators.sizes import Average
from borgtrace.placement.fit_tests import FitTest
from borgtrace.placement.fitting import Fitted
from borgtrace.placement.machines import choose, place, sum_up
from borgtrace.placement.packers import BEST_FIT, FIRST_FIT, Packer, packers
from borgtrace.placement.packing import Packing, fill_last_bin, pack, rebalanced

TEST = FitTest(Average.slack, Average.add)
BOTH = FitTest(
    Average.slack,
    Average.add,
    Average.slack,
    Average.add,
    np.array([2, 3, 0]),
)
"""CPU and memory by size; a row begins with two loads."""


def column(*sizes: float) -> np.ndarray:
    return np.array(sizes, np.float64)[:, None]


def fitted(*sizes: float) -> Fitted:
    return Fitted(Average(1), column(*sizes), 1.0)


def test_the_scarcer_of_two_resources_counts_and_both_join() -> None:
    state = np.array([1.0, 2.0, 0.25, 0.5])
    item = np.array([0.125, 0.25, 0.5, 0.125])
    none = np.empty(0)
    # CPU leaves 1 − .75, memory 1 − .625.
    assert (
        BOTH.room(
            state,
            item,
            np.ones(2),
            none,
        )
        == 0.25
    )
    assert (
        BOTH.room(
            state,
            item,
            np.array([2.0, 1.0]),
            none,
        )
        == 0.375
    )
    assert (
        BOTH.room(
            state,
            item,
            np.array([0.5, 0.5]),
            none,
        )
        == -0.25
    )
    BOTH.join(state, item)
    assert state.tolist() == [1.125, 2.25, 0.75, 0.625]


def test_the_first_machine_is_opened_that_takes_an_item_exactly() -> None:
    # The quarters are too small for .5 and kept; the last .5 fits no machine that is left.
    inventory = column(0.25, 0.25, 0.5, 0.25)
    bins, machines = place(fitted(0.5, 0.25, 0.25, 0.5), FIRST_FIT, inventory)
    assert bins.tolist() == [0, 1, 2, -1]
    assert machines.tolist() == [2, 0, 1]


def test_without_items_or_machines_nothing_is_placed() -> None:
    bins, machines = place(fitted(), FIRST_FIT, column(1.0))
    assert bins.tolist() == []
    assert machines.tolist() == []
    bins, _ = place(
        fitted(0.5),
        FIRST_FIT,
        np.empty((0, 1)),
    )
    assert bins.tolist() == [-1]


def test_a_group_shares_no_machine_whatever_its_number() -> None:
    groups = np.array([2, -1, 2, 0, 2, 0])
    items = fitted(*[0.125] * 6)
    inventory = column(*[1.0] * 6)
    bins, _ = place(items, FIRST_FIT, inventory, groups)
    assert bins.tolist() == [0, 0, 1, 0, 2, 1]


@pytest.mark.parametrize(
    ("packer", "expected"),
    [
        (BEST_FIT, 2),
        (FIRST_FIT, 1),
        (packers()["worst-fit"], 1),
        (packers()["dot-product"], 1),
    ],
)
def test_one_item_goes_to_a_machine_that_is_not_barred(packer: Packer, expected: int) -> None:
    # Room of 1, .75, .25 and 0 beyond an item of .25; the first is barred.
    states = column(0.0, 0.25, 0.5, 0.75)
    item = np.array([0.25])
    capacities = column(1.25, 1.25, 1.0, 1.0)

    def chosen(barred: list[int]) -> int:
        bars = np.array(barred)
        return choose(
            TEST,
            packer,
            states,
            item,
            capacities,
            np.empty(0),
            bars,
        )

    assert chosen([1, 0, 0, 1]) == expected
    assert chosen([1, 1, 1, 0]) == 3
    assert chosen([1, 1, 1, 1]) == -1


@pytest.mark.parametrize("packer", [BEST_FIT, FIRST_FIT])
def test_an_item_that_fills_a_machine_exactly_fits(packer: Packer) -> None:
    state = column(0.5)
    item = np.array([0.5])
    not_barred = np.zeros(1, np.int64)
    assert (
        choose(
            TEST,
            packer,
            state,
            item,
            column(1.0),
            np.empty(0),
            not_barred,
        )
        == 0
    )


def test_states_are_summed_up_anew() -> None:
    states = column(7.0, 7.0, 7.0)
    # Machine 2 holds items 0 and 3, machine 0 item 1; machine 1 is left as it is.
    add, other_add = TEST.adds
    items = column(0.5, 0.25, 9, 0.125)
    members = np.array([0, 3, 1])
    offsets = np.array([0, 2, 3])
    machines = np.array([2, 0])
    empty = np.array([1.0])
    sum_up(
        add,
        other_add,
        TEST.cuts,
        items,
        members,
        offsets,
        machines,
        empty,
        states,
    )
    assert states[:, 0].tolist() == [1.25, 7.0, 1.625]


def filled(
    sizes: list[float],
    bins: list[int],
    n_bins: int,
    *,
    groups: list[int] | None = None,
    max_failures: int = 5,
) -> list[int]:
    """Return the bins after the last one was filled up to a capacity of 1, and how many moved."""
    slack, other, cuts = TEST.slacks
    add, other_add = TEST.adds
    bins_after = np.array(bins)
    n_moved = fill_last_bin(
        slack,
        other,
        cuts,
        add,
        other_add,
        column(*sizes),
        np.zeros(1),
        np.ones(1),
        np.empty(0),
        np.array(groups or [-1] * len(sizes)),
        bins_after,
        n_bins,
        max_failures,
    )
    return [*bins_after.tolist(), n_moved]


def test_the_last_machine_is_filled_exactly_and_in_turns() -> None:
    assert filled([0.5, 0.5], [0, 1], 2) == [1, 1, 1]
    # From each bin its first in turn: .125 and .125, then .25 of bin 0; the last .5 does not fit any more.
    sizes = [0.125, 0.25, 0.125, 0.5, 0.5]
    assert filled(sizes, [0, 0, 1, 1, 2], 3) == [2, 2, 2, 1, 2, 3]
    # Three bins before the last one, with one task each: all of them come to their turn.
    assert filled([0.25] * 4, [0, 1, 2, 3], 4) == [3, 3, 3, 3, 3]
    # An item without a machine is passed over.
    assert filled([9.0, 0.25, 0.25], [-1, 0, 1], 2) == [-1, 1, 1, 1]


def test_a_group_on_the_last_machine_bars_those_that_were_there_and_those_that_moved() -> None:
    # Item 3 is there, of group 1: item 0 stays.  Item 1 moves and bars item 2, of its group.
    sizes = [0.125] * 4
    groups = [1, 0, 0, 1]
    assert filled(
        sizes,
        [0, 1, 1, 2],
        3,
        groups=groups,
    ) == [0, 2, 1, 2, 1]


def test_one_machine_is_left_as_it_is() -> None:
    packing = Packing(
        bins=np.array([0, 0]),
        rows=np.ones((1, 1)),
        machines=np.arange(1),
    )
    assert rebalanced(packing, fitted(0.5, 0.25)) is packing
    assert packing.n_bins == 1
    assert packing.unplaceable.tolist() == []


def test_machines_of_two_resources_without_an_inventory() -> None:
    memory = Observation(
        np.float32(
            [
                [0.5],
                [0.25],
                [0.5],
            ]
        )
    )
    seen = Observation(
        np.float32(
            [
                [0.25],
                [0.25],
                [0.25],
            ]
        ),
        memory=memory,
    )
    estimator = MultiResource.of(Average(1), Average(1), memory_capacity=0.75)
    packing = pack(estimator, seen, rebalancing=False)
    assert packing.bins.tolist() == [0, 0, 1]
    assert packing.rows.tolist() == [[1.0, 0.75]] * 2


@pytest.mark.parametrize("packer", [BEST_FIT, FIRST_FIT])
def test_above_one_half_a_machine_may_hold_more_than_its_capacity_on_average(
    packer: Packer,
) -> None:
    # Each has a mean of .6 and a variance of .0225.  Two leave −.2, .94 deviations: they overflow at 83 %, which is
    # within 90 %; three leave −.8, three deviations.
    seen = Observation(np.float32([[0.75, 0.45]] * 3))
    lax = pack(Gpa(0.9), seen, packer=packer, rebalancing=False)
    assert lax.bins.tolist() == [0, 0, 1]
    stricter = pack(Gpa(0.8), seen, packer=packer, rebalancing=False)
    assert stricter.bins.tolist() == [0, 1, 2]
