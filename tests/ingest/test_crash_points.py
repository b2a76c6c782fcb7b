"""Killed at any rename or removal: a reader sees a whole store or none, and the next run ends as if none had been."""

from __future__ import annotations

import hashlib
import itertools
import os
import random
import shutil
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import borgtrace
from borgtrace.errors import StoreError
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.store.verify import verify
from tests.forked import CLEAN
from tests.ingest.raw import USAGE, write_cell, write_part

pytestmark = pytest.mark.wide

_REMOVING = ("rename", "replace", "unlink", "remove", "rmdir")
_NEVER = 10**9
_REFUSED = USAGE[0].replace(",0.0015,", ",much,", 1)
ONE = IngestOptions(jobs=1)


@dataclass(frozen=True)
class Case:
    """What is there before, what is ingested, and how."""

    before: tuple[Path, ...]
    sources: tuple[Path, ...]
    options: IngestOptions = ONE


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Case]:
    """A first ingest, parts that come later, a part that changes, and a store that is built again."""
    folder = tmp_path_factory.mktemp("crash")
    cell, later, changed = write_cell(folder / "raw"), folder / "later", folder / "changed"
    write_part(cell, "task_usage", [USAGE[0], _REFUSED], 1)
    write_part(later, "task_usage", [USAGE[0].replace("10,0,5", "10,1,5"), _REFUSED], 7)
    # What was refused of this part is right now, and nothing of it is kept in quarantine.
    write_part(changed, "task_usage", [USAGE[0], USAGE[0].replace("10,0,5", "10,2,5")], 1)
    return {
        "first": Case((), (cell,)),
        "growing": Case((cell,), (cell, later)),
        "replacing": Case((cell, later), (changed,), IngestOptions(jobs=1, replace=True)),
        "rebuilding": Case((cell, later), (cell,), IngestOptions(jobs=1, rebuild=True)),
    }


def _run(
    case: Case,
    store: Path,
    number: int,
    count: Path,
) -> None:
    """Ingest, and die at the call of this number that renames or removes something."""
    calls = itertools.count(1)
    done = 0

    def lethal(real: Callable[..., None]) -> Callable[..., None]:
        def call(*args: object, **options: object) -> None:
            nonlocal done
            # What is not there is not removed: no other state comes of it.
            if not options and not os.path.lexists(str(args[0])):
                return real(*args)
            if next(calls) == number:
                os.kill(os.getpid(), signal.SIGKILL)
            done += 1
            return real(*args, **options)

        return call

    for name in _REMOVING:
        setattr(os, name, lethal(getattr(os, name)))
    ingest(list(case.sources), store, case.options)
    count.write_text(str(done))


def _killed(
    case: Case,
    store: Path,
    number: int,
    count: Path,
) -> bool:
    process = CLEAN.Process(target=_run, args=(case, store, number, count))
    process.start()
    process.join()
    assert process.exitcode in {0, -signal.SIGKILL}
    return process.exitcode != 0


def _tree(store: Path) -> dict[str, str]:
    """Return every file of a store with its digest: tables, quarantine, arrays, ledger."""
    files = (path for path in store.rglob("*") if path.is_file())
    return {
        str(path.relative_to(store)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in files
    }


def _kill_at(case: Case, numbers: Callable[[int], list[int]], folder: Path) -> int:
    """Kill an ingest at each of the calls, run it again, and compare with an undisturbed one; return how many."""
    before, undisturbed, store = folder / "before", folder / "undisturbed", folder / "store"
    if case.before:
        ingest(list(case.before), before, ONE)
        shutil.copytree(before, undisturbed)
    assert not _killed(case, undisturbed, _NEVER, folder / "count")
    expected, old = _tree(undisturbed), _tree(before)
    chosen = numbers(int((folder / "count").read_text()))
    for number in chosen:
        shutil.rmtree(store, ignore_errors=True)
        if case.before:
            shutil.copytree(before, store)
        assert _killed(case, store, number, folder / "count")
        assert _is_whole_or_none(store, old, expected), number
        ingest(list(case.sources), store, case.options)
        assert _tree(store) == expected, number
    assert all(check.holds for check in verify(undisturbed))
    return len(chosen)


def _is_whole_or_none(store: Path, *versions: dict[str, str]) -> bool:
    try:
        borgtrace.open(store)
    except StoreError:
        return True
    # Beside what belongs to a version, only what waits to be taken up or removed.
    ours = ("staging", "next", "spill", "replaced", ".lock")
    found = {name: digest for name, digest in _tree(store).items() if not name.startswith(ours)}
    return found in versions


@pytest.mark.parametrize(
    ("name", "calls"),
    [
        ("first", 2),
        ("growing", 3),
        ("replacing", 2),
        ("rebuilding", 2),
    ],
)
def test_a_kill_at_some_calls_loses_nothing(
    name: str,
    calls: int,
    cases: dict[str, Case],
    tmp_path: Path,
) -> None:
    def sample(total: int) -> list[int]:
        # Most calls come after the new version is declared whole, in the order in which it is put in place.
        return sorted(random.Random(7).sample(range(1, total + 1), calls))

    assert _kill_at(cases[name], sample, tmp_path) == calls


@pytest.mark.scale
@pytest.mark.parametrize("name", ["first", "growing", "replacing", "rebuilding"])
def test_a_kill_at_any_call_loses_nothing(
    name: str,
    cases: dict[str, Case],
    tmp_path: Path,
) -> None:
    calls = _kill_at(cases[name], lambda total: list(range(1, total + 1)), tmp_path)
    print(f"{name}: killed at each of {calls} calls")
    assert calls > 30


def test_what_a_killed_run_staged_of_a_file_that_has_changed_since_is_not_kept(
    cases: dict[str, Case],
    tmp_path: Path,
) -> None:
    """Its entry gone, its refused rows left: they belong to no source, and no later run may take them in."""
    first, store = cases["first"], tmp_path / "store"
    ingest(list(first.sources), store, IngestOptions(jobs=1, stage_only=True))
    (store / "staging" / "ledger" / "task_usage-part-00001.json").unlink()
    ingest(list(cases["replacing"].sources), store, ONE)
    assert sorted(store.joinpath("quarantine").rglob("*.parquet")) == []
    assert pq.read_metadata(store / "instance_usage" / "part-00000.parquet").num_rows == 3
    assert all(check.holds for check in verify(store))
