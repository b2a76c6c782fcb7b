"""Pieces of ingest by themselves, each on a few rows with values found by hand."""

from __future__ import annotations

import gzip
import io
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from borgtrace.ingest import flattened, ingest_plan, ingestion, number_reader, staging, usage_index
from borgtrace.ingest.canonical import canonical_chunk
from borgtrace.ingest.column_checks import breaks_a_rule, count_broken, count_out_of_order
from borgtrace.ingest.delimited import read_plain_numbers
from borgtrace.ingest.discovery import Discovery, origin
from borgtrace.ingest.file_ranges import cut_ranges, range_condition
from borgtrace.ingest.json_token_counts import PRESENT, tokens_of
from borgtrace.ingest.nested_lists import unnest
from borgtrace.ingest.number_reader import NotPlainNumbers, read_numbers
from borgtrace.ingest.raw_layout import NeedsValidation, layout_of, raw_layout
from borgtrace.ingest.recognition import classify
from borgtrace.ingest.sources import Source
from borgtrace.ingest.streams import plain_file
from borgtrace.schema import DIALECTS, TABLES
from borgtrace.schema.dialects import GOOGLE_2011, GOOGLE_2019
from borgtrace.schema.time import AFTER_TRACE
from borgtrace.store.layout import source_key
from tests.ingest import raw

USAGE = TABLES["instance_usage"]


def _source(name: str, table: str, size: int, dialect=GOOGLE_2011, kind="csv", **more) -> Source:
    return Source(Path(name), dialect, table, kind, size=size, **{"is_gzip": True, **more})


def test_the_time_of_a_plan_is_measured_on_the_largest_file(tmp_path, monkeypatch):
    """Decompressing 2 MB takes 0.01 s by this clock: staging takes 5 times that, the whole ingest 2.1 times as much."""
    small, large = (tmp_path / f"part-0000{i}-of-00500.csv.gz" for i in range(2))
    small.write_bytes(b"never read")
    large.write_bytes(gzip.compress(np.random.default_rng(0).bytes(2_000_000), compresslevel=1))
    clock = iter((7.0, 7.01))
    monkeypatch.setattr(ingest_plan.time, "perf_counter", lambda: next(clock))
    sources = [
        replace(_source("small", "task_usage", 10), path=small),
        replace(_source("large", "task_usage", large.stat().st_size), path=large),
    ]
    planned = ingest_plan.plan(Discovery(sources), tmp_path, 2)
    bytes_ = large.stat().st_size + 10
    assert planned.seconds == pytest.approx(2.1 * 5.0 * 0.01 * bytes_ / large.stat().st_size / 2)


@pytest.mark.parametrize(("size", "rows"), [(2**20, 7), (2**20 - 1, (2**20 - 1) / 40)])
def test_files_from_a_mebibyte_tell_the_length_of_their_lines(tmp_path, size, rows):
    """Of a smaller one, 40 bytes of gzip are taken for a line."""
    path = tmp_path / "part-00000-of-00500.csv.gz"
    # Stored as it is, so that each byte more is one more; the header and the marks of blocks come to this much.
    packing = len(gzip.compress(bytes(size), compresslevel=0)) - size
    path.write_bytes(gzip.compress(b"\n" * 7 + bytes(size - packing - 7), compresslevel=0))
    assert path.stat().st_size == size
    planned = ingest_plan.plan(Discovery([replace(_source("x", "task_usage", size), path=path)]), tmp_path, 1)
    assert planned.disk_needed == int(0.94 * size + 20 * rows)


def test_the_plan_of_two_tables(tmp_path, monkeypatch):
    monkeypatch.setattr(ingest_plan.shutil, "disk_usage", lambda _: SimpleNamespace(free=5_000))
    found = Discovery(
        [
            _source("part-00001-of-00500.csv.gz", "task_usage", 4_000),
            # not compressed: three bytes of text are one of gzip
            _source("part-00003-of-00500.csv", "task_usage", 12_000, is_gzip=False),
            _source("part-00000-of-00001.csv.gz", "machine_events", 1_000),
        ]
    )
    planned = ingest_plan.plan(found, tmp_path / "a" / "b", 3)
    # 9,000 bytes of gzip in all; 8,000 of usage are 200 rows of 40 bytes, and 20 bytes of arrays each
    assert planned.disk_needed == int(0.94 * 9_000 + 20 * 200)
    assert planned.seconds == pytest.approx(2.1 * 9_000 / 36e6 / 3)
    assert (planned.generation, planned.cell, planned.disk_free) == ("2011", "", 5_000)
    machines, usage = planned.tables
    assert (machines.table, machines.files, machines.size) == ("machine_events", 1, 1_000)
    assert (usage.table, usage.files, usage.size, usage.parts) == ("task_usage", 2, 16_000, "1, 3 of 500")
    assert machines.columns == ("time", "machine_id", "type", "platform_id", "cpu_capacity", "memory_capacity")


