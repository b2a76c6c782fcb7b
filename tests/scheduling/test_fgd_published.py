"""The published results of FGD, run by run, on its own files: where these are beside the project."""

from __future__ import annotations

from pathlib import Path

import pytest

from borgtrace.scheduling.gpus import GPU_POLICIES, GPU_SCHEDULING, open_folder
from borgtrace.scheduling.gpus.fgd_results import POLICIES
from borgtrace.scheduling.gpus.fragmentation import update_fragmentation
from borgtrace.scheduling.gpus.gpu_scheduling import GpuSchedulingOptions
from borgtrace.scheduling.gpus.replay import make_cell, replay
from borgtrace.scheduling.gpus.workload import columns_of_run
from tests.conftest import real_folder

FGD_DEFAULT_51 = """
0.26 0.96 2.0 3.03 3.94 4.99 6.0 7.02 8.0 8.98 10.05 11.06 12.07 13.02 13.98 15.0 15.99 16.97 17.97 19.0 20.03 20.96
21.96 23.01 24.03 25.0 25.95 27.01 27.99 29.02 30.05 31.03 31.98 33.06 33.97 35.0 35.98 36.97 38.01 38.99 39.99 41.01
42.0 43.0 44.0 45.0 46.01 46.99 48.02 49.04 50.03 50.97 52.03 53.01 53.96 54.92 56.07 57.0 58.0 59.01 60.02 61.04 62.01
62.99 64.06 65.03 65.97 67.02 68.04 69.01 70.0 71.01 71.97 72.99 74.0 74.97 76.01 76.92 77.99 79.0 80.01 81.04 81.99
82.98 84.03 84.99 86.03 86.98 88.0 89.03 89.94 90.96 91.99 92.99 94.01 94.97 95.23 95.24 95.26 95.28 95.28 95.28 95.3
95.3 95.31 95.32 95.32 95.32 95.34 95.35 95.35 95.37 95.37 95.38 95.4 95.4 95.4 95.4 95.41 95.42 95.42 95.42 95.42 95.42
95.42 95.42 95.42 95.42 95.43 95.43 95.43
"""
FGD_DEFAULT_46 = """
0.24 1.04 1.99 2.94 3.97 4.99 6.04 6.97 7.99 9.03 10.01 10.98 12.01 13.0 13.99 15.03 16.01 16.97 18.0 18.97 20.0 21.02
22.05 23.01 23.94 24.99 25.98 27.01 28.01 29.02 30.04 31.0 31.99 33.01 34.0 34.99 35.97 36.98 38.0 39.01 40.04 41.01
41.99 43.04 44.01 45.04 45.98 47.0 47.99 49.02 50.08 50.99 51.94 53.0 54.0 55.01 56.02 57.0 57.99 59.0 60.0 60.97 62.0
62.95 63.99 64.98 66.01 67.06 68.04 68.95 70.0 71.0 71.99 73.02 73.98 75.04 76.02 77.02 77.98 78.96 80.04 81.0 81.98
83.06 83.99 85.05 86.0 86.99 88.0 88.92 89.88 90.88 91.85 92.9 93.88 94.86 95.31 95.32 95.33 95.34 95.35 95.36 95.36
95.36 95.37 95.39 95.39 95.39 95.4 95.4 95.4 95.42 95.43 95.44 95.44 95.44 95.44 95.45 95.45 95.46 95.46 95.46 95.46
95.46 95.46 95.48 95.49 95.49 95.49 95.49 95.49
"""
"""The published allocation of two runs: FGD, default, seeds 51 and 46, at loads of 0 to 130 %."""
FAILED_PODS = {
    "random": 2682,
    "dot-product": 2790,
    "gpu-clustering": 2717,
    "gpu-packing": 2708,
    "best-fit": 2632,
    "fgd": 2467,
}
"""Mean of ten runs of default, measured by somebody else from the definition: not published."""


@pytest.fixture
def openb(trace: Path) -> Path:
    """FGD's files."""
    return real_folder(trace, "openb")


@pytest.mark.parametrize(
    ("seed", "published", "others"),
    # Of the 96 events at 44 % the mean is 44.0083: one line less in the log would make it 44.00.
    [(51, FGD_DEFAULT_51, {44: (44.01, 44.0)}), (46, FGD_DEFAULT_46, {})],
)
def test_the_131_columns_of_a_published_run(
    openb: Path, seed: int, published: str, others: dict[int, tuple[float, float]]
) -> None:
    """Value by value; one of the 262 is published a hundredth lower."""
    (workload,) = open_folder(openb).workloads(["default"])
    columns = columns_of_run(workload, GPU_POLICIES["fgd"], "rank", seed)
    pairs = zip(columns.allocation.tolist(), map(float, published.split()), strict=True)
    differences = {load: pair for load, pair in enumerate(pairs) if pair[0] != pair[1]}
    assert differences == others


