"""``borgtrace demo``: from nothing to a report, with the commands that anyone would type, shown, run and timed."""

import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option, confirm

from borgtrace.cli.command import command
from borgtrace.cli.console import working
from borgtrace.cli.guesses import can_ask
from borgtrace.cli.options import JsonOption, SeedOption
from borgtrace.cli.printing import print_json
from borgtrace.errors import BorgtraceError, UsageError, shell_word
from borgtrace.schema.bounds import DEMO_HOURS, DEMO_MACHINES
from borgtrace.storage import write_file

# Tells a folder that a demo made, and that may be emptied, from anybody else's.
MARK = ".borgtrace-demo"


@command(on_interrupt="run the same command again to start over", writes_here=["folder"])
def demo(
    folder: Annotated[
        Path, Argument(metavar="[DIR]", help="Folder for everything the demo makes.")
    ] = Path("borgtrace-demo"),
    machines: Annotated[
        int,
        DEMO_MACHINES,
        Option("--machines", metavar="N", help="Machines of the synthetic cell."),
    ] = 100,
    hours: Annotated[
        int,
        DEMO_HOURS,
        Option("--hours", metavar="H", help="Length of the synthetic trace in hours."),
    ] = 24,
    seed: SeedOption = 1,
    as_json: JsonOption = False,
) -> None:
    """Run every step on a synthetic cell, and write its report.

    The steps are: raw files, store, analyses, dataset, packing, report. Each step prints the command that it runs, so
    that you can repeat it on a trace of your own. The last lines are the path of the report, and the command that shows
    the cell in a browser; on a terminal you are asked whether to run it.

    Example: borgtrace demo demo-out
    """
    from borgtrace.cli.harmless_console import HarmlessConsole

    claim_folder(folder)
    steps = steps_of_demo(folder, machines, hours, seed)
    say = HarmlessConsole(quiet=as_json, soft_wrap=True).print
    finished = run_steps(steps, folder / "log", say)
    explore = f"explore {quoted_path(folder, 'store')}"
    say(f"The report: {folder / 'report.html'}")
    say(f"To look around in a browser: borgtrace {explore}")
    if as_json:
        facts = {"report": str(folder / "report.html"), "explore": f"borgtrace {explore}"}
        print_json({**facts, "steps": finished}, indent=1)
    elif can_offer():
        offer_to_explore(explore)


def can_offer() -> bool:
    """Whether somebody sits at a terminal: neither a pipe, nor a machine that builds and tests."""
    return can_ask() and sys.stdout.isatty() and not os.environ.get("CI")


def offer_to_explore(explore: str) -> None:
    """Ask whether to open the cell in a browser, and do so until Ctrl-C ends it."""
    if confirm("Open it now?", default=False):
        command = [sys.executable, "-m", "borgtrace", *shlex.split(explore)]
        # Its exit code is nothing that the demo has to answer for.
        with suppress(KeyboardInterrupt):
            subprocess.run(command, check=False)


@dataclass(frozen=True, kw_only=True)
class DemoStep:
    """One step: what it does, its command, what to try next, and its share of the time of all, as it was measured."""

    title: str
    command: str
    next: str
    share: float = 0.0

    @property
    def name(self) -> str:
        """The name of the command."""
        return self.command.split()[0]


def steps_of_demo(
    folder: Path,
    machines: int,
    hours: int,
    seed: int,
) -> list[DemoStep]:
    """Return the steps of a demo in `folder`."""
    return [
        *steps_to_store(folder, machines, hours, seed),
        *steps_on_store(folder),
    ]


def steps_to_store(
    folder: Path,
    machines: int,
    hours: int,
    seed: int,
) -> list[DemoStep]:
    """Return the steps that make a store."""
    raw = quoted_path(folder, "raw")
    store = quoted_path(folder, "store")
    size = f"--machines {machines} --hours {hours}"
    return [
        DemoStep(
            title=(
                "Generate a synthetic trace in Google's raw format: "
                f"{machines} machines, {hours} h, known answers"
            ),
            command=f"synth {raw} --generation 2011 {size} --seed {seed}",
            next="borgtrace fetch 2011 raw --parts 0-9   # Google's own trace",
            share=0.09,
        ),
        DemoStep(
            title="Check every row, sort and index: a store",
            command=f"ingest {raw} --store {store}",
            next=(
                f'borgtrace sql {store} "select type, count(*) from instance_events group by type"'
            ),
            share=0.11,
        ),
    ]


