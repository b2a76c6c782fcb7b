"""Run every command on stores of ten minutes to a week of five kinds, and report what ends without an answer.

    python scripts/walk_commands.py FOLDER [--trace SHARED/trace] [--kind own …] [--span 2h …]

A command ends well with exit code 0 and an answer, or with one plain sentence that says why there is none and what to
do instead. Everything else is a dead end: a traceback, a code without a sentence, an answer that is empty and silent.
The report is FOLDER/walk.csv, a line for each command and store; the exit code is 1 where there is a dead end.
"""

from __future__ import annotations

import argparse
import csv
import math
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import borgtrace

ROOT = Path(__file__).parents[1]
SPANS = {"10m": 10, "2h": 120, "24h": 1440, "7d": 10_080}
"""Minutes."""
KINDS = ("own", "prometheus", "demo", "openb", "s2011")
LIMIT_S = 900
ONE_SENTENCE = re.compile(r"borgtrace: |not applicable: |Error: ")
WAY_OUT = re.compile(
    r"; |: try |needs|needed|takes|is needed|expected|does not|nothing|no task|no usage|of no"
)


@dataclass(frozen=True)
class Ending:
    """How a command ended on a store."""

    store: str
    command: str
    code: int
    seconds: float
    verdict: str
    last_line: str


