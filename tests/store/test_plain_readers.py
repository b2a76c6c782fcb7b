"""A store without borgtrace: DuckDB and polars read its folders, in key order, and skip what they need not read."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow.parquet as pq
import pytest

import borgtrace
from borgtrace.cli import main
from borgtrace.schema import TABLES
from borgtrace.synth import SynthOptions
from borgtrace.synth.generate import write_trace

QUERIES = [
    "SELECT count(*) AS n, sum(average_cpu) AS cpu, max(end_time) AS last FROM instance_usage",
    "SELECT type, count(*) AS n FROM instance_events GROUP BY type ORDER BY type",
    "SELECT * FROM tasks ORDER BY collection_id, instance_index LIMIT 50",
    "SELECT count(*) AS n FROM power_measurements",
]
PLAIN_DUCKDB = """
import json, sys
import duckdb
assert "borgtrace" not in sys.modules
script, queries = json.load(sys.stdin)
connection = duckdb.connect()
connection.execute(script)
print(json.dumps([connection.sql(query).to_arrow_table().to_pylist() for query in queries]))
"""
POWER = ("power_measurements", "machine_power_domains")
"""Tables that a cell of 2011 does not have."""
N_EVENTS = 700_000
"""Two row groups: the first has 524,288 rows."""


@pytest.fixture(scope="module")
def quoted_cell(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A synthetic cell in a folder whose name has quotes, a semicolon and what looks like a pattern."""
    folder = tmp_path_factory.mktemp("quoted") / """it's a "cell"; [1] *"""
    folder.mkdir()
    write_trace(folder / "raw", SynthOptions(machines=5, hours=1.0, seed=3))
    borgtrace.ingest.ingest([folder / "raw"], folder / "store")
    return folder / "store"


def printed(capfd: pytest.CaptureFixture[str], *words: object) -> str:
    with pytest.raises(SystemExit) as ended:
        main([str(word) for word in words])
    out, err = capfd.readouterr()
    assert ended.value.code == 0, err
    return out


def test_plain_duckdb_answers_as_borgtrace_does(
    quoted_cell: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    script = printed(capfd, "sql", quoted_cell, "--attach")
    plain = subprocess.run(
        [sys.executable, "-c", PLAIN_DUCKDB],
        input=json.dumps([script, QUERIES]),
        capture_output=True,
        text=True,
        check=True,
        env={},
    )
    store = borgtrace.open(quoted_cell)
    expected = [store.sql(query).to_pylist() for query in QUERIES]
    assert json.loads(plain.stdout) == json.loads(json.dumps(expected))
    assert expected[0][0]["n"] > 0
    assert expected[3] == [{"n": 0}]


def test_the_statements_name_every_table_once(
    quoted_cell: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    script = printed(capfd, "sql", quoted_cell, "--attach")
    as_json = json.loads(printed(capfd, "sql", quoted_cell, "--attach", "--json"))
    assert as_json == {"sql": script}
    with duckdb.connect() as connection:
        kinds = [statement.type.name for statement in connection.extract_statements(script)]
        # A second time: the views are replaced.
        connection.execute(script)
        connection.execute(script)
        views = connection.sql("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall()
    assert kinds == ["CREATE"] * len(TABLES)
    assert sorted(name for (name,) in views) == sorted(TABLES)


def test_a_query_beside_it_is_refused(quoted_cell: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["sql", str(quoted_cell), "select 1", "--attach"])
    assert ended.value.code == 2
    assert "no effect with --attach; leave it out" in capfd.readouterr().err


def plain_rows(store: Path, table: str) -> pl.LazyFrame:
    """Return a table as polars scans its files, in the order of their names."""
    # A list: the folder of the test is no pattern.
    return pl.scan_parquet(sorted((store / table).glob("*.parquet")), glob=False)


@pytest.mark.parametrize("name", [name for name in TABLES if name not in POWER])
def test_polars_reads_a_folder_in_key_order(quoted_cell: Path, name: str) -> None:
    store = borgtrace.open(quoted_cell)
    keys = plain_rows(quoted_cell, name).select(TABLES[name].key).collect()
    assert keys.height == store.manifest.tables[name]
    # Names of a kind are codes in the file, whose order is not that of the names.
    texts = keys.with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String))
    assert texts.rows() == sorted(texts.rows())


@pytest.fixture(scope="module")
def two_groups(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store whose machine events fill two row groups."""
    folder = tmp_path_factory.mktemp("groups")
    raw = folder / "raw" / "machine_events"
    raw.mkdir(parents=True)
    lines = [f"{600_000_000 + n},{n % 97},2,P,0.5,0.25" for n in range(N_EVENTS)]
    (raw / "part-00000-of-00001.csv").write_text("\n".join(lines) + "\n")
    borgtrace.ingest.ingest([folder / "raw"], folder / "store")
    return folder / "store"


@pytest.fixture
def half_lost(two_groups: Path, tmp_path: Path) -> Iterator[Path]:
    """The same file with zeros in place of all values of its first row group: who reads these, fails."""
    (part,) = (two_groups / "machine_events").glob("*.parquet")
    copy = tmp_path / "part-00000.parquet"
    shutil.copy(part, copy)
    group = pq.read_metadata(copy).row_group(0)
    with copy.open("r+b") as file:
        for number in range(group.num_columns):
            chunk = group.column(number)
            start = chunk.dictionary_page_offset or chunk.data_page_offset
            file.seek(start)
            file.write(bytes(chunk.total_compressed_size))
    yield copy
    copy.unlink()


@pytest.mark.wide
def test_row_groups_have_statistics_of_the_key_that_do_not_overlap(two_groups: Path) -> None:
    (part,) = (two_groups / "machine_events").glob("*.parquet")
    footer = pq.read_metadata(part)
    bounds = []
    for number in range(footer.num_row_groups):
        time = footer.row_group(number).column(0)
        assert (time.path_in_schema, time.compression) == ("time", "ZSTD")
        bounds.append((time.statistics.min, time.statistics.max))
    first = 600_000_000
    assert bounds == [
        (first, first + 524_287),
        (first + 524_288, first + N_EVENTS - 1),
    ]


def of_duckdb(part: Path, start: int) -> int:
    with duckdb.connect() as connection:
        query = "SELECT count(DISTINCT machine_id) FROM read_parquet($part) WHERE time >= $start"
        ((n,),) = connection.execute(query, {"part": str(part), "start": start}).fetchall()
        return n


def of_polars(part: Path, start: int) -> int:
    rows = pl.scan_parquet(part).filter(pl.col("time") >= start)
    return rows.select(pl.col("machine_id").n_unique()).collect().item()


@pytest.mark.wide
@pytest.mark.parametrize("count", [of_duckdb, of_polars])
def test_a_row_group_that_a_key_rules_out_is_not_read(
    half_lost: Path, count: Callable[[Path, int], Any]
) -> None:
    second = 600_000_000 + 524_288
    assert count(half_lost, second) == 97
    # One row of the first group is needed, and the whole group is gone.
    with pytest.raises((duckdb.Error, pl.exceptions.PolarsError, OSError)):
        count(half_lost, second - 1)
