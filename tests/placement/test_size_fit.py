"""Sizes that add up: a kernel of their own packs as the general loop does, and only them."""

from __future__ import annotations

import numpy as np
import pytest

from borgtrace.kernels.arrays import Numbers
from borgtrace.placement.estimators.observation import Observation
from borgtrace.placement.estimators.sizes import Average
from borgtrace.placement.fitting import Fitted
from borgtrace.placement.machines import place
from borgtrace.placement.packers import BEST_FIT, FIRST_FIT, Packer
from borgtrace.placement.packing import CAPACITY_RTOL, pack, pack_fitted


def general(fitted: Fitted, packer: Packer) -> Numbers:
    """Return the bins that the loop for any test finds."""
    rows = np.full((len(fitted.items), 1), fitted.capacity * CAPACITY_RTOL)
    return place(fitted, packer, rows)[0]


@pytest.mark.parametrize("packer", [BEST_FIT, FIRST_FIT], ids=lambda packer: packer.name)
@pytest.mark.parametrize("capacity", [0.3, 1.0, 5.0])
def test_the_packing_is_that_of_the_general_loop(packer: Packer, capacity: float) -> None:
    rng = np.random.default_rng(3)
    # Sixteenths, so that many machines are filled alike or to the brim, and some tasks larger than a machine.
    sizes = np.round(rng.gamma(0.7, 3, 400)) / 16
    fitted = Fitted(Average(1), sizes[:, None], capacity)
    packing = pack_fitted(fitted, packer=packer)
    assert packing.bins.tolist() == general(fitted, packer).tolist()
    assert packing.capacities.tolist() == [capacity] * (packing.bins.max() + 1)
    assert packing.machines.tolist() == list(range(len(packing.capacities)))
    assert (packing.bins < 0).tolist() == (sizes > capacity).tolist()


def test_without_tasks_there_is_no_machine() -> None:
    packing = pack_fitted(Fitted(Average(1), np.empty((0, 1)), 1.0))
    assert packing.bins.tolist() == []
    assert packing.n_bins == 0


class WithOverhead(Average):
    """Sizes on machines that are not empty when they are opened."""

    def empty(self, items: Numbers) -> Numbers:
        return np.array([0.5])


class OfHalf(Average):
    """Sizes on machines of half the capacity."""

    def row(self, capacity: float) -> Numbers:
        return np.array([capacity / 2])


@pytest.mark.parametrize("kind", [WithOverhead, OfHalf])
def test_an_estimator_of_others_with_sizes_keeps_its_machines(kind: type[Average]) -> None:
    seen = Observation(np.float32([[0.25], [0.25], [0.25], [0.75]]))
    packing = pack(kind(1), seen, rebalancing=False)
    # Half a machine takes two quarters, and no task of three quarters.
    assert packing.bins.tolist() == [0, 0, 1, -1]
