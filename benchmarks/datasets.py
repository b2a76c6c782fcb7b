"""Datasets: a million traces chosen, standardized, written and read, beside the way of 2017 and the write floor.

Makes its own stores (about 1.5 GB under --dir), prints a table, ratios first.  Run: python benchmarks/datasets.py
"""

from __future__ import annotations

import argparse
import ctypes
import os
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numba
import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
import borgtrace
from array_store import LONGEST, SHARE, SHORTEST, make_store
from borgtrace import datasets
from borgtrace.datasets import DatasetOptions, Selection, build
from borgtrace.datasets.formats import tfrecord_writing as tfrecord
from borgtrace.datasets.trace_index import select_traces
from borgtrace.export import JobsLayout, export_jobs

THREADS = 2
M_TRIM_THRESHOLD = -1
"""glibc: from how many free bytes on memory is given back to the system."""
ORIGINAL_GROUPING = 36_900
"""Rows/s of the original's grouping (Rust, one thread), as measured before on a machine like this."""


def best(function: Callable[[], object], times: int) -> float:
    """Seconds of the fastest of several runs."""
    taken = []
    for _ in range(times):
        begin = time.perf_counter()
        function()
        taken.append(time.perf_counter() - begin)
    return min(taken)


def build_fresh(store: borgtrace.Store, out: Path, traces: int) -> None:
    shutil.rmtree(out, ignore_errors=True)
    build(store, out, DatasetOptions(selection=Selection(sample=traces)), threads=THREADS)


@numba.njit(nogil=True, cache=True)
def frame_all(payload: np.ndarray, starts: np.ndarray, out: np.ndarray) -> None:
    """Copy ready-made Examples and put length and check sums around each."""
    for i in range(starts.size - 1):
        target = out[starts[i] + 12 : starts[i + 1] - 4]
        source = payload[starts[i] + 12 : starts[i + 1] - 4]
        for k in range(target.size):
            target[k] = source[k]
        tfrecord.frame(out, starts[i], starts[i + 1])


def load_records(found: datasets.Dataset) -> list[tuple[Path, np.ndarray, np.ndarray]]:
    """Everything a dataset's files hold, in memory, with the bounds of records."""
    loaded = []
    for traces in found.values():
        for path in traces.paths:
            data = np.fromfile(path, np.uint8)
            starts = [0]
            while starts[-1] < data.size:
                size = int.from_bytes(data[starts[-1] : starts[-1] + 8].data, "little")
                starts.append(starts[-1] + tfrecord.FRAME + size)
            loaded.append((path, data, np.array(starts)))
    return loaded


def write_floor(loaded: list[tuple[Path, np.ndarray, np.ndarray]], out: Path) -> None:
    """Frame and write the same bytes once, from memory, with as many threads."""
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()

    def write(item: tuple[Path, np.ndarray, np.ndarray]) -> None:
        path, data, starts = item
        framed = np.empty_like(data)
        frame_all(data, starts, framed)
        with (out / f"{path.parent.name}-{path.name}").open("wb", buffering=0) as file:
            file.write(framed.data)

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(write, loaded))


def original_way(export: Path, out: Path, traces: int) -> float:
    """Seconds of the way of 2017 for so many traces: a query each, twice, Welford in Python, one Example each."""
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import tensorflow as tf

    rows = [line.split(",") for line in (export / "index.csv").read_text().splitlines()[1:]]
    chosen = [(r[0], int(r[4])) for r in rows if SHORTEST <= int(r[5]) <= LONGEST]
    np.random.RandomState(0).shuffle(chosen)
    chosen = chosen[:traces]
    query = "SELECT `CPU rate` FROM `task_usage` WHERE `task index` = ? ORDER BY `start time`"

    def fetch(path: str, task: int) -> np.ndarray:
        connection = sqlite3.connect(export / path)
        data = np.array([rate for (rate,) in connection.execute(query, (task,))])
        connection.close()
        return data

    out.mkdir(exist_ok=True)
    begin = time.perf_counter()
    count = 0
    mean = 0.0
    squares = 0.0
    for trace in chosen:
        for value in fetch(*trace):
            count += 1
            delta = value - mean
            mean += delta / count
            squares += delta * (value - mean)
    deviation = (squares / (count - 1)) ** 0.5
    writers = [tf.io.TFRecordWriter(str(out / f"{k:02x}.tfrecords")) for k in range(256)]
    for k, trace in enumerate(chosen):
        values = tf.train.FloatList(value=(fetch(*trace) - mean) / deviation)
        example = tf.train.Example(
            features=tf.train.Features(feature={"data": tf.train.Feature(float_list=values)})
        )
        writers[k % 256].write(example.SerializeToString())
    for writer in writers:
        writer.close()
    return time.perf_counter() - begin


