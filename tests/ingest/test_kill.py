"""kill −9 at random moments of an ingest, then again: the digest of an undisturbed one."""

from __future__ import annotations

import os
import random
import time
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path

import pytest

import borgtrace
from borgtrace.cli import main
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.store.verify import verify
from tests.forked import CLEAN
from tests.ingest.raw import write_cell, write_part

pytestmark = pytest.mark.wide


@pytest.fixture(scope="module")
def raw(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kill")
    write_cell(folder / "raw")
    generator = random.Random(3)
    for part in range(6):
        start = 600_000_000 + part * 5_000_000_000
        write_part(
            folder / "raw",
            "task_usage",
            [
                f"{start},{start + 300_000_000},{generator.randrange(300)},{generator.randrange(9)},5,"
                f"{generator.random():.4g},0.1,,,,0.2,,,1,,,,,0,0.1"
                for _ in range(1_500)
            ],
            part,
        )
    return folder / "raw"


@pytest.fixture(scope="module")
def undisturbed(raw, tmp_path_factory):
    store = tmp_path_factory.mktemp("undisturbed") / "store"
    ingest([raw], store, IngestOptions(jobs=1))
    return borgtrace.open(store).digest


@pytest.fixture(scope="module")
def seconds(raw, tmp_path_factory):
    before = time.perf_counter()
    assert _ended(raw, tmp_path_factory.mktemp("timed") / "store") == 0
    return time.perf_counter() - before


def _type(*words):
    """Be the command, in a process of its own."""
    with Path(os.devnull).open("w") as nothing, redirect_stdout(nothing), redirect_stderr(nothing):
        main(list(words))


def _ended(raw, store, after=None):
    """Ingest, and kill it `after` so many seconds; return the exit code."""
    process = CLEAN.Process(
        target=_type,
        args=("ingest", str(raw), "--store", str(store), "--jobs", "1"),
    )
    process.start()
    process.join(after)
    process.kill()
    process.join()
    return process.exitcode


def _survives(
    raw,
    store,
    seconds,
    undisturbed,
    seed,
):
    generator = random.Random(seed)
    for _ in range(generator.choice((1, 1, 2))):
        _ended(raw, store, generator.uniform(0.1, 1.0) * seconds)
    ingest([raw], store, IngestOptions(jobs=1))
    assert borgtrace.open(store).digest == undisturbed
    assert all(check.holds for check in verify(store))
    assert list(store.rglob("*.incomplete")) == []


@pytest.mark.parametrize("seed", range(3))
def test_a_killed_ingest_is_taken_up(
    raw,
    tmp_path,
    seconds,
    undisturbed,
    seed,
):
    _survives(raw, tmp_path / "store", seconds, undisturbed, seed)


@pytest.mark.scale
@pytest.mark.parametrize("seed", range(100, 130))
def test_a_killed_ingest_is_taken_up_thirty_times(
    raw,
    tmp_path,
    seconds,
    undisturbed,
    seed,
):
    _survives(raw, tmp_path / "store", seconds, undisturbed, seed)


def test_a_swap_cut_off_anywhere_is_finished(
    raw,
    tmp_path,
    undisturbed,
    monkeypatch,
):
    """Die after each single step of putting the new version in place."""
    from borgtrace.store import swap

    steps = [0]
    original = Path.rename

    def counting(self, target):
        if steps[0] == 0 and "next" not in self.name:
            raise KeyboardInterrupt
        if "next" not in self.name:
            steps[0] -= 1
        return original(self, target)

    for survive in range(7):
        store = tmp_path / f"store-{survive}"
        steps[0] = survive
        monkeypatch.setattr(Path, "rename", counting)
        with suppress(KeyboardInterrupt):
            ingest(
                [raw / "task_usage" / "part-00000-of-00500.csv.gz"],
                store,
                IngestOptions(jobs=1),
            )
        monkeypatch.setattr(Path, "rename", original)
        ingest([raw], store, IngestOptions(jobs=1))
        assert borgtrace.open(store).digest == undisturbed
        assert swap.finish_swap(borgtrace.open(store).layout) is False
