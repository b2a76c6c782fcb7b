"""What a fetch prints, from values made by hand: its plan, sizes, faults, and a disk that is too small."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from borgtrace.cli.download import Download, fault_of, print_plan, size_text
from borgtrace.errors import SourceError, UsageError
from borgtrace.fetch import FetchOutcome, FetchPlan, Ledger, RemoteFile, Session, Version, bucket
from tests.rows import chosen_columns

Capture = pytest.CaptureFixture[str]


def remote_file(part: int, size: int | None) -> RemoteFile:
    """A part of the events of jobs."""
    path = f"job_events/part-{part:05d}-of-00500.csv.gz"
    return RemoteFile(
        "job_events",
        part,
        path,
        f"http://x/{path}",
        Version(size),
    )


def plan_of(folder: Path, n_to_fetch: int) -> FetchPlan:
    """A plan of three files, of which the first are to be fetched, and one that the server lacks."""
    files = (remote_file(0, 1_000), remote_file(1, None), remote_file(2, 500))
    return FetchPlan(
        bucket("2011"),
        folder,
        files,
        files[:n_to_fetch],
        ("gone.gz",),
        750,
    )


def test_a_plan_of_a_fetch(capsys: Capture, tmp_path: Path) -> None:
    plan = plan_of(tmp_path, 2)
    assert [file.part for file in plan.here] == [2]
    assert plan.total == 1_500
    print_plan(plan, as_json=False)
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split() == ["job_events", "3", "at", "least", "1.5", "kB", "2", "files"]
    assert lines[3].startswith("Total 1.5 kB; to fetch 750 bytes; free disk ")
    assert lines[4] == "Missing on the server: gone.gz"
    print_plan(plan, as_json=True)
    facts = json.loads(capsys.readouterr().out)
    assert [file["is_here"] for file in facts["files"]] == [False, False, True]
    expected = {
        "bytes": 1_500,
        "bytes_to_come": 750,
        "missing": ["gone.gz"],
    }
    assert chosen_columns(facts, expected) == expected


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
    files = [remote_file(part, size) for part, size in enumerate(sizes)]
    assert size_text(files) == text


def test_a_disk_that_is_too_small_is_refused(tmp_path: Path) -> None:
    plan = plan_of(tmp_path / "to" / "come", 3)
    plan.check_space()
    replace(plan, remaining=plan.free // 2).check_space()
    with pytest.raises(UsageError, match="the disk is too small"):
        replace(plan, remaining=plan.free * 2).check_space()


def test_a_fetch_that_failed_names_files_and_at_most_five(capsys: Capture, tmp_path: Path) -> None:
    files = tuple(remote_file(part, 10) for part in range(7))
    plan = FetchPlan(
        bucket("2011"),
        tmp_path,
        files,
        files,
        ("gone.gz",),
        70,
    )
    outcomes = []
    for file in files:
        error = SourceError(f"part {file.part}", "broken") if file.part < 6 else None
        outcomes.append(FetchOutcome(file, tmp_path / file.path, error))
    with Session(1) as session:
        download = Download(
            session,
            plan,
            jobs=1,
            store=None,
            delete_raw=False,
        )
        with pytest.raises(SourceError) as caught:
            download.finish(outcomes, as_json=True)
    message = str(caught.value)
    assert "7 of 8 files could not be fetched: got gone.gz, " in message
    assert message.count("part-") == 4
    assert "…;" in message
    out, err = capsys.readouterr()
    assert err.splitlines() == [f"✗ part {part}: broken" for part in range(5)]
    facts = json.loads(out)
    assert len(facts["failed"]) == 6
    assert 0 <= facts["seconds"] < 60


def test_files_here_are_those_on_the_disk(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, 1)
    (tmp_path / "job_events").mkdir()
    (tmp_path / plan.files[1].path).touch()
    with Session(1) as session, Ledger.open(tmp_path) as ledger:
        download = Download(
            session,
            plan,
            jobs=1,
            store=None,
            delete_raw=False,
        )
        outcomes = download.files_here()
        assert [outcome.file.part for outcome in outcomes] == [1]
        # Without a store they stay as they are.
        assert download.stage(outcomes, ledger) is outcomes


def test_a_fault_belongs_to_its_file(tmp_path: Path) -> None:
    outcome = FetchOutcome(remote_file(0, 1), tmp_path / "part-0")
    fault = SourceError(f"{tmp_path / 'part-0'}:3", "broken")
    assert fault_of(outcome, (SourceError("other", "x"), fault)) is fault
    assert fault_of(outcome, ()) is None
