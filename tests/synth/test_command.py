"""``borgtrace synth`` as a user types it: what it says, what it refuses, what it leaves alone."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from borgtrace.synth.model.targets import TARGETS

Synth = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def synth(command: Callable[..., list[str]]) -> Synth:
    def run(*arguments: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command("synth", *arguments),
            capture_output=True,
            text=True,
            check=False,
        )

    return run


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--machines", "0"], "--machines: out of range: expected 1 to 1,000,000, got 0"),
        (["--hours", "-2"], "--hours: out of range: expected 0.0833 to 10,000, got -2"),
        (
            ["--generation", "2019", "--cell", "x"],
            "--cell: unknown value: expected one of a, b, c, d, e, f, g, h, got 'x'",
        ),
        (
            ["--tables", "tasks"],
            "--tables: unknown value: expected one of machine_events, machine_attributes, job_events, task_events,"
            " task_constraints, task_usage, got 'tasks'",
        ),
        (
            ["--format", "avro"],
            "--format: unknown value: expected one of json, parquet, got 'avro'",
        ),
        (["--jobs", "0"], "--jobs: out of range: expected 1 to 1,024, got 0"),
    ],
)
def test_bad_options_are_one_line_and_exit_2(
    synth: Synth,
    tmp_path: Path,
    options: list[str],
    message: str,
) -> None:
    done = synth(tmp_path / "out", *options)
    assert done.returncode == 2
    assert done.stderr == f"borgtrace: {message}\n"
    assert done.stdout == ""
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_holds_something_else_stays_as_it_was(synth: Synth, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.tex").write_text("mine")
    done = synth(tmp_path / "out", "--machines", 2, "--hours", 1)
    assert done.returncode == 2
    assert done.stderr == (
        f"borgtrace: {tmp_path}/out: not an empty folder: expected a new or empty folder; "
        "choose another name or remove it\n"
    )
    assert [p.name for p in tmp_path.iterdir()] == ["out"]
    assert (tmp_path / "out" / "thesis.tex").read_text() == "mine"


def test_check_of_something_else(synth: Synth, tmp_path: Path) -> None:
    done = synth(tmp_path, "--check")
    assert done.returncode == 2
    assert done.stderr == (
        f"borgtrace: {tmp_path}: not a synthetic trace: expected a folder with truth.json; "
        "make one with `borgtrace synth`\n"
    )


@pytest.fixture(scope="module")
def small(synth: Synth, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("command") / "small"
    done = synth(out, "--machines", 6, "--hours", 3, "--seed", 4)
    assert done.returncode == 0, done.stderr
    assert f"Synthetic trace, seed 4. Known answers: {out}/truth.json" in done.stderr.replace(
        "\n", ""
    )
    return out


def test_check_prints_every_target(synth: Synth, small: Path) -> None:
    done = synth(small, "--check")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].split() == [
        "target",
        "published",
        "measured",
        "deviation",
        "95",
        "%",
        "interval",
        "verdict",
        "source",
    ]
    assert [line.split("  ")[0] for line in lines[1:-2]] == [
        f"{t.measure}, {t.tier}" for t in TARGETS
    ]
    assert lines[-2].endswith(" targets are near the published number.")
    assert lines[-1] == "A verdict needs all tables, 24 hours and 1,000 tasks."
    assert sorted(p.name for p in small.parent.iterdir()) == ["small"]


def test_check_as_json_holds_the_published_numbers(synth: Synth, small: Path) -> None:
    rows = json.loads(synth(small, "--check", "--json").stdout)
    published = {(t.measure, t.tier): t for t in TARGETS}
    assert len(rows) == len(published)
    for row in rows:
        target = published[row["measure"], row["tier"]]
        assert (row["published"], row["grade"], row["reference"]) == (
            target.published,
            target.grade,
            target.source,
        )
        if row["measured"] is not None:
            expected = (row["measured"] - target.published) / abs(target.published)
            assert row["deviation"] == pytest.approx(expected)
            within = target.tolerance
            near = abs(expected) <= within or row["low"] <= target.published <= row["high"]
            if target.is_judged and abs(abs(expected) - within) > 1e-3:
                # Six machines for three hours are too few for a verdict.
                assert row["verdict"] == "not judged"
                assert near == row["is_near"] or row["low"] == pytest.approx(target.published, 1e-5)
            elif not target.is_judged:
                assert row["verdict"] == "reported"
