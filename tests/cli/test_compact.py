"""``borgtrace compact``: a cell by hand, and what is said of bad input."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

import borgtrace
from borgtrace.cli import main
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.question import EngineTables, NotApplicable
from borgtrace.scheduling import COMPACT
from borgtrace.scheduling.machines import UNIT
from borgtrace.scheduling.plan import parse_plan, plan_of
from borgtrace.scheduling.workload import read_tasks
from tests.ingest.raw import write_part

MACHINES = [f"0,{machine},0,PLATFORM,1,1" for machine in (1, 2, 3, 4)]


def task(
    job: int,
    priority: int,
    machine: int,
    size: str = "0.5",
) -> list[str]:
    """A task that runs from before the trace on."""
    events = ((0, ""), (1, machine))
    return [
        f"0,,{job},0,{where},{type_},u,1,{priority},{size},{size},0,0" for type_, where in events
    ]


def used(job: int, machine: int, usage: float) -> str:
    zeros = ",".join("0" * 12)
    return f"600000000,900000000,{job},0,{machine},{usage},{usage},{zeros},0"


def store(root: Path, **tables: list[str]) -> Path:
    for table, lines in tables.items():
        write_part(root / "raw", table, lines, compressed=False)
    ingest([root / "raw"], root / "store", IngestOptions(jobs=1))
    return root / "store"


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as caught:
        main(["compact", *map(str, arguments)])
    printed = capsys.readouterr()
    return int(caught.value.code or 0), printed.out, printed.err


@pytest.fixture(scope="module")
def cell(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four machines; four tasks of production use half of what they ask for, four free ones all of it."""
    root = tmp_path_factory.mktemp("compact")
    priorities = [9] * 4 + [0] * 4
    events = [
        line
        for job, priority in enumerate(priorities)
        for line in task(job + 1, priority, job // 2 + 1)
    ]
    usage = [
        used(job + 1, job // 2 + 1, 0.25 if priority else 0.5)
        for job, priority in enumerate(priorities)
    ]
    # An end after the moment, so that the events cover it; and usage of a task that has no event.
    late = ["1000000000,,8,0,4,4,u,1,0,0.5,0.5,0,0"]
    return store(
        root,
        machine_events=MACHINES,
        task_events=events + late,
        task_usage=[*usage, used(99, 4, 0.1)],
    )


def test_what_ifs_by_hand(cell: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, cell, "--at", "0s", "--margin", "0", "--json")
    assert code == 0, err
    rows = {row["what_if"]: row for row in json.loads(out)["rows"]}
    expected = {
        # Jobs of one task each are whole anyway.
        "whole-jobs": 4,
        **{
            "limits": 4,
            "no-constraints": 4,
            "segregated": 4,
            "cells-2": 4,
            "trust-0": 4,
        },
        # Eight halves in five cells: three cells of two tasks and two of one.  Eight cells of one: eight machines.
        **{"cells-5": 5, "cells-10": 8},
        # Four quarters and four halves.
        "trust-100": 3,
        # Two machines of production keep a half free each, and take two of the others; two are left.
        "reclaimed": 3,
        "reclaimed-segregated": 4,
    }
    assert {name: rows[name]["machines"] for name in expected} == expected
    assert rows["reclaimed-segregated"]["change"] == pytest.approx(1 / 3)
    machines = [rows[f"trust-{trust}"]["machines"] for trust in (0, 25, 50, 75, 100)]
    assert machines == sorted(machines, reverse=True)
    assert rows["planned"]["note"] == "not applicable: needs --plan ESTIMATOR, such as gpa:0.01"
    assert rows["powers-of-two"]["note"] == (
        "not applicable: needs --cores-per-unit and --gib-per-unit: what the largest machine has is not published"
    )
    assert rows["limits"]["note"] == (
        "1 tasks with usage then have no start in the events and are left out"
    )


def test_requests_become_powers_of_two(cell: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # Of 12 cores a half is 6, which becomes 8: two thirds of a machine, so that each task of production needs its own
    # (and leaves a third); four halves of the others need two more.
    units = (
        "--cores-per-unit",
        12,
        "--gib-per-unit",
        8,
        "--what-if",
        "powers-of-two",
        "--what-if",
        "users-10tib",
    )
    _, out, _ = run(
        capsys,
        cell,
        "--at",
        "0s",
        *units,
        "--json",
    )
    rows = json.loads(out)["rows"]
    assert [(row["what_if"], row["machines"]) for row in rows] == [
        ("powers-of-two", 6),
        ("users-10tib", 4),
    ]


@pytest.mark.parametrize(
    ("plan", "machines"),
    [
        # Four quarters and four halves, which is what was used, without variance; twice that; all by half of requests.
        ("average:1", 3),
        ("cantelli:2", 3),
        ("percentile:50", 3),
        ("gpa:0.01", 3),
        ("average:2", 6),
        ("request:2", 2),
        # Four of .375 and four halves, which is all that these ask for; three quarters of them would need six machines.
        ("reservation:0.5", 4),
        ("reservation:0", 3),
    ],
)
def test_a_plan_by_hand(
    cell: Path,
    capsys: pytest.CaptureFixture[str],
    plan: str,
    machines: int,
) -> None:
    code, out, err = run(
        capsys, cell, "--at", "0s", "--what-if", "planned", "--plan", plan, "--seeds", 2, "--json"
    )
    assert code == 0, err
    assert [row["machines"] for row in json.loads(out)["rows"]] == [machines]


def test_what_estimators_make_of_windows(tmp_path: Path) -> None:
    # Windows of .25 and .75 CPU: mean .5, standard deviation .25, and a tenth of .5 above the least; memory as much.
    zeros = ",".join("0" * 12)
    usage = [
        f"{600 + 300 * at}000000,{900 + 300 * at}000000,1,0,1,{u},{u},{zeros},0"
        for at, u in enumerate((0.25, 0.75))
    ]
    tables = EngineTables.of(
        borgtrace.open(
            store(
                tmp_path,
                machine_events=MACHINES,
                task_events=task(1, 9, 1) + task(2, 9, 1),
                task_usage=usage,
            )
        )
    )
    tasks = read_tasks(tables)
    expected = {
        "gpa:0.02275013": 0.5,
        "average:2": 1.0,
        "cantelli:1": 0.75,
        "percentile:10": 0.3,
        "request:2": 0.25,
    }
    for text, size in expected.items():
        plan = plan_of(parse_plan(text), tables, tasks)
        # The other task was not measured and takes its request.
        assert (plan.sizes / UNIT).tolist() == [pytest.approx([size] * 2, abs=1e-6), [0.5, 0.5]], (
            text
        )
        assert plan.unmeasured == 1
        is_gpa = text.startswith("gpa")
        assert (plan.variances / UNIT**2).tolist() == [[0.0625 * is_gpa] * 2, [0.0, 0.0]]
        # Φ(−2) = .02275013
        assert plan.safety == pytest.approx(4.0 * is_gpa, abs=1e-6)


def test_the_claim_reads_the_change_of_its_row_where_it_has_one() -> None:
    (claim,) = COMPACT.claims
    rows = [
        {
            "what_if": "limits",
            "machines": 9.0,
            "change": 0.0,
        }
    ]
    row = {
        "what_if": "reclaimed-segregated",
        "machines": 12.0,
        "change": 0.25,
    }
    assert claim.measure(pa.Table.from_pylist([*rows, row])) == 0.25
    for without in (
        rows,
        [
            *rows,
            {
                **row,
                "machines": None,
                "change": None,
            },
        ],
    ):
        with pytest.raises(NotApplicable) as caught:
            claim.measure(pa.Table.from_pylist(without))
        assert (
            str(caught.value)
            == "needs usage: with limits alone no room is reclaimed that could be lost"
        )


def test_usage_of_too_few_tasks_is_not_applicable(
    cell: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, out, _ = run(capsys, cell, "--at", "0", "--what-if", "trust-50", "--json")
    (row,) = json.loads(out)["rows"]
    assert row["note"] == "not applicable: needs usage at that time of nine tasks in ten"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("--at", "2d"),
            "--at: outside the trace: expected 0 to 6m40s (2011-05-01 19:06 EDT, 0.1111 h after the start), got 2d; "
            ""
            "choose a time inside; 0 is what runs when the trace begins",
        ),
        (("--at", "0", "--margin", "-1"), "--margin: out of range: expected 0 to 1,000, got -1"),
        (("--at", "0", "--png"), "--png: no folder to write to; name one: --out DIR"),
    ],
)
def test_wrong_options_are_refused(
    cell: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    message: str,
) -> None:
    assert run(capsys, cell, *arguments) == (2, "", f"borgtrace: {message}\n")


def test_no_machines_and_no_tasks_are_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bare = store(tmp_path / "bare", task_events=task(1, 9, 1))
    _, _, err = run(capsys, bare, "--at", "0")
    assert "compaction: not applicable: the store holds no rows of machine_events" in err
    idle = store(
        tmp_path / "idle",
        machine_events=MACHINES,
        task_events=["700000000,,1,0,,0,u,1,9,0.5,0.5,0,0"],
    )
    _, _, err = run(capsys, idle, "--at", "0s")
    assert (
        "compaction: not applicable: no task with a known start runs at 2011-05-01 19:00 EDT, 0 h after the start"
        in err
    )


def test_files_and_lists(cell: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(
        capsys,
        cell,
        "--at",
        "0",
        "--what-if",
        "limits",
        "--seeds",
        2,
        "--out",
        tmp_path / "out",
    )
    assert code == 0, err
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {f"compaction.{kind}" for kind in ("parquet", "csv", "svg", "vl.json")} | {
        "claims.csv"
    }
    _, out, _ = run(capsys, cell, "--list")
    assert out.splitlines()[0] == "limits"


def test_without_a_moment_it_is_when_most_is_requested(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Two halves run from before the trace on, and a third one from 900 s on, for 350 s: so 900 s is the busiest
    # window, and at 1,200 s they still run; the first of equal ones counts.
    events = [*task(1, 9, 1), *task(2, 9, 2)]
    events += [
        "900000000,,3,0,,0,u,1,9,0.5,0.5,0,0",
        "900000000,,3,0,3,1,u,1,9,0.5,0.5,0,0",
        "1250000000,,3,0,3,4,u,1,9,0.5,0.5,0,0",
    ]
    usage = [
        used(1, 1, 0.25),
        used(1, 1, 0.25).replace("600000000,900000000", "900000000,1500000000"),
    ]
    cell = store(tmp_path, machine_events=MACHINES, task_events=events, task_usage=usage)
    code, out, err = run(capsys, cell, "--what-if", "limits", "--json")
    assert code == 0, err
    assert "At 2011-05-01 19:05 EDT, 0.08333 h after the start: when most CPU is requested" in err
    (row,) = json.loads(out)["rows"]
    assert row["tasks"] == 3


def test_a_task_shorter_than_a_window_has_a_busiest_moment(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Submitted at 605 s and started at 633 s, it runs at the beginning of no window of five minutes."""
    events = ["605000000,,3,0,,0,u,1,9,0.5,0.5,0,0", "633000000,,3,0,3,1,u,1,9,0.5,0.5,0,0"]
    cell = store(tmp_path, machine_events=MACHINES, task_events=events)
    code, out, err = run(capsys, cell, "--what-if", "limits", "--json")
    assert code == 0, err
    assert "At 2011-05-01 19:00 EDT, 0.009167 h after the start: when most CPU is requested" in err
    assert json.loads(out)["rows"][0]["tasks"] == 1


def test_where_nothing_starts_there_is_nothing_to_pack(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The moment is looked for before the question is asked: that it does not apply is an answer here, too."""
    pending = ["605000000,,3,0,,0,u,1,9,0.5,0.5,0,0"]
    cell = store(tmp_path, machine_events=MACHINES, task_events=pending)
    assert run(capsys, cell) == (
        0,
        "",
        "not applicable: no task with a known start runs at any time, so there is nothing to pack; "
        "take a longer part of the trace, or files of events that say when tasks start\n",
    )


def test_a_moment_after_the_last_event_is_inside_where_usage_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    usage = [
        used(1, 1, 0.25).replace("900000000", "7500000000"),
    ]
    cell = store(tmp_path, machine_events=MACHINES, task_events=task(1, 9, 1), task_usage=usage)
    code, out, err = run(capsys, cell, "--at", "1h50m", "--what-if", "limits", "--json")
    assert code == 0, err
    assert json.loads(out)["rows"][0]["tasks"] == 1
    code, _, err = run(capsys, cell, "--at", "3h")
    assert code == 2
    assert (
        "--at: outside the trace: expected 0 to 1h55m (2011-05-01 20:55 EDT, 1.917 h after the start), got 3h"
        in err
    )
