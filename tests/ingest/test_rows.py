"""The order of rows, the files that they are cut into, and the tasks that blocks end in."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from borgtrace.ingest.build import (
    clustering,
    sorted_relation,
    sorting_limits,
    table_files,
    usage_index,
)
from borgtrace.ingest.build.clustering import cluster
from borgtrace.ingest.build.completion import count_rows, is_kept
from borgtrace.ingest.build.crosschecks import FILE
from borgtrace.ingest.build.file_ranges import SortedFiles, cut_ranges, plan_files, range_sql
from borgtrace.ingest.build.row_order import sorted_batches
from borgtrace.ingest.build.sorted_relation import UnsortedRows
from borgtrace.ingest.build.sorted_tables import FileFacts, time_span, whole_span
from borgtrace.ingest.build.sorting_limits import sorting_connection, within_reach
from borgtrace.ingest.build.table_files import diverse_columns, parquet_writer
from borgtrace.ingest.convert.column_checks import count_out_of_order
from borgtrace.schema import TABLES
from borgtrace.schema.time import AFTER_TRACE


@pytest.mark.parametrize("seed", range(8))
def test_rows_are_sorted_as_python_sorts_them(seed: int) -> None:
    draw = random.Random(seed)
    n = draw.choice([0, 1, 2, 50])
    kinds = {
        "wide": lambda: draw.choice(
            [
                0,
                1,
                2**62,
                2**63 - 1,
            ]
        ),
        "few": lambda: draw.randrange(3),
        "signed": lambda: draw.randrange(-3, 3),
        "gaps": lambda: draw.choice([None, 1, 5]),
        "text": lambda: draw.choice(["a", "b", "", None]),
        "time": lambda: draw.randrange(2**40),
    }
    key = draw.sample(sorted(kinds), draw.choice([1, 2, 4]))
    rows = [{name: kinds[name]() for name in key} | {"at": at} for at in range(n)]
    types = [(name, pa.string() if name == "text" else pa.int64()) for name in [*key, "at"]]
    batches = list(sorted_batches(pa.Table.from_pylist(rows, pa.schema(types)), [*key, "at"], 20))
    assert [len(batch) for batch in batches] == ([20, 20, 10] if n == 50 else [n] * (n > 0))
    found = [row for batch in batches for row in batch.to_pylist()]

    def in_order(row: dict[str, Any]) -> list[tuple[bool, Any]]:
        # NULL comes last.
        return [
            (row[name] is None, row[name] or ("" if name == "text" else 0)) for name in [*key, "at"]
        ]

    assert found == sorted(rows, key=in_order)


@pytest.mark.parametrize(
    "wide",
    [
        2**39,
        2**62,
        2**63 - 1,
    ],
)
@pytest.mark.parametrize(
    "far",
    [
        1,
        2**20,
        2**40,
        2**62,
    ],
)
def test_ties_of_a_wide_column_are_settled_by_what_follows(wide: int, far: int) -> None:
    """Both together take more bits than a word has: what is left over is compared among equal rows only."""
    rows = [
        (first, second, third)
        for third in (9, 0)
        for second in (far, 5, 0, 2, far - 1, 3)
        for first in (wide, 7, 0)
    ]
    names = ("a", "b", "c")
    table = pa.table({name: [row[place] for row in rows] for place, name in enumerate(names)})
    for n_columns in (2, 3):
        key = [row[:n_columns] for row in rows]
        found = pa.Table.from_batches(
            sorted_batches(table.select(names[:n_columns]), names[:n_columns], 4)
        )
        assert list(zip(*(column.to_pylist() for column in found.columns), strict=True)) == sorted(
            key
        )


def test_measured_columns_most_of_whose_values_differ_are_diverse() -> None:
    half, more = np.repeat(np.arange(4), 2), np.array([0, 0, 1, 2, 3, 4, 4, 4])
    measured = {
        "half": half,
        "more": more,
        "none": np.full(8, np.nan),
    }
    columns = {
        name: pa.array(values.astype(np.float32), from_pandas=True)
        for name, values in measured.items()
    }
    assert diverse_columns([pa.record_batch(columns | {"id": pa.array(range(8))})]) == ["more"]
    assert diverse_columns([]) == []


def test_times_out_of_order_are_counted_across_chunks() -> None:
    assert count_out_of_order(np.array([]), 5) == 0
    assert count_out_of_order(np.array([5, 5, 4, 6, 1]), 5) == 2
    assert count_out_of_order(np.array([4, 9]), 5) == 1


@pytest.mark.parametrize("step", [1, 2**47, 2**60])
def test_rows_of_equal_keys_stay_in_their_order(step: int) -> None:
    """Whether the places of rows fit into the words that are sorted, or not."""
    ids = [3, 0, 3, 1] * 300
    rows = pa.table({"id": [one * step for one in ids], "at": range(1200)})
    found = pa.Table.from_batches(sorted_batches(rows, ("id",), 500))
    expected = [at for wanted in (0, 1, 3) for at in range(1200) if ids[at] == wanted]
    assert found.column("at").to_pylist() == expected


def test_missing_values_are_sorted_with_their_rows_wherever_a_column_begins() -> None:
    """Columns may be slices, whose values and bits begin within those of others."""
    measured = pa.array([9.0, None, 0.5, None, 0.25, 0.75], pa.float32())[1:]
    flags = pa.array([True, None, True, False, None, True])[1:]
    nothing = pa.nulls(5, pa.float32())
    codes = pa.array(["KILL", None, "EVICT", "KILL", None]).dictionary_encode()
    rows = pa.table(
        {
            "id": [5, 4, 3, 2, 1],
            "m": measured,
            "f": flags,
            "n": nothing,
            "c": codes,
        }
    )
    batches = list(sorted_batches(rows, ("id",), 3))
    assert pa.Table.from_batches(batches).to_pydict() == {
        "id": [1, 2, 3, 4, 5],
        "m": [0.75, 0.25, None, 0.5, None],
        "f": [True, None, False, True, None],
        "n": [None] * 5,
        "c": [None, "KILL", "EVICT", None, "KILL"],
    }
    # What Arrow is told of missing values is what is there.
    assert [batch.column("m").null_count for batch in batches] == [1, 1]


def test_a_table_is_cut_for_several_cores_from_a_size_on(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whatever the number of cores; a collection above that size still fits into memory."""
    monkeypatch.setattr(clustering, "WORTH_SHARING", 4)
    key = ", ".join(
        f"{'c' if name == 'collection_id' else '0'} AS {name}"
        for name in TABLES["instance_events"].key
    )

    def files(sizes: list[int], threads: int) -> list[int]:
        parts = (f"SELECT {number} AS c FROM range({n})" for number, n in enumerate(sizes))
        relation = f"SELECT {key} FROM ({' UNION ALL '.join(parts)})"
        done: list[int] = []
        folder = tmp_path / f"{sizes} {threads}"
        with sorting_connection("200MB", threads, within_reach(tmp_path)) as connection:
            cluster(
                connection, TABLES["instance_events"], UnsortedRows(relation), folder, done.append
            )
        return done

    assert [files([2, 2], threads) for threads in (1, 2)] == [[4], [4]]
    assert [files([2, 2, 1], threads) for threads in (1, 2)] == [[4, 1], [4, 1]]
    # A fourth of 24 rows is 6.
    assert files([3] * 8, 2) == [6, 6, 6, 6]
    assert files([9, 1], 2) == [9, 1]