def main() -> int:
    """Make the stores, walk, write the report, and return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--trace", type=Path, default=ROOT.parent / "shared" / "trace")
    parser.add_argument("--kind", action="append", choices=KINDS)
    parser.add_argument("--span", action="append", choices=list(SPANS))
    parser.add_argument("--without", action="append", default=[], help="a command to skip")
    arguments = parser.parse_args()
    folder: Path = arguments.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    endings: list[Ending] = []
    for kind in arguments.kind or KINDS:
        for span in arguments.span or SPANS:
            store = folder / f"{kind}-{span}"
            if not store.exists() and not make_store(kind, span, store, arguments.trace):
                print(f"{store.name}: no store", file=sys.stderr)
                continue
            for ending in walk(store, folder / "out", arguments.without):
                endings.append(ending)
                print(
                    f"{ending.verdict:<9} {ending.store:<15} {ending.command}: {ending.last_line}",
                    flush=True,
                )
            write_report(endings, folder / "walk.csv")
    dead_ends = [ending for ending in endings if ending.verdict == "DEAD END"]
    print(f"{len(endings)} commands, {len(dead_ends)} dead ends", file=sys.stderr)
    return 1 if dead_ends else 0


def make_store(kind: str, span: str, store: Path, trace: Path) -> bool:
    """Make a store of a kind and span; return whether there is one now."""
    minutes = SPANS[span]
    raw = store.parent / f"raw-{store.name}"
    if kind == "own":
        raw.mkdir(exist_ok=True)
        write_own_usage(raw / "usage.csv", minutes)
        size = ("--capacity", "8cores,32GiB", "--yes")
        return is_done("ingest", raw / "usage.csv", "--store", store, *size)
    if kind == "prometheus":
        fetch_answers(raw, minutes)
        return is_done("ingest", raw, "--store", store, "--yes")
    if kind == "demo":
        cell = ("--machines", 12, "--hours", round(minutes / 60, 4), "--seed", 1)
        return is_done("synth", raw, *cell) and is_done("ingest", raw, "--store", store)
    whole = store.parent / f"whole-{kind}"
    if not whole.exists() and not is_done("ingest", *files_of(kind, trace), "--store", whole):
        return False
    first = 10
    if kind == "openb":
        # Most of its pods come in the last days: ten minutes of an earlier week hold none.
        last = borgtrace.open(whole).manifest.time_range["instance_events"][1] // 60_000_000
        first = max(10, last - minutes - 60)
    return is_done("subset", whole, store, "--time", f"{first}m..{first + minutes}m")


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
            moment = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(1_790_035_200 + 60 * minute))
            for number in range(10):
                wave = 1 + 0.5 * math.sin(2 * math.pi * (minute / 1440 + number / 10))
                cpu = round(0.3 * wave, 4)
                memory = round(1.5 + 0.1 * wave, 4)
                rows.writerow([f"web-{number}", f"node-{number % 3}", moment, cpu, memory, 1, 4])


def fetch_answers(folder: Path, minutes: int) -> None:
    """Fetch the answers of an invented Prometheus."""
    sys.path.insert(0, str(ROOT))
    from tests.fetch.fake_prometheus import FakePrometheus, serving
    from tests.fetch.small_cluster import START, cluster

    with serving(FakePrometheus(cluster(6, minutes))) as server:
        span = ("--since", START, "--until", START + 60 * minutes, "--step", "1m")
        done = run("fetch", "prometheus", server.url, folder, *span)
    print(done.stderr[-600:], file=sys.stderr)


def walk(store: Path, out: Path, skipped: Sequence[str]) -> Iterator[Ending]:
    """Run every command on a store but some."""
    for words in command_lines(store, out):
        if words[0] in skipped:
            continue
        subprocess.run(["rm", "-rf", str(out)], check=True)
        before = time.monotonic()
        done = run(*words)
        seconds = time.monotonic() - before
        line = shlex.join(str(word) for word in words if word != store)
        yield Ending(
            store=store.name,
            command=line.replace(str(out), "OUT"),
            code=done.returncode,
            seconds=round(seconds, 1),
            verdict=verdict(done),
            last_line=last_line(done),
        )


def command_lines(store: Path, out: Path) -> list[list[object]]:
    """Return a command line of every command on a store."""
    opened = borgtrace.open(store)
    machine, task = first_of(opened)
    placed = ["--realizations", 200, "--instances", 2, "--size", 20]
    return [
        ["info", store],
        ["sql", store, "select count(*) from tasks"],
        ["trace", store, *task],
        ["machine", store, machine],
        ["machine", store, machine, "--at", "12m"],
        ["analyze", store],
        ["compare", store, store],
        ["report", store, out / "report.html"],
        ["dataset", store, out, "--format", "npz"],
        ["export", store, out],
        ["forecast", store],
        ["forecast", store, "--pack", "--out", out],
        ["overcommit", store],
        ["overcommit", store, "--out", out],
        ["overcommit", "target", store],
        ["overcommit", "reclaim", store],
        ["overcommit", "recommend", store],
        ["overcommit", "explain", store, machine, "--at", "12m"],
        ["colocate", store, *placed, "--out", out],
        ["colocate", "place", store],
        ["colocate", "pool", store, "--out", out],
        ["advise", store, "--out", out / "advice.html"],
        ["compact", store],
        ["simulate", store],
        ["subset", store, out, "--fraction", 0.5],
        ["verify", store],
    ]


def first_of(store: borgtrace.Store) -> tuple[object, list[object]]:
    """Return a machine and a task of a store."""
    machines = (
        store.sql("select min(machine_id) as id from machine_events").column("id").to_pylist()
    )
    first_task = "select collection_id, instance_index from tasks order by all limit 1"
    tasks = store.sql(first_task).to_pylist()
    return (machines[0] or 0), (list(tasks[0].values()) if tasks else [0, 0])


def verdict(done: subprocess.CompletedProcess[str]) -> str:
    """Return how a command ended: an answer, a sentence, or a dead end."""
    text = done.stdout + done.stderr
    if "Traceback" in text:
        return "DEAD END"
    if done.returncode == 0 and "not applicable: " not in done.stderr:
        return "answer" if text.strip() else "DEAD END"
    sentences = [line for line in done.stderr.splitlines() if ONE_SENTENCE.search(line)]
    has_way_out = any(WAY_OUT.search(line) for line in sentences)
    return "sentence" if has_way_out else "DEAD END"


def last_line(done: subprocess.CompletedProcess[str]) -> str:
    """Return the last line of what a command says, else of its data."""
    lines = done.stderr.strip().splitlines() or done.stdout.strip().splitlines()
    return lines[-1][:200] if lines else ""


def run(*words: object) -> subprocess.CompletedProcess[str]:
    """Run a command with this Python."""
    line = [sys.executable, "-m", "borgtrace", *map(str, words)]
    return subprocess.run(
        line,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
        stdin=subprocess.DEVNULL,
    )


def is_done(*words: object) -> bool:
    """Run a command that a store needs; say on stderr why it failed."""
    done = run(*words)
    if done.returncode:
        print(done.stderr[-2000:], file=sys.stderr)
    return done.returncode == 0


def write_report(endings: Sequence[Ending], path: Path) -> None:
    """Write a line for each command and store."""
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["store", "command", "code", "seconds", "verdict", "last_line"])
        for ending in endings:
            rows.writerow(vars(ending).values())


if __name__ == "__main__":
    sys.exit(main())
