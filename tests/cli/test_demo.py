"""``borgtrace demo``: what it prints of its steps as text and as JSON, where they write, and what it may delete."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from borgtrace.cli import demo
from borgtrace.errors import BorgtraceError, UsageError


@pytest.fixture
def logs(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The logs of the steps, which are not run but take 2.0006 s each."""
    found: list[Path] = []

    def run(step: demo._Step, log: Path) -> float:
        assert log.parent.is_dir()
        found.append(log)
        return 2.0006

    monkeypatch.setattr(demo, "_run", run)
    return found


def test_lines_are_to_be_copied_whatever_the_folder_is_called(
    tmp_path: Path,
    logs: list[Path],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    # A terminal with colours: neither numbers nor what looks like markup has any.
    for name, value in (("FORCE_COLOR", "1"), ("TERM", "xterm-256color"), ("COLUMNS", "80")):
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("NO_COLOR", raising=False)
    folder = tmp_path / "[bold]"
    demo.demo(folder, machines=10, hours=1, seed=7)
    lines = capsys.readouterr().out.splitlines()
    assert lines[:5] == [
        "1/6 Generate a synthetic trace in Google's raw format: 10 machines, 1 h, known answers",
        f"    $ borgtrace synth '{folder}/raw' --generation 2011 --machines 10 --hours 1 --seed 7",
        "    2 s; try next: borgtrace fetch 2011 raw --parts 0-9   (Google's own trace)",
        "2/6 Check every row, sort and index: a store",
        f"    $ borgtrace ingest '{folder}/raw' --store '{folder}/store'",
    ]
    # Three lines a step, and the report.
    assert (len(lines), lines[-1]) == (19, f"{folder}/report.html")
    names = ("1-synth", "2-ingest", "3-analyze", "4-dataset", "5-colocate", "6-report")
    assert logs == [folder / "log" / f"{name}.txt" for name in names]


def test_json_alone(tmp_path: Path, logs: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    demo.demo(tmp_path / "d", machines=10, hours=1, as_json=True)
    out = capsys.readouterr().out
    facts = json.loads(out)
    assert out == json.dumps(facts, indent=1) + "\n"
    assert facts["steps"][1] == {
        "title": "Check every row, sort and index: a store",
        "command": f"borgtrace ingest {tmp_path}/d/raw --store {tmp_path}/d/store",
        "seconds": 2.001,
    }


def test_a_folder_of_somebody_else_is_refused_before_the_first_step(
    tmp_path: Path, logs: list[Path]
) -> None:
    (tmp_path / "mine").touch()
    with pytest.raises(UsageError) as caught:
        demo.demo(tmp_path)
    assert str(caught.value) == (
        f"DIR: the folder is not empty: got {tmp_path}; name an empty or a new folder: borgtrace demo demo-out"
    )
    assert logs == []


def test_a_demo_empties_its_own_folder_and_no_other(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    demo._claim(folder)
    (folder / "store").touch()
    demo._claim(folder)
    assert sorted(path.name for path in folder.iterdir()) == [".borgtrace-demo", "log"]
    other = tmp_path / "mine"
    other.mkdir()
    demo._claim(other)
    assert (other / demo.MARK).exists()
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "file").touch()
    with pytest.raises(UsageError, match="the folder is not empty"):
        demo._claim(tmp_path / "precious")
    assert (tmp_path / "precious" / "file").exists()


def test_steps_of_a_demo_are_commands_on_its_folder(tmp_path: Path) -> None:
    steps = demo._steps(tmp_path / "a b", 10, 2, 7)
    assert (
        steps[0].command
        == f"synth '{tmp_path}/a b/raw' --generation 2011 --machines 10 --hours 2 --seed 7"
    )
    assert [step.command.split()[0] for step in steps] == [
        "synth",
        "ingest",
        "analyze",
        "dataset",
        "colocate",
        "report",
    ]


def test_a_demo_in_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(demo, "_run", lambda step, log: 2.0)
    demo.demo(tmp_path / "d", machines=10, hours=1, as_json=True)
    facts = json.loads(capsys.readouterr().out)
    assert facts["report"] == f"{tmp_path}/d/report.html"
    assert [(step["command"].split()[:2], step["seconds"]) for step in facts["steps"]][1] == (
        ["borgtrace", "ingest"],
        2.0,
    )
    assert len(facts["steps"]) == 6


def test_a_step_that_fails_ends_the_demo_with_its_last_line(tmp_path: Path) -> None:
    with pytest.raises(BorgtraceError) as caught:
        demo._run(demo._Step("x", f"info {tmp_path}/none", "y"), tmp_path / "log.txt")
    assert str(caught.value).startswith("borgtrace info: the step failed: got borgtrace: ")
    assert f"there is no such store; make one: borgtrace ingest SRC --store {tmp_path}/none" in str(
        caught.value
    )
    assert demo._run(demo._Step("x", "--version", "y"), tmp_path / "log.txt") > 0
