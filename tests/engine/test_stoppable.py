"""A query stops at Ctrl-C and when its time is over; EXPLAIN shows its plan."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from borgtrace.cli import main
from borgtrace.engine import guard
from borgtrace.engine.stoppable import Stoppable, within
from borgtrace.errors import EngineError, UsageError
from tests.store.conftest import small  # noqa: F401 - the store of two jobs, as a fixture

# Hours of work, little memory: that a test ends at all says that the query was stopped.
ENDLESS = (
    "SELECT count(*) FROM range(1000000000) AS a(n), range(1000000) AS b(m) WHERE hash(n + m) = 7"
)
MESSAGE = "query: stopped after 0.3 s; ask for less, or allow more with the command's --timeout"


@pytest.fixture(autouse=True)
def hears_ctrl_c() -> Iterator[None]:
    """What a shell starts in the background ignores Ctrl-C, and the tests with it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def con(tmp_path: Path) -> duckdb.DuckDBPyConnection:
    return guard.open_store(
        tmp_path,
        {},
        memory="200MB",
        threads=1,
    )


def _drain(con: duckdb.DuckDBPyConnection, sql: str, timeout: float | None) -> None:
    for _ in guard.stream(con, sql, timeout=timeout):
        pass


@pytest.mark.parametrize("run", [guard.query, _drain])
def test_a_query_stops_when_its_time_is_over(con: duckdb.DuckDBPyConnection, run) -> None:
    with pytest.raises(EngineError) as caught:
        run(con, ENDLESS, timeout=0.3)
    assert str(caught.value) == MESSAGE
    assert caught.value.exit_code == 7
    assert guard.query(con, "SELECT 1 AS a").to_pylist() == [{"a": 1}]


@pytest.mark.parametrize("run", [guard.query, _drain])
def test_a_query_stops_at_ctrl_c(con: duckdb.DuckDBPyConnection, run) -> None:
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        run(con, ENDLESS, timeout=60)
    timer.join()
    assert guard.query(con, "SELECT 1 AS a").to_pylist() == [{"a": 1}]


def test_time_is_counted_over_all_batches(con: duckdb.DuckDBPyConnection) -> None:
    batches = iter(
        guard.stream(
            con,
            "SELECT * FROM range(1000000)",
            1000,
            timeout=0.3,
        )
    )
    next(batches)
    time.sleep(0.4)
    with pytest.raises(EngineError) as caught:
        for _ in batches:
            pass
    assert str(caught.value) == MESSAGE