def test_files_of_collections_are_cut_and_kept() -> None:
    ids, counts = np.array([1, 5, 9, 12]), np.array([3, 2, 7, 1])
    assert cut_ranges(ids, counts, 5) == [9, 12]  # 3 and 2 fill one exactly; 7 is more than a file
    assert cut_ranges(ids, counts, 100) == []
    assert cut_ranges(ids[:3], np.array([3, 3, 2]), 5) == [5]  # a second file is filled exactly too
    assert [range_sql([5, 9], number) for number in range(3)] == [
        "collection_id < 5",
        "collection_id >= 5 AND collection_id < 9",
        "collection_id >= 9",
    ]
    present = [
        Path("a"),
        Path("b"),
        Path("c"),
    ]
    # New rows of 5: the first file, which ends before 9, is written anew and split, the others stay.
    assert plan_files(ids, counts, 4, present, [9, 12], np.array([5])) == (
        [5, 9, 12],
        {2: Path("b"), 3: Path("c")},
    )
    assert plan_files(ids, counts, 100, present, [9, 12], np.array([], np.int64)) == (
        [9, 12],
        {
            0: Path("a"),
            1: Path("b"),
            2: Path("c"),
        },
    )


def test_a_sorted_file_notes_what_it_holds(tmp_path: Path) -> None:
    """So the digest of a table is known from the footers, without a look at its rows."""
    table = TABLES["machine_attributes"]
    values = {
        "time": "v",
        "machine_id": "v",
        "source_row": "v",
        "source_part": "0",
    }
    columns = ", ".join(
        f'CAST({values.get(name, "NULL")} AS BIGINT) AS "{name}"' for name in table.names
    )
    with sorting_connection("200MB", 1, within_reach(tmp_path), tmp_path / "spill") as connection:
        (path,) = cluster(
            connection,
            table,
            UnsortedRows(f"SELECT {columns} FROM (VALUES (9), (5)) AS t(v)"),
            tmp_path / "new" / "it",
        )
    assert pq.read_table(path).column("machine_id").to_pylist() == [5, 9]
    noted = [
        json.loads(value)
        for value in pq.read_metadata(path).metadata.values()
        if value.startswith(b'{"first"')
    ]
    assert [note["first"] for note in noted] == [0]
    # What no row has is not in the sums.
    assert set(noted[0]["total"]) == set(values)


