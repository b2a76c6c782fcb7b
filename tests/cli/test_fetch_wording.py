"""What a fetch prints, from values made by hand: its plan, sizes, faults, and a disk that is too small."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from borgtrace.cli import _download
from borgtrace.errors import SourceError, UsageError
from borgtrace.fetch import Ledger, Outcome, Plan, RemoteFile, Session, Version, bucket


def _file(part: int, size: int | None) -> RemoteFile:
    path = f"job_events/part-{part:05d}-of-00500.csv.gz"
    return RemoteFile("job_events", part, path, f"http://x/{path}", Version(size))


def _plan(folder: Path, todo: int) -> Plan:
    files = (_file(0, 1_000), _file(1, None), _file(2, 500))
    return Plan(bucket("2011"), folder, files, files[:todo], ("gone.gz",), 750)


def test_a_plan_of_a_fetch(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    plan = _plan(tmp_path, 2)
    assert [file.part for file in plan.here] == [2]
    assert plan.total == 1_500
    _download.print_plan(plan, as_json=False)
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split() == ["job_events", "3", "at", "least", "1.5", "kB", "2", "files"]
    assert lines[3].startswith("Total 1.5 kB; to fetch 750 bytes; free disk ")
    assert lines[4] == "Missing on the server: gone.gz"
    _download.print_plan(plan, as_json=True)
    facts = json.loads(capsys.readouterr().out)
    assert [file["is_here"] for file in facts["files"]] == [False, False, True]
    assert (facts["bytes"], facts["bytes_to_come"], facts["missing"]) == (1_500, 750, ["gone.gz"])


@pytest.mark.parametrize(
    ("sizes", "text"),
    [
        ((500, None), "at least 500 bytes"),
        ((500, 499), "999 bytes"),
        ((None, None), "at least 0 bytes"),
        ((), "0 bytes"),
    ],
)
def test_sizes_that_a_server_does_not_state_are_left_out(
    sizes: tuple[int | None, ...], text: str
) -> None:
    assert _download._size([_file(part, size) for part, size in enumerate(sizes)]) == text


def test_a_disk_that_is_too_small_is_refused(tmp_path: Path) -> None:
    plan = _plan(tmp_path / "to" / "come", 3)
    plan.check_space()
    replace(plan, remaining=plan.free // 2).check_space()
    with pytest.raises(UsageError, match="the disk is too small"):
        replace(plan, remaining=plan.free * 2).check_space()


def test_a_fetch_that_failed_names_files_and_at_most_five(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    files = tuple(_file(part, 10) for part in range(7))
    plan = Plan(bucket("2011"), tmp_path, files, files, ("gone.gz",), 70)
    outcomes = [
        Outcome(file, tmp_path / file.path, SourceError(f"part {file.part}", "broken"))
        for file in files[:6]
    ]
    with Session(1) as session:
        download = _download.Download(session, plan, 1, None, False)
        with pytest.raises(SourceError) as caught:
            download.finish([*outcomes, Outcome(files[6], tmp_path / files[6].path)], as_json=True)
    assert "7 of 8 files could not be fetched: got gone.gz, " in str(caught.value)
    assert str(caught.value).count("part-") == 4
    assert "…;" in str(caught.value)
    out, err = capsys.readouterr()
    assert err.splitlines() == [f"✗ part {part}: broken" for part in range(5)]
    facts = json.loads(out)
    assert len(facts["failed"]) == 6
    assert 0 <= facts["seconds"] < 60


def test_files_here_are_those_on_the_disk_and_a_fault_belongs_to_its_file(tmp_path: Path) -> None:
    plan = _plan(tmp_path, 1)
    (tmp_path / "job_events").mkdir()
    (tmp_path / plan.files[1].path).touch()
    with Session(1) as session:
        download = _download.Download(session, plan, 1, None, False)
        assert [outcome.file.part for outcome in download._already_here()] == [1]
        with Ledger.open(tmp_path) as ledger:
            outcomes = download._already_here()
            assert download._stage(outcomes, ledger) is outcomes
    fault = SourceError(f"{tmp_path / plan.files[1].path}:3", "broken")
    assert _download._fault_of(outcomes[0], (SourceError("other", "x"), fault)) is fault
    assert _download._fault_of(outcomes[0], ()) is None