def test_errors_of_the_work_are_its_own() -> None:
    with pytest.raises(ZeroDivisionError):
        Stoppable(duckdb.connect(), 60).step(lambda: 1 // 0)


def _endless_python() -> None:
    while True:
        time.sleep(0.001)


@pytest.mark.parametrize("is_query", [True, False])
def test_work_of_any_kind_stops_when_its_time_is_over(is_query: bool) -> None:
    free = duckdb.connect()
    before = signal.getsignal(signal.SIGALRM)
    with pytest.raises(EngineError) as caught:
        within(
            0.3,
            lambda: free.execute(ENDLESS) if is_query else _endless_python(),
            free.interrupt,
        )
    assert (str(caught.value), caught.value.exit_code) == (MESSAGE, 7)
    assert signal.getsignal(signal.SIGALRM) == before
    assert free.execute("SELECT 1").fetchall() == [(1,)]


def test_work_within_its_time_is_left_alone() -> None:
    interruptions: list[None] = []
    for timeout in (60, None):
        assert within(timeout, lambda: 7, lambda: interruptions.append(None)) == 7
        with pytest.raises(ZeroDivisionError):
            within(timeout, lambda: 1 // 0, lambda: interruptions.append(None))
    assert not interruptions


def test_questions_stop_in_time(small: Path, capfd: pytest.CaptureFixture[str]) -> None:  # noqa: F811
    with pytest.raises(SystemExit) as ended:
        main(
            [
                "analyze",
                str(small),
                "transitions",
                "--timeout",
                "1ms",
            ]
        )
    out, err = capfd.readouterr()
    message = "borgtrace: query: stopped after 0.001 s; ask for less, or allow more with the command's --timeout"
    assert (ended.value.code, out, err.splitlines()[-1]) == (7, "", message)


def test_the_command_stops_in_time(small: Path, capfd: pytest.CaptureFixture[str]) -> None:  # noqa: F811
    with pytest.raises(SystemExit) as ended:
        main(
            [
                "sql",
                str(small),
                ENDLESS,
                "--timeout",
                "300ms",
            ]
        )
    assert (ended.value.code, *capfd.readouterr()) == (7, "", f"borgtrace: {MESSAGE}\n")


def test_a_time_that_is_none(small: Path, capfd: pytest.CaptureFixture[str]) -> None:  # noqa: F811
    with pytest.raises(SystemExit) as ended:
        main(
            [
                "sql",
                str(small),
                "select 1",
                "--timeout",
                "soon",
            ]
        )
    message = "borgtrace: --timeout: not a time: expected µs, or amounts such as 600s, 1h30m or 2d, got 'soon'\n"
    assert (ended.value.code, *capfd.readouterr()) == (2, "", message)


def test_the_command_stops_at_ctrl_c(small: Path, capfd: pytest.CaptureFixture[str]) -> None:  # noqa: F811
    timer = threading.Timer(2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(SystemExit) as ended:
        main(
            [
                "sql",
                str(small),
                ENDLESS,
                "--timeout",
                "5m",
            ]
        )
    timer.join()
    message = "borgtrace: interrupted: the store is as it was\n"
    assert (ended.value.code, *capfd.readouterr()) == (130, "", message)


@pytest.mark.parametrize(
    "sql",
    [
        "EXPLAIN SELECT 1",
        "explain select 1;",
        "-- why\n/* so */ Explain Analyze SELECT 1",
        "EXPLAIN (ANALYZE) SELECT 1",
        "EXPLAIN (FORMAT json) SELECT 1",
        "explain ( analyze , format JSON ) select 1",
        "EXPLAIN(SELECT 1)",
    ],
)
def test_explain_shows_the_plan(con: duckdb.DuckDBPyConnection, sql: str) -> None:
    (row,) = guard.query(con, sql).to_pylist()
    assert list(row) == ["explain_key", "explain_value"]
    assert row["explain_value"]


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        (
            "EXPLAIN ANALYZE COPY (SELECT 1) TO '/tmp/evil.csv'",
            "query: not a SELECT: expected one SELECT, got COPY; only a query can be answered",
        ),
        (
            "EXPLAIN ANALYZE WITH a AS (DELETE FROM t RETURNING *) SELECT * FROM a",
            "query: part of it writes: expected one SELECT, got DELETE; only a query can be answered",
        ),
        (
            "EXPLAIN SELECT 1; SELECT 2",
            "query: not one statement: expected one SELECT, got 2 statements; only a query can be answered",
        ),
        (
            "EXPLAIN EXPLAIN ANALYZE SELECT 1",
            'query: Parser Error: syntax error at or near "EXPLAIN"',
        ),
        (
            "EXPLAIN (FORMAT json) COPY (SELECT 1) TO '/tmp/evil.csv'",
            "query: not a SELECT: expected one SELECT, got COPY; only a query can be answered",
        ),
        (
            "EXPLAIN (FORMAT 'json') SELECT 1",
            'query: Parser Error: syntax error at or near "FORMAT"',
        ),
        ("EXPLAIN", 'query: Parser Error: syntax error at or near "EXPLAIN"'),
    ],
)
def test_explain_of_anything_else_is_refused(
    con: duckdb.DuckDBPyConnection,
    sql: str,
    message: str,
) -> None:
    with pytest.raises(UsageError) as caught:
        guard.query(con, sql)
    assert str(caught.value) == message


def test_the_command_prints_a_plan_as_it_is(small: Path, capfd: pytest.CaptureFixture[str]) -> None:  # noqa: F811
    with pytest.raises(SystemExit) as ended:
        main(["sql", str(small), "EXPLAIN SELECT 1"])
    out = capfd.readouterr().out
    assert (ended.value.code or 0, out.splitlines()[0][0]) == (0, "╭")
    assert "Projection" in out