@pytest.mark.parametrize(("free", "fits"), [(100, True), (99, False)])
def test_what_is_needed_must_be_free(tmp_path, free, fits):
    planned = ingest_plan.IngestPlan("2011", "", (), 100, free, 1.0)
    if fits:
        ingest_plan.require_disk(planned, tmp_path)
    else:
        with pytest.raises(ingest_plan.StoreError, match=r"not enough free disk: expected about 0\.0 GB, got 0\.0 GB"):
            ingest_plan.require_disk(planned, tmp_path)


def test_files_are_cut_at_collections():
    ids, counts = np.array([1, 5, 9, 11]), np.array([2, 2, 1, 7])
    assert cut_ranges(ids, counts, rows=4) == [9, 11]
    assert cut_ranges(ids, counts, rows=5) == [11]
    # larger than a file: one of its own
    assert cut_ranges(ids, counts, rows=1) == [5, 9, 11]
    assert cut_ranges(ids, counts, rows=12) == []


def test_each_collection_belongs_to_one_file():
    cuts = [5, 9, 11]
    ids = [1, 4, 5, 8, 9, 10, 11, 99]
    rows = f"(VALUES {', '.join(f'({n})' for n in ids)}) AS rows(collection_id)"
    for number, members in enumerate(([1, 4], [5, 8], [9, 10], [11, 99])):
        kept = duckdb.sql(f"SELECT collection_id FROM {rows} WHERE {range_condition(cuts, number)}").fetchall()
        assert [each for (each,) in kept] == members
    assert range_condition([], 0) == "true"


def test_rows_earlier_than_the_row_above():
    assert count_out_of_order(np.array([5, 5, 4, 6, 1]), 5) == 2
    assert count_out_of_order(np.array([4, 5]), 5) == 1
    assert count_out_of_order(np.array([], np.int64), 5) == 0


def test_windows_at_their_bounds():
    window = 300_000_000
    rows = pa.table({"start_time": [0, 0, 10, 7], "end_time": [window, window + 1, 10, AFTER_TRACE]})
    # a window after the trace is counted as such, and has no length
    assert count_broken(USAGE, rows) == {"window_over_300s": 1, "after_trace_time": 1}
    assert not breaks_a_rule(USAGE, rows)
    assert breaks_a_rule(USAGE, pa.table({"start_time": [-1]}))
    assert not breaks_a_rule(USAGE, pa.table({"start_time": [-1]}), is_unsigned=True)


def test_lists_are_counted_one_by_one():
    rise, fall = [i / 16 for i in range(11)], [1.0, *(i / 16 for i in range(10))]
    lists = pa.array([rise, fall, [], None, rise], pa.list_(pa.float32()))
    counts = count_broken(USAGE, pa.table({"cpu_usage_distribution": lists}))
    # from the last value of the first list to the first of the second is no fall
    assert counts == {"percentiles_unordered": 1, "percentiles_empty": 2}


def test_tokens_that_the_text_must_have():
    flat = pa.table(
        {
            "time": [5, 6],
            "type": pa.array([1, None], pa.int32()),
            "user": pa.array(["a", None]),
            "cpu": pa.array([0.5, None], pa.float32()),
            "flag": [True, None],
            f"{PRESENT}capacity": [True, False],
            "after": pa.array([[1, 2], None], pa.list_(pa.int64())),
            "constraint": pa.array([[{"name": "x", "relation": 1}, {"name": "y", "relation": None}], []]),
        }
    )
    # {"time":"5","type":"1","user":"a","flag":true,"capacity":{"cpu":0.5},"after":["1","2"],
    #  "constraint":[{"name":"x","relation":"1"},{"name":"y"}]}  and  {"time":"6","constraint":[]}
    keys = 8 + 3 + 2
    quoted = 3 + 2 + 3 + 1
    assert tokens_of(flat).tolist() == [2, keys, 2 * (keys + quoted), 1]


