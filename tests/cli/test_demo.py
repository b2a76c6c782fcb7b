"""``borgtrace demo``: what it prints of its steps as text and as JSON, where they write, and what it may delete."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from borgtrace.cli import main
from borgtrace.cli.commands import demo
from borgtrace.cli.commands.demo import DemoStep, claim_folder, run_step, steps_of_demo
from borgtrace.errors import BorgtraceError, UsageError

Capture = pytest.CaptureFixture[str]
NAMES = ["synth", "ingest", "analyze", "dataset", "colocate", "report"]


def run(*arguments: object) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["demo", *map(str, arguments)])
    return int(ended.value.code or 0)


@pytest.fixture
def logs(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The logs of the steps, which are not run but take 2.0006 s each."""
    paths: list[Path] = []

    def pretend(step: DemoStep, log: Path) -> float:
        assert log.parent.is_dir()
        paths.append(log)
        return 2.0006

    monkeypatch.setattr(demo, "run_step", pretend)
    return paths


def test_lines_are_to_be_copied_whatever_the_folder_is_called(
    tmp_path: Path,
    logs: list[Path],
    monkeypatch: pytest.MonkeyPatch,
    capsys: Capture,
) -> None:
    # A terminal with colours: neither numbers nor what looks like markup has any.
    for name, value in (("FORCE_COLOR", "1"), ("TERM", "xterm-256color"), ("COLUMNS", "80")):
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("NO_COLOR", raising=False)
    folder = tmp_path / "[bold]"
    assert run(folder, "--machines", 10, "--hours", 1, "--seed", 7) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:5] == [
        "1/6 Generate a synthetic trace in Google's raw format: 10 machines, 1 h, known answers",
        f"    $ borgtrace synth '{folder}/raw' --generation 2011 --machines 10 --hours 1 --seed 7",
        "    2 s; try next: borgtrace fetch 2011 raw --parts 0-9   # Google's own trace",
        "2/6 Check every row, sort and index: a store",
        f"    $ borgtrace ingest '{folder}/raw' --store '{folder}/store'",
    ]
    # Three lines a step, the report, and how to look around.
    assert len(lines) == 20
    assert lines[-2:] == [
        f"The report: {folder}/report.html",
        f"To look around in a browser: borgtrace explore '{folder}/store'",
    ]
    numbered = [f"{number}-{name}.txt" for number, name in enumerate(NAMES, 1)]
    assert logs == [folder / "log" / name for name in numbered]


AT_A_TERMINAL = """
import sys
from borgtrace.cli.commands import demo
demo.run_step = lambda step, log: 1.0
explored = []
demo.subprocess.run = lambda command, check: explored.append(command[2:])
from borgtrace.cli import main
try:
    main(["demo", *sys.argv[1:]])
except SystemExit as ended:
    print("ENDED", ended.code, explored)
"""
"""A demo whose steps do nothing, and that says what it would run in the end."""


def at_a_terminal(typed: str, *arguments: str, **variables: str) -> str:
    """Run a demo at a terminal where somebody types an answer; return all that the terminal shows."""
    parent, child = pty.openpty()
    environment = {name: value for name, value in os.environ.items() if name != "CI"} | variables
    process = subprocess.Popen(
        [sys.executable, "-c", AT_A_TERMINAL, *arguments],
        stdin=child,
        stdout=child,
        stderr=child,
        env=environment,
    )
    os.close(child)
    os.write(parent, typed.encode())
    shown = b""
    # A terminal whose other end is closed raises instead of returning nothing.
    with suppress(OSError):
        while block := os.read(parent, 4096):
            shown += block
    process.wait()
    os.close(parent)
    return shown.decode()


@pytest.mark.parametrize(
    ("typed", "variables", "is_asked", "is_explored"),
    [
        ("y\n", {}, True, True),
        ("n\n", {}, True, False),
        ("\n", {}, True, False),
        ("y\n", {"CI": "true"}, False, False),
    ],
)
def test_a_terminal_is_asked_whether_to_look_around(
    tmp_path: Path,
    typed: str,
    variables: dict[str, str],
    is_asked: bool,
    is_explored: bool,
) -> None:
    shown = at_a_terminal(
        typed, str(tmp_path / "d"), "--machines", "10", "--hours", "1", **variables
    )
    assert ("Open it now?" in shown) == is_asked
    assert (f"['borgtrace', 'explore', '{tmp_path}/d/store']" in shown) == is_explored
    assert "ENDED 0" in shown or "ENDED None" in shown


