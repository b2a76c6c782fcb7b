"""``borgtrace demo``: what it prints of its steps, as text and as JSON, and where each of them writes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from borgtrace.cli import demo
from borgtrace.errors import UsageError


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
    tmp_path: Path, logs: list[Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
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


def test_a_folder_of_somebody_else_is_refused_before_the_first_step(tmp_path: Path, logs: list[Path]) -> None:
    (tmp_path / "mine").touch()
    with pytest.raises(UsageError) as caught:
        demo.demo(tmp_path)
    assert str(caught.value) == (
        f"DIR: the folder is not empty: got {tmp_path}; name an empty or a new folder: borgtrace demo demo-out"
    )
    assert logs == []
