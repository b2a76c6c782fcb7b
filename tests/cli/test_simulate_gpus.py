"""``borgtrace simulate gpus``: what is printed of a small cluster, what is listed, and what is refused."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from borgtrace.cli import main
from borgtrace.scheduling.gpus import GPU_POLICIES
from tests.gpu_files import write_gpu_files

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four nodes with 16 GPUs, 40 pods."""
    return write_gpu_files(tmp_path_factory.mktemp("simulated") / "gpus")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the command in this process."""

    def run_command(*words: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main(["simulate", "gpus", *map(str, words)])
        printed = capsys.readouterr()
        return int(ended.value.code or 0), printed.out, printed.err

    return run_command


def test_a_row_for_each_policy_at_100_percent(run: Run, folder: Path) -> None:
    code, out, err = run(folder, "--runs", 2, "--policy", "fgd", "--policy", "best-fit")
    assert code == 0, err
    rows = list(csv.DictReader(out.splitlines()))
    assert [(row["policy"], row["ties"], row["load"]) for row in rows] == [
        ("best-fit", "rank", "100"),
        ("fgd", "rank", "100"),
    ]
    assert all(50 < float(row["allocation"]) <= 100 for row in rows)
    assert "GPUs that pods have when 100 % was requested, most and least: default" in err
    # The same seeds give the same numbers.
    assert run(folder, "--runs", 2, "--policy", "fgd", "--policy", "best-fit")[1] == out


def test_nothing_is_said_of_claims_where_arrivals_are_drawn(run: Run, folder: Path) -> None:
    """What was published is of other pods."""
    code, out, err = run(folder, "--runs", 1, "--policy", "fgd", "--json")
    assert code == 0
    assert "laim" not in err
    assert json.loads(out)["claims"] == []


@pytest.mark.wide
def test_two_processes_give_the_same(run: Run, folder: Path) -> None:
    words = (folder, "--runs", 1, "--policy", "best-fit", "--policy", "dot-product")
    assert run(*words, "--jobs", 2)[1] == run(*words)[1]


def test_departures_give_a_row_a_day(run: Run, folder: Path) -> None:
    code, out, _ = run(folder, "--departures", "--nodes", 0.5, "--policy", "best-fit", "--json")
    assert code == 0
    (row,) = json.loads(out)["rows"]
    assert (row["policy"], row["day"], row["nodes"], row["arrived"]) == ("best-fit", 0, 2, 40)


def test_the_policies_are_listed(run: Run) -> None:
    code, out, _ = run("--list")
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()] == list(GPU_POLICIES)


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (
            ["--ties", "coin"],
            "--ties: no such rule for ties: expected rank or drawn or file, got coin",
        ),
        (
            ["--workload", "cpu100"],
            "--workload: no such list of pods: expected default, got cpu100",
        ),
        (["--nodes", "0.5"], "Invalid value for '--nodes': no effect without --departures"),
        (
            ["--departures", "--load", "90"],
            "Invalid value for '--load': no effect with --departures",
        ),
        (["--load", "131"], "--load: out of range: expected 0 to 130, got 131"),
    ],
)
def test_what_is_refused(run: Run, folder: Path, words: list[str], problem: str) -> None:
    code, out, err = run(folder, *words)
    assert code == 2
    assert out == ""
    assert problem in err


def test_without_a_store(run: Run) -> None:
    code, _, err = run()
    assert code == 2
    assert err == "borgtrace: STORE: no store named; name one; only --list needs none\n"
