"""Threads that make the same thing at the same time: an array, a derived table, the aggregates of the explorer."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import borgtrace
from borgtrace.explore.pyramid import pyramid
from borgtrace.question import EngineTables
from borgtrace.store import Store
from tests.store.versions import Versions, rows_of

JOBS = (5, 7, 8)
THREADS = 4
VALUES = [value for _, value in rows_of(JOBS)]
MAKERS: dict[str, tuple[Callable[[Store], object], object]] = {
    "array": (lambda store: store.array("maximum_memory").tolist(), VALUES),
    "derived table": (lambda store: EngineTables.of(store).n_rows("instance_attempts"), len(JOBS)),
    "pyramid": (lambda store: pyramid(store).machines.tolist(), [5]),
}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Versions(tmp_path_factory.mktemp("threads")).ingest(JOBS)


@pytest.mark.parametrize(
    ("maker", "is_shared"),
    [
        ("array", True),
        ("array", False),
        ("derived table", False),
        pytest.param("pyramid", False, marks=pytest.mark.scale),
    ],
)
def test_threads_make_one_thing_at_a_time(path: Path, maker: str, *, is_shared: bool) -> None:
    make, expected = MAKERS[maker]
    stores = [borgtrace.open(path) for _ in range(THREADS)]
    for folder in (path / "cache").glob("*/*"):
        folder.unlink()
    barrier = threading.Barrier(THREADS)

    def run(number: int) -> object:
        barrier.wait()
        return make(stores[0 if is_shared else number])

    with ThreadPoolExecutor(THREADS) as pool:
        assert list(pool.map(run, range(THREADS))) == [expected] * THREADS
    assert list(path.rglob("*.incomplete")) == []
