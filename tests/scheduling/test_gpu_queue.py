"""Pods with GPUs that come and go, and wait: starts and levels by hand, and the answer by day."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import borgtrace
from borgtrace.errors import UsageError
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.question import EngineTables
from borgtrace.scheduling.gpus import GPU_POLICIES, GPU_QUEUE, GpuQueueOptions
from borgtrace.scheduling.gpus.queue_replay import (
    EMPTY,
    FRAGMENTED,
    RUNNING,
    USED,
    WAITING,
    PodTimes,
    replay_stays,
)
from borgtrace.scheduling.gpus.stored_workload import workload_of_store
from tests.gpu_files import write_gpu_files
from tests.scheduling.gpu_cells import Pod, run_of

DEVICE = (10, 10, 1, "T4")


@pytest.mark.parametrize("name", ["best-fit", pytest.param("fgd", marks=pytest.mark.wide)])
def test_who_waits_starts_when_somebody_leaves(name: str) -> None:
    """600 of a device for 100 s; 500 wait for it from second 10 on; 400 fit beside it."""
    pods: list[Pod] = [(1, 0, 1, 600, ""), (1, 0, 1, 500, ""), (1, 0, 1, 400, "")]
    times = PodTimes(np.array([0, 10, 20]), np.array([100, 50, 10]))
    stays = replay_stays(run_of([DEVICE], pods), times, GPU_POLICIES[name], step=50)
    assert stays.started.tolist() == [0, 100, 20]
    assert stays.totals[:, RUNNING].tolist() == [50 + 10, 50, 50]
    assert stays.totals[:, USED].tolist() == [600 * 50 + 400 * 10, 600 * 50, 500 * 50]
    assert stays.totals[:, WAITING].tolist() == [40, 50, 0]
    assert stays.totals[:, EMPTY].tolist() == [0, 0, 0]
    # Typical are all three kinds. Of 400 left a third can be used, of 0 and of 500 as the kinds are large.
    by_hand = [400 * 2 / 3 * 40, 400 * 2 / 3 * 50, 500 * 1 / 3 * 50]
    assert stays.totals[:, FRAGMENTED].tolist() == pytest.approx(by_hand)


def test_a_node_is_empty_before_and_after() -> None:
    times = PodTimes(np.array([10, 80]), np.array([20, 30]))
    pods: list[Pod] = [(1, 0, 0, 0, ""), (1, 0, 1, 1000, "")]
    stays = replay_stays(run_of([DEVICE, DEVICE], pods), times, GPU_POLICIES["best-fit"], step=50)
    assert stays.started.tolist() == [10, 80]
    # Two nodes, less 20 s of one, then less 20 s, then less 10 s; nothing is counted after the last end.
    assert stays.totals[:, EMPTY].tolist() == [80, 80, 2 * 10 - 10]


def test_who_waits_comes_before_who_arrives_and_small_ones_overtake() -> None:
    pods: list[Pod] = [
        (1, 0, 1, 600, ""),
        (1, 0, 1, 300, ""),
        (1, 0, 1, 1000, ""),
        (1, 0, 1, 500, ""),
        (1, 0, 1, 700, ""),
    ]
    times = PodTimes(np.array([0, 0, 5, 6, 100]), np.array([100, 200, 10, 50, 10]))
    stays = replay_stays(run_of([DEVICE], pods), times, GPU_POLICIES["best-fit"], step=1000)
    # At 100 the device has 700 left, for the 500 that wait and so not for the 700 that come; at 150 for these.
    assert stays.started.tolist() == [0, 0, 200, 100, 150]


def test_a_pod_that_fits_no_node_never_starts() -> None:
    times = PodTimes(np.array([0, 1]), np.array([10, 10]))
    pods: list[Pod] = [(1, 0, 2, 1000, ""), (1, 0, 1, 1000, "")]
    stays = replay_stays(run_of([DEVICE], pods), times, GPU_POLICIES["fgd"], step=10)
    assert stays.started.tolist() == [-1, 1]
    assert stays.totals[:, WAITING].tolist() == [10, 1]


def test_a_row_for_each_day(tmp_path: Path) -> None:
    """40 pods, one a minute, of one hour each: all within the first day."""
    folder = write_gpu_files(tmp_path / "gpus")
    result = GPU_QUEUE.run(folder, policies=("best-fit", "fgd"))
    rows = result.table.to_pylist()
    assert [(row["policy"], row["day"]) for row in rows] == [("best-fit", 0), ("fgd", 0)]
    for row in rows:
        assert (row["nodes"], row["arrived"], row["never_started"]) == (4, 40, 0)
        # 40 pods of an hour each, in seconds of a day.
        assert row["running"] == pytest.approx(40 / 24)
        # 8 pods of each kind: 500, 1000, 250 and 2000 thousandths of 16 devices.
        assert row["allocation"] == pytest.approx(100 * 8 * 3750 / 16_000 / 24)
    assert "nodes empty" in result.sentence
    assert result.plot() is not None


def store_of(folder: Path, store: Path) -> Path:
    ingest([folder], store, IngestOptions(jobs=1, dialect="openb"))
    return store


def test_a_store_of_the_same_files_has_the_same_times(tmp_path: Path) -> None:
    folder = write_gpu_files(tmp_path / "gpus")
    columns = ("arrived", "waiting", "wait_mean", "never_started", "allocation")
    answers = []
    for source in (folder, store_of(folder, tmp_path / "cell")):
        table = GPU_QUEUE.run(source, policies=("best-fit",)).table
        answers.append(table.select(columns).to_pylist())
        # Ends at the last instant of this trace are none: in the store the last pod, which has no GPU, runs until the
        # end of the one before it, a minute less.
        n_seconds = 40 * 3600 - 60 * len(answers[1:])
        assert table["running"].to_pylist() == pytest.approx([n_seconds / 86_400])
    assert answers[0] == answers[1]
    assert answers[1][0]["arrived"] == 40


def test_tasks_without_an_end_run_until_the_last_event(tmp_path: Path) -> None:
    folder = write_gpu_files(tmp_path / "gpus")
    pods = folder / "openb_pod_list_default.csv"
    header, first, *others = pods.read_text().splitlines()
    words = first.split(",")
    # A pod that still runs has no end, and one that never started runs from its arrival.
    words[7], words[9] = "Running", ""
    others[0] = others[0].rpartition(",")[0] + ","
    pods.write_text("\n".join([header, ",".join(words), *others]) + "\n")
    store = borgtrace.open(store_of(folder, tmp_path / "cell"))
    times = workload_of_store(store, EngineTables.of(store)).pods.times
    assert times is not None
    # The pod of minute 38 runs for an hour; the end of the last one is the last instant, which is none.
    begun = times[:, 0] - times[:, 0].min()
    assert times[begun == 0, 1].tolist() == [38 * 60 + 3600]
    assert times[begun == 60, 1].tolist() == [3600]
    assert sorted(begun) == [60 * minute for minute in range(40)]


def test_a_store_without_any_end_is_not_applicable(tmp_path: Path) -> None:
    folder = write_gpu_files(tmp_path / "gpus")
    pods = folder / "openb_pod_list_default.csv"
    header, *lines = pods.read_text().splitlines()
    running = []
    for line in lines:
        words = line.split(",")
        words[7], words[9] = "Running", ""
        running.append(",".join(words))
    pods.write_text("\n".join([header, *running]) + "\n")
    result = GPU_QUEUE.run(store_of(folder, tmp_path / "cell"))
    assert result.not_applicable == "nobody said when the pods of cell came and went"


def test_fewer_nodes(tmp_path: Path) -> None:
    folder = write_gpu_files(tmp_path / "gpus")
    result = GPU_QUEUE.run(folder, policies=("best-fit",), nodes=0.5)
    assert result.table["nodes"].to_pylist()[0] == 2


def test_a_list_without_times_is_not_applicable(tmp_path: Path) -> None:
    folder = write_gpu_files(tmp_path / "gpus")
    pods = folder / "openb_pod_list_default.csv"
    lines = [",".join(line.split(",")[:6]) for line in pods.read_text().splitlines()]
    pods.write_text("\n".join(lines) + "\n")
    result = GPU_QUEUE.run(folder)
    assert result.not_applicable == "nobody said when the pods of default came and went"


def test_options_are_checked() -> None:
    with pytest.raises(UsageError) as caught:
        GpuQueueOptions(nodes=0.0)
    assert str(caught.value) == "--nodes: out of range: expected above 0 and at most 1, got 0"
