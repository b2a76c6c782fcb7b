"""The steps of ``borgtrace demo``: each is a command line, shown, run, and timed."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from borgtrace.errors import BorgtraceError, UsageError

MARK = ".borgtrace-demo"


@dataclass(frozen=True)
class Step:
    """One step: what it does, its command, and what to try next."""

    does: str
    arguments: tuple[str, ...]
    next: str


def steps(folder: Path, machines: int, hours: int, seed: int) -> list[Step]:
    """Return the steps of a demo in `folder`."""
    raw, store = str(folder / "raw"), str(folder / "store")
    # A small cell has a few hundred long tasks, so experiments draw instances of that size.
    packing = ("--experiment", "packing_base", "--realizations", "1000", "--instances", "10", "--size", "100")
    return [
        Step(
            f"a synthetic trace in Google's raw format, {machines} machines × {hours} h, with known answers",
            (
                "synth",
                raw,
                "--generation",
                "2011",
                "--machines",
                str(machines),
                "--hours",
                str(hours),
                "--seed",
                str(seed),
            ),
            "borgtrace fetch 2011 raw --parts 0-9   (the real thing)",
        ),
        Step(
            "every row checked, sorted, indexed: a store",
            ("ingest", raw, "--store", store),
            f'borgtrace sql {store} "select type, count(*) from instance_events group by type"',
        ),
        Step(
            "how tasks live and die, beside what papers claim",
            ("analyze", store, "transitions", "queue_length", "machine_shapes", "--out", str(folder / "answers")),
            f"borgtrace analyze {store} --list",
        ),
        Step(
            "a learning dataset: select, split, standardize, shard",
            (
                "dataset",
                store,
                str(folder / "dataset"),
                "--min-length",
                "5",
                "--max-length",
                "50",
                "--split",
                "0.7,0.1,0.2",
                "--format",
                "npz",
            ),
            f"borgtrace dataset {store} OUT --format tfrecord",
        ),
        Step(
            "tasks packed by their 1-second usage: which overcommit value",
            ("colocate", store, *packing, "--out", str(folder / "packing")),
            "borgtrace colocate --synthetic 20000 --estimators",
        ),
        Step("everything on one page", ("report", store, str(folder / "report.html")), f"borgtrace info {store}"),
    ]


def run(folder: Path, machines: int, hours: int, seed: int) -> None:
    """Run all steps, and print the path of the report last.

    Raises
    ------
    UsageError
        When the folder holds something that is not a demo's.
    BorgtraceError
        When a step fails; its whole output is in the folder's log.
    """
    _claim(folder)
    planned = steps(folder, machines, hours, seed)
    for number, step in enumerate(planned, 1):
        print(f"{number}/{len(planned)} {step.does}")
        print(f"    $ borgtrace {shlex.join(step.arguments)}", flush=True)
        seconds = _run(step, folder / "log" / f"{number}-{step.arguments[0]}.txt")
        print(f"    {seconds:.0f} s; try next: {step.next}", flush=True)
    print(folder / "report.html")


def _claim(folder: Path) -> None:
    """Empty the folder of an earlier demo; refuse one that holds anything else."""
    if folder.exists() and any(folder.iterdir()):
        if not (folder / MARK).exists():
            raise UsageError(
                "DIR",
                "the folder holds something else",
                got=str(folder),
                way_out="name an empty or a new folder: borgtrace demo demo-out",
            )
        shutil.rmtree(folder)
    (folder / "log").mkdir(parents=True)
    (folder / MARK).touch()


def _run(step: Step, log: Path) -> float:
    before = time.perf_counter()
    with log.open("w") as output:
        done = subprocess.run(
            [sys.executable, "-m", "borgtrace", *step.arguments], stdout=output, stderr=output, check=False
        )
    if done.returncode:
        last = log.read_text().strip().splitlines()[-1:] or [""]
        raise BorgtraceError(
            f"borgtrace {step.arguments[0]}", "the step failed", got=last[0], way_out=f"all it said is in {log}"
        )
    return time.perf_counter() - before
