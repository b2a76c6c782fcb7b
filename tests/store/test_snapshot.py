"""An open store is a snapshot: it answers from its version, or says that it was replaced; never from two versions."""

from __future__ import annotations

import pickle
import threading
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

import borgtrace
from borgtrace.errors import StoreError
from borgtrace.explore.application import application
from borgtrace.explore.explored_store import ExploredStore
from borgtrace.explore.pyramid import pyramid
from borgtrace.store import Store
from tests.store.versions import (
    QUERY,
    READ_NOTHING,
    READERS,
    Reader,
    Versions,
    check_trace,
    job,
    jobs_of,
    rows_of,
)

pytestmark = pytest.mark.wide

BEFORE = (5, 7, 8)
PAUSE = 0.01
"""Seconds after which a reader looks again for a store that is being replaced."""
REPLACEMENTS: dict[str, Callable[[Versions], None]] = {
    # Jobs with smaller ids: the rows of all others move.
    "ingest": lambda versions: versions.ingest((2, 4)),
    "rebuild": lambda versions: versions.ingest((1, 6), rebuild=True),
    "merge": lambda versions: versions.merge((3, 5, 8)),
    "while it is replaced": lambda versions: (versions.store / "manifest.json").unlink(),
}


@pytest.fixture
def versions(tmp_path: Path) -> Versions:
    made = Versions(tmp_path)
    made.ingest(BEFORE)
    return made


def replaced(store: Path) -> str:
    return f"{store}: the store was replaced since it was opened; open it again, or run the command again"


def outcome_of(reader: Reader, store: Store) -> str:
    """Read a store that was replaced; return whether that was right or refused, or the words of another error."""
    try:
        reader(store, BEFORE)
    except StoreError as error:
        return "refused" if str(error) == replaced(store.path) else str(error)
    return "right"


def test_every_way_to_read_a_store_is_checked() -> None:
    members = {name for name in vars(Store) if not name.startswith("_")}
    checked = set().union(*(names for _, names in READERS.values()))
    assert members == checked | READ_NOTHING


@pytest.mark.parametrize(
    "replacement",
    [
        "ingest",
        pytest.param("rebuild", marks=pytest.mark.scale),
        pytest.param("merge", marks=pytest.mark.scale),
        "while it is replaced",
    ],
)
def test_an_open_store_answers_from_its_version_or_says_that_it_was_replaced(
    versions: Versions, replacement: str
) -> None:
    unread = borgtrace.open(versions.store)
    mapped = borgtrace.open(versions.store)
    read = borgtrace.open(versions.store)
    check_trace(mapped, BEFORE)
    for reader, _ in READERS.values():
        reader(read, BEFORE)
    REPLACEMENTS[replacement](versions)
    outcomes = set()
    for store in (unread, mapped, read, pickle.loads(pickle.dumps(read))):
        for name, (reader, _) in READERS.items():
            outcomes.add((name, outcome_of(reader, store)))
    assert {outcome for _, outcome in outcomes} == {"right", "refused"}
    # What is mapped stays what it was, and what is read by its name is refused.
    assert {("trace", "right"), ("trace", "refused"), ("sql", "refused")} <= outcomes
    assert ("sql", "right") not in outcomes
    for _ in range(2):
        check_trace(mapped, BEFORE)


def test_a_stream_stops_between_batches(versions: Versions) -> None:
    store = borgtrace.open(versions.store)
    reader = store.stream("SELECT * FROM range(300000), instance_usage")
    assert reader.read_next_batch().num_rows
    versions.ingest((2,))
    with pytest.raises(StoreError) as caught:
        reader.read_all()
    assert str(caught.value) == replaced(versions.store)


PAGES = [
    "/",
    "/machine/5",
    f"/job/{job(7)}",
    f"/task/{job(7)}/0",
    "/facets",
    "/jobs?priority=9",
    f"/search?q={job(7)}",
    "/data/cell/cpu.json",
    "/data/cell/machines.json",
    "/data/machine/5/tasks.csv",
    f"/data/job/{job(7)}/memory.json",
    f"/data/task/{job(7)}/0/events.json",
    "/data/facets/users.json",
    f"/data/sql.json?q={QUERY}",
]


def explorer(store: Path) -> TestClient:
    """Open an explorer, and a client that has exchanged its token."""
    opened = borgtrace.open(store)
    app = application(ExploredStore(opened, pyramid(opened)), "token")
    client = TestClient(app, base_url="http://127.0.0.1:8321")
    client.get("/?token=token")
    return client


