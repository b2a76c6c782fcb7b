"""Real rows of other sources as plain arrays, and the stores that they make; nothing here uses what is tested.

Each source is read as its publisher packed it. ``rows`` takes the first of them, None all.
"""

from __future__ import annotations

import datetime
import gzip
import json
import lzma
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from borgtrace.ingest import IngestOptions, ingest

Array = NDArray[Any]
WINDOW = 300


def begin_of(seconds: list[int]) -> int:
    """Return where a trace by the wall clock begins: with the five minutes of its first row."""
    return min(seconds) // WINDOW * WINDOW


def build(folder: Path, sources: list[Path], **options: Any) -> Path:
    """Ingest files in one process and return the store."""
    ingest(sources, folder / "store", IngestOptions(jobs=1, **options))
    return folder / "store"


# -- Machine events of cell a (2019) -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class MachineEvent:
    """One machine event of 2019: time in µs, and a type of 1 (ADD), 2 (REMOVE) or 3 (UPDATE)."""

    time: int
    machine: int
    type: int
    cpu: float | None
    memory: float | None


def machine_events_2019(trace: Path) -> list[MachineEvent]:
    """Read Google's JSON: numbers are texts, and what is NULL is not there."""
    path = trace / "cell-a-2019" / "json" / "machine_events-000000000000.json.gz"
    events = []
    with gzip.open(path, "rt") as lines:
        for line in lines:
            row = json.loads(line)
            capacity = row.get("capacity") or {}
            events.append(
                MachineEvent(
                    int(row.get("time", 0)),
                    int(row["machine_id"]),
                    int(row["type"]),
                    capacity.get("cpus"),
                    capacity.get("memory"),
                )
            )
    # By machine and time; where a machine's times are equal, what takes it away comes last.
    return sorted(events, key=lambda event: (event.machine, event.time, event.type == 2))


# -- Usage of 44 tasks of cell a, joined with what they requested (2019) -----------------------------------------------

SAMPLED_TASKS = (
    (380263806889, (0,)),
    (382417448240, (2,)),
    (399444405700, (2, 10)),
)
"""Of jobs whose tasks run in alloc instances, that have one request, and that change theirs."""


def usage_2019(trace: Path, *, is_whole: bool) -> pa.Table:
    """Read the joined rows of a few tasks, or of all, by task and time."""
    table = pq.read_table(trace / "usage-2019" / "crf_instance_usage.parquet")
    if not is_whole:
        chosen = pa.array([False] * len(table))
        for collection, instances in SAMPLED_TASKS:
            is_of_job = pc.equal(table["collection_id"], collection)
            is_of_task = pc.is_in(table["instance_index"], pa.array(instances))
            chosen = pc.or_(chosen, pc.and_(is_of_job, is_of_task).combine_chunks())
        table = table.filter(chosen)
    order = [(name, "ascending") for name in ("collection_id", "instance_index", "time")]
    return table.sort_by(order)


def store_2019(trace: Path, folder: Path, usage: pa.Table) -> Path:
    """Make a store of usage in Google's own shape, with the cell's machines.

    Events are reconstructed from the columns that were joined to each window: a task is submitted and scheduled where
    its usage begins, with the request of that window, and updated where the request of a window is another.
    """
    rows = usage.to_pylist()
    with (folder / "instance_usage-000000000000.json").open("w") as file:
        for row in rows:
            file.write(json.dumps(raw_window(row)) + "\n")
    with (folder / "instance_events-000000000000.json").open("w") as file:
        before: dict[str, Any] | None = None
        for row in rows:
            is_first = before is None or before["unique_id"] != row["unique_id"]
            types = [0, 3] if is_first else []
            if before and not is_first and request_of(before) != request_of(row):
                types = [10]
            for event_type in types:
                file.write(json.dumps(raw_event(row, event_type)) + "\n")
            before = row
    return build(folder, [folder, trace / "cell-a-2019" / "parquet"])


def request_of(row: dict[str, Any]) -> tuple[float, float]:
    """Return the CPU and the memory in force in a window."""
    return row["cpu_limit"], row["memory_limit"]


def id_columns(row: dict[str, Any]) -> dict[str, Any]:
    """Return what a window and an event have in common."""
    columns = {
        name: row[name]
        for name in ("collection_id", "instance_index", "collection_type", "machine_id")
    }
    # The join wrote 0 and −1 where there is no alloc set.
    if row["alloc_collection_id"]:
        columns["alloc_collection_id"] = row["alloc_collection_id"]
        columns["alloc_instance_index"] = row["alloc_instance_index"]
    return columns