def test_collections_larger_than_a_file_are_written_before_more_is_read(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """DuckDB sorts them: what it has not handed over is lost where its connection is asked again."""
    monkeypatch.setattr(sorting_limits, "MOST_ROWS", 100)
    for module in (sorted_relation, table_files):
        monkeypatch.setattr(module, "PIECE", 2048)
    sizes = {
        1: 20_000,
        2: 60,
        3: 40,
        4: 10_000,
        5: 1,
    }
    parts = (f"SELECT {id_} AS c, {n} - range AS t FROM range({n})" for id_, n in sizes.items())
    values = {
        "collection_id": "c",
        "time": "t",
        "source_row": "t",
    }
    key = ", ".join(f"{values.get(name, '0')} AS {name}" for name in TABLES["instance_events"].key)
    relation = f"SELECT {key} FROM ({' UNION ALL '.join(parts)})"
    done: list[int] = []
    with sorting_connection("200MB", 2, within_reach(tmp_path)) as connection:
        files = cluster(
            connection,
            TABLES["instance_events"],
            UnsortedRows(relation),
            tmp_path / "new",
            done.append,
        )
    assert done == [20_000, 100, 10_000, 1]
    found = [pq.read_table(path, columns=["collection_id", "time"]) for path in files]
    assert [set(one.column("collection_id").to_pylist()) for one in found] == [
        {1},
        {2, 3},
        {4},
        {5},
    ]
    times = [one.column("time").to_numpy() for one in found]
    assert [
        np.array_equal(times[at], np.arange(1, n + 1)) for at, n in ((0, 20_000), (2, 10_000))
    ] == [True, True]


def test_any_column_may_be_null_whatever_was_known_of_what_it_was_made_from(tmp_path: Path) -> None:
    with sorting_connection("200MB", 1, within_reach(tmp_path)) as connection:
        connection.execute("CREATE TABLE known AS SELECT range AS n FROM range(3)")
        connection.execute(f"COPY (SELECT n FROM known) TO '{tmp_path}/n.parquet' (FORMAT parquet)")
    assert pq.read_metadata(tmp_path / "n.parquet").schema.column(0).max_definition_level == 1


def test_measured_values_and_lists_of_them_have_dictionaries(tmp_path: Path) -> None:
    rows = pa.table(
        {
            "cpu": pa.array([0.5] * 9, pa.float32()),
            "list": pa.array([[0.5]] * 9, pa.list_(pa.float32())),
        }
    )
    with parquet_writer(tmp_path / "x.parquet", rows.schema, "zstd") as writer:
        writer.write_table(rows)
    group = pq.read_metadata(tmp_path / "x.parquet").row_group(0)
    assert [group.column(place).has_dictionary_page for place in range(2)] == [True, True]


def test_codecs_and_bounds_of_a_stored_file(tmp_path: Path) -> None:
    """zstd where it saves, which is everywhere but in the dictionary of measured values; bounds where they prune."""
    values = {
        "collection_id": "1",
        "start_time": "n",
        "average_cpu": "0.5::FLOAT",
        "sampled_cpu": "n::FLOAT",
    }
    table = TABLES["instance_usage"]
    columns = ", ".join(
        f'{values.get(name, "0" if name in table.key else "NULL")} AS "{name}"'
        for name in table.names
    )
    with sorting_connection("200MB", 1, within_reach(tmp_path)) as connection:
        (path,) = cluster(
            connection,
            table,
            UnsortedRows(f"SELECT {columns} FROM range(9) AS t(n)"),
            tmp_path / "new",
        )
    group = pq.read_metadata(path).row_group(0)
    chunks = {chunk.path_in_schema: chunk for chunk in map(group.column, range(group.num_columns))}
    found = {name: (chunks[name].compression, chunks[name].is_stats_set) for name in values}
    assert found == {
        "collection_id": ("ZSTD", True),
        "start_time": ("ZSTD", True),
        "average_cpu": ("LZ4", False),
        # Nine values of nine differ: they are stored as they are.
        "sampled_cpu": ("ZSTD", False),
    }


def usage_of(pairs: list[tuple[int, int]]) -> pa.Table:
    return pa.table(
        {"collection_id": [a for a, _ in pairs], "instance_index": [b for _, b in pairs]}
    )


def test_the_last_task_of_a_block_waits_for_its_end() -> None:
    assert (
        usage_index.start_of_last_task(
            usage_of(
                [
                    (1, 0),
                    (1, 1),
                    (1, 1),
                ]
            )
        )
        == 1
    )
    assert (
        usage_index.start_of_last_task(
            usage_of(
                [
                    (1, 1),
                    (2, 1),
                    (2, 1),
                ]
            )
        )
        == 1
    )
    assert usage_index.start_of_last_task(usage_of([(1, 0), (1, 0)])) == 0


@pytest.mark.parametrize("size", range(1, 10))
def test_no_task_is_cut_whatever_rows_come_together(size: int) -> None:
    tasks = [(1, 0)] * 3 + [(1, 1)] + [(2, 0)] * 4 + [(3, 0)]
    starts = 300_000_000 * np.arange(2, 2 + len(tasks))
    kinds = {"collection_type": pa.string()} | dict.fromkeys(
        usage_index.STATISTICS_COLUMNS,
        pa.float32(),
    )
    columns = {
        name: pa.nulls(len(tasks), kinds.get(name, pa.int64())) for name in usage_index.READ_COLUMNS
    }
    columns |= {name: usage_of(tasks).column(name) for name in ("collection_id", "instance_index")}
    columns |= {"start_time": pa.array(starts), "end_time": pa.array(starts + 300_000_000)}
    index = usage_index.UsageIndex(20)
    for batch in pa.table(columns).to_batches(size):
        index.add(batch)
    table, _ = index.finish()
    keys = zip(*(table.column(name).to_pylist() for name in table.column_names[:2]), strict=True)
    assert list(keys) == [(1, 0), (1, 1), (2, 0), (3, 0)]
    assert table.column("first_row").to_pylist() == [20, 23, 24, 28]
    assert table.column("n_windows").to_pylist() == [3, 1, 4, 1]


def test_the_first_and_the_last_time_of_a_table(tmp_path: Path) -> None:
    times = {
        "first": ([5, 9], [8, AFTER_TRACE]),
        "second": ([7], [AFTER_TRACE]),
        "third": ([AFTER_TRACE], [AFTER_TRACE]),
    }
    spans = {}
    for name, (starts, ends) in times.items():
        columns = pa.table(
            {
                "start_time": starts,
                "end_time": ends,
                "time": starts,
            }
        )
        pq.write_table(columns, tmp_path / f"{name}.parquet")
        connection = duckdb.connect()
        connection.execute(f"CREATE VIEW {FILE} AS FROM '{tmp_path / name}.parquet'")
        spans[name] = [
            list(time_span(connection, TABLES[table]))
            for table in ("instance_usage", "instance_events")
        ]
    assert spans == {
        "first": [[5, 8], [5, 9]],
        "second": [[7, None], [7, 7]],
        "third": [[AFTER_TRACE, None], [AFTER_TRACE, None]],
    }
    assert time_span(duckdb.connect(), TABLES["tasks"]) == ()


def test_the_times_of_files_are_those_of_their_table() -> None:
    def whole(*spans: tuple[int | None, ...]) -> list[int]:
        return whole_span([FileFacts("", {}, {}, span) for span in spans])

    assert whole((5, 8), (7, None), (3, 6)) == [3, 8]
    # A table whose last time is not known, one without times, one without files.
    assert [
        whole((5, None)),
        whole((), ()),
        whole(),
    ] == [
        [],
        [],
        [],
    ]


def test_files_beside_a_file_are_those_that_may_have_its_collections(tmp_path: Path) -> None:
    def files(*parts: list[int]) -> SortedFiles:
        paths = [tmp_path / "-".join(map(str, ids)) for ids in parts]
        for path, ids in zip(paths, parts, strict=True):
            pq.write_table(pa.table({"time": ids, "collection_id": ids}), path)
        return SortedFiles.of(paths)

    usage = files([3, 4], [7, 7, 8], [9])
    events = files([1, 2], [4, 7], [9, 9])
    assert (usage.rows, usage.starts, events.starts) == ((2, 3, 1), (7, 9), (4, 9))
    beside = [[path.name for path in events.beside(usage, number)] for number in range(3)]
    assert beside == [
        ["1-2", "4-7"],
        ["4-7"],
        ["9-9"],
    ]
    assert [usage.range_sql(number) for number in range(3)] == [
        "collection_id < 7",
        "collection_id >= 7 AND collection_id < 9",
        "collection_id >= 9",
    ]
    # All where there is no usage, none where there are no events.
    assert [path.name for path in events.beside(SortedFiles(), 0)] == ["1-2", "4-7", "9-9"]
    assert SortedFiles().beside(usage, 1) == []
    assert SortedFiles().range_sql(0) == "true"


def test_files_of_the_version_before_stay(tmp_path: Path) -> None:
    assert [
        is_kept(path, tmp_path) for path in (tmp_path / "u.parquet", Path("/other/u.parquet"))
    ] == [False, True]
    pq.write_table(pa.table({"collection_id": [1, 2]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"collection_id": [3]}), tmp_path / "b.parquet")
    assert [
        count_rows([tmp_path / name for name in names])
        for names in (("a.parquet", "b.parquet"), ())
    ] == [3, 0]