def test_items_of_a_list_are_numbered_and_inherit_their_row():
    (inner,) = raw_layout(GOOGLE_2019, "instance_events").lists
    items = [
        [{"name": "a", "value": "1", "relation": 0}, {"name": "b", "value": None, "relation": None}],
        None,
        [{"name": "c", "value": "", "relation": 2}],
    ]
    kind = pa.list_(pa.struct([("name", pa.string()), ("value", pa.string()), ("relation", pa.int32())]))
    rows = pa.table(
        {
            "collection_id": [7, 8, 9],
            "instance_index": [0, 1, 2],
            "time": [10, 11, 12],
            "source_row": [0, 1, 2],
            "constraint": pa.array(items, kind),
        }
    )
    found = unnest(rows, inner)
    assert found.column("collection_id").to_pylist() == [7, 7, 9]
    assert found.column("time").to_pylist() == [10, 10, 12]
    assert found.column("position").to_pylist() == [0, 1, 0]
    # protocol buffers leave out a relation of 0
    assert found.column("relation").to_pylist() == ["EQUAL", "EQUAL", "LESS_THAN"]


@pytest.mark.parametrize("block", [1, 3, 7, 1 << 20])
@pytest.mark.parametrize("end", ["", "\n"])
def test_numbers_in_blocks_and_chunks_of_any_size(monkeypatch, block, end):
    monkeypatch.setattr(number_reader, "BLOCK_SIZE", block)
    monkeypatch.setattr(number_reader, "ROWS_PER_CHUNK", 8)
    lines = [f"{n},{'' if n % 3 else n / 4}" for n in range(20)]
    types = {"n": pa.int32(), "x": pa.float32()}
    chunks = list(read_numbers(io.BytesIO(("\n".join(lines) + end).encode()), types))
    assert [len(chunk) for chunk in chunks] == [8, 8, 4]
    table = pa.concat_tables(chunks)
    assert table.column("n").to_pylist() == list(range(20))
    assert table.column("x").to_pylist() == [None if n % 3 else n / 4 for n in range(20)]


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("1,2\n\n", [pa.int64(), pa.int64()]),
        ("1,2\n3\n", [pa.int64(), pa.int64()]),
        ("1,2\n3,4,5\n", [pa.int64(), pa.int64()]),
        ("2147483648\n", [pa.int32()]),
        ("01\n", [pa.bool_()]),
        ("2\n", [pa.bool_()]),
        ("true\n", [pa.bool_()]),
        ("a\n", [pa.string()]),
    ],
)
def test_what_is_no_plain_number(text, kinds):
    with pytest.raises(NotPlainNumbers):
        list(read_numbers(io.BytesIO(text.encode()), {f"c{i}": kind for i, kind in enumerate(kinds)}))


def test_flags_are_plain_numbers():
    (chunk,) = read_numbers(io.BytesIO(b"1,1\n0,2\n,3\n"), {"is": pa.bool_(), "n": pa.int32()})
    assert chunk.to_pydict() == {"is": [True, False, None], "n": [1, 2, 3]}


def test_usage_of_2011_is_plain_numbers(tmp_path):
    """So it is read by the fastest reader, which a field of another kind would switch off without a word."""
    source = classify(raw.write_part(tmp_path, "task_usage", raw.USAGE))
    (chunk,) = read_plain_numbers(source, layout_of(source))
    assert chunk.column("aggregation_type").to_pylist() == [True]
    assert chunk.column("average_cpu").to_pylist() == [np.float32(0.0015)]


def test_the_largest_numbers_that_fit():
    types = {"n": pa.int32(), "m": pa.int32()}
    (chunk,) = read_numbers(io.BytesIO(b"2147483647,1\n,\n0,0\n"), types)
    assert chunk.to_pydict() == {"n": [2**31 - 1, None, 0], "m": [1, None, 0]}


