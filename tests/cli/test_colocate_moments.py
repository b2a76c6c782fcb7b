"""``borgtrace colocate`` of own tasks: by their moments, or by their usage with the machine of each."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from borgtrace.cli import main


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[str, str]:
    """Return what the command prints on stdout and stderr."""
    with pytest.raises(SystemExit) as ended:
        main(["colocate", "place", *map(str, arguments)])
    out, err = capsys.readouterr()
    assert ended.value.code == 0, err
    return out, err


def test_moments_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All three fit a machine by their means; the third fits beside no other by its maximum, nor by its request."""
    (tmp_path / "tasks.csv").write_text(
        "task,mean,std,maximum,request\na,0.25,0,0.375,0.5\nb,0.25,0,0.375,0.5\nc,0.5,0,0.75,0.5\n"
    )
    out, err = run(
        capsys,
        "--moments",
        tmp_path / "tasks.csv",
        "--slo",
        "0.99",
    )
    assert out.splitlines() == [
        "estimator,machines,unplaceable,mean_load,mean_overflow,largest_overflow",
        "gpa 0.01,1,0,1.0,0.0,0.0",
        "average 1,1,0,1.0,0.0,0.0",
        "percentile 100,2,0,0.5,0.0,0.0",
        "request 1,2,0,0.5,0.0,0.0",
    ]
    assert err == (
        "By gpa 0.01, 3 tasks need 1 machine of capacity 1. That is an overcommit of 1.50 on their requests. "
        "From means and deviations alone, not tested on usage: "
        "the tasks are taken as independent and their sum as Gaussian; "
        "tasks that peak together overflow more often.\n"
    )


def test_own_usage_with_a_machine_of_each_task_by_its_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    begin = 1_700_000_100  # a multiple of five minutes
    rows = [
        f"{name},{begin + 300 * k},{cores}"
        for k in range(25)
        for name, cores in (("web", 2), ("db", 4), ("ml", 3))
    ]
    (tmp_path / "own.csv").write_text(
        "\n".join(
            [
                "task,time,cpu",
                *rows,
                "",
            ]
        )
    )
    own = ("--usage", tmp_path / "own.csv", "--capacity", "8cores")
    out, err = run(
        capsys,
        *own,
        "--placement",
        tmp_path / "placed.csv",
        "--estimator",
        "average:1",
        "--json",
    )
    # A quarter, half and three eighths of a machine.
    first = json.loads(out)[0]
    assert (first["estimator"], first["machines"], first["mean_load"]) == ("gpa 0.001", 2, 0.5625)
    assert "By average 1, 3 tasks need 2 machines of capacity 1." in err
    heading, *lines = [
        line.split(",") for line in (tmp_path / "placed.csv").read_text().splitlines()
    ]
    assert heading == ["task", "machine"]
    assert sorted(task for task, _ in lines) == ["db", "ml", "web"]
    # Whichever come first, two fit together, and beside them there is no room for the third.
    assert [machine for _, machine in lines] == ["0", "0", "1"]


def test_a_placement_is_rebalanced_on_request(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """.35 and .6 twice, then .6: the first task joins the last machine, and nothing else fits there."""
    means = (0.35, 0.6, 0.35, 0.6, 0.6)
    lines = [f"t{number},{mean},0" for number, mean in enumerate(means)]
    (tmp_path / "tasks.csv").write_text("\n".join(["task,mean,std", *lines, ""]))
    _, err = run(
        capsys,
        "--moments",
        tmp_path / "tasks.csv",
        "--placement",
        tmp_path / "placed.csv",
        "--rebalancing",
    )
    assert (
        "5 tasks need 3 machines of capacity 1. Rebalancing moved 1 task to the last machine."
        in err
    )
    assert (tmp_path / "placed.csv").read_text() == "task,machine\nt0,2\nt1,0\nt2,1\nt3,1\nt4,2\n"
