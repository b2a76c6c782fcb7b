"""Stores of a kind and a span: own usage, an invented Prometheus, the demo's cell, and parts of real traces."""

from __future__ import annotations

import csv
import math
import sys
import time
from pathlib import Path

import borgtrace
from borgtrace.schema.time import MINUTE, TRACE_START
from walking.running import is_done, run

ROOT = Path(__file__).parents[2]
SPANS = {"10m": 10, "2h": 120, "24h": 1440, "7d": 10_080}
"""Minutes."""
KINDS = ("own", "prometheus", "demo", "openb", "s2011")
OWN_START = 1_790_035_200
"""Seconds since 1970: a day of 2026 begins."""
PODS = {"7d": 2}
"""Of the invented Prometheus, where the answers of six would be large; by span."""
MACHINES = {"7d": 6}
"""Of the demo's cell, where twelve would take long; by span."""
SHARES = {"s2011": 0.1}
"""Of the jobs of real traces: 12,500 machines of 2011 run more tasks than a walk has time for."""


def make_store(kind: str, span: str, store: Path, trace: Path) -> bool:
    """Make a store of a kind and span; return whether there is one now."""
    minutes = SPANS[span]
    raw = raw_folder(store)
    if kind == "own":
        raw.mkdir(exist_ok=True)
        write_own_usage(raw / "usage.csv", minutes)
        size = ("--capacity", "8cores,32GiB", "--yes")
        return is_done("ingest", raw / "usage.csv", "--store", store, *size)
    if kind == "prometheus":
        fetch_answers(raw, minutes, PODS.get(span, 6))
        return is_done("ingest", raw, "--store", store, "--yes")
    if kind == "demo":
        cell = ("--machines", MACHINES.get(span, 12), "--hours", round(minutes / 60, 4))
        is_made = is_done("synth", raw, *cell, "--seed", 1)
        return is_made and is_done("ingest", raw, "--store", store)
    return cut_store(kind, minutes, store, trace)


def raw_folder(store: Path) -> Path:
    """Return where the raw files of a store lie."""
    return store.parent / f"raw-{store.name}"


def cut_store(kind: str, minutes: int, store: Path, trace: Path) -> bool:
    """Cut a part out of a store of all real files of a kind; return whether there is one now."""
    whole = store.parent / f"whole-{kind}"
    if not whole.exists() and not is_done("ingest", *files_of(kind, trace), "--store", whole):
        return False
    first = 0
    if kind == "openb":
        # Most of its pods come in the last days: ten minutes of an earlier week hold none.
        last = borgtrace.open(whole).manifest.time_range["instance_events"][1]
        first = max(0, (last - TRACE_START) // MINUTE - minutes - 60)
    share = ("--fraction", SHARES[kind]) if kind in SHARES else ()
    span = ("--time", f"{first}m..{first + minutes}m")
    return is_done("subset", whole, store, *span, *share)


def files_of(kind: str, trace: Path) -> list[Path]:
    """Return the real files of a kind."""
    if kind == "openb":
        names = ("openb_node_list_all_node.csv.gz", "openb_pod_list_default.csv.gz")
        return [trace / "openb" / name for name in names]
    parts = trace / "clusterdata-2011-2"
    files = [*(parts / "machine_events").iterdir(), *sorted((parts / "task_events").iterdir())[:2]]
    files += sorted((parts / "job_events").iterdir())[:4]
    return [*files, *(parts / "task_usage").iterdir(), *(parts / "machine_attributes").iterdir()]


def write_own_usage(path: Path, minutes: int) -> None:
    """Write usage of ten tasks on three machines, every five minutes."""
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(
            [
                "task",
                "machine",
                "time",
                "cpu_cores",
                "memory_gib",
                "cpu_request_cores",
                "memory_request_gib",
            ]
        )
        for minute in range(0, minutes + 1, 5):
            moment = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(OWN_START + 60 * minute))
            for number in range(10):
                wave = 1 + 0.5 * math.sin(2 * math.pi * (minute / 1440 + number / 10))
                cpu = round(0.3 * wave, 4)
                memory = round(1.5 + 0.1 * wave, 4)
                rows.writerow([f"web-{number}", f"node-{number % 3}", moment, cpu, memory, 1, 4])


def fetch_answers(folder: Path, minutes: int, pods: int) -> None:
    """Fetch the answers of an invented Prometheus."""
    sys.path.insert(0, str(ROOT))
    from tests.fetch.fake_prometheus import FakePrometheus, serving
    from tests.fetch.small_cluster import START, cluster

    with serving(FakePrometheus(cluster(pods, minutes))) as server:
        span = ("--since", START, "--until", START + 60 * minutes, "--step", "1m")
        ended = run("fetch", "prometheus", server.url, folder, *span)
    if ended.code:
        print(ended.stderr[-2000:], file=sys.stderr)
