"""Pieces of ingest by themselves, each on a few rows with values found by hand."""

from __future__ import annotations

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from borgtrace.ingest import ingestion
from borgtrace.ingest.build import flattened, staging
from borgtrace.ingest.build.file_ranges import cut_ranges, range_sql
from borgtrace.ingest.convert.canonical import canonical_chunk
from borgtrace.ingest.convert.column_checks import breaks_a_rule, count_broken, count_out_of_order
from borgtrace.ingest.convert.nested_lists import unnest
from borgtrace.ingest.files.raw_layout import NeedsValidation, raw_layout
from borgtrace.ingest.find.discovery import origin
from borgtrace.ingest.read.json_token_counts import PRESENT, tokens_of
from borgtrace.schema import TABLES
from borgtrace.schema.dialects import GOOGLE_2011, GOOGLE_2019
from borgtrace.schema.time import AFTER_TRACE
from borgtrace.store.layout import source_key
from tests.ingest.raw import source_of

USAGE = TABLES["instance_usage"]


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
        kept = duckdb.sql(
            f"SELECT collection_id FROM {rows} WHERE {range_sql(cuts, number)}"
        ).fetchall()
        assert [each for (each,) in kept] == members
    assert range_sql([], 0) == "true"


def test_rows_earlier_than_the_row_above():
    assert count_out_of_order(np.array([5, 5, 4, 6, 1]), 5) == 2
    assert count_out_of_order(np.array([4, 5]), 5) == 1
    assert count_out_of_order(np.array([], np.int64), 5) == 0


def test_windows_at_their_bounds():
    window = 300_000_000
    rows = pa.table(
        {
            "start_time": [0, 0, 10, 7],
            "end_time": [
                window,
                window + 1,
                10,
                AFTER_TRACE,
            ],
        }
    )
    # a window after the trace is counted as such, and has no length
    assert count_broken(USAGE, rows) == {"window_over_300s": 1, "after_trace_time": 1}
    assert not breaks_a_rule(USAGE, rows)
    assert breaks_a_rule(USAGE, pa.table({"start_time": [-1]}))
    assert not breaks_a_rule(USAGE, pa.table({"start_time": [-1]}), is_unsigned=True)


def test_lists_are_counted_one_by_one():
    rise, fall = [i / 16 for i in range(11)], [1.0, *(i / 16 for i in range(10))]
    lists = pa.array(
        [
            rise,
            fall,
            [],
            None,
            rise,
        ],
        pa.list_(pa.float32()),
    )
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
            "constraint": pa.array(
                [[{"name": "x", "relation": 1}, {"name": "y", "relation": None}], []]
            ),
        }
    )
    # {"time":"5","type":"1","user":"a","flag":true,"capacity":{"cpu":0.5},"after":["1","2"],
    #  "constraint":[{"name":"x","relation":"1"},{"name":"y"}]}  and  {"time":"6","constraint":[]}
    keys = 8 + 3 + 2
    quoted = 3 + 2 + 3 + 1
    assert tokens_of(flat).tolist() == [
        2,
        keys,
        2 * (keys + quoted),
        1,
    ]


def test_items_of_a_list_are_numbered_and_inherit_their_row():
    (inner,) = raw_layout(GOOGLE_2019, "instance_events").lists
    items = [
        [
            {
                "name": "a",
                "value": "1",
                "relation": 0,
            },
            {
                "name": "b",
                "value": None,
                "relation": None,
            },
        ],
        None,
        [
            {
                "name": "c",
                "value": "",
                "relation": 2,
            }
        ],
    ]
    kind = pa.list_(
        pa.struct(
            [
                ("name", pa.string()),
                ("value", pa.string()),
                ("relation", pa.int32()),
            ]
        )
    )
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
    tmp_path,
    monkeypatch,
    sizes,
    jobs,
    order,
    processes,
):
    asked = []

    def mapped(work, sources, jobs, **_):
        asked.append(([source.size for source in sources], jobs))
        return iter(())

    monkeypatch.setattr(staging, "map_processes", mapped)
    sources = [
        source_of(f"part-0000{i}-of-00500.csv.gz", "task_usage", size)
        for i, size in enumerate(sizes)
    ]
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
def test_numbers_in_names_of_files(
    name,
    part,
    parts,
    known,
):
    source = source_of(name, "t", 1)
    assert (source.part, source.parts, source.name) == (part, parts, known)


def test_the_first_of_equal_rows_is_kept_in_order():
    layout = raw_layout(GOOGLE_2019, "machine_attributes")
    columns = {
        "time": [5, 3, 5, 3],
        "machine_id": [1, 1, 1, 2],
        "name": ["a"] * 4,
        "value": [None, "x", None, "x"],
    }
    rows = pa.table(
        {
            **columns,
            "is_deleted": [False] * 4,
            "source_row": [10, 11, 12, 13],
        }
    )
    assert flattened.first_of_each(rows, layout).column("source_row").to_pylist() == [10, 11, 13]


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
    rows = {
        "average_cpu": [0.5, 0.5, 0.25],
        "maximum_cpu": [0.25, 0.25, 0.25],
        "aggregation_type": [True, False, True],
    }
    columns = {
        name: pa.array(v, pa.float32() if name.endswith("cpu") else pa.bool_())
        for name, v in rows.items()
    }
    assert count_broken(USAGE, pa.table(columns)) == {
        "mean_above_summed_maximum": 1,
        "mean_above_maximum": 1,
    }


def test_whose_trace_it_is_in_words():
    assert (origin(None), origin({"seed": 3})) == ("Google's trace", "synthetic, seed 3")


@pytest.mark.parametrize(("counted", "cores"), [(6, 6), (None, 1)])
def test_cores_where_no_affinity_is_told(monkeypatch, counted, cores):
    monkeypatch.delattr(ingestion.os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(ingestion.os, "cpu_count", lambda: counted)
    assert ingestion.available_cores() == cores
