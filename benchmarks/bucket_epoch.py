"""An epoch of shuffled traces from a store in a bucket, beside what the same server gives a bare client.

The server is localbucket, a process of its own; the bare client another: ``http.client`` on four connections asks for
the arrays of the store once, in ranges of 8 MiB or of a block of the cache (256 KiB), and drops what comes.  An epoch
is a process of its own with an empty cache: each task of the store once, in random order, `--batch` tasks at a time,
all default columns.  Both are counted in bytes of the arrays, from the first request to the last batch; opening
the store and its index is not.

    python benchmarks/bucket_epoch.py [--rows 20000000] [--batch 1024] [--times 3] [--dir DIR]
"""

from __future__ import annotations

import argparse
import hashlib
import http.client
import os
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
import borgtrace
from array_store import write_table
from borgtrace.store.columns import DEFAULT_COLUMNS
from borgtrace.store.manifest import Manifest
from borgtrace.store.traces import gather_runs

LENGTHS = {"short": 12, "long": 1_000}
PIECES, CONNECTIONS = (1 << 23, 1 << 18), 4
KEYS = {"AWS_ACCESS_KEY_ID": "any", "AWS_SECRET_ACCESS_KEY": "any", "AWS_REGION": "us-east-1"}


def make_store(path: Path, rows: int, length: int) -> None:
    """Write a store whose tasks have `length` rows each: index and arrays."""
    if (path / "manifest.json").exists():
        return
    shutil.rmtree(path, ignore_errors=True)
    (path / "traces").mkdir(parents=True)
    tasks, rng = rows // length, np.random.default_rng(0)
    for name in DEFAULT_COLUMNS:
        kind = np.uint32 if name == "start_time" else np.float32
        np.save(
            path / "traces" / f"{name}.npy",
            rng.integers(600, 2_000_000, tasks * length).astype(kind),
        )
    columns = {
        "collection_id": 3_418_309 + np.arange(tasks) // 40,
        "instance_index": np.arange(tasks) % 40,
        "collection_type": np.full(tasks, "JOB"),
        "first_row": np.arange(tasks) * length,
        "n_windows": np.full(tasks, length),
    }
    write_table(path, "tasks", columns, tasks)
    write_table(path, "instance_usage", {}, tasks * length)
    counts = {"instance_usage": tasks * length, "tasks": tasks}
    Manifest(
        "2011", "", "UTC", "0", f"{length:064x}", counts, (), synthetic={"benchmark": 1}
    ).write(path / "manifest.json")


def bare(paths: list[str], piece: int) -> float:
    """Seconds in which a bare client has the files, in ranges of `piece` bytes."""
    host = urlsplit(os.environ["AWS_ENDPOINT_URL"]).netloc

    def ask(
        connection: http.client.HTTPConnection, method: str, path: str, **headers: str
    ) -> http.client.HTTPResponse:
        connection.request(method, path, headers=headers)
        return connection.getresponse()

    def size(path: str) -> int:
        # The server computes the ETag of a file at the first request, which is not counted.
        with ask(http.client.HTTPConnection(host), "HEAD", path) as answer:
            return int(answer.headers["Content-Length"])

    pieces = [(path, at) for path in paths for at in range(0, size(path), piece)]
    connections = [http.client.HTTPConnection(host) for _ in range(CONNECTIONS)]

    def get(number: int) -> None:
        for path, at in pieces[number::CONNECTIONS]:
            ask(connections[number], "GET", path, Range=f"bytes={at}-{at + piece - 1}").read()

    begin = time.perf_counter()
    with ThreadPoolExecutor(CONNECTIONS) as pool:
        list(pool.map(get, range(CONNECTIONS)))
    return time.perf_counter() - begin


def epoch(url: str, batch: int, seed: int = 0) -> tuple[float, str]:
    """Seconds of an epoch, and a digest of its batches (which is not counted)."""
    store = borgtrace.open(url)
    order = np.random.default_rng(seed).permutation(len(store.offsets) - 1)
    for kind in (np.uint32, np.float32):
        # Machine code is loaded once in a process, whatever the epoch; of memory that cannot be written, as a map.
        gather_runs(np.frombuffer(bytes(4), kind), np.zeros(1, np.int64), np.zeros(2, np.int64))
    digest, seconds = hashlib.sha256(), 0.0
    for low in range(0, len(order), batch):
        begin = time.perf_counter()
        found = store.traces(order[low : low + batch])
        seconds += time.perf_counter() - begin
        for name in DEFAULT_COLUMNS:
            digest.update(np.ascontiguousarray(found.columns[name]).data)
    return seconds, digest.hexdigest()[:12]


def alone(cache: Path, *arguments: object) -> list[str]:
    """What this file prints in a process of its own, with a cache that is empty."""
    shutil.rmtree(cache, ignore_errors=True)
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    command = [sys.executable, __file__, *map(str, arguments)]
    return subprocess.run(
        command, check=True, stdout=subprocess.PIPE, text=True, env=environment
    ).stdout.split()


def measure(folder: Path, rows: int, batch: int, times: int) -> None:
    """Print a line for each length of tasks."""
    bare_ones = "8 MiB | 256 KiB"
    print(
        f"| rows of a task | epoch ÷ bare client, {bare_ones} | epoch MB/s | bare client MB/s, {bare_ones} | digest |"
    )
    print("|--:|--:|--:|--:|--:|--:|---|")
    for name, length in LENGTHS.items():
        make_store(folder / "buckets" / "cells" / name, rows, length)
        n_bytes = 4 * len(DEFAULT_COLUMNS) * (rows // length * length)
        taken = []
        for _ in range(times):
            floors = [
                float(alone(folder / "cache", "--only-bare", name, "--piece", piece)[0])
                for piece in PIECES
            ]
            seconds, digest = alone(folder / "cache", "--only-epoch", name, "--batch", batch)
            taken.append((float(seconds), *floors))
        ratios = (" / ".join(f"{one[k] / one[0]:.2f}" for one in taken) for k in (1, 2))
        rates = (" / ".join(f"{n_bytes / one[k] / 1e6:.0f}" for one in taken) for k in (0, 1, 2))
        print(f"| {length:,} | {' | '.join((*ratios, *rates))} | {digest} |", flush=True)
    shutil.rmtree(folder / "cache", ignore_errors=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--batch", type=int, default=1024)
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--port", type=int, default=9750)
    parser.add_argument("--dir", type=Path)
    parser.add_argument("--only-bare", help=argparse.SUPPRESS)
    parser.add_argument("--piece", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--only-epoch", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.only_bare:
        print(
            bare(
                [f"/cells/{options.only_bare}/traces/{name}.npy" for name in DEFAULT_COLUMNS],
                options.piece,
            )
        )
        return
    if options.only_epoch:
        print(*epoch(f"s3://cells/{options.only_epoch}", options.batch))
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.dir or Path(temporary)
        (folder / "buckets" / "cells").mkdir(parents=True, exist_ok=True)
        os.environ |= {**KEYS, "AWS_ENDPOINT_URL": f"http://127.0.0.1:{options.port}"}
        command = [
            sys.executable,
            "-m",
            "localbucket",
            str(folder / "buckets"),
            "--port",
            str(options.port),
        ]
        with subprocess.Popen(command, stderr=subprocess.DEVNULL) as server:
            try:
                time.sleep(1)
                measure(folder, options.rows, options.batch, options.times)
            finally:
                server.terminate()


if __name__ == "__main__":
    main()
