"""A query in a process of its own: its answer, its limits, and what is left when it ends in any way."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from borgtrace.engine import query_worker
from borgtrace.engine.query_frames import read_error
from borgtrace.engine.query_process import QueryProcess, prepare, stream_apart, table_apart
from borgtrace.engine.query_request import QueryRequest, memory_exhausted
from borgtrace.engine.query_worker import pieces
from borgtrace.errors import BorgtraceError, EngineError, UsageError
from tests.engine.conftest import sample
from tests.engine.exhausting import PLANS, children
from tests.engine.test_stoppable import ENDLESS
from tests.explore.conftest import cell_store  # noqa: F401 - the cell, as a fixture

pytestmark = pytest.mark.wide

MEMORY = "200MB"
LATE = "query: stopped after 0.3 s; ask for less, or allow more with the command's --timeout"


def ask(sql: str, **options: object) -> QueryRequest:
    """A query of no store."""
    return QueryRequest(Path("/nowhere"), {}, MEMORY, sql, **options)  # type: ignore[arg-type]


def spill_folders() -> set[Path]:
    return set(Path(tempfile.gettempdir()).glob("borgtrace-scratch-*/query-*"))


@pytest.fixture
def nothing_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Check that no process runs on and that no folder is left, but for those that wait for a query."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    yield
    gc.collect()
    waiting = {folder.name for folder in spill_folders()}
    assert len(waiting) <= 2


@pytest.fixture(autouse=True)
def forked() -> None:
    """Let a fork answer, where none waits for a query: a new process takes half a second."""
    prepare()


def test_an_answer_is_that_of_the_engine() -> None:
    request = ask("SELECT $a AS a, i FROM range(3) AS t(i)", parameters={"a": "it's"})
    assert table_apart(request).to_pylist() == [{"a": "it's", "i": i} for i in range(3)]
    assert stream_apart(request).read_all().num_rows == 3


def test_a_new_process_answers_as_a_fork_does() -> None:
    n_before = len(_descendants())
    # Those that wait are busy, so that others are started, here beside a second thread.
    readers = [stream_apart(ask("SELECT hash(i) FROM range(100000000) AS t(i)")) for _ in range(3)]
    assert len(_descendants()) >= max(3, n_before)
    del readers
    request = ask("SELECT $a AS a", parameters={"a": "it's"})
    assert table_apart(request).to_pylist() == [{"a": "it's"}]


def test_an_answer_larger_than_memory_is_streamed() -> None:
    reader = stream_apart(ask("SELECT i, hash(i) AS h FROM range(20000000) AS t(i)"))
    assert sum(batch.num_rows for batch in reader) == 20_000_000


def test_a_table_that_does_not_fit_is_refused() -> None:
    with pytest.raises(EngineError) as caught:
        table_apart(ask("SELECT i, hash(i) AS h FROM range(40000000) AS t(i)"))
    assert str(caught.value) == (
        "query: memory exhausted: got an answer of more than 200MB; "
        "give more with --memory, or ask for less at once"
    )


def test_rows_that_nobody_wants_are_not_computed() -> None:
    query = "SELECT CASE WHEN i > 20000000 THEN error('computed') ELSE i END AS i FROM range(20000002) AS t(i)"
    assert stream_apart(ask(query, most_rows=5)).read_all().num_rows == 5


@pytest.mark.parametrize(
    ("query", "kind", "message"),
    [
        ("SELEC 1", UsageError, 'query: Parser Error: syntax error at or near "SELEC"'),
        ("SELECT error('of a row')", UsageError, "query: Invalid Input Error: of a row"),
        (
            "SELECT CASE WHEN i = 900000 THEN error('late') ELSE i END FROM range(1000000) AS t(i)",
            UsageError,
            "query: Invalid Input Error: late",
        ),
        (
            "FROM '/etc/passwd.csv'",
            EngineError,
            "query: only the store can be read: got Permission Error: Cannot access file "
            '"/etc/passwd.csv" - file system operations are disabled by configuration',
        ),
        (
            PLANS["nested queries"],
            UsageError,
            "query: nested too deeply; name inner queries with WITH",
        ),
        (
            "SELECT * FROM (" * 2000 + "SELECT 1" + ")" * 2000,
            UsageError,
            "query: nested too deeply; name inner queries with WITH",
        ),
        (
            "SELECT repeat('x', 30000000) AS x",
            EngineError,
            "query: memory exhausted: got one row of 30 MB; "
            "give more with --memory, or ask for less at once",
        ),
    ],
)
def test_errors_arrive_whole(query: str, kind: type[BorgtraceError], message: str) -> None:
    with pytest.raises(kind) as caught:
        stream_apart(ask(query)).read_all()
    assert str(caught.value) == message
    assert type(caught.value) is kind


SLOW = {
    "rows": ENDLESS,
    "a scalar function": "SELECT levenshtein(repeat('ab', 500000), repeat('ba', 500000))",
    "planning": PLANS["many conditions"].replace("FROM tasks", "FROM (SELECT 1 AS collection_id)"),
}


@pytest.mark.parametrize("query", SLOW.values(), ids=SLOW)
def test_time_binds_whatever_the_engine_does(nothing_left: None, query: str) -> None:
    begin = time.monotonic()
    with pytest.raises(EngineError) as caught:
        table_apart(ask(query), timeout=0.3)
    assert str(caught.value) == LATE
    # Each would take minutes; a busy machine is slow to start and to end a process.
    assert time.monotonic() - begin < 30


def test_time_is_over_though_nobody_takes_rows(nothing_left: None) -> None:
    table_apart(ask("SELECT 1"))
    reader = stream_apart(ask("SELECT hash(i) FROM range(1000000000) AS t(i)"), timeout=0.5)
    time.sleep(0.6)
    with pytest.raises(EngineError) as caught:
        reader.read_all()
    assert str(caught.value) == LATE.replace("0.3 s", "0.5 s")


def test_memory_binds_scalar_functions(nothing_left: None) -> None:
    with pytest.raises(EngineError) as caught:
        table_apart(ask("SELECT list_sum(list_transform(range(100000000), lambda x: x + 1))"))
    assert str(caught.value).startswith("query: memory exhausted: got ")
    assert str(caught.value).endswith("; give more with --memory, or ask for less at once")


def test_memory_in_use_is_looked_at(nothing_left: None) -> None:
    """Rows of a matrix that the function frees and asks for again: small pieces, each below the limit."""
    with pytest.raises(EngineError, match=r"^query: memory exhausted: got "):
        table_apart(ask("SELECT list(repeat(i::VARCHAR, 1000)) FROM range(10000000) AS t(i)"))


def _descendants() -> set[int]:
    """Processes that answer queries, of all that this one has started."""
    return {pid for pid in children(os.getpid()) if _spills(pid)}


def _spills(pid: int) -> bool:
    try:
        log = Path(f"/proc/{pid}/fd/2").readlink()
    except OSError:
        return False
    return "/borgtrace-scratch-" in str(log)


@pytest.mark.parametrize("sign", [signal.SIGSEGV, signal.SIGKILL])
def test_a_process_that_crashes_is_told_of(nothing_left: None, sign: signal.Signals) -> None:
    table_apart(ask("SELECT 1"))

    def crash() -> None:
        for pid in _descendants():
            os.kill(pid, sign)

    timer = threading.Timer(0.2, crash)
    timer.start()
    with pytest.raises(EngineError) as caught:
        table_apart(ask(ENDLESS), timeout=60)
    timer.join()
    messages = {
        signal.SIGSEGV: "query: its process ended: got SIGSEGV; ask for less at once",
        signal.SIGKILL: "query: memory exhausted: got the system ended the process of the query; "
        "give more with --memory, or ask for less at once",
    }
    assert str(caught.value) == messages[sign]
    assert table_apart(ask("SELECT 1 AS a")).to_pylist() == [{"a": 1}]


def test_the_query_of_a_command_that_is_killed_ends(
    cell_store: Path,  # noqa: F811
    nothing_left: None,
    tmp_path: Path,
) -> None:
    words = [sys.executable, "-m", "borgtrace", "sql", str(cell_store), ENDLESS]
    killed = subprocess.Popen(words, env=os.environ | {"TMPDIR": str(tmp_path)})
    wait_for(lambda: children(killed.pid))
    (query,) = children(killed.pid)
    killed.kill()
    killed.wait()
    wait_for(lambda: not Path(f"/proc/{query}").exists())
    assert not spill_folders()


def wait_for(condition: Callable[[], object]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_who_drops_an_answer_ends_its_query(nothing_left: None) -> None:
    before = _descendants()
    reader = stream_apart(ask("SELECT hash(i) FROM range(1000000000) AS t(i)"))
    (running,) = _descendants() - before or _descendants()
    reader.read_next_batch()
    del reader
    gc.collect()
    assert running not in _descendants()


def test_one_process_answers_one_query_after_another() -> None:
    table_apart(ask("SELECT 1"))
    before = _descendants()
    table_apart(ask("SELECT 2"))
    assert _descendants() == before


def test_a_process_that_ends_as_it_is_asked_is_replaced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # A fork, which waits for no time at all, in place of those that wait.
    monkeypatch.setattr(QueryProcess, "is_alive", lambda process: False)
    monkeypatch.setattr(query_worker, "PATIENCE", 0.0)
    prepare()
    # It looked alive when it was taken.
    monkeypatch.setattr(QueryProcess, "is_alive", lambda process: True)
    time.sleep(0.3)
    assert table_apart(ask("SELECT 1 AS one")).to_pylist() == [{"one": 1}]


def test_pieces_are_small_and_rows_whole() -> None:
    batch = pa.record_batch({"x": ["a" * 100] * 64})
    sizes = [
        piece.num_rows
        for piece in pieces(pa.Table.from_batches([batch]).to_reader(), 50, 200, 1000)
    ]
    assert sum(sizes) == 50
    assert max(sizes) <= 10
    with pytest.raises(EngineError) as caught:
        list(pieces(pa.Table.from_batches([batch]).to_reader(), None, 50, 80))
    assert str(caught.value) == str(memory_exhausted("one row of 0 MB"))


def test_an_error_of_another_process_is_one_of_ours() -> None:
    """What a process sends is never more than an error's text."""
    error = read_error(b'{"class": "Collection", "parts": {"where": "a", "what": "b"}}')
    assert (type(error), str(error)) == (EngineError, "a: b")


def test_another_version_of_a_store_is_opened_anew(tmp_path: Path) -> None:
    """The process that answers keeps a store open, whose files may be replaced under their names."""
    part = tmp_path / "part-00000.parquet"
    files = {"machine_events": [str(part)]}
    sums = []
    for version, values in (("first", [1, 2]), ("second", [40, 50, 60])):
        rows = sample("machine_events").slice(0, len(values))
        columns = (
            ["machine_id", "switch_id"] if version == "first" else ["machine_id", "platform_id"]
        )
        table = rows.select(columns).set_column(0, "machine_id", pa.array(values, pa.int64()))
        pq.write_table(table, part)
        query = (
            "SELECT sum(machine_id)::BIGINT AS n, count(switch_id) AS switches FROM machine_events"
        )
        request = QueryRequest(tmp_path, files, MEMORY, query, version=version)
        sums += table_apart(request).to_pylist()
    assert sums[0]["n"] == 3
    assert sums[1] == {"n": 150, "switches": 0}
