"""Staged rows whose disk is given back while a new store is made: what stays, kills in between, what comes later."""

from __future__ import annotations

import ctypes
import hashlib
import itertools
import json
import os
import shutil
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow.parquet as pq
import pytest

import borgtrace
from borgtrace.errors import StoreError
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.ingest.build import freed_rows, sorting_limits
from borgtrace.ingest.progress import Progress
from borgtrace.store.verify import verify
from tests.forked import CLEAN
from tests.ingest.raw import write_part

pytestmark = pytest.mark.wide  # kills

ONE = IngestOptions(jobs=1)
ROWS_OF_FILE = 6_000
N_FILES = 6
FLUSHES = 3
"""For each file: the file with the folders above, the record, and its folder."""


def write_usage(folder: Path, part: int, rows: int = 12_000) -> Path:
    """Write a part with windows of 60 jobs, whose rows are in the order of time."""
    random = np.random.default_rng(part)
    jobs = 7_000 + random.permutation(rows) % 60
    tasks = random.integers(0, 5, rows)
    cpu = random.integers(1, 900, rows)
    start = 600 + 300 * (200 * part + np.arange(rows) // 60)
    lines = [
        f"{s}000000,{s + 300}000000,{job},{task},{5 + task},0.{c:03d},0.25,0.5,,,0.25,,,0.{c:03d},,,,1,0,0.{c:03d}"
        for s, job, task, c in zip(start, jobs, tasks, cpu, strict=True)
    ]
    return write_part(folder, "task_usage", lines, part)


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("freed")
    for part in range(3):
        write_usage(folder / "raw", part)
    return folder / "raw"


@pytest.fixture(autouse=True)
def _small_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sorting_limits, "MOST_ROWS", ROWS_OF_FILE)


@pytest.fixture
def freeing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Free rows of parts of any size."""
    monkeypatch.setattr(freed_rows, "LEAST_STAGED", 0)


@pytest.fixture(scope="module")
def whole_store(raw: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a store for which all staged rows stayed to the end."""
    store = tmp_path_factory.mktemp("undisturbed") / "store"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sorting_limits, "MOST_ROWS", ROWS_OF_FILE)
        ingest([raw], store, ONE)
    assert len(list((store / "instance_usage").iterdir())) == N_FILES
    return store


@pytest.fixture(scope="module")
def undisturbed(whole_store: Path) -> dict[str, str]:
    """Return the files of that store."""
    return files_of(whole_store)