def group_per_row(store: borgtrace.Store, out: Path, rows: int) -> float:
    """Rows/s of grouping as in 2017: per row make the folder, open for append, write field by field, close."""
    shutil.rmtree(out, ignore_errors=True)
    columns = (
        f"start_time, collection_id, instance_index, average_cpu, {JobsLayout().path_sql} as path"
    )
    table = store.sql(f"select {columns} from instance_usage limit {rows}")
    *values, paths = (column.to_pylist() for column in table.columns)
    texts = list(zip(*([str(value) for value in column] for column in values), strict=True))
    begin = time.perf_counter()
    for fields, path in zip(texts, paths, strict=True):
        folder, name = path.split("/")
        os.makedirs(f"{out}/{folder}", exist_ok=True)  # noqa: PTH103 - as the original does, without a Path
        file = os.open(f"{out}/{folder}/{name}", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        for k, field in enumerate(fields):
            os.write(file, (("," if k else "") + field).encode())
        os.write(file, b"\n")
        os.close(file)
    return rows / (time.perf_counter() - begin)


def alone(*arguments: object) -> list[str]:
    """Lines that this file prints in a process of its own."""
    command = [sys.executable, __file__, *map(str, arguments)]
    return subprocess.run(
        command,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.splitlines()


def only_build(store: Path, out: Path, traces: int) -> None:
    """Build so many traces, and print the CPU seconds of the second and third time, and the peak resident GB."""
    opened = borgtrace.open(store)
    # Machine code is loaded the first time.
    build_fresh(opened, out, traces)
    taken = []
    for _ in range(2):
        begin = time.process_time()
        build_fresh(opened, out, traces)
        taken.append(time.process_time() - begin)
    print(min(taken))
    # Not getrusage: its maximum is inherited from the process that starts this one.
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    print(int(status["VmHWM"].split()[0]) * 1024 / 1e9)


def time_build(
    store: borgtrace.Store,
    out: Path,
    found: datasets.Dataset,
    floor: Path,
    traces: int,
) -> tuple[int, float, float, float]:
    """Bytes of the dataset, seconds of the write floor, of the build and of choosing alone.

    The best of five, taken in turns.  Choosing writes nothing: the floor has no part of it.
    """
    loaded = load_records(found)
    write_floor(loaded, floor)
    ways: tuple[Callable[[], object], ...] = (
        lambda: write_floor(loaded, floor),
        lambda: build_fresh(store, out, traces),
        lambda: select_traces(store, Selection(sample=traces), {}, 0),
    )
    taken = [[best(way, 1) for way in ways] for _ in range(5)]
    floored, built, chosen = (min(seconds) for seconds in zip(*taken, strict=True))
    return sum(data.size for _, data, _ in loaded), floored, built, chosen


def read_and_copy(paths: list[Path]) -> list[np.ndarray]:
    """Read each file into memory used before and copy its bytes once: less than any epoch does.

    A record begins at any byte, so that no array of floats can be made of a file without a copy.
    """
    own = threading.local()

    def read(path: Path) -> np.ndarray:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            if getattr(own, "room", np.empty(0)).size < size:
                own.room = np.empty(2 * size, np.uint8)
            file.readinto(own.room[:size].data)
            return own.room[:size].copy()

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(read, paths))


def time_reading(found: datasets.Dataset) -> tuple[float, ...]:
    """Seconds of an epoch, of ``np.fromfile`` with all arrays kept and with each dropped, and of two more ways.

    An epoch as it is by default, with threads that read files ahead.  Two more: an epoch whose files the caller reads
    between batches, in one thread as ``np.fromfile`` does; and reading and copying each byte.
    The best of ten each, taken in turns: what else the machine does then slows all alike.
    """
    paths = [path for traces in found.values() for path in traces.paths]
    ways: tuple[Callable[[], object], ...] = (
        lambda: sum(len(b) for s in found.values() for b in s.batches(1024, threads=THREADS)),
        lambda: [np.fromfile(path, np.uint8) for path in paths],
        lambda: sum(np.fromfile(path, np.uint8).size for path in paths),
        lambda: sum(len(b) for s in found.values() for b in s.batches(1024, threads=0)),
        lambda: read_and_copy(paths),
    )
    taken = [[best(way, 1) for way in ways] for _ in range(10)]
    return tuple(min(seconds) for seconds in zip(*taken, strict=True))


def only_read(path: Path) -> None:
    """Print what :func:`time_reading` measures in new memory, then in memory that was used before.

    Arrays that are kept take three times as long in pages that the system has to clear; which of the two a
    process meets depends on what it has done before, so this one is new, and then keeps what is given back.
    """
    found = datasets.open(path)
    print(*time_reading(found))
    ctypes.CDLL(None).mallopt(M_TRIM_THRESHOLD, 1 << 30)
    print(*time_reading(found))


def time_export(store: borgtrace.Store, folder: Path) -> tuple[float, float]:
    """Rows/s of the export as SQLite and of writing row by row: the best of three, taken in turns.

    Each begins in a folder without files: a file system that holds those of the run before is slower.
    """
    rates = []
    per_row = []
    for _ in range(3):
        for left in ("jobs", "rows"):
            shutil.rmtree(folder / left, ignore_errors=True)
        per_row.append(group_per_row(store, folder / "rows", 100_000))
        shutil.rmtree(folder / "rows")
        begin = time.perf_counter()
        exported = export_jobs(store, folder / "jobs", JobsLayout("sqlite"), workers=THREADS)
        rates.append(exported.rows / (time.perf_counter() - begin))
    return max(rates), max(per_row)


def measure(folder: Path, traces: int, sample: int) -> None:
    big = folder / f"store-{traces}"
    small = folder / "store-small"
    make_store(big, int(traces / SHARE * 1.02), with_rows=False)
    make_store(small, 150_000, with_rows=True)
    store = borgtrace.open(big)
    out = folder / "dataset"
    build_fresh(store, out, traces)
    found = datasets.open(out)
    size, floor, built, chosen = time_build(
        store,
        out,
        found,
        folder / "floor",
        traces,
    )
    assert sum(map(len, found.values())) >= traces - 2
    fresh, used = (tuple(map(float, line.split())) for line in alone("--only-read", out))
    export_rate, per_row = time_export(borgtrace.open(small), folder)
    original = original_way(folder / "jobs", folder / "original", sample) * traces / sample
    memory = {
        n: float(alone("--only-build", big, folder / "memory", n)[1])
        for n in (traces // 4, traces // 2, traces)
    }
    # All traces of a store, and of one a quarter as large: choosing reads the whole index of each.
    quarter = folder / f"store-{traces // 4}"
    make_store(quarter, int(traces / 4 / SHARE * 1.02), with_rows=False)
    cpu = [
        min(float(alone("--only-build", path, folder / "memory", n)[0]) for _ in range(3))
        for path, n in ((quarter, traces // 4), (big, traces))
    ]
    report(
        [
            (
                "build / way of 2017",
                f"{original / built:.0f} × faster",
                "≥ 100 ×",
                f"{built:.2f} s against {original:.0f} s (from {sample:,} traces)",
            ),
            (
                "build / write floor",
                f"{built / floor:.2f} ×",
                "≤ 3.5 ×",
                f"{built:.2f} s against {floor:.3f} s for {size / 1e6:.0f} MB",
            ),
            (
                "the same without choosing / floor",
                f"{(built - chosen) / floor:.2f} ×",
                "≤ 2.5 ×",
                f"choosing alone takes {chosen:.2f} s and writes nothing",
            ),
            (
                "epoch / np.fromfile, kept",
                f"{fresh[1] / fresh[0]:.2f} × the speed",
                "≥ 0.5 ×",
                f"{fresh[0]:.3f} s against {fresh[1]:.3f} s, in new memory",
            ),
            (
                "epoch / np.fromfile, kept",
                f"{used[1] / used[0]:.2f} × the speed",
                "≥ 0.6 ×",
                f"{used[0]:.3f} s against {used[1]:.3f} s, in memory used before",
            ),
            (
                "epoch / np.fromfile, dropped",
                f"{used[2] / used[0]:.2f} × the speed",
                "(no bar)",
                f"{used[0]:.3f} s against {used[2]:.3f} s",
            ),
            (
                "epoch, one thread / fromfile, kept",
                f"{used[1] / used[3]:.2f} × the speed",
                "(no bar)",
                f"{used[3]:.3f} s; with {THREADS} threads {used[4] / used[0]:.2f} × reading and copying each byte",
            ),
            (
                "SQLite rows/s / grouping of 2017",
                f"{export_rate / ORIGINAL_GROUPING:.0f} ×",
                "≥ 25 ×",
                f"{export_rate / 1e3:.0f} k rows/s against {ORIGINAL_GROUPING / 1e3:.1f} k",
            ),
            (
                "SQLite rows/s / per row, here",
                f"{export_rate / per_row:.0f} ×",
                "≥ 20 ×",
                f"against {per_row / 1e3:.1f} k rows/s (Python, one thread)",
            ),
            (
                "exponent of the cost",
                f"{np.log(cpu[1] / cpu[0]) / np.log(4):.2f}",
                "≤ 1.05",
                f"{cpu[0]:.2f} and {cpu[1]:.2f} CPU s for {traces // 4:,} and {traces:,} traces of stores as large",
            ),
            (
                "peak memory",
                " / ".join(f"{gb:.2f}" for gb in memory.values()) + " GB",
                "< 2 GB, flat",
                "for " + " / ".join(f"{n:,}" for n in memory) + " traces",
            ),
        ]
    )


def report(lines: list[tuple[str, str, str, str]]) -> None:
    print(f"{'what':<34} {'measured':>22}  {'bar':<14} absolute")
    for what, measured, bar, absolute in lines:
        print(f"{what:<34} {measured:>22}  {bar:<14} {absolute}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dir", type=Path, default=Path("build/benchmarks/datasets"))
    parser.add_argument("--traces", type=int, default=1_000_000)
    parser.add_argument("--sample", type=int, default=20_000)
    parser.add_argument("--only-build", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--only-read", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.only_build:
        store, out, traces = options.only_build
        only_build(Path(store), Path(out), int(traces))
    elif options.only_read:
        only_read(options.only_read)
    else:
        options.dir.mkdir(parents=True, exist_ok=True)
        measure(options.dir, options.traces, options.sample)


if __name__ == "__main__":
    main()
