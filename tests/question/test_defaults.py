"""No default is about somebody else's trace: questions about own usage never blame an option that nobody gave."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from borgtrace.catalog import questions
from borgtrace.cli.app import app
from borgtrace.ingest import IngestOptions, ingest

TASKS = 40
WINDOWS = 60


@pytest.fixture
def own_store(tmp_path: Path) -> Path:
    """Forty tasks that run for five hours on five machines, without requests, priorities or users."""
    lines = ["task,time,cpu,memory,machine"]
    for task in range(TASKS):
        for window in range(WINDOWS):
            cpu = 0.1 + 0.01 * ((7 * task + 13 * window) % 40)
            lines.append(f"job{task},{1_700_000_100 + 300 * window},{cpu:.2f},2e9,node-{task % 5}")
    (tmp_path / "own.csv").write_text("\n".join(lines) + "\n")
    ingest(
        [tmp_path / "own.csv"], tmp_path / "store", IngestOptions(jobs=1, capacity="8cores,32GiB")
    )
    return tmp_path / "store"


@pytest.mark.scale
def test_every_question_is_answered_or_not_applicable(own_store: Path) -> None:
    result = CliRunner().invoke(app, ["analyze", str(own_store)])
    assert result.exit_code == 0, result.output[-2000:]
    assert all(f"{name}: " in result.output for name in questions())