def test_json_alone(tmp_path: Path, logs: list[Path], capsys: Capture) -> None:
    assert (
        run(
            tmp_path / "d",
            "--machines",
            10,
            "--hours",
            1,
            "--json",
        )
        == 0
    )
    out = capsys.readouterr().out
    facts = json.loads(out)
    assert out == json.dumps(facts, indent=1) + "\n"
    assert facts["report"] == f"{tmp_path}/d/report.html"
    assert facts["explore"] == f"borgtrace explore {tmp_path}/d/store"
    assert len(facts["steps"]) == 6
    assert facts["steps"][1] == {
        "title": "Check every row, sort and index: a store",
        "command": f"borgtrace ingest {tmp_path}/d/raw --store {tmp_path}/d/store",
        "seconds": 2.001,
    }


def test_a_folder_of_somebody_else_is_refused_before_the_first_step(
    tmp_path: Path, logs: list[Path], capsys: Capture
) -> None:
    (tmp_path / "mine").touch()
    assert run(tmp_path) == 2
    assert capsys.readouterr().err == (
        f"borgtrace: DIR: the folder is not empty: got {tmp_path}; "
        "name an empty or a new folder: borgtrace demo demo-out\n"
    )
    assert logs == []


def test_a_demo_empties_its_own_folder_and_no_other(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    claim_folder(folder)
    (folder / "store").touch()
    claim_folder(folder)
    assert sorted(path.name for path in folder.iterdir()) == [".borgtrace-demo", "log"]
    empty = tmp_path / "mine"
    empty.mkdir()
    claim_folder(empty)
    assert (empty / ".borgtrace-demo").exists()
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "file").touch()
    with pytest.raises(UsageError, match="the folder is not empty"):
        claim_folder(tmp_path / "precious")
    assert (tmp_path / "precious" / "file").exists()


def test_steps_of_a_demo_are_commands_on_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / "a b"
    steps = steps_of_demo(folder, 10, 2, 7)
    assert (
        steps[0].command
        == f"synth '{folder}/raw' --generation 2011 --machines 10 --hours 2 --seed 7"
    )
    assert [step.name for step in steps] == NAMES


def step(command: str) -> DemoStep:
    return DemoStep(
        title="x",
        command=command,
        next="y",
    )


def test_a_step_that_fails_ends_the_demo_with_its_last_line(tmp_path: Path) -> None:
    with pytest.raises(BorgtraceError) as caught:
        run_step(step(f"info {tmp_path}/none"), tmp_path / "log.txt")
    # The exit code of the step: there is no such store.
    assert caught.value.exit_code == 5
    message = str(caught.value)
    assert message.startswith("borgtrace info: the step failed: got borgtrace: ")
    way_out = f"make one: borgtrace ingest SRC --store {tmp_path}/none"
    assert f"there is no such store; {way_out}" in message
    assert run_step(step("--version"), tmp_path / "log.txt") > 0


def test_a_step_takes_the_time_between(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([10.0, 12.5])
    ended = subprocess.CompletedProcess([], 0, stdout="")
    monkeypatch.setattr(demo.time, "perf_counter", lambda: next(clock))
    monkeypatch.setattr(demo.subprocess, "run", lambda *_, **__: ended)
    assert run_step(step("doctor"), tmp_path / "log") == 2.5


def test_what_is_left_follows_the_pace_of_the_steps_that_are_done(tmp_path: Path) -> None:
    steps = steps_of_demo(tmp_path, 10, 1, 1)
    assert sum(step.share for step in steps) == pytest.approx(1)
    # Five steps are 49 % of the work: 51 % more take 100 s ÷ 0.49 × 0.51 = 104 s.
    assert demo.time_left(steps[:5], 100.0) == "running; about 100 s to go"
