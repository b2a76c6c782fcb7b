"""What the linear program allows, on clusters small enough to solve by hand, and on FGD's files."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from borgtrace.errors import UsageError
from borgtrace.scheduling.gpus import open_folder
from borgtrace.scheduling.gpus.arrivals import PodArrivals
from borgtrace.scheduling.gpus.upper_bound import upper_bound
from borgtrace.scheduling.gpus.workload import GpuWorkload
from tests.conftest import real_folder
from tests.scheduling.gpu_cells import Node, Pod, nodes_of, pods_of


def bound_of(nodes: list[Node], pods: list[Pod], load: float = 1000) -> float:
    """Return the bound of pods that arrive in their order."""
    workload = GpuWorkload("small", nodes_of(nodes), pods_of(pods))
    return upper_bound(workload, PodArrivals(np.arange(len(pods)), np.arange(len(nodes))), load)


@pytest.mark.parametrize(
    ("nodes", "pods", "expected"),
    [
        # Of two devices each takes one of 600; beside it nothing else fits.
        ([(9, 9, 2, "T4")], [(0, 0, 1, 600, "")] * 3, 60),
        # 600 and 400 fill a device, and 600 are refused.
        ([(9, 9, 1, "T4")], [(0, 0, 1, 600, ""), (0, 0, 1, 600, ""), (0, 0, 1, 400, "")], 100),
        # CPU for one and a half of two devices: pods are cut.
        ([(1500, 9, 2, "T4")], [(1000, 0, 1, 1000, "")] * 2, 75),
        ([(9, 1, 4, "T4")], [(0, 1, 1, 1000, "")] * 4, 25),
        # Two nodes alike are one large one, but a pod of three devices fits on neither.
        ([(9, 9, 2, "T4")] * 2, [(0, 0, 3, 1000, ""), (0, 0, 1, 1000, "")], 25),
        ([(9, 9, 2, "T4"), (9, 9, 2, "G2")], [(0, 0, 2, 1000, "G2")] * 2, 50),
        ([(9, 9, 2, "T4")], [(1, 0, 0, 0, "P100")], 0),
    ],
)
def test_by_hand(nodes: list[Node], pods: list[Pod], expected: float) -> None:
    assert bound_of(nodes, pods) == pytest.approx(expected)


def test_only_pods_up_to_the_load_count() -> None:
    pods = [(0, 0, 1, 500, "")] * 4
    assert bound_of([(9, 9, 2, "T4")], pods, load=75) == pytest.approx(75)
    assert bound_of([(9, 9, 2, "T4")], pods, load=74.9) == pytest.approx(50)


def test_without_scipy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy", None)
    with pytest.raises(UsageError) as raised:
        bound_of([(9, 9, 1, "T4")], [(0, 0, 1, 500, "")])
    expected = 'upper_bound: SciPy is not installed; pip install "borgtrace[bounds]"'
    assert str(raised.value) == expected


@pytest.mark.wide
def test_fgds_workloads(trace: Path) -> None:
    """Solved by somebody else, with patterns of devices: within the spread of the runs."""
    published = {
        "default": 96.90,
        "cpu100": 96.90,
        "gpushare60": 93.37,
        "gpuspec33": 96.39,
        "multigpu20": 97.35,
    }
    for workload in open_folder(real_folder(trace, "openb")).workloads():
        bound = upper_bound(workload, workload.arrivals(42))
        assert bound == pytest.approx(published[workload.name], abs=0.06)
