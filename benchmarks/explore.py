"""The explorer on a large cell: the pyramid, the first view, answers while one looks around, memory, scrolling.

Usage of M machines over H hours (25 windows of 300 s to a task), and three events for each task; about 27 million usage
rows with the defaults.  The server is a process of its own; requests go through HTTP, one after the other.

    python benchmarks/explore.py [--machines 12500] [--hours 15] [--requests 100] [--dir DIR] [--store STORE]
"""

from __future__ import annotations

import argparse
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

import duckdb
import httpx
import psutil

import borgtrace
from borgtrace.ingest import IngestOptions, ingest

PER_TASK = 25
"""Windows of a task."""
AT_ONCE = 12
"""Tasks on a machine at a time."""
BARS = 5000


def make_raw(folder: Path, machines: int, hours: int) -> None:
    """Write raw files of 2011 by DuckDB: quicker than the generator, and nothing is asked of them but their number."""
    n_tasks = machines * AT_ONCE * hours * 12 // PER_TASK
    con = duckdb.connect(config={"memory_limit": "3GB"})
    user = "substr(sha256((i % 500)::VARCHAR), 1, 43) || '='"
    # Jobs of ten tasks each, one of them of five thousand; tasks of a lane follow each other on their machine.
    con.execute(f"""
        CREATE TABLE task AS SELECT i, if(i < {BARS}, 1, 10 + i // 10) AS job, if(i < {BARS}, i, i % 10) AS index,
            1 + i % {machines} AS machine,
            600 + (i // {machines * AT_ONCE}) * {PER_TASK * 300} AS start, [0, 0, 1, 4, 9][1 + i % 5] AS priority,
            {user} AS "user", 0.01 + hash(i) % 100 / 2000 AS request
        FROM range({n_tasks}) t(i)""")
    con.execute(
        'CREATE TABLE job AS SELECT job, any_value("user") AS "user" FROM task GROUP BY job'
    )
    values = ", ".join(f"(hash(i, w, {k}) % 1000) / 1000 * request" for k in range(6))
    tables = {
        "machine_events": f"SELECT 0, i, 0, {user}, 0.5 + (i % 2) * 0.5, 1 FROM range(1, {machines + 1}) t(i)",
        "job_events": 'SELECT 600000000, NULL, job, 0, "user", 2, "user", "user" FROM job',
        "task_events": """SELECT time, NULL, job, index, on_machine, type, "user", 2, priority, request, request,
                0.001, 0
            FROM (SELECT *, unnest([start, start, start + 7500]) * 1000000 AS time, unnest([0, 1, 4]) AS type,
                         unnest([NULL, machine, machine]) AS on_machine FROM task) ORDER BY time, type""",
        "task_usage": f"""SELECT (start + w * 300) * 1000000, (start + w * 300 + 300) * 1000000, job, index, machine,
                {values}, 0.001, 0.01, request, 0.001, 1.5, 0.01, 1, 0, request / 2
            FROM task, range({PER_TASK}) r(w)""",
    }
    for name, query in tables.items():
        (folder / name).mkdir(parents=True)
        path = folder / name / "part-00000-of-00001.csv"
        con.execute(f"COPY ({query}) TO '{path}' (HEADER false)")


def started(store: Path) -> tuple[subprocess.Popen[str], str, float]:
    """Start the explorer; return it, its address, and seconds until it takes requests."""
    begin = time.perf_counter()
    command = [sys.executable, "-m", "borgtrace", "explore", str(store), "--no-browser"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    return process, process.stdout.readline().strip(), time.perf_counter() - begin


def answers(client: httpx.Client, paths: list[str]) -> list[float]:
    """Return the milliseconds of each request."""
    found = []
    for path in paths:
        begin = time.perf_counter()
        client.get(path).raise_for_status()
        found.append((time.perf_counter() - begin) * 1000)
    return found


def ranges(draw: random.Random, hours: int, n: int) -> list[str]:
    """Return ranges of time as a reader pans and zooms: of any length, anywhere."""
    chosen = []
    for _ in range(n):
        length = int(draw.uniform(0.05, 1) * hours * 3600)
        start = 600 + draw.randrange(hours * 3600 - length + 1)
        chosen.append(f"from={start}s&to={start + length}s")
    return chosen


def report(name: str, found: list[float], bar: str) -> None:
    p95 = statistics.quantiles(found, n=20)[-1]
    print(f"| {name} | {bar} | {statistics.median(found):.0f} | {p95:.0f} | {max(found):.0f} |")


def scrolling(address: str) -> str:
    """Scroll 5,000 bars in Chromium for three seconds; return what its frames took."""
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from tests.browser import chromium

    with tempfile.TemporaryDirectory() as profile, chromium(Path(profile)) as driver:
        driver.get(address)
        driver.get(address.partition("/?")[0] + "/job/1")
        while (
            driver.execute_script(
                "return document.querySelector('[data-draw=lanes]').dataset.state"
            )
            != "drawn"
        ):
            time.sleep(0.1)
        script = """
            const done = arguments[0], pane = document.querySelector(".lanes"), times = [];
            const begin = performance.now();
            const next = (now) => {
              times.push(now);
              pane.scrollTop += 40;
              if (now - begin < 3000) requestAnimationFrame(next); else done(times);
            };
            requestAnimationFrame(next);"""
        times = driver.execute_async_script(script)
    frames = [after - before for before, after in pairwise(times)]
    return f"{1000 / statistics.mean(frames):.1f} frames a second, slowest {max(frames):.0f} ms, of {len(frames)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--machines", type=int, default=12_500)
    parser.add_argument("--hours", type=int, default=15)
    parser.add_argument("--requests", type=int, default=100)
    parser.add_argument("--dir", type=Path, default=None)
    parser.add_argument("--store", type=Path, default=None, help="a store of an earlier run")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(dir=options.dir))
    store = options.store or folder / "store"
    try:
        if not store.exists():
            make_raw(folder / "raw", options.machines, options.hours)
            ingest([folder / "raw"], store, IngestOptions(jobs=2))
            shutil.rmtree(folder / "raw")
        measure(store, options.hours, options.requests)
    finally:
        shutil.rmtree(folder)