def files_of(store: Path) -> dict[str, str]:
    """Return every file of a store with its digest."""
    files = (path for path in store.rglob("*") if path.is_file())
    return {
        str(path.relative_to(store)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in files
    }


def bytes_on_disk(store: Path) -> int:
    """Return what the staged parts of usage take of the disk."""
    parts = (store / "staging" / "instance_usage").glob("*.runs")
    return sum(part.stat().st_blocks * 512 for part in parts)


class Watching(Progress):
    """Looks at the staged parts when a step begins and after each file."""

    def __init__(self, store: Path) -> None:
        self.store = store
        self.seen: list[int] = []
        self.written = 0

    def begin(self, label: str, total: int, unit: str) -> None:
        self.seen.append(bytes_on_disk(self.store))

    def advance(self, label: str, amount: int) -> None:
        self.seen.append(bytes_on_disk(self.store))
        if label == "cluster instance_usage":
            self.written += amount


class Deadly(Progress):
    """Kills the process when a step begins."""

    def __init__(self, label: str) -> None:
        self.label = label

    def begin(self, label: str, total: int, unit: str) -> None:
        if label == self.label:
            os.kill(os.getpid(), signal.SIGKILL)


def _run(raw: Path, store: Path, moment: int | str) -> None:
    """Ingest, and die when the step of this name begins, or before something is flushed to the disk for this time."""
    sorting_limits.MOST_ROWS = ROWS_OF_FILE
    freed_rows.LEAST_STAGED = 0
    calls = itertools.count(1)
    flush = freed_rows.flush

    def lethal(*places: Path) -> None:
        if next(calls) == moment:
            os.kill(os.getpid(), signal.SIGKILL)
        flush(*places)

    freed_rows.flush = lethal
    ingest([raw], store, ONE, Deadly(str(moment)))


def kill_ingest(raw: Path, store: Path, moment: int | str) -> Path:
    """Ingest in a process that is killed at a moment, and return the store."""
    process = CLEAN.Process(target=_run, args=(raw, store, moment))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    assert not (store / "manifest.json").exists()
    return store


@pytest.mark.parametrize("jobs", [1, 2])
def test_the_disk_of_staged_rows_is_given_back_as_files_are_finished(
    raw: Path, tmp_path: Path, undisturbed: dict[str, str], freeing: None, jobs: int
) -> None:
    store = tmp_path / "store"
    ingest([raw], store, IngestOptions(jobs=1, stage_only=True))
    lengths = [part.stat().st_size for part in store.glob("staging/instance_usage/*.runs")]
    watching = Watching(store)
    ingest([], store, IngestOptions(jobs=jobs), watching)
    assert watching.written == 36_000
    assert watching.seen == sorted(watching.seen, reverse=True)
    assert watching.seen[0] >= sum(lengths)
    # What stays are the heads of parts, and for each of the files halves of two blocks in each of the parts.
    assert watching.seen[-1] < 0.15 * sum(lengths)
    assert files_of(store) == undisturbed
    assert all(check.holds for check in verify(store))


def test_small_builds_leave_staged_rows_where_they_are(
    raw: Path, tmp_path: Path, undisturbed: dict[str, str]
) -> None:
    watching = Watching(tmp_path / "store")
    ingest([raw], tmp_path / "store", ONE, watching)
    assert watching.seen[-1] == max(watching.seen) > 1_000_000
    assert files_of(tmp_path / "store") == undisturbed


@pytest.mark.parametrize(
    "system",
    [SimpleNamespace(), SimpleNamespace(fallocate=lambda *_: -1)],
    ids=["no such call", "refused"],
)
def test_where_the_file_system_refuses_staged_rows_stay(
    raw: Path,
    tmp_path: Path,
    undisturbed: dict[str, str],
    freeing: None,
    monkeypatch: pytest.MonkeyPatch,
    system: SimpleNamespace,
) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda *_: system)
    watching = Watching(tmp_path / "store")
    ingest([raw], tmp_path / "store", ONE, watching)
    assert watching.seen[-1] == max(watching.seen) > 1_000_000
    assert files_of(tmp_path / "store") == undisturbed


BEFORE_THE_RECORD = 2
"""Of its first version the draft is yet to be flushed."""
BEFORE_FREEING = FLUSHES
"""The record has its name."""
LAST_FILE = FLUSHES * (N_FILES - 1) + 1
MOMENTS = [1, BEFORE_THE_RECORD, BEFORE_FREEING, FLUSHES + 1, LAST_FILE, FLUSHES * N_FILES]
STEPS = ["index tasks", "check and digest"]


@pytest.mark.parametrize("moment", [*MOMENTS, *STEPS])
def test_a_killed_build_goes_on_without_the_raw_files(
    raw: Path, tmp_path: Path, undisturbed: dict[str, str], freeing: None, moment: int | str
) -> None:
    store = kill_ingest(raw, tmp_path / "store", moment)
    ingest([], store, ONE)
    assert files_of(store) == undisturbed


@pytest.mark.parametrize("moment", [BEFORE_FREEING, 3 * FLUSHES, "index tasks"])
def test_the_same_command_goes_on_with_a_killed_build(
    raw: Path, tmp_path: Path, undisturbed: dict[str, str], freeing: None, moment: int | str
) -> None:
    store = kill_ingest(raw, tmp_path / "store", moment)
    result = ingest([raw], store, ONE)
    assert (result.staged, result.known) == ((), 3)
    assert files_of(store) == undisturbed


def test_finished_files_are_kept_and_not_made_again(
    raw: Path, tmp_path: Path, undisturbed: dict[str, str], freeing: None
) -> None:
    store = kill_ingest(raw, tmp_path / "store", 4 * FLUSHES + 1)
    finished = sorted((store / "next.incomplete" / "instance_usage").glob("part-*.parquet"))
    # The fifth is there, but not recorded: its rows are still staged.
    identities = [path.stat().st_ino for path in finished[:4]]
    watching = Watching(store)
    ingest([], store, ONE, watching)
    stored = sorted((store / "instance_usage").iterdir())
    assert [path.stat().st_ino for path in stored[:4]] == identities
    assert watching.written == 36_000
    assert files_of(store) == undisturbed


