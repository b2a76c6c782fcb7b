"""The files of FGD's experiments, and the same trace as a store: what is read, and what is refused."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

import borgtrace
from borgtrace.errors import BorgtraceError, SourceError, UsageError
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.question import EngineTables
from borgtrace.scheduling import parse_policy
from borgtrace.scheduling.gpus import GPU_SCHEDULING, open_folder, open_gpu_trace
from borgtrace.scheduling.gpus.stored_workload import workload_of_store
from borgtrace.store import Store
from tests.gpu_files import write_gpu_files

NODES = "openb_node_list_gpu_node.csv"
PODS = "openb_pod_list_default.csv"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Four nodes, 40 pods."""
    return write_gpu_files(tmp_path / "gpus")


def test_what_files_say(folder: Path) -> None:
    (workload,) = open_folder(folder).workloads()
    nodes, pods = workload.nodes, workload.pods
    assert workload.name == "default"
    assert nodes.names[0] == "openb-node-0000"
    assert nodes.n_devices.tolist() == [8, 4, 4, 0]
    assert [nodes.models[model] for model in nodes.model] == ["G2", "T4", "T4", ""]
    assert nodes.total == 16_000
    assert len(pods) == 40
    assert pods.gpu_milli[:5].tolist() == [500, 1000, 250, 1000, 0]
    assert pods.total[:5].tolist() == [500, 1000, 250, 2000, 0]
    assert pods.spec[:5] == ["", "", "T4", "G2|T4", ""]
    assert pods.times is not None
    assert pods.times[1].tolist() == [60, 3600]
    kinds, kind_of_pod = workload.kinds
    assert len(kinds.cpu) == 5
    assert kinds.allowed[kind_of_pod[2]].tolist() == [False, False, True]
    assert kinds.n_listed.tolist() == [8] * 5


def test_packed_files_are_the_same(folder: Path, tmp_path: Path) -> None:
    packed = tmp_path / "packed"
    packed.mkdir()
    for file in folder.iterdir():
        (packed / f"{file.name}.gz").write_bytes(gzip.compress(file.read_bytes()))
    (plain,) = open_folder(folder).workloads()
    (unpacked,) = open_folder(packed).workloads()
    assert unpacked.pods.names == plain.pods.names
    assert unpacked.pods.cpu.tolist() == plain.pods.cpu.tolist()


def test_a_store_of_the_same_files_is_the_same_workload(folder: Path, tmp_path: Path) -> None:
    ingest([folder], tmp_path / "cell", IngestOptions(jobs=1, dialect="openb"))
    store = borgtrace.open(tmp_path / "cell")
    stored = workload_of_store(store, EngineTables.of(store))
    (read,) = open_folder(folder).workloads()
    for name in ("cpu", "memory", "n_devices"):
        assert sorted(getattr(stored.nodes, name)) == sorted(getattr(read.nodes, name))
    assert stored.nodes.models == read.nodes.models
    # Jobs have numbers of their own in a store: kinds are compared as sets.
    kinds_of = []
    for workload in (stored, read):
        kinds, _ = workload.kinds
        columns = (kinds.cpu, kinds.memory, kinds.n_gpus, kinds.gpu_milli, kinds.n_listed)
        numbers = np.column_stack(columns).tolist()
        # A node without GPUs has no model: whoever may use all others may use that one, too, and gains nothing.
        allowed = kinds.allowed[:, 1:].tolist()
        kinds_of.append(sorted(zip(numbers, allowed, strict=True)))
    stored_kinds, read_kinds = kinds_of
    assert stored_kinds == read_kinds
    result = GPU_SCHEDULING.run(store, policies=("best-fit",), loads=(100,), runs=2)
    (row,) = result.table.to_pylist()
    assert row["workload"] == "cell"
    assert row["published_arrivals"] == 0
    assert 80 < row["allocation"] <= 100
    assert isinstance(open_gpu_trace(tmp_path / "cell"), Store)
    with pytest.raises(UsageError) as caught:
        GPU_SCHEDULING.run(store, workloads=("cpu100",))
    message = "--workload: a store is one list of pods: expected default or cell, got cpu100"
    assert str(caught.value) == message


def test_a_store_without_gpus_is_not_applicable(folder: Path, tmp_path: Path) -> None:
    for name, column in ((NODES, 3), (PODS, 3)):
        lines = (folder / name).read_text().splitlines()
        rows = [line.split(",") for line in lines[1:]]
        for row in rows:
            row[column : column + 2] = ["0", "" if name == NODES else "0"]
        text = "\n".join([lines[0], *map(",".join, rows)])
        (folder / name).write_text(text + "\n")
    ingest([folder], tmp_path / "cell", IngestOptions(jobs=1, dialect="openb"))
    result = GPU_SCHEDULING.run(tmp_path / "cell")
    assert result.not_applicable == "no task requests a GPU (tasks.gpu_request)"