def test_blocks_of_usage_end_where_a_task_ends(tmp_path, monkeypatch):
    monkeypatch.setattr(usage_index, "ROWS_PER_BLOCK", 3)
    tasks = [(1, 0)] * 2 + [(1, 1)] * 4 + [(2, 0)] + [(2, 1)] * 3
    columns = {
        "collection_id": pa.array([c for c, _ in tasks]),
        "instance_index": pa.array([i for _, i in tasks], pa.int32()),
        "start_time": pa.array([600_000_000 + 300_000_000 * n for n in range(10)]),
        "end_time": pa.array([900_000_000 + 300_000_000 * n for n in range(9)] + [AFTER_TRACE]),
        "machine_id": pa.array([5, 6, 5, 5, None, 5, 7, 8, 9, 8]),
        "collection_type": pa.array(["JOB"] * 10),
        "average_cpu": pa.array([0.5] * 9 + [None], pa.float32()),
        "sampled_cpu": pa.array([0.25] * 10, pa.float32()),
        "average_memory": pa.array([None] * 10, pa.float32()),
    }
    pq.write_table(pa.table({name: column[:6] for name, column in columns.items()}), tmp_path / "a.parquet")
    pq.write_table(pa.table({name: column[6:] for name, column in columns.items()}), tmp_path / "b.parquet")
    done = []
    parts = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    table, suspects = usage_index.index_usage(parts, 10, tmp_path, progress=done.append)
    assert table.column("first_row").to_pylist() == [0, 2, 6, 7]
    assert table.column("n_windows").to_pylist() == [2, 4, 1, 3]
    assert table.column("n_machines").to_pylist() == [2, 1, 1, 2]
    assert table.column("seconds").to_pylist() == [600.0, 1200.0, 300.0, 600.0]
    assert table.column("last_time").to_pylist()[-1] == AFTER_TRACE
    assert table.column("mean_average_memory").to_pylist() == [None] * 4
    assert suspects.tolist() == []
    assert sum(done) == 10
    assert np.load(tmp_path / "start_time.npy").tolist() == [600 + 300 * n for n in range(10)]
    assert np.load(tmp_path / "duration.npy").tolist() == [300.0] * 9 + [0.0]
    assert np.load(tmp_path / "sampled_cpu.npy").tolist() == [0.25] * 10
    assert np.isnan(np.load(tmp_path / "average_cpu.npy")).tolist() == [False] * 9 + [True]


def test_no_usage_has_arrays_too(tmp_path):
    table, suspects = usage_index.index_usage([], 0, tmp_path)
    assert (table.num_rows, suspects.size, np.load(tmp_path / "duration.npy").size) == (0, 0, 0)
    assert "weighted_mean_sampled_cpu" in table.column_names


@pytest.mark.parametrize(
    ("sizes", "jobs", "order", "processes"),
    [
        ([40_000_000, 32_000_000], 2, [40_000_000, 32_000_000], 2),
        ([32_000_000, 40_000_000], 2, [40_000_000, 32_000_000], 2),
        ([16_000_000, 40_000_000, 16_000_000], 2, [40_000_000, 16_000_000, 16_000_000], 2),
        ([32_000_000, 40_000_000], 1, [32_000_000, 40_000_000], 1),
        ([31_999_999, 90_000_000], 2, [31_999_999, 90_000_000], 1),
        ([90_000_000], 2, [90_000_000], 1),
        ([], 2, [], 1),
    ],
)
def test_processes_are_worth_it_from_32_megabytes_beside_the_largest_file(
    tmp_path, monkeypatch, sizes, jobs, order, processes
):
    asked = []

    def mapped(work, sources, jobs, **_):
        asked.append(([source.size for source in sources], jobs))
        return iter(())

    monkeypatch.setattr(staging, "map_processes", mapped)
    sources = [_source(f"part-0000{i}-of-00500.csv.gz", "task_usage", size) for i, size in enumerate(sizes)]
    assert list(staging.stage_all(sources, tmp_path, jobs)) == []
    assert asked == [(order, processes)]


def test_names_of_sources_become_names_of_files():
    assert source_key("task_usage/part-00001") == "task_usage-part-00001"
    assert source_key("kaggle/a b_c.csv#4") == "kaggle-a-b_c.csv-4"
    # Of folders, one name each: `a/b` and `a-b` are two.
    within = [source_key(f"task_usage/{folder}/part-00001") for folder in ("a/b", "a-b")]
    assert within[0] != within[1]
    assert all(key.startswith("task_usage-a-b-part-00001-") for key in within)


@pytest.mark.parametrize(
    ("name", "part", "parts", "known"),
    [
        ("part-00007-of-00500.csv.gz", 7, 500, "t/part-00007"),
        ("instance_usage-000000000012.json.gz", 12, None, "t/part-00012"),
        ("instance_usage000000000012.json.gz", 12, None, "t/part-00012"),
        ("usage-12345.json", None, None, "t/usage-12345.json"),
        ("loose.csv", None, None, "t/loose.csv"),
    ],
)
def test_numbers_in_names_of_files(name, part, parts, known):
    source = _source(name, "t", 1)
    assert (source.part, source.parts, source.name) == (part, parts, known)


def test_a_decimal_between_two_floats_is_decided_exactly():
    (chunk,) = read_numbers(io.BytesIO(b"16777217\n0.5\n"), {"x": pa.float32()})
    assert chunk.column("x").to_pylist() == [16777216.0, 0.5]


