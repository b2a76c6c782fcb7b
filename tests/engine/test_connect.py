"""Opening engines, and what they say when they cannot."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from borgtrace import engine
from borgtrace.engine import embedded, spark, spark_session
from borgtrace.engine.memory import parse_memory
from borgtrace.errors import EngineError, UsageError


def test_unknown_engine() -> None:
    with pytest.raises(UsageError) as caught:
        engine.connect("mysql")
    assert str(caught.value) == (
        "--engine: unknown engine: expected duckdb, local[n] or spark://host:port, got 'mysql'"
    )


@pytest.mark.parametrize("text", ["", "4", "GB", "-1GB", "0GB", "4 gigs", "4GBB", "1e3MB", "4IB"])
def test_memory_that_makes_no_sense(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_memory(text)
    assert str(caught.value) == (
        f"--memory: not an amount of memory: expected a number and a unit, up to 1024 TiB, "
        f"got {text!r}; try 4GB or 512MiB"
    )


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("1B", 1),
        ("2kb", 2000),
        ("2KiB", 2048),
        ("1.5 GB", 1_500_000_000),
        ("1TiB", 2**40),
    ],
)
def test_memory(text: str, amount: int) -> None:
    assert parse_memory(text) == amount


def test_limits_reach_duckdb(tmp_path: Path) -> None:
    con = embedded.raw_connection(
        "123MiB",
        1,
        tmp_path / "spill",
        preserve_insertion_order=False,
    )
    settings = con.execute(
        "select current_setting('memory_limit'), current_setting('threads'), "
        "current_setting('temp_directory'), current_setting('preserve_insertion_order')"
    ).fetchone()
    assert settings == ("123.0 MiB", 1, str(tmp_path / "spill"), False)


def test_spill_is_used_and_removed(tmp_path: Path) -> None:
    con = embedded.raw_connection("20MB", 1, tmp_path / "spill")
    con.execute(
        "select a from range(2000000) t(a) order by hash(a) limit 1 offset 1900000"
    ).fetchall()
    assert (tmp_path / "spill").exists()
    con.close()
    assert not (tmp_path / "spill").exists()


def test_two_connections_spill_to_different_places() -> None:
    places = {
        embedded.raw_connection("100MB")
        .execute("select current_setting('temp_directory')")
        .fetchone()
        for _ in range(2)
    }
    assert len(places) == 2


def test_spark_without_pyspark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    with pytest.raises(EngineError) as caught:
        spark.connect("local[2]")
    assert str(caught.value) == (
        "local[2]: pyspark is not installed; install it with: pip install 'pyspark>=4.0,<4.1'"
    )


class _Builder:
    """Stands for Spark's builder where starting fails."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def getOrCreate(self) -> None:
        raise self.error


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (
            RuntimeError(
                "[JAVA_GATEWAY_EXITED] Java gateway process exited before sending its port number."
            ),
            (
                "local[2]: Spark cannot start: got [JAVA_GATEWAY_EXITED] Java gateway process exited "
                "before sending its port number.; install Java 17 or later and set JAVA_HOME"
            ),
        ),
        (
            RuntimeError("All masters are unresponsive!\nmore"),
            (
                "local[2]: Spark cannot start: got All masters are unresponsive!; "
                "check the address of the master and that it runs"
            ),
        ),
    ],
)
def test_spark_that_does_not_start(error: Exception, message: str) -> None:
    with pytest.raises(EngineError) as caught:
        spark_session.start_session(_Builder(error), "local[2]")
    assert str(caught.value) == message
