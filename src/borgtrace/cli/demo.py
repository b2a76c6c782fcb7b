"""``borgtrace demo``: from nothing to a report, with the commands that anyone would type, shown, run and timed."""

import shlex
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from rich.console import Console

from borgtrace.cli._options import Json, Seed, argument, option
from borgtrace.cli._printing import print_json
from borgtrace.errors import BorgtraceError, UsageError

# Tells a folder that a demo made, and that may be emptied, from anybody else's.
MARK = ".borgtrace-demo"
ON_INTERRUPT = "run the same command again to start over"


def demo(
    folder: Annotated[Path, argument("[DIR]", "Folder for everything the demo makes.")] = Path("borgtrace-demo"),
    machines: Annotated[int, option("N", "Machines of the synthetic cell.", min=10)] = 100,
    hours: Annotated[int, option("H", "Length of the synthetic trace in hours.", min=1)] = 24,
    seed: Seed = 1,
    as_json: Json = False,
) -> None:
    """Run every step on a synthetic cell, and write its report.

    The steps are: raw files, store, analyses, dataset, packing, report. Each step prints the command that it runs, so
    that you can repeat it on a trace of your own. The last line is the path of the report.

    Example: borgtrace demo demo-out
    """
    _claim(folder)
    planned = _steps(folder, machines, hours, seed)
    say = Console(quiet=as_json, highlight=False, markup=False, soft_wrap=True).print
    done = []
    for number, step in enumerate(planned, 1):
        # Shown before it runs: a step takes up to minutes.
        say(f"{number}/{len(planned)} {step.title}")
        say(f"    $ borgtrace {step.command}")
        seconds = _run(step, folder / "log" / f"{number}-{step.command.split()[0]}.txt")
        say(f"    {seconds:.0f} s; try next: {step.next}")
        done.append({"title": step.title, "command": f"borgtrace {step.command}", "seconds": round(seconds, 3)})
    say(folder / "report.html")
    if as_json:
        print_json({"report": str(folder / "report.html"), "steps": done}, indent=1)


@dataclass(frozen=True)
class _Step:
    """One step: what it does, its command, and what to try next."""

    title: str
    command: str
    next: str


def _steps(folder: Path, machines: int, hours: int, seed: int) -> list[_Step]:
    """Return the steps of a demo in `folder`."""
    raw, store, answers, dataset, packing, page = (
        shlex.quote(str(folder / name)) for name in ("raw", "store", "answers", "dataset", "packing", "report.html")
    )
    return [
        _Step(
            f"Generate a synthetic trace in Google's raw format: {machines} machines, {hours} h, known answers",
            f"synth {raw} --generation 2011 --machines {machines} --hours {hours} --seed {seed}",
            "borgtrace fetch 2011 raw --parts 0-9   (Google's own trace)",
        ),
        _Step(
            "Check every row, sort and index: a store",
            f"ingest {raw} --store {store}",
            f'borgtrace sql {store} "select type, count(*) from instance_events group by type"',
        ),
        _Step(
            "Analyze the life of tasks, and compare it with published claims",
            f"analyze {store} transitions queue_length machine_shapes --out {answers}",
            f"borgtrace analyze {store} --list",
        ),
        _Step(
            "Build a learning dataset: select, split, standardize, shard",
            f"dataset {store} {dataset} --min-length 5 --max-length 50 --split 0.7,0.1,0.2 --format npz",
            f"borgtrace dataset {store} OUT --format tfrecord",
        ),
        _Step(
            "Pack tasks by their CPU usage in single seconds, to choose an overcommit value",
            # A small cell has a few hundred long tasks, so experiments draw instances of that size.
            f"colocate {store} --experiment packing_base --realizations 1000 --instances 10 --size 100 --out {packing}",
            "borgtrace colocate --synthetic 20000 --estimators",
        ),
        _Step("Write the report: everything on one page", f"report {store} {page}", f"borgtrace info {store}"),
    ]


def _claim(folder: Path) -> None:
    """Empty the folder of an earlier demo; refuse one that holds anything else."""
    if folder.exists() and any(folder.iterdir()):
        # Never a folder of unknown origin: what follows deletes it.
        if not (folder / MARK).exists():
            way_out = "name an empty or a new folder: borgtrace demo demo-out"
            raise UsageError("DIR", "the folder is not empty", got=str(folder), way_out=way_out)
        shutil.rmtree(folder)
    (folder / "log").mkdir(parents=True)
    (folder / MARK).touch()


def _run(step: _Step, log: Path) -> float:
    before = time.perf_counter()
    # A process each, with this Python: exactly what a person who copies the line would run.
    command = [sys.executable, "-m", "borgtrace", *shlex.split(step.command)]
    with log.open("w") as output:
        done = subprocess.run(command, stdout=output, stderr=output, check=False)
    if done.returncode:
        # The last line is the error: commands print it in one.
        last = log.read_text().strip().splitlines()[-1:] or [""]
        way_out = f"see its whole output in {log}"
        raise BorgtraceError(f"borgtrace {step.command.split()[0]}", "the step failed", got=last[0], way_out=way_out)
    return time.perf_counter() - before