def raw_window(row: dict[str, Any]) -> dict[str, Any]:
    """Return a window as Google writes it; the join left out its end and its hundredth percentile."""
    # −1 stands for percentiles that are not there.
    has_percentiles = row["p0_cpu_usage"] >= 0
    tens = [row[f"p{percent}_cpu_usage"] for percent in range(0, 100, 10)]
    tail = [row[f"p{percent}_cpu_usage"] for percent in range(91, 100)]
    return {
        **id_columns(row),
        "start_time": row["time"],
        "end_time": row["time"] + WINDOW * 1_000_000,
        "average_usage": {"cpus": row["avg_cpu_usage"], "memory": row["avg_memory_usage"]},
        "maximum_usage": {"cpus": row["max_cpu_usage"], "memory": row["max_memory_usage"]},
        "random_sample_usage": {"cpus": row["random_sample_cpu_usage"]},
        "assigned_memory": row["assigned_memory"],
        "sample_rate": row["sample_rate"],
        "cpu_usage_distribution": [*tens, row["max_cpu_usage"]] if has_percentiles else [],
        "tail_cpu_usage_distribution": tail if has_percentiles else [],
    }


def raw_event(row: dict[str, Any], event_type: int) -> dict[str, Any]:
    """Return an event with the request of a window."""
    cpu, memory = request_of(row)
    return {
        **id_columns(row),
        "time": row["time"],
        "type": event_type,
        "priority": row["priority"],
        "scheduling_class": row["scheduling_class"],
        "resource_request": {"cpus": cpu, "memory": memory},
    }


# -- An hour of all machines of 2011 -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class MachineUsage:
    """Usage of machines in windows of 300 s: machine, start (s), CPU and memory."""

    machine: Array
    start: Array
    cpu: Array
    memory: Array


def machine_usage_2011(trace: Path) -> MachineUsage:
    """Read the windows that were measured; −1 stands for none."""
    table = pq.read_table(trace / "machines-2011" / "usage_12580_machines.parquet")
    columns = {name: table[name].to_numpy() for name in table.column_names}
    is_there = columns["cpu"] >= 0
    return MachineUsage(
        machine=columns["machine_id"][is_there],
        start=columns["window_start_s"][is_there],
        cpu=columns["cpu"][is_there],
        memory=columns["memory"][is_there],
    )


def store_of_machines_2011(trace: Path, folder: Path, usage: MachineUsage) -> Path:
    """Make a store of all machine events, and of the usage of each machine as that of one task on it."""
    part = folder / "task_usage" / "part-00000-of-00500.csv.gz"
    part.parent.mkdir()
    columns = [usage.start, usage.machine, usage.cpu, usage.memory]
    lines = []
    for start, machine, cpu, memory in zip(*(c.tolist() for c in columns), strict=True):
        empty = "," * 13
        lines.append(
            f"{start}000000,{start + WINDOW}000000,{machine},0,{machine},{cpu:.9g},{memory:.9g}{empty}\n"
        )
    with gzip.open(part, "wt", compresslevel=1) as file:
        file.writelines(lines)
    return build(folder, [part, trace / "clusterdata-2011-2" / "machine_events"])


# -- Logs of jobs ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Jobs:
    """Jobs of a log, in its order: whole seconds since its start, whether they finished, and who owns them."""

    submit: Array
    start: Array
    end: Array
    is_finished: Array
    owner: list[str]

    def __len__(self) -> int:
        return len(self.submit)

    @property
    def wait(self) -> Array:
        """Seconds from SUBMIT to SCHEDULE."""
        return self.start - self.submit

    @property
    def run(self) -> Array:
        """Seconds from SCHEDULE to the end."""
        return self.end - self.start


def ricc(trace: Path, folder: Path, rows: int | None) -> tuple[Jobs, Path]:
    """Read RICC-2010-2 of the Parallel Workloads Archive: fields 2, 3, 4, 11 and 12 are all that is used."""
    lines = []
    with lzma.open(trace / "swf" / "RICC-2010-2.swf.xz", "rt") as file:
        for line in file:
            if line.startswith(";"):
                continue
            lines.append(line)
            if len(lines) == rows:
                break
    fields = np.array([line.split() for line in lines], np.int64)
    submit, wait, run = fields[:, 1], fields[:, 2], fields[:, 3]
    start = submit + wait
    jobs = Jobs(submit, start, start + run, fields[:, 10] == 1, [str(n) for n in fields[:, 11]])
    (folder / "ricc.swf").write_text("".join(lines))
    return jobs, build(folder, [folder / "ricc.swf"], capacity="8192cores")


PHILLY = """\
clock = "epoch"
[tasks]
task = "job"
app = "cluster"
submit = { column = "timestamp", unit = "iso", zone = "UTC" }
start = { column = "timestamp", unit = "iso", zone = "UTC" }
run = { column = "duration", unit = "s" }
"""
"""The log has no waits: what it calls a duration is taken to begin with the submission."""


