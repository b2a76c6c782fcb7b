"""Usage whose CPU is in one table and its memory in another: joined by task and time, wherever the tables are."""

from __future__ import annotations

import io
import sqlite3
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

import borgtrace
from borgtrace.errors import SourceError
from borgtrace.ingest import IngestOptions, ingest
from tests.ingest.own_data import rows

CPU = "pod,time,cpu\nweb,1793491200,2\nweb,1793491500,4\napi,1793491200,1\napi,1793491500,1\n"
# In another order, and without the last row of api.
MEMORY = "pod,time,memory_mib\napi,1793491200,1024\nweb,1793491200,2048\nweb,1793491500,4096\n"
# Of 8 cores and 32 GiB: 2, 4, 1 and 1 cores; 2, 4 and 1 GiB.
WINDOWS = [(0.125, 0.03125), (0.125, None), (0.25, 0.0625), (0.5, 0.125)]


def _two_files(folder: Path) -> list[Path]:
    (folder / "cpu.csv").write_text(CPU)
    (folder / "memory.csv").write_text(MEMORY)
    return [folder / "cpu.csv", folder / "memory.csv"]


def _archive(folder: Path) -> list[Path]:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("cpu.csv", CPU)
        archive.writestr("memory.csv", MEMORY)
    (folder / "usage.zip").write_bytes(content.getvalue())
    return [folder / "usage.zip"]


def _database(folder: Path) -> list[Path]:
    path = folder / "usage.db"
    connection = sqlite3.connect(path)
    for name, text in (("cpu", CPU), ("memory", MEMORY)):
        header, *lines = text.splitlines()
        connection.execute(f"CREATE TABLE {name} ({header})")
        connection.executemany(
            f"INSERT INTO {name} VALUES (?, ?, ?)", [line.split(",") for line in lines]
        )
    connection.commit()
    connection.close()
    return [path]


def _folder(folder: Path) -> list[Path]:
    _two_files(folder)
    return [folder]


@pytest.mark.parametrize("write", [_two_files, _archive, _database, _folder])
def test_two_tables_are_joined(tmp_path: Path, write: Callable[[Path], list[Path]]) -> None:
    raw = tmp_path / "raw"
    raw.mkdir()
    ingest(write(raw), tmp_path / "store", IngestOptions(jobs=1, capacity="8cores,32GiB"))
    store = borgtrace.open(tmp_path / "store")
    assert rows(store, "instance_usage", "average_cpu, average_memory") == WINDOWS
    assert (
        "CPU and memory in rows of their own: 3 of each were joined by their task and time; "
        "rows without the other one: 1." in store.manifest.notes
    )


def test_all_three_files_of_a_cluster(tmp_path: Path) -> None:
    files = _two_files(tmp_path)
    (tmp_path / "nodes.csv").write_text("node,cpu,memory\nn1,8,32Gi\n")
    ingest([*files, tmp_path / "nodes.csv"], tmp_path / "store", IngestOptions(jobs=1))
    store = borgtrace.open(tmp_path / "store")
    assert rows(store, "instance_usage", "average_cpu, average_memory") == WINDOWS


@pytest.mark.parametrize(
    ("cpu", "memory", "message"),
    [
        (
            CPU,
            "pod,time,memory_mib\nweb,1793491207,512\nweb,1793491507,512\n",
            "memory.csv: no row has the task and the time of a row of cpu.csv: "
            "expected tasks and times such as web 1793491200, got web 1793491207; "
            "export both with the same tasks, start and step, or name one of the two files",
        ),
        (
            "pod,time,value\nweb,1793491200,2\nweb,1793491500,4\n",
            "pod,time,value\nweb,1793491200,2048\nweb,1793491500,4096\n",
            "memory.csv: column value is memory, and in cpu.csv it is CPU: "
            "expected a name of its own for each, got value; "
            "rename it to memory_bytes (or memory_mib) here, and to cpu_cores in cpu.csv",
        ),
        (
            "pod,time,cpu\nweb,1793491200,2\nweb,1793491500,4\n",
            "pod_name,time,memory_mib\nweb,1793491200,512\nweb,1793491500,512\n",
            "{folder}/memory.csv: a second table of usage with other columns: "
            "expected the columns of cpu.csv: pod, time, cpu, got pod_name, time, memory_mib; "
            "join the two by their task and time, rename its columns, or leave one out",
        ),
    ],
)
def test_what_cannot_be_joined_is_refused(
    tmp_path: Path, cpu: str, memory: str, message: str
) -> None:
    (tmp_path / "cpu.csv").write_text(cpu)
    (tmp_path / "memory.csv").write_text(memory)
    files = [tmp_path / "cpu.csv", tmp_path / "memory.csv"]
    with pytest.raises(SourceError) as refusal:
        ingest(files, tmp_path / "store", IngestOptions(jobs=1, capacity="8cores,32GiB"))
    assert str(refusal.value) == message.replace("{folder}", str(tmp_path))
    assert not (tmp_path / "store").exists()


def test_a_declaration_finds_no_common_time_either(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(
        'clock = "relative"\nstep = "300s"\n[usage]\ntask = "pod"\ntime = { column = "time", unit = "s" }\n'
        'cpu = { column = "cpu", unit = "cores", kind = "average" }\n'
        'memory = { column = "memory_mib", unit = "MiB", kind = "average" }\n'
    )
    (tmp_path / "cpu.csv").write_text("pod,time,cpu\nweb,0,2\nweb,300,4\n")
    (tmp_path / "memory.csv").write_text("pod,time,memory_mib\nweb,7,512\n")
    options = IngestOptions(jobs=1, capacity="8cores,32GiB", dialect=str(tmp_path / "own.toml"))
    with pytest.raises(SourceError) as refusal:
        ingest([tmp_path / "cpu.csv", tmp_path / "memory.csv"], tmp_path / "store", options)
    assert str(refusal.value) == (
        "usage: no row of CPU has the task and the time of a row of memory: "
        "expected both at the same times, with the same names of tasks, "
        "got 2 times of CPU and 1 of memory, such as those of task web; "
        "export both with the same start and step, or name one of the two files"
    )