def steps_on_store(folder: Path) -> list[DemoStep]:
    """Return the steps that use the store."""
    store = quoted_path(folder, "store")
    # A small cell has a few hundred long tasks, so experiments draw instances of that size.
    packing_size = "--realizations 1000 --instances 10 --size 100"
    return [
        DemoStep(
            title="Analyze the life of tasks, and compare it with published claims",
            command=(
                f"analyze {store} transitions queue_length machine_shapes "
                f"--out {quoted_path(folder, 'answers')}"
            ),
            next=f"borgtrace analyze {store} --list",
            share=0.11,
        ),
        DemoStep(
            title="Build a learning dataset: select, split, standardize, shard",
            command=f"dataset {store} {quoted_path(folder, 'dataset')} --format npz",
            next=f"borgtrace dataset {store} records --format tfrecord",
            share=0.06,
        ),
        DemoStep(
            title="Pack tasks by their CPU usage in seconds, to choose an overcommit value",
            command=(
                f"colocate {store} --experiment packing_base {packing_size} "
                f"--out {quoted_path(folder, 'packing')}"
            ),
            next="borgtrace colocate --estimators",
            share=0.12,
        ),
        DemoStep(
            title="Write the report: everything on one page",
            command=f"report {store} {quoted_path(folder, 'report.html')}",
            next=f"borgtrace report {store} paper.html --theme paper   # light, for print",
            share=0.51,
        ),
    ]


def quoted_path(folder: Path, name: str) -> str:
    """Return a path in the folder, to be copied into a shell, whatever the folder is called."""
    return shell_word(folder / name)


def claim_folder(folder: Path) -> None:
    """Empty the folder of an earlier demo; refuse one that holds anything else."""
    if folder.exists() and any(folder.iterdir()):
        # Never a folder of unknown origin: what follows deletes it.
        if not (folder / MARK).exists():
            raise UsageError(
                "DIR",
                "the folder is not empty",
                got=str(folder),
                way_out="name an empty or a new folder: borgtrace demo demo-out",
            )
        shutil.rmtree(folder)
    (folder / "log").mkdir(parents=True)
    (folder / MARK).touch()


def run_steps(
    steps: Sequence[DemoStep],
    logs: Path,
    say: Callable[[str], None],
) -> list[dict[str, Any]]:
    """Run the steps, saying what each does, and return title, command and seconds of each."""
    finished = []
    began = time.perf_counter()
    for number, step in enumerate(steps, 1):
        # Shown before it runs: a step takes up to minutes.
        say(f"{number}/{len(steps)} {step.title}")
        say(f"    $ borgtrace {step.command}")
        with working(time_left(steps[: number - 1], time.perf_counter() - began)):
            seconds = run_step(step, logs / f"{number}-{step.name}.txt")
        say(f"    {seconds:.0f} s; try next: {step.next}")
        finished.append(
            {
                "title": step.title,
                "command": f"borgtrace {step.command}",
                "seconds": round(seconds, 3),
            }
        )
    return finished


def time_left(done: Sequence[DemoStep], seconds: float) -> str:
    """Return how long the steps to come take, at the pace of those that are done.

    Parameters
    ----------
    done
        The steps that are done.
    seconds
        That they took.

    Examples
    --------
    >>> steps = steps_of_demo(Path("demo-out"), 100, 24, 1)
    >>> time_left([], 0.0)
    'running; all steps take about three minutes on two cores'
    >>> time_left(steps, 60.0)
    'running; about 0 s to go'
    """
    share = sum(step.share for step in done)
    if not share:
        return "running; all steps take about three minutes on two cores"
    left = seconds / share * max(0.0, 1 - share)
    # Nobody knows it to the second.
    rounded = round(left, -1) if left >= 10 else round(left)
    return f"running; about {rounded:.0f} s to go"


def run_step(step: DemoStep, log: Path) -> float:
    """Run the command of a step, with its output in a log, and return the seconds that it took.

    Raises
    ------
    BorgtraceError
        The command failed; the message is its last line.
    """
    before = time.perf_counter()
    # A process each, with this Python: exactly what a person who copies the line would run.
    command = [
        sys.executable,
        "-m",
        "borgtrace",
        *shlex.split(step.command),
    ]
    # Not into the log at once: where its disk is full, the reason would be lost.
    ended = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    with suppress(OSError) if ended.returncode else nullcontext():
        write_file(log, ended.stdout)
    if ended.returncode:
        # The last line is the error: commands print it in one.
        lines = ended.stdout.strip().splitlines()
        failure = BorgtraceError(
            f"borgtrace {step.name}",
            "the step failed",
            got=lines[-1] if lines else "",
            way_out=f"see its whole output in {log}",
        )
        # What failed decides, not that it was a step.
        failure.exit_code = max(ended.returncode, failure.exit_code)
        raise failure
    return time.perf_counter() - before