def test_the_first_of_equal_rows_is_kept_in_order():
    layout = raw_layout(GOOGLE_2019, "machine_attributes")
    columns = {"time": [5, 3, 5, 3], "machine_id": [1, 1, 1, 2], "name": ["a"] * 4, "value": [None, "x", None, "x"]}
    rows = pa.table({**columns, "is_deleted": [False] * 4, "source_row": [10, 11, 12, 13]})
    assert flattened._first_of_each(rows, layout).column("source_row").to_pylist() == [10, 11, 13]


def test_columns_of_a_plan_are_canonical_and_published(tmp_path):
    shard = _source("machine_events-000000000000.json.gz", "machine_events", 1, GOOGLE_2019, "json", cell="a")
    (table,) = ingest_plan.plan(Discovery([shard]), tmp_path, 1).tables
    assert table.columns == (
        "time",
        "machine_id",
        "type",
        "switch_id",
        "platform_id",
        "cpu_capacity",
        "memory_capacity",
        "missing_data_reason",
    )


def test_a_file_of_several_tables_has_no_columns_of_its_own(tmp_path):
    flat = _source("borg_traces_data.csv", "kaggle", 1, DIALECTS["kaggle-2019"], "kaggle")
    (table,) = ingest_plan.plan(Discovery([flat]), tmp_path, 1).tables
    assert (table.table, table.columns) == ("kaggle", ())


@pytest.mark.parametrize(
    ("name", "packed", "is_itself"),
    [
        ("own.csv", "", True),
        ("own.csv.gz", "gzip", False),
        ("own.csv.zst", "zstd", False),
        # DuckDB would take them for the end of the name, and for a pattern.
        ("it's.csv", "", False),
        ("own[1].csv", "", False),
    ],
)
def test_readers_of_paths_read_what_is_not_packed_where_it_lies(tmp_path, name, packed, is_itself):
    path, text = tmp_path / name, b"task,time\nweb,0\n"
    path.write_bytes(pa.compress(text, codec=packed, asbytes=True) if packed else text)
    source = _source(name, "usage", 1, is_gzip=packed == "gzip", is_zstd=packed == "zstd")
    with plain_file(replace(source, path=path)) as plain:
        assert (plain == path, plain.read_bytes()) == (is_itself, text)


def test_a_mark_of_the_byte_order_is_read_over(tmp_path):
    (tmp_path / "own.csv").write_bytes(b"\xef\xbb\xbftask")
    with plain_file(replace(_source("own.csv", "usage", 1, is_gzip=False), path=tmp_path / "own.csv")) as plain:
        assert plain.read_bytes() == b"task"


def test_every_code_of_an_enumeration_may_come():
    layout = raw_layout(GOOGLE_2011, "machine_events")
    columns = {
        "time": pa.array([0, 1, 2], pa.uint64()),
        "machine_id": pa.array([1, 1, 1]),
        "type": pa.array([0, 1, 2], pa.int8()),
        "platform_id": pa.array([None, "p", "p"]),
        "cpu_capacity": pa.array([0.5, None, 1], pa.float32()),
        "memory_capacity": pa.array([0.5, None, 1], pa.float32()),
    }
    found = canonical_chunk(layout, pa.table(columns))
    assert found.column("type").to_pylist() == ["ADD", "REMOVE", "UPDATE"]
    with pytest.raises(NeedsValidation):
        canonical_chunk(layout, pa.table({**columns, "type": pa.array([0, 1, 3], pa.int8())}))


def test_means_above_sums_of_maxima_are_counted_apart():
    rows = {"average_cpu": [0.5, 0.5, 0.25], "maximum_cpu": [0.25, 0.25, 0.25], "aggregation_type": [True, False, True]}
    columns = {name: pa.array(v, pa.float32() if name.endswith("cpu") else pa.bool_()) for name, v in rows.items()}
    assert count_broken(USAGE, pa.table(columns)) == {"mean_above_summed_maximum": 1, "mean_above_maximum": 1}


def test_whose_trace_it_is_in_words():
    assert (origin(None), origin({"seed": 3})) == ("Google's trace", "synthetic, seed 3")


@pytest.mark.parametrize(("counted", "cores"), [(6, 6), (None, 1)])
def test_cores_where_no_affinity_is_told(monkeypatch, counted, cores):
    monkeypatch.delattr(ingestion.os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(ingestion.os, "cpu_count", lambda: counted)
    assert ingestion.available_cores() == cores


def test_a_full_disk_is_an_error_of_the_store():
    assert str(staging.disk_full(Path("store"))).startswith("store: the disk is full; free some disk")