def philly(trace: Path, folder: Path, rows: int | None) -> tuple[Jobs, Path]:
    """Read Microsoft's Philly; owners are virtual clusters."""
    with lzma.open(trace / "philly" / "philly.csv.xz", "rt") as file:
        heading, *lines = file.read().rstrip().splitlines()
    lines = lines[:rows]
    submit, run, owner = [], [], []
    for line in lines:
        timestamp, duration, _, _, cluster = line.split(",")
        submitted = datetime.datetime.fromisoformat(f"{timestamp}+00:00")
        submit.append(int(submitted.timestamp()))
        run.append(int(float(duration)))
        owner.append(cluster)
    since_first = np.array(submit) - begin_of(submit)
    end = since_first + np.array(run)
    jobs = Jobs(since_first, since_first, end, np.ones(len(run), bool), owner)
    numbered = [f"{number},{line}" for number, line in enumerate(lines)]
    (folder / "philly.csv").write_text("\n".join([f"job,{heading}", *numbered, ""]))
    (folder / "philly.toml").write_text(PHILLY)
    options = {"dialect": str(folder / "philly.toml"), "capacity": "8cores"}
    return jobs, build(folder, [folder / "philly.csv"], **options)


PACKING = """\
clock = "relative"
[tasks]
task = "item"
submit = { column = "begin", unit = "s" }
start = { column = "begin", unit = "s" }
end = { column = "end", unit = "s" }
cpu_request = { column = "percent", unit = "cores" }
"""


def packing(trace: Path, folder: Path, rows: int | None) -> tuple[Jobs, Path]:
    """Read Azure's packing trace as a bin-packing instance: item, first and last minute, percent of a machine."""
    with gzip.open(trace / "azure" / "packing_10000_24_1.txt.gz", "rt") as file:
        lines = file.read().splitlines()[1:]
    items = np.array([line.split() for line in lines[:rows]], np.int64)
    begin, end = items[:, 1] * 60, items[:, 2] * 60
    jobs = Jobs(begin, begin, end, np.ones(len(items), bool), [])
    content = [
        f"{item},{first},{last},{percent}"
        for item, first, last, percent in zip(items[:, 0], begin, end, items[:, 3], strict=True)
    ]
    (folder / "items.csv").write_text("\n".join(["item,begin,end,percent", *content, ""]))
    (folder / "items.toml").write_text(PACKING)
    options = {"dialect": str(folder / "items.toml"), "capacity": "100cores"}
    return jobs, build(folder, [folder / "items.csv"], **options)


# -- Usage of virtual machines -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Series:
    """CPU of virtual machines as a share of the largest machine: one array each, of windows of 300 s."""

    start: list[Array]
    cpu: list[Array]


VMS = """\
clock = "relative"
step = "300s"
[usage]
task = "vm"
time = { column = "time", unit = "s" }
cpu = { column = "cpu", unit = "percent_of_largest", kind = "average" }
"""


def azure(trace: Path, folder: Path) -> tuple[Series, Path]:
    """Read mean CPU of VMs of Azure V1, in percent of the VM; every VM is taken for a machine of one size."""
    table = pq.read_table(trace / "azure" / "v1_cpu_40_vms.parquet")
    time = (table["row"].to_numpy().astype(np.int64) - 1) * WINDOW
    return series_and_store(folder, table["vm"].to_pylist(), time, table["avg_cpu_pct"].to_numpy())


def bitbrains(trace: Path, folder: Path) -> tuple[Series, Path]:
    """Read CPU [%] of the four VMs of GWA-T-12 as published; the header says ms, the values are seconds."""
    names: list[str] = []
    times: list[int] = []
    percents: list[float] = []
    for path in sorted((trace / "bitbrains").glob("*.csv.gz")):
        with gzip.open(path, "rt") as file:
            lines = file.read().splitlines()[1:]
        for line in lines:
            fields = line.split(";")
            names.append(path.name.removesuffix(".csv.gz"))
            times.append(int(fields[0]))
            percents.append(float(fields[4]))
    since_first = np.array(times) - begin_of(times)
    return series_and_store(folder, names, since_first, np.array(percents))


def series_and_store(
    folder: Path, names: list[str], time: Array, percent: Array
) -> tuple[Series, Path]:
    """Return series by VM and the store of them."""
    table = pa.table({"vm": names, "time": time, "cpu": percent})
    pq.write_table(table, folder / "vms.parquet")
    (folder / "vms.toml").write_text(VMS)
    name_of_row = np.array(names)
    series = Series([], [])
    for name in dict.fromkeys(names):
        is_of_vm = name_of_row == name
        order = np.argsort(time[is_of_vm], kind="stable")
        series.start.append(time[is_of_vm][order])
        series.cpu.append(percent[is_of_vm][order].astype(float) / 100)
    options = {"dialect": str(folder / "vms.toml"), "capacity": "8cores"}
    return series, build(folder, [folder / "vms.parquet"], **options)
