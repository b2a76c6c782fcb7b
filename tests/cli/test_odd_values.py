"""No odd value of an option or a parameter ends in a traceback, a wrong exit code, or a message that does not help."""

from __future__ import annotations

import random
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import chdir, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType

import pytest
from typer.testing import CliRunner

from borgtrace.cli.app import app
from borgtrace.ingest import IngestOptions, ingest
from tests.cli.odd_values import (
    Case,
    Outcome,
    Places,
    command_cases,
    faults_of,
    parameter_cases,
)
from tests.ingest.raw import write_cell

SAMPLE = 60
SECONDS = 10.0
"""A command that works longer was given a value that it takes."""


@pytest.fixture
def places(tmp_path: Path) -> Places:
    moments = tmp_path / "moments.csv"
    moments.write_text("task,mean,std,maximum,request\na,0.1,0.05,0.3,0.4\n")
    raw = write_cell(tmp_path / "raw")
    ingest([raw], tmp_path / "store", IngestOptions(jobs=1))
    return Places(tmp_path / "store", raw, moments)


def test_a_sample_of_odd_values_is_refused_or_taken(places: Places, tmp_path: Path) -> None:
    cases = [*command_cases(places), *parameter_cases(places)]
    # What can only be refused is quick; the rest is in the large run.
    refused = [case for case in cases if case.is_wrong]
    faults = {}
    for case in random.Random(0).sample(refused, SAMPLE):
        with TemporaryDirectory(dir=tmp_path) as folder, chdir(folder):
            found = list(faults_of(case, run_here(case)))
        if found:
            faults[case.id] = found
    assert not faults


@pytest.mark.scale
def test_every_odd_value_is_refused_or_taken(
    places: Places, command: Callable[..., list[str]], tmp_path: Path
) -> None:
    faults = {}
    for case in (*command_cases(places), *parameter_cases(places)):
        # Each in a folder of its own: what one writes is in the way of the next.
        with TemporaryDirectory(dir=tmp_path, ignore_cleanup_errors=True) as folder:
            found = list(faults_of(case, run_apart(case, command, Path(folder))))
        if found:
            faults[case.id] = found
    assert not faults


def run_here(case: Case) -> Outcome:
    """Run a command in this process."""
    with at_most(SECONDS) as ended:
        result = CliRunner().invoke(app, list(case.words))
    if ended:
        return Outcome(None, "")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        return Outcome(1, f"Traceback: {result.exception!r}")
    return Outcome(result.exit_code, result.output)


@contextmanager
def at_most(seconds: float) -> Iterator[list[bool]]:
    """End what takes longer; the list is not empty where that was done."""
    ended: list[bool] = []

    def end(number: int, frame: FrameType | None) -> None:
        ended.append(True)
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield ended
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def run_apart(case: Case, command: Callable[..., list[str]], folder: Path) -> Outcome:
    """Run a command in a process of its own, which is ended when its time is over."""
    with subprocess.Popen(
        command(*case.words),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=folder,
    ) as process:
        try:
            text, _ = process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            # Passed on to the process that works.
            process.terminate()
            return Outcome(None, "")
    return Outcome(process.returncode, text)
