"""``borgtrace demo``: from nothing to a report, with the commands that anyone would type, shown, run and timed."""

import shlex
import shutil
import subprocess
import sys
import time
import tomllib
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from borgtrace.cli._printing import print_json
from borgtrace.errors import BorgtraceError, UsageError

# Tells a folder that a demo made, and that may be emptied, from anybody else's.
MARK = ".borgtrace-demo"


def demo(
    folder: Path = Path("borgtrace-demo"),
    machines: int = 100,
    hours: int = 24,
    seed: int = 1,
    as_json: bool = False,
) -> None:
    """Run every step on a synthetic cell, and write its report.

    The steps are: raw files, store, analyses, dataset, packing, report. Each step prints the command that it runs, so
    that you can repeat it on a trace of your own. The last line is the path of the report.

    Example: borgtrace demo demo-out
    """
    from rich.console import Console

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
        done.append(
            {
                "title": step.title,
                "command": f"borgtrace {step.command}",
                "seconds": round(seconds, 3),
            }
        )
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
    names = ("raw", "store", "answers", "dataset", "packing")
    words = {name: shlex.quote(str(folder / name)) for name in names} | {
        "page": shlex.quote(str(folder / "report.html"))
    }
    numbers: dict[str, object] = {"machines": machines, "hours": hours, "seed": seed}
    listed = tomllib.loads(files("borgtrace.cli").joinpath("demo.toml").read_text("utf-8"))["step"]
    return [
        _Step(**{name: text.format(**words, **numbers) for name, text in step.items()})
        for step in listed
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
        raise BorgtraceError(
            f"borgtrace {step.command.split()[0]}", "the step failed", got=last[0], way_out=way_out
        )
    return time.perf_counter() - before
