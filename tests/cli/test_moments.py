"""Tasks by their moments: how many machines they need, the placement, the advice."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from borgtrace.cli.moments import advice, place_by_moments
from borgtrace.colocation.packing.from_moments import NamedTasks
from borgtrace.placement import Average, Gpa, Percentile, Request
from tests.rows import chosen_columns

Capture = pytest.CaptureFixture[str]

TASKS = NamedTasks(
    ["a", "b", "c", "d", "e"],
    np.array([0.4, 0.4, 0.4, 0.4, 2.0]),
    np.full(5, 0.01),
    np.array([0.5, 0.5, 0.5, 0.5, 2.0]),
    np.array([0.6, 0.6, 0.6, 0.6, 3.0]),
)
"""Two of them fit on a machine of 1 by their mean or their maximum, one by its request; the last fits none."""
ALONE = (
    "From means and deviations alone, not tested on usage: "
    "the tasks are taken as independent and their sum as Gaussian; "
)


def place(tasks: NamedTasks, **options: Any) -> None:
    """Place tasks by GPA on machines of 1, unless the options say otherwise."""
    defaults: dict[str, Any] = {
        "capacity": 1.0,
        "target": 0.001,
        "estimator": "",
        "packer": "best-fit",
        "out": None,
        "as_json": True,
    }
    place_by_moments(tasks, **{**defaults, **options})


def test_machines_that_tasks_need_by_their_moments(tmp_path: Path, capsys: Capture) -> None:
    place(TASKS, out=tmp_path / "placed.csv")
    out, err = capsys.readouterr()
    rows = json.loads(out)
    names = ("estimator", "machines", "unplaceable", "mean_load")
    assert [tuple(row[name] for name in names) for row in rows] == [
        (Gpa(0.001).label, 2, 1, 0.8),
        (Average(1.0).label, 2, 1, 0.8),
        (Percentile(100).label, 2, 1, 0.8),
        (Request(1.0).label, 4, 1, 0.4),
    ]
    assert max(row["largest_overflow"] for row in rows) < 1e-9
    assert err.startswith(
        f"By {Gpa(0.001).label}, 4 tasks need 2 machines of capacity 1. "
        f"That is an overcommit of 1.20 on their requests. {ALONE}"
    )
    assert (tmp_path / "placed.csv").read_text() == "task,machine\na,0\nb,0\nc,1\nd,1\ne,\n"


def test_moments_without_maximum_and_request(capsys: Capture) -> None:
    bare = NamedTasks(["a"], np.array([0.25]), np.array([0.01]))
    place(
        bare,
        capacity=0.5,
        estimator="average:2",
        as_json=False,
    )
    out, err = capsys.readouterr()
    heading, *lines = [line.split(",")[:4] for line in out.splitlines()]
    assert heading == ["estimator", "machines", "unplaceable", "mean_load"]
    # The estimator that is named comes first.
    assert lines == [
        [
            Average(2.0).label,
            "1",
            "0",
            "0.5",
        ],
        [
            Gpa(0.001).label,
            "1",
            "0",
            "0.5",
        ],
        [
            Average(1.0).label,
            "1",
            "0",
            "0.5",
        ],
    ]
    assert err.startswith(
        f"By {Average(2.0).label}, 1 task needs 1 machine of capacity 0.5. {ALONE}"
    )


def test_nothing_fits(capsys: Capture) -> None:
    large = NamedTasks(["a"], np.array([2.0]), np.array([0.0]), request=np.array([1.0]))
    place(large)
    row = json.loads(capsys.readouterr().out)[0]
    expected = {
        "machines": 0,
        "mean_load": 0,
        "mean_overflow": 0,
        "largest_overflow": 0,
    }
    assert chosen_columns(row, expected) == expected


def test_json_is_indented_by_a_blank(capsys: Capture) -> None:
    place(NamedTasks(["a"], np.array([0.25]), np.array([0.01])), capacity=0.5)
    out = capsys.readouterr().out
    assert out == json.dumps(json.loads(out), indent=1) + "\n"


def test_a_placement_that_exceeds_the_target_says_so() -> None:
    """By their means four tasks of .25 ± .1 fill a machine: their sum is above its mean half of the time."""
    tasks = NamedTasks(list("abcd"), np.full(4, 0.25), np.full(4, 0.1))
    average = Average(1.0)
    assert advice(tasks, tasks.packed(average, capacity=1.0), average, 1.0, 0.001) == (
        "By average 1, 4 tasks need 1 machine of capacity 1. "
        f"That does not keep the target of 0.001: the fullest overflows 0.5 of the time. {ALONE}"
        "tasks that peak together overflow more often."
    )


def test_an_overcommit_is_of_machines_of_any_capacity() -> None:
    """Four machines of half a unit each hold requests of 2.4 units."""
    tasks = NamedTasks(list("abcd"), np.full(4, 0.4), np.full(4, 0.01), request=np.full(4, 0.6))
    estimator = Gpa(0.001)
    packing = tasks.packed(estimator, capacity=0.5)
    assert advice(tasks, packing, estimator, 0.5, 0.001).startswith(
        "By gpa 0.001, 4 tasks need 4 machines of capacity 0.5. "
        "That is an overcommit of 1.20 on their requests. "
    )