def test_rows_that_a_killed_build_did_not_free_are_freed_by_the_next(
    raw: Path, tmp_path: Path, freeing: None
) -> None:
    store = kill_ingest(raw, tmp_path / "store", BEFORE_FREEING)
    before = bytes_on_disk(store)
    watching = Watching(store)
    ingest([], store, ONE, watching)
    # Looked at after the first file, which is not made again.
    assert watching.seen[len(STEPS)] < before


@pytest.mark.parametrize("moment", [BEFORE_FREEING, LAST_FILE, "index tasks"])
def test_a_file_that_comes_later_is_added_to_the_completed_store(
    raw: Path, tmp_path: Path, freeing: None, moment: int | str
) -> None:
    store = kill_ingest(raw, tmp_path / "store", moment)
    # Its rows come before all others, whose parts get other numbers.
    later = write_usage(tmp_path / "later", 7, 500)
    result = ingest([raw, later.parent], store, ONE)
    assert ([entry.part for entry in result.staged], result.known) == ([7], 3)
    ingest([raw, later.parent], tmp_path / "at once", ONE)
    assert borgtrace.open(store).digest == borgtrace.open(tmp_path / "at once").digest
    assert all(check.holds for check in verify(store))


def test_a_file_that_is_staged_after_a_kill_does_not_join_the_parts(
    raw: Path, tmp_path: Path, undisturbed: dict[str, str], freeing: None
) -> None:
    store = kill_ingest(raw, tmp_path / "store", LAST_FILE)
    later = write_usage(tmp_path / "later", 7, 500)
    result = ingest([later], store, IngestOptions(jobs=1, stage_only=True))
    assert result.manifest is None
    staged = {name: digest for name, digest in files_of(store).items() if "staging/" not in name}
    assert staged == undisturbed
    ingest([], store, ONE)
    ingest([raw, later.parent], tmp_path / "at once", ONE)
    assert borgtrace.open(store).digest == borgtrace.open(tmp_path / "at once").digest


def test_a_part_that_has_changed_takes_the_place_of_one_with_freed_rows(
    raw: Path, tmp_path: Path, freeing: None
) -> None:
    store = kill_ingest(raw, tmp_path / "store", LAST_FILE)
    changed = shutil.copytree(raw, tmp_path / "changed")
    write_usage(changed, 1, 300)
    ingest([changed], store, IngestOptions(jobs=1, replace=True))
    ingest([changed], tmp_path / "at once", ONE)
    assert borgtrace.open(store).digest == borgtrace.open(tmp_path / "at once").digest


def test_less_memory_after_a_kill_changes_nothing(
    raw: Path,
    tmp_path: Path,
    whole_store: Path,
    freeing: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store = kill_ingest(raw, tmp_path / "store", 3 * FLUSHES)
    monkeypatch.setattr(sorting_limits, "MOST_ROWS", ROWS_OF_FILE // 4)
    ingest([], store, ONE)
    # The plan is that of the first run. What is too large for memory now is encoded by other batches.
    assert files_of(store).keys() == files_of(whole_store).keys()
    assert borgtrace.open(store).digest == borgtrace.open(whole_store).digest


def test_a_rebuild_begins_anew(
    raw: Path, tmp_path: Path, undisturbed: dict[str, str], freeing: None
) -> None:
    store = kill_ingest(raw, tmp_path / "store", LAST_FILE)
    result = ingest([raw], store, IngestOptions(jobs=1, rebuild=True))
    assert len(result.staged) == 3
    assert files_of(store) == undisturbed


@pytest.mark.parametrize("n_renamed", range(4))
def test_a_rebuild_that_is_cut_off_can_be_given_up(
    raw: Path,
    tmp_path: Path,
    undisturbed: dict[str, str],
    freeing: None,
    monkeypatch: pytest.MonkeyPatch,
    n_renamed: int,
) -> None:
    """Whatever was moved away of what a killed build left, no rows are missing in what is made of the rest."""
    store = kill_ingest(raw, tmp_path / "store", LAST_FILE)
    steps = itertools.count()
    rename = Path.rename

    def counting(path: Path, target: Path) -> Path:
        if next(steps) == n_renamed:
            raise KeyboardInterrupt
        return rename(path, target)

    with monkeypatch.context() as patch, suppress(KeyboardInterrupt):
        patch.setattr(Path, "rename", counting)
        ingest([raw], store, IngestOptions(jobs=1, rebuild=True))
    ingest([raw], store, ONE)
    assert files_of(store) == undisturbed


def test_rows_are_added_to_a_store_as_before(raw: Path, tmp_path: Path, freeing: None) -> None:
    parts = sorted(raw.rglob("*.gz"))
    store = tmp_path / "store"
    ingest(parts[:2], store, ONE)
    watching = Watching(store)
    ingest(parts[2:], store, ONE, watching)
    assert watching.seen[-1] == max(watching.seen) > 0
    ingest(parts, tmp_path / "at once", ONE)
    assert borgtrace.open(store).digest == borgtrace.open(tmp_path / "at once").digest


def _remove(path: Path) -> None:
    path.unlink()


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:100])