def test_what_the_lists_hold(openb: Path) -> None:
    """Numbers of FGD's own notes: nodes, kinds, and what of the empty cluster is fragmented."""
    expected = {
        "default": (8152, 97.985, 35, 91, 13.9445),
        "cpu100": (7853, 97.985, 35, 91, 10.5824),
        "gpushare60": (8152, 79.014, 33, 85, 13.8180),
        "gpuspec33": (8152, 97.985, 127, 330, 35.4870),
        "multigpu20": (8324, 114.082, 38, 91, 14.0212),
    }
    for workload in open_folder(openb).workloads():
        nodes, pods = workload.nodes, workload.pods
        assert (len(nodes), nodes.total) == (1213, 6_212_000)
        assert (nodes.cpu.sum(), nodes.memory.sum()) == (107_018_000, 503_828_480)
        n_pods, requested, n_typical, n_kinds, fragmented = expected[workload.name]
        assert len(pods) == n_pods
        assert round(100 * pods.total.sum() / nodes.total, 3) == requested
        assert len(workload.typical.weight) == n_typical
        assert len(pods.typical(nodes.models, 100).weight) == n_kinds
        cell = make_cell(nodes, workload.kinds[0], workload.typical, seed=0)
        for node in range(len(nodes)):
            update_fragmentation(cell, node)
        assert round(100 * cell.fragmentation.sum() / nodes.total, 4) == fragmented


def test_fgd_on_the_default_workload(openb: Path) -> None:
    result = GPU_SCHEDULING.run(
        openb,
        policies=("fgd", "best-fit"),
        workloads=("default",),
        loads=(80, 90, 95, 100, 110, 120, 130),
    )
    judged = [finding for finding in result.findings if finding.is_measured]
    assert len(judged) == 2 * 7 + 2
    assert {finding.verdict for finding in judged} == {"holds"}
    deviations = {
        (row["policy"], row["load"]): round(row["allocation_sd"], 2)
        for row in result.table.to_pylist()
    }
    assert deviations["fgd", 100] == 0.11
    assert deviations["best-fit", 100] == 0.14


@pytest.mark.wide
def test_all_published_means(openb: Path) -> None:
    """Five workloads, six policies, ten runs: every claim holds, Random's within two standard errors."""
    result = GPU_SCHEDULING.run(openb)
    assert len(result.findings) == 11 * 6 + 6
    assert [finding.id for finding in result.findings if finding.verdict != "holds"] == []


@pytest.mark.wide
@pytest.mark.parametrize("policy", POLICIES)
def test_pods_that_fail(openb: Path, policy: str) -> None:
    """At the end of the run; Random draws anew."""
    (workload,) = open_folder(openb).workloads(["default"])
    n_failed = 0
    for seed in range(42, 52):
        run = workload.run(workload.arrivals(seed), "rank", seed)
        n_failed += int((replay(run, GPU_POLICIES[policy]).node < 0).sum())
    within = 15 if policy == "random" else 0.5
    assert n_failed / 10 == pytest.approx(FAILED_PODS[policy], abs=within)


@pytest.mark.wide
def test_the_order_of_ties_is_what_lifts_fgd(openb: Path) -> None:
    """Measured by somebody else from the definition: 95.12 by file; drawn anew FGD 89.92 and BestFit 92.89."""
    result = GPU_SCHEDULING.run(
        openb,
        policies=("fgd", "best-fit"),
        workloads=("default",),
        ties=("drawn", "file"),
        loads=(100,),
    )
    measured = {(row["policy"], row["ties"]): row["allocation"] for row in result.table.to_pylist()}
    assert measured["fgd", "file"] == pytest.approx(95.12, abs=0.01)
    # Draws are of another generator: about 0.2 between runs, a third of that in the mean.
    assert measured["fgd", "drawn"] == pytest.approx(89.92, abs=0.3)
    assert measured["best-fit", "drawn"] == pytest.approx(92.89, abs=0.3)


def test_the_defaults_are_those_of_the_published_runs() -> None:
    options = GpuSchedulingOptions()
    assert (options.runs, options.seed, options.ties) == (10, 42, ("rank",))