def test_a_folder_of_something_else(tmp_path: Path) -> None:
    with pytest.raises(SourceError) as caught:
        open_gpu_trace(tmp_path)
    assert str(caught.value) == (
        f"{tmp_path}: no files of FGD's experiments: expected openb_node_list_gpu_node.csv and "
        "openb_pod_list_default.csv, packed by gzip or not; "
        "they are in data/csv of hkust-adsl/kubernetes-scheduler-simulator on GitHub"
    )
    with pytest.raises(SourceError) as caught:
        open_gpu_trace(tmp_path / "nowhere")
    assert str(caught.value) == f"{tmp_path / 'nowhere'}: no such folder"


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        (NODES, ",8,G2", ",9,G2", "row 1: gpu is out of range: expected 0 to 8, got 9"),
        (
            NODES,
            "96000",
            "-1",
            "row 1: cpu_milli is out of range: expected 0 to 1099511627776, got -1",
        ),
        (NODES, ",gpu,", ",gpus,", ": no column gpu: got sn, cpu_milli, memory_mib, gpus, model"),
        (
            PODS,
            ",1,500,",
            ",1,1001,",
            "row 1: gpu_milli is out of range: expected 0 to 1000, got 1001",
        ),
        (
            PODS,
            ",1,500,",
            ",2,500,",
            "row 1: no request for GPUs: expected gpu_milli 0 without GPUs, up to 1000 of one, "
            "1000 of each of several, got num_gpu 2, gpu_milli 500",
        ),
        (
            PODS,
            ",0,3600,0",
            ",5,3,4",
            "row 1: a pod ends before it starts: got scheduled_time 4, deletion_time 3",
        ),
    ],
)
def test_what_is_refused(folder: Path, file: str, old: str, new: str, message: str) -> None:
    path = folder / file
    path.write_text(path.read_text().replace(old, new, 1))
    with pytest.raises(SourceError) as caught:
        open_folder(folder).workloads()
    separator = "" if message.startswith(":") else ": "
    assert str(caught.value) == f"{path}{separator}{message}"


@pytest.mark.parametrize("damage", ["cut", "words"])
def test_a_damaged_file_is_named(folder: Path, damage: str) -> None:
    path = folder / f"{PODS}.gz"
    content = gzip.compress((folder / PODS).read_bytes())
    path.write_bytes(content[:100] if damage == "cut" else b"no gzip")
    (folder / PODS).unlink()
    with pytest.raises(SourceError) as caught:
        open_folder(folder).workloads()
    assert str(caught.value).startswith(f"{path}: cannot be read as CSV: ")


def arrivals(folder: Path, pods: str, ranks: str) -> Path:
    """Write the arrivals of one run."""
    path = folder / "openb_arrivals.csv"
    lines = [
        "workload,seed,kind,indices",
        f"default,42,pods,{pods}",
        f"default,42,node_rank,{ranks}",
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_arrivals_of_a_run_are_taken(folder: Path) -> None:
    arrivals(folder, "3 1 2", "2 0 1 3")
    (workload,) = open_folder(folder).workloads()
    run = workload.arrivals(42)
    assert run.pods.tolist() == [3, 1, 2]
    # The lowest rank comes first: that of the second node.
    assert workload.run(run, "rank", 42).nodes.names[0] == "openb-node-0001"
    assert workload.run(run, "file", 42).nodes.names[0] == "openb-node-0000"
    # Of other seeds nothing was published: these are drawn.
    assert len(workload.arrivals(43).pods) > 3


@pytest.mark.parametrize(
    ("pods", "ranks", "message"),
    [
        (
            "3 40",
            "2 0 1 3",
            ": default, seed 42: arrivals of other lists: expected places below 40, and ranks of 4 nodes, "
            "got place 40, and 4 ranks",
        ),
        (
            "3",
            "0 1",
            ": default, seed 42: arrivals of other lists: expected places below 40, and ranks of 4 nodes, "
            "got place 3, and 2 ranks",
        ),
        ("3 x", "0", ": row 1: no arrivals: expected kind pods or node_rank, and places from 0"),
        ("-3", "0", ": row 1: no arrivals: expected kind pods or node_rank, and places from 0"),
    ],
)
def test_arrivals_of_something_else(folder: Path, pods: str, ranks: str, message: str) -> None:
    path = arrivals(folder, pods, ranks)
    with pytest.raises(BorgtraceError) as caught:
        open_folder(folder).workloads()
    assert str(caught.value) == f"{path}{message}"


def test_an_unknown_workload(folder: Path) -> None:
    with pytest.raises(UsageError) as caught:
        open_folder(folder).workloads(["cpu100"])
    message = "--workload: no such list of pods: expected default, got cpu100"
    assert str(caught.value) == message


def test_simulate_names_the_command_for_gpus() -> None:
    with pytest.raises(UsageError) as caught:
        parse_policy("fgd")
    assert str(caught.value).endswith("got fgd; borgtrace simulate gpus STORE --policy fgd")