def measure(store: Path, hours: int, requests: int) -> None:
    held = sum(
        path.stat().st_size
        for path in store.rglob("*")
        if path.is_file() and "cache" not in path.parts
    )
    shutil.rmtree(store / "cache", ignore_errors=True)
    process, address, seconds = started(store)
    peak_build = psutil.Process(process.pid).memory_info().rss / 1e9
    process.kill()
    pyramid = sum(path.stat().st_size for path in (store / "cache").glob("explore-*/*"))
    derived = (
        sum(path.stat().st_size for path in (store / "cache").rglob("*") if path.is_file())
        - pyramid
    )
    opened = borgtrace.open(store)
    print(
        f"{opened.manifest.tables['instance_usage']:,} usage rows, {opened.manifest.tables['instance_events']:,} events"
    )
    print(
        f"pyramid: {seconds:.1f} s with start (bar 30), {pyramid / held:.2%} of {held / 1e9:.2f} GB (bar 2 %), "
        f"attempts in the cache {derived / held:.2%}, {peak_build:.2f} GB at its end"
    )
    process, address, seconds = started(store)
    try:
        look_around(process, address, seconds, opened, hours, requests)
    finally:
        process.kill()


def look_around(process, address: str, seconds: float, opened, hours: int, requests: int) -> None:
    draw = random.Random(0)
    machines = opened.sql("SELECT DISTINCT machine_id AS m FROM machine_events ORDER BY m")[
        "m"
    ].to_pylist()
    jobs = opened.sql("SELECT DISTINCT collection_id AS j FROM tasks ORDER BY j")["j"].to_pylist()
    with httpx.Client(
        base_url=address.partition("/?")[0], follow_redirects=True, timeout=60
    ) as client:
        begin = time.perf_counter()
        client.get(address).raise_for_status()
        first = ["cpu", "memory", "pending", "running", "machines"]
        for name in first:
            client.get(f"/data/cell/{name}.json").raise_for_status()
        print(
            f"first view: {seconds:.2f} s to start + {time.perf_counter() - begin:.2f} s with its five charts (bar 2)"
        )
        print("| answers, ms | bar, p95 | median | p95 | worst |\n|---|--:|--:|--:|--:|")
        shown = ranges(draw, hours, requests)
        for name in first:
            report(
                f"cell, {name}",
                answers(client, [f"/data/cell/{name}.json?{one}" for one in shown]),
                "100",
            )
        for kind, ids in (("machine", machines), ("job", jobs)):
            chosen = draw.sample(ids, min(requests, len(ids)))
            report(f"{kind}, page", answers(client, [f"/{kind}/{one}" for one in chosen]), "300")
            for name in ("cpu", "tasks"):
                paths = [f"/data/{kind}/{one}/{name}.json" for one in chosen]
                report(f"{kind}, {name}", answers(client, paths), "300")
        report("the job of 5,000 tasks", answers(client, ["/data/job/1/tasks.json"] * 5), "300")
        print(f"memory: {psutil.Process(process.pid).memory_info().rss / 1e9:.2f} GB (bar 1.5)")
    other, address, _ = started(opened.path)
    try:
        print(f"scrolling 5,000 bars: {scrolling(address)} (bar 60)")
    finally:
        other.kill()


if __name__ == "__main__":
    main()