@pytest.mark.parametrize(("damage", "found"), [(_remove, "none"), (_cut, "100")])
def test_a_finished_file_that_is_not_as_it_was_is_refused(
    raw: Path, tmp_path: Path, freeing: None, damage: Callable[[Path], None], found: str
) -> None:
    store = kill_ingest(raw, tmp_path / "store", LAST_FILE)
    finished = store / "next.incomplete" / "instance_usage" / "part-00001.parquet"
    size = finished.stat().st_size
    damage(finished)
    with pytest.raises(StoreError) as refusal:
        ingest([raw], store, ONE)
    assert str(refusal.value) == (
        f"{finished}: the file that alone has rows of a build that was interrupted is not as it was: "
        f"expected {size} bytes, got {found}; remove {store / 'staging'} and ingest the files again"
    )
    # Nothing is lost by trying, and the way out is one.
    assert bytes_on_disk(store) > 0
    shutil.rmtree(store / "staging")
    ingest([raw], store, ONE)
    assert all(check.holds for check in verify(store))


def test_a_file_of_another_version_is_refused(raw: Path, tmp_path: Path, freeing: None) -> None:
    store = kill_ingest(raw, tmp_path / "store", LAST_FILE)
    finished = store / "next.incomplete" / "instance_usage" / "part-00000.parquet"
    pq.write_table(pq.read_table(finished).drop(["average_cpu"]), finished)
    record = store / "staging" / "freed.json"
    sizes = json.loads(record.read_text())["finished"]
    _change_record(store / "staging", finished=sizes | {"0": finished.stat().st_size})
    with pytest.raises(StoreError) as refusal:
        ingest([], store, ONE)
    assert str(refusal.value) == (
        f"{finished}: another version of borgtrace began this build: expected the columns of this version, "
        f"got others; finish it with that version, or remove {store / 'staging'} and ingest the files again"
    )


def _empty_record(staging: Path) -> None:
    (staging / "freed.json").write_text("{")


def _change_record(staging: Path, **facts: object) -> None:
    record = staging / "freed.json"
    record.write_text(json.dumps(json.loads(record.read_text()) | facts))


def _cuts_in_no_order(staging: Path) -> None:
    _change_record(staging, cuts=[7_020, 7_010, 7_030, 7_040, 7_050])


def _larger_ids_than_there_are(staging: Path) -> None:
    _change_record(staging, cuts=[7_010, 7_020, 7_030, 7_040, 2**63])


def _a_file_too_many(staging: Path) -> None:
    _change_record(staging, finished={str(N_FILES): 100})


def _longer_part(staging: Path) -> None:
    part = min((staging / "instance_usage").iterdir())
    part.write_bytes(part.read_bytes() * 2)


DAMAGES = [
    _empty_record,
    _cuts_in_no_order,
    _larger_ids_than_there_are,
    _a_file_too_many,
    _longer_part,
]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_record_that_does_not_fit_the_parts_is_refused(
    raw: Path, tmp_path: Path, freeing: None, damage: Callable[[Path], None]
) -> None:
    store = kill_ingest(raw, tmp_path / "store", LAST_FILE)
    staging = store / "staging"
    damage(staging)
    with pytest.raises(StoreError) as refusal:
        ingest([], store, ONE)
    assert str(refusal.value) == (
        f"{staging / 'freed.json'}: what is staged is damaged; remove {staging} and ingest the files again"
    )