def test_an_open_explorer_says_that_its_store_was_replaced(versions: Versions) -> None:
    unread = explorer(versions.store)
    read = explorer(versions.store)
    assert [read.get(page).status_code for page in PAGES] == [200] * len(PAGES)
    versions.ingest((2,))
    for client in (unread, read):
        for page in PAGES:
            answer = client.get(page)
            assert (page, answer.status_code) == (page, 409)
            assert "the store was replaced since it was opened" in answer.text
        assert client.get("/nowhere").status_code == 404


def test_a_command_whose_store_is_replaced_meanwhile_says_so(
    versions: Versions, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import typer

    from borgtrace.cli.command import command

    @command()
    def count(store: Path) -> None:
        versions.ingest((2,))
        raise IndexError("a row that is not there")

    with pytest.raises(typer.Exit) as caught:
        count(store=versions.store)
    assert caught.value.exit_code == 5
    assert capsys.readouterr().err == f"borgtrace: {replaced(versions.store)}\n"


def read_until(store: Path, is_over: threading.Event) -> Iterator[str]:
    """Open, read and explore a store until it is no longer replaced; yield what came of each reading."""
    while not is_over.is_set():
        try:
            opened = borgtrace.open(store)
            numbers = jobs_of(opened)
            while not is_over.is_set():
                for reader, _ in READERS.values():
                    reader(opened, numbers)
                    yield "right"
        except StoreError:
            is_over.wait(PAUSE)
            yield "refused"


def explore_until(store: Path, is_over: threading.Event) -> Iterator[str]:
    """Open an explorer again and again, and ask it until it refuses."""
    while not is_over.is_set():
        try:
            opened = borgtrace.open(store)
            explored = ExploredStore(opened, pyramid(opened))
        except StoreError:
            is_over.wait(PAUSE)
            yield "refused"
            continue
        expected = rows_of(jobs_of(opened))
        client = TestClient(application(explored, "token"), base_url="http://127.0.0.1:8321")
        client.get("/?token=token")
        for _ in range(5):
            answers = [client.get(page) for page in (PAGES[0], PAGES[4], PAGES[-1])]
            codes = {answer.status_code for answer in answers}
            assert codes <= {200, 409}
            if 409 in codes:
                yield "refused"
                break
            rows = answers[-1].json()
            assert list(zip(rows["collection_id"], rows["average_cpu"], strict=True)) == expected
            yield "right"


def test_what_a_reader_kept_meanwhile_is_in_no_ones_way(tmp_path: Path) -> None:
    versions = Versions(tmp_path)
    # A store that is built again is gone for a moment, and a reader keeps what it has just made of it.
    (versions.store / "cache" / "tasks-duckdb-0").mkdir(parents=True)
    versions.ingest(BEFORE)
    assert jobs_of(borgtrace.open(versions.store)) == sorted(BEFORE)


@pytest.mark.parametrize("n_replacements", [2, pytest.param(50, marks=pytest.mark.scale)], ids=str)
def test_readers_beside_a_writer_never_meet_two_versions(
    tmp_path: Path, n_replacements: int
) -> None:
    """Reading and exploring while jobs are added, the store is built again, and a merged one takes its place."""
    versions = Versions(tmp_path)
    versions.ingest(BEFORE)
    is_over = threading.Event()
    outcomes: dict[str, list[str]] = {"reader": [], "explorer": []}
    failures: list[str] = []

    def collect(name: str, readings: Iterator[str]) -> None:
        try:
            for outcome in readings:
                outcomes[name].append(outcome)
        except BaseException:
            failures.append(traceback.format_exc())

    readers = [
        threading.Thread(target=collect, args=("reader", read_until(versions.store, is_over))),
        threading.Thread(target=collect, args=("explorer", explore_until(versions.store, is_over))),
    ]
    for thread in readers:
        thread.start()
    writers = [
        lambda round_: versions.ingest((1 + round_ % 4,)),
        lambda round_: versions.ingest((5, 7, 8 + round_ % 9), rebuild=True),
        lambda round_: versions.merge((3, 6, 9 + round_ % 5)),
    ]
    for round_ in range(n_replacements):
        writers[round_ % len(writers)](round_)
    is_over.set()
    for thread in readers:
        thread.join()
    # The numbers of the run, with `pytest -s`.
    print({name: {what: got.count(what) for what in set(got)} for name, got in outcomes.items()})
    assert failures == []
    assert set(outcomes["reader"]) <= {"right", "refused"}
    assert outcomes["reader"]
