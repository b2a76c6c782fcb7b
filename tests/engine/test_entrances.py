"""One list of attacks, run against every place that takes SQL from outside: no file beside the store is read."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import borgtrace
from borgtrace.assistants.tools import StoreTools
from borgtrace.cli import main
from borgtrace.datasets import Selection
from borgtrace.datasets.trace_index import query_tasks
from borgtrace.engine import to_arrow
from borgtrace.errors import BorgtraceError, UsageError
from borgtrace.question import EngineTables
from borgtrace.store import Store
from tests.analyses.tiny import tiny
from tests.store.conftest import small  # noqa: F401 - the store of two jobs, as a fixture

SECRET = "n0b0dy-reads-this"

# {out} is a folder beside the store, {secret} a text file in it.
ATTACKS = """
'n0b0dy' IN (SELECT content FROM read_text('{secret}'))
(SELECT count(*) FROM read_text('{secret}')) > 0
(SELECT content FROM read_text('file://{secret}'))::INT > 0
EXISTS (FROM read_csv('{secret}'))
EXISTS (FROM read_csv_auto(['{secret}']))
EXISTS (FROM read_blob('{secret}'))
EXISTS (FROM read_json('{secret}'))
EXISTS (FROM read_json_objects('{secret}'))
EXISTS (FROM read_ndjson('{secret}'))
EXISTS (FROM read_parquet('{out}/other.parquet'))
EXISTS (FROM parquet_metadata('{out}/other.parquet'))
EXISTS (FROM parquet_bloom_probe('{out}/other.parquet', 'a', 1))
EXISTS (FROM sniff_csv('{secret}'))
EXISTS (FROM glob('{out}/*'))
EXISTS (FROM glob('/etc/*'))
EXISTS (FROM '/etc/passwd')
EXISTS (FROM '{secret}')
EXISTS (FROM "{out}/other.parquet")
EXISTS (FROM '{out}/other.parquet')
EXISTS (FROM read_text('/proc/self/environ'))
EXISTS (FROM read_text('/dev/stdin'))
EXISTS (FROM 'http://127.0.0.1:9/x.parquet')
EXISTS (FROM 's3://bucket/x.parquet')
EXISTS (FROM read_duckdb('{out}/x.db'))
EXISTS (FROM sqlite_scan('{out}/x.db', 't'))
EXISTS (FROM query('SELECT * FROM read_text(''{secret}'')'))
EXISTS (FROM query_table('{out}/other.parquet'))
EXISTS (FROM json_execute_serialized_sql(json_serialize_sql('SELECT 1')))
EXISTS (FROM duckdb_secrets())
EXISTS (FROM arrow_scan(1, 2, 3))
EXISTS (FROM checkpoint())
getenv('HOME') IS NOT NULL
EXISTS (WITH evil AS (SELECT * FROM read_text('{secret}')) FROM evil)
EXISTS (WITH evil AS (DELETE FROM tasks RETURNING *) FROM evil)
CASE WHEN (SELECT count(*) FROM read_text('{secret}')) > 0 THEN true ELSE false END
collection_id = ANY (SELECT length(content) FROM read_text('{secret}'))
true; COPY tasks TO '{out}/evil.csv'
true; COPY tasks FROM '{secret}'
true; ATTACH '{out}/evil.db'
true; INSTALL httpfs
true; LOAD httpfs
true; PRAGMA database_list
true; SET enable_external_access = true
true; SET lock_configuration = false
true; CREATE TABLE evil AS FROM read_text('{secret}')
""".strip().splitlines()

BREAKOUTS = """
true) OR (true
true) UNION ALL SELECT 1, 2 FROM tasks WHERE (true
true) --
true LIMIT 1
true GROUP BY ALL
true UNION SELECT 1, 2
true ORDER BY 1
true) /*
; SELECT 1
""".strip("\n").splitlines()

Run = Callable[[str], object]


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder with a secret, last read and changed long ago."""
    (tmp_path / "secret.txt").write_text(SECRET + "\n")
    pq.write_table(pa.table({"a": [1]}), tmp_path / "other.parquet")
    for path in tmp_path.iterdir():
        # Read before it was changed: a file system that notes only the first access after a change notes the next one.
        os.utime(path, ns=(1, 2))
    return tmp_path


def _command(*words: str) -> Run:
    def run(sql: str) -> None:
        with pytest.raises(SystemExit) as ended:
            main([word.replace("SQL", sql) for word in words])
        if ended.value.code:
            raise UsageError("command", str(ended.value.code))

    return run


QUERY = "SELECT collection_id FROM tasks WHERE "


def _query(store: Store, *words: str) -> object:
    *before, predicate = words
    return store.sql("".join(before) + QUERY + predicate)


def _stream(store: Store, predicate: str) -> object:
    return list(store.stream(QUERY + predicate))


def _select(store: Store, predicate: str) -> object:
    return query_tasks(store, Selection(min_length=1, where=predicate), "first_row")


def _tool(store: borgtrace.Store, tool: str, text: str, predicate: str) -> object:
    tools = StoreTools(store, seconds=20)
    sql = text.replace("SQL", predicate)
    if tool == "run_sql":
        return tools.run_sql(sql)
    return tools.ask_question("data_quality", where=sql)


ENTRANCES: dict[str, Callable[[Path], Run]] = {
    "Store.sql": lambda store: partial(_query, borgtrace.open(store)),
    "Store.sql, explained": lambda store: partial(
        _query,
        borgtrace.open(store),
        "EXPLAIN ANALYZE ",
    ),
    "Store.stream": lambda store: partial(_stream, borgtrace.open(store)),
    "Store.traces": lambda store: borgtrace.open(store).traces,
    "EngineTables.of": lambda store: lambda p: EngineTables.of(store, where=p),
    "EngineTables.filter": lambda store: EngineTables.of(store).filter("true").filter,
    "tables without a store": lambda store: tiny(tasks=[{"collection_id": 1}]).filter,
    "datasets.Selection": lambda store: partial(_select, borgtrace.open(store)),
    "assistants": lambda store: partial(_tool, borgtrace.open(store), "run_sql", f"{QUERY}SQL"),
    "assistants, where": lambda store: partial(_tool, borgtrace.open(store), "ask_question", "SQL"),
    "borgtrace sql": lambda store: _command("sql", str(store), f"{QUERY}SQL"),
    "borgtrace analyze": lambda store: _command(
        "analyze",
        str(store),
        "data_quality",
        "--where",
        "SQL",
    ),
    "borgtrace dataset": lambda store: _command(
        "dataset",
        str(store),
        f"{store}.new",
        "--where",
        "SQL",
    ),
}
"""Every place that takes SQL: given a store, a function of a predicate."""
PREDICATES = [
    name
    for name in ENTRANCES
    if name
    not in ("Store.sql", "Store.sql, explained", "Store.stream", "assistants", "borgtrace sql")
]


SLOW = [name for name in ENTRANCES if name.startswith(("borgtrace", "EngineTables.of"))]
"""A command, and the tables of a store, which begin anew each time."""
COMPLETE = ("Store.sql", "Store.traces", "EngineTables.filter")
"""A query, a condition on tasks, and one on the tables of a question: all attacks are run against these."""


def _attacks(entrance: str) -> list[str]:
    """Attacks on an entrance: all of them, or every so many, others at each entrance.

    What the other entrances take passes the same guards.
    """
    if entrance in COMPLETE:
        return ATTACKS
    step = 12 if entrance in SLOW else 4
    return ATTACKS[list(ENTRANCES).index(entrance) % step :: step]


@pytest.mark.parametrize("entrance", ENTRANCES)
def test_no_attack_reads_a_file(
    small: Path,  # noqa: F811
    outside: Path,
    entrance: str,
    capfd: pytest.CaptureFixture[str],
) -> None:
    run = ENTRANCES[entrance](small)
    before = sorted(outside.iterdir()), sorted(small.rglob("*"))
    for attack in _attacks(entrance):
        with pytest.raises(BorgtraceError) as caught:
            run(attack.format(out=outside, secret=outside / "secret.txt"))
        out, err = capfd.readouterr()
        assert SECRET not in f"{caught.value}{out}{err}", attack
        assert "Traceback" not in err, attack
        read = [path.name for path in outside.iterdir() if path.stat().st_atime_ns != 1]
        assert read == [], attack
    assert (sorted(outside.iterdir()), sorted(small.rglob("*"))) == before


@pytest.mark.parametrize("entrance", PREDICATES)
def test_a_predicate_is_one_condition(small: Path, entrance: str) -> None:  # noqa: F811
    run = ENTRANCES[entrance](small)
    for attack in BREAKOUTS[:: 4 if entrance in SLOW else 1]:
        with pytest.raises(UsageError):
            run(attack)


WELL_MEANT = (
    "collection_id >= 1 OR false",
    "true",
    "priority = (SELECT max(priority) FROM tasks)",
    "true -- all",
)


@pytest.mark.parametrize("entrance", [name for name in ENTRANCES if name != "borgtrace dataset"])
def test_what_is_meant_well_is_answered(small: Path, entrance: str) -> None:  # noqa: F811
    run = ENTRANCES[entrance](small)
    for predicate in WELL_MEANT[:: 2 if entrance in SLOW else 1]:
        run(predicate)


def test_the_ids_of_a_predicate_are_those_of_the_store(small: Path) -> None:  # noqa: F811
    tables = EngineTables.of(small, where="collection_id = 10 OR n_windows = 1")
    found = to_arrow(
        tables.instance_usage.select("collection_id", "instance_index").distinct()
    ).to_pylist()
    assert sorted(map(tuple, map(dict.values, found))) == [
        (10, 0),
        (10, 1),
        (30, 7),
    ]
    again = to_arrow(tables.filter("instance_index = 1 -- of those").instance_usage).to_pylist()
    assert {(row["collection_id"], row["instance_index"]) for row in again} == {(10, 1)}
    assert tables.origin.where == "collection_id = 10 OR n_windows = 1"


@pytest.mark.parametrize(
    ("predicate", "message"),
    [
        ("prio > 1", 'Binder Error: Referenced column "prio" not found in FROM clause!'),
        ("true) OR (true", 'Parser Error: syntax error at or near ")"'),
        (
            "EXISTS (FROM '/etc/passwd.csv')",
            'only the store can be read: Permission Error: Cannot access file "/etc/passwd.csv" - '
            "file system operations are disabled by configuration",
        ),
    ],
)
def test_messages(small: Path, predicate: str, message: str) -> None:  # noqa: F811
    with pytest.raises(UsageError) as caught:
        EngineTables.of(small, where=predicate)
    tail = f": got {predicate}; see its columns: borgtrace info {small} --schema"
    assert str(caught.value) == f"--where: not a predicate over tasks: {message}{tail}"
