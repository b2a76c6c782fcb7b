"""``borgtrace machine``: its lines to the letter, of a machine that is full, unknown, idle or gone."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from borgtrace.cli import main
from borgtrace.ingest import IngestOptions, ingest
from tests.ingest.raw import EVENTS, JOBS, MACHINES, USAGE, write_part


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Task 0 of job 10 on machine 5, task 0 of job 11 on machine 6 of unknown capacity, nothing on 7; 8 is gone."""
    folder = tmp_path_factory.mktemp("machine")
    first = MACHINES[0].replace(",0.5,", ",0.1234567,")
    tables = {
        "machine_events": [
            first,
            "0,6,0,P,,",
            "0,7,0,P,0.5,0.5",
            "0,8,0,P,0.5,0.5",
            "700000000,8,1,,0.5,0.5",
        ],
        "job_events": [line.replace(",10,", f",{job},") for line in JOBS for job in (10, 11)],
        "task_events": [EVENTS[0], EVENTS[0].replace(",10,0,5,", ",11,0,6,")],
        "task_usage": [USAGE[0], USAGE[0].replace(",10,0,5,", ",11,0,6,")],
    }
    for table, lines in tables.items():
        write_part(folder / "raw", table, lines)
    ingest([folder / "raw"], folder / "store", IngestOptions(jobs=1))
    return folder / "store"


def shown(capsys: pytest.CaptureFixture[str], *arguments: object) -> list[str]:
    with pytest.raises(SystemExit) as ended:
        main(["machine", *map(str, arguments)])
    out, err = capsys.readouterr()
    assert ended.value.code == 0, err
    return out.splitlines()


def test_the_load_by_hour(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # Five minutes of .0015 CPU and .067 memory are a twelfth of them in the hour; of what was measured they are all:
    # .0015 of .1235 and .067 of .2493.
    assert shown(capsys, store, 5) == [
        "machine 5 at the end: up, CPU 0.1235, memory 0.2493 of the largest machine, platform HofLGzk1",
        "from                  hour  tasks       CPU    memory",
        "2011-05-01 19:00 EDT     0      1  0.000125  0.005583",
        "Amounts of CPU and memory are shares of the largest machine.",
        "in the 5 min that were measured: CPU 1.22 % used; memory 26.9 % used",
    ]


def test_tasks_at_a_time(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, names, row, _, use = shown(capsys, store, 5, "--at", "50s")
    # 50 s after the start are 0.01389 h.
    assert first.startswith("machine 5 at 2011-05-01 19:00 EDT, 0.01389 h after the start: up, ")
    assert dict(
        zip(re.split("  +", names.rstrip()), re.split("  +", row.rstrip()), strict=True)
    ) == {
        "task": "10:0",
        "since": "before the trace",
        "priority": "9",
        "class": "3",
        "CPU requested": "0.125",
        "memory requested": "0.07446",
        "CPU used": "0.0015",
        "CPU peak": "0.039",
        "memory used": "0.067",
    }
    assert use == "CPU 1.22 % used, 101 % requested; memory 26.9 % used, 29.9 % requested"


def test_a_share_of_an_unknown_capacity_is_none(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, *_, last = shown(capsys, store, 6)
    assert (first, last) == (
        "machine 6 at the end: up, CPU –, memory –, platform P",
        "its capacity is unknown",
    )


@pytest.mark.parametrize(
    ("words", "state"),
    [
        ((7,), "7 at the end: up"),
        ((8,), "8 at the end: down"),
        ((8, "--at", "99s"), "8 at 2011-05-01 19:01 EDT, 0.0275 h after the start: up"),
        ((8, "--at", "100s"), "8 at 2011-05-01 19:01 EDT, 0.02778 h after the start: down"),
    ],
)
def test_a_machine_without_tasks(
    store: Path,
    words: tuple[object, ...],
    state: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    first, last = shown(capsys, store, *words)
    assert first.startswith(f"machine {state}, CPU 0.5, memory 0.5 of the largest machine")
    assert last == "nothing is known to have run"


def test_a_machine_whose_tasks_were_not_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without usage there is no load, but tasks ran: the line that shows them can be pasted."""
    write_part(tmp_path / "raw", "machine_events", ["0,6,0,P,0.5,0.5"])
    events = ["700000000,,11,0,,0,u,0,1,0.1,0.1,,", "720000000,,11,0,6,1,u,0,1,0.1,0.1,,"]
    write_part(tmp_path / "raw", "task_events", events)
    place = tmp_path / "store"
    ingest([tmp_path / "raw"], place, IngestOptions(jobs=1))
    _, last = shown(capsys, place, 6)
    sentence, _, line = last.partition(": ")
    # Scheduled at 720 s of the trace's clock, which is 120 s after the start.
    assert sentence == "no usage was measured on it; what ran there at a moment"
    assert line == f"borgtrace machine {place} 6 --at 2m"
    *_, task, _, shares = shown(capsys, *shlex.split(line)[2:])
    assert task.startswith("11:0")
    # A tenth of a half is requested; what is used is not nothing, but unknown.
    assert shares == (
        "CPU use not measured, 20 % requested; memory use not measured, 20 % requested"
    )
