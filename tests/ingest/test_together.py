"""However files arrive — at once, one by one, in parallel, split, twice — the store is the same."""

from __future__ import annotations

import gzip
import json
import random
import shutil

import pyarrow.parquet as pq
import pytest

import borgtrace
from borgtrace.errors import QualityError, SourceError, StoreError
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.ingest.build import sorting_limits, staging
from borgtrace.storage import locked
from borgtrace.store.digest import file_digest
from borgtrace.store.layout import Layout
from borgtrace.store.verify import verify
from tests.ingest.raw import (
    HASH,
    TABLES,
    USAGE,
    event_record,
    usage_record,
    write_cell,
    write_part,
    write_records,
)


def _usage(part: int, rows: int = 40) -> list[str]:
    generator = random.Random(part)
    start = 600_000_000 + part * 1_200_000_000
    return [
        f"{start},{start + 300_000_000},{generator.randrange(5)},{generator.randrange(3)},5,"
        f"{generator.random():.4g},0.1,,,,0.2,,,0.9,,,,,0,0.1"
        for _ in range(rows)
    ]


@pytest.fixture
def raw(tmp_path):
    write_cell(tmp_path / "raw")
    for part in range(4):
        write_part(tmp_path / "raw", "task_usage", _usage(part), part)
    return tmp_path / "raw"


ONE = IngestOptions(jobs=1)


def _digest(store):
    assert all(check.holds for check in verify(store))
    return borgtrace.open(store).digest


@pytest.fixture
def expected(raw, tmp_path):
    ingest([raw], tmp_path / "expected", ONE)
    return _digest(tmp_path / "expected")


def test_the_same_source_twice_changes_nothing(raw, tmp_path, expected):
    again = ingest([raw], tmp_path / "expected", ONE)
    assert (again.staged, again.known) == ((), 9)
    assert _digest(tmp_path / "expected") == expected


def test_sources_added_one_by_one_are_merged(raw, tmp_path, expected):
    for path in sorted(raw.rglob("*.gz"), reverse=True):
        ingest([path], tmp_path / "store", ONE)
    assert _digest(tmp_path / "store") == expected


def test_parts_staged_one_by_one_while_raw_files_vanish(raw, tmp_path, expected):
    for path in sorted(raw.rglob("*.gz")):
        assert (
            ingest([path], tmp_path / "store", IngestOptions(jobs=1, stage_only=True)).manifest
            is None
        )
        path.unlink()
    with pytest.raises(StoreError) as error:
        borgtrace.open(tmp_path / "store")
    assert str(error.value) == (
        f"{tmp_path / 'store'}: the store is half-built: expected manifest.json, "
        f"got an ingest that did not finish; finish it: borgtrace ingest SRC --store {tmp_path / 'store'}"
    )
    ingest([], tmp_path / "store", ONE)
    assert _digest(tmp_path / "store") == expected


def test_parallel_is_serial_byte_for_byte(
    raw,
    tmp_path,
    expected,
    monkeypatch,
):
    monkeypatch.setattr(staging, "WORTH_A_PROCESS", 0)
    ingest([raw], tmp_path / "store", IngestOptions(jobs=2, memory="200MB"))
    assert _digest(tmp_path / "store") == expected


def _files(store):
    return sorted((store / "instance_usage").iterdir())


@pytest.mark.parametrize(("most", "memory"), [(40, "4GB"), (1, "200MB")])
def test_the_digest_is_the_same_in_any_number_of_files(
    raw,
    tmp_path,
    expected,
    monkeypatch,
    most,
    memory,
):
    """Where a file may hold 1 row, each of the 5 collections is larger than that, and sorted by DuckDB."""
    monkeypatch.setattr(sorting_limits, "MOST_ROWS", most)
    ingest([raw], tmp_path / "store", IngestOptions(jobs=2, memory=memory))
    assert _digest(tmp_path / "store") == expected
    assert len(_files(tmp_path / "store")) == 5


def test_added_rows_touch_the_files_of_their_collections_alone(raw, tmp_path, monkeypatch):
    monkeypatch.setattr(sorting_limits, "MOST_ROWS", 40)
    store = tmp_path / "store"
    ingest([raw], store, ONE)
    before = _files(store)
    inodes, rows = (
        [path.stat().st_ino for path in before],
        [pq.read_metadata(path).num_rows for path in before],
    )
    more = [
        "600000000,900000000,3,1,5,0.1,0.1,,,,0.2,,,0.9,,,,,0,0.1",
        "0,1,7,1,5,0.1,0.1,,,,0.2,,,0.9,,,,,0,0.1",
    ]
    # Collection 3 has the fourth file; 7 belongs behind 4 in the fifth, which is full and becomes two.
    write_part(raw, "task_usage", more, 9)
    ingest([raw], store, ONE)
    after = _files(store)
    assert [path.stat().st_ino for path in after[:3]] == inodes[:3]
    assert not {path.stat().st_ino for path in after[3:]} & set(inodes)
    assert [pq.read_metadata(path).num_rows for path in after] == [
        *rows[:3],
        rows[3] + 1,
        rows[4],
        1,
    ]
    ingest([raw], tmp_path / "fresh", ONE)
    assert _digest(store) == _digest(tmp_path / "fresh")


def test_plain_and_multi_member_files_read_as_one_gzip(raw, tmp_path, expected):
    plain, members = raw / "task_usage", sorted((raw / "task_usage").glob("*.gz"))
    text = gzip.decompress(members[0].read_bytes())
    members[0].unlink()
    (plain / "part-00000-of-00500.csv").write_bytes(text)
    lines = gzip.decompress(members[1].read_bytes()).splitlines(keepends=True)
    members[1].write_bytes(b"".join(gzip.compress(line) for line in lines))
    ingest([raw], tmp_path / "store", ONE)
    assert _digest(tmp_path / "store") == expected


def test_loose_files_are_numbered_by_content_whatever_their_names(tmp_path):
    digests = []
    for names in (("b.csv", "a.csv"), ("x.csv", "y.csv")):
        folder = tmp_path / names[0]
        folder.mkdir()
        for name, part in zip(names, (0, 1), strict=True):
            (folder / name).write_text("\n".join(_usage(part)) + "\n")
        ingest([folder], tmp_path / f"store-{names[0]}", ONE)
        digests.append(_digest(tmp_path / f"store-{names[0]}"))
    assert digests[0] == digests[1]
    rows = borgtrace.open(tmp_path / "store-b.csv").sql(
        "select distinct source_part p from instance_usage order by p"
    )
    assert rows.column(0).to_pylist() == [0, 1]


def test_adding_a_loose_file_renumbers_the_ranks(tmp_path):
    for part in (0, 1):
        (tmp_path / f"{part}.csv").write_text("\n".join(_usage(part)) + "\n")
    ingest([tmp_path / "0.csv", tmp_path / "1.csv"], tmp_path / "both", ONE)
    for order in ((0, 1), (1, 0)):
        store = tmp_path / f"store-{order[0]}"
        for part in order:
            ingest([tmp_path / f"{part}.csv"], store, ONE)
        assert _digest(store) == _digest(tmp_path / "both")


def test_adding_a_loose_file_renumbers_the_tables_it_has_no_rows_of(tmp_path):
    def loose(name, **fields):
        path = write_records(tmp_path, "instance_events", [event_record(**fields)])
        return path.rename(tmp_path / f"instance_events_{name}.json.gz")

    first = loose(
        "a",
        constraint=[
            {
                "name": HASH,
                "relation": "0",
                "value": "x",
            }
        ],
    )
    # Loose files are ranked by digest: one that comes before the first gives its constraint another source_part.
    others = (loose("b", instance_index=str(index)) for index in range(2, 99))
    second = next(path for path in others if file_digest(path) < file_digest(first))
    ingest([first, second], tmp_path / "both", ONE)
    for path in (first, second):
        ingest([path], tmp_path / "store", ONE)
    assert _digest(tmp_path / "store") == _digest(tmp_path / "both")


def test_a_changed_source_is_an_error_that_names_it(raw, tmp_path, expected):
    path = write_part(raw, "task_usage", _usage(9), 2)
    with pytest.raises(SourceError, match="the source has changed since it was ingested") as error:
        ingest([raw], tmp_path / "expected", ONE)
    assert str(path) in str(error.value)
    assert str(error.value).endswith("accept the new content with --replace")
    assert _digest(tmp_path / "expected") == expected
    ingest([raw], tmp_path / "expected", IngestOptions(jobs=1, replace=True))
    ingest([raw], tmp_path / "fresh", ONE)
    assert _digest(tmp_path / "expected") == _digest(tmp_path / "fresh") != expected


def test_two_files_that_claim_to_be_the_same_part(raw, tmp_path):
    second = write_part(tmp_path / "raw" / "copy", "task_usage", _usage(7), 0)
    with pytest.raises(SourceError, match="two different files claim to be the same part") as error:
        ingest([raw], tmp_path / "store", ONE)
    assert "part-00000-of-00500.csv.gz" in str(error.value)
    shutil.copy(raw / "task_usage" / second.name, second)
    assert len(ingest([raw], tmp_path / "store", ONE).staged) == 9


def test_a_folder_that_mixes_generations_lists_both(raw, tmp_path):
    record = write_records(raw, "instance_usage", [usage_record()])
    with pytest.raises(SourceError) as error:
        ingest([raw], tmp_path / "store", ONE)
    assert str(error.value).startswith(
        "sources: the files mix generations: expected one per store, got 2011: "
    )
    assert f"2019: {record}; ingest each into a separate store" in str(error.value)
    assert not (tmp_path / "store").exists()


def test_cells_are_not_mixed(tmp_path):
    for cell in "ab":
        write_records(tmp_path / f"clusterdata_2019_{cell}", "instance_usage", [usage_record()])
    with pytest.raises(SourceError, match="the files mix cells"):
        ingest([tmp_path], tmp_path / "store", ONE)
    ingest([tmp_path / "clusterdata_2019_a"], tmp_path / "store", ONE)
    with pytest.raises(StoreError, match="the store holds another cell: expected a, got b"):
        ingest([tmp_path / "clusterdata_2019_b"], tmp_path / "store", ONE)
    assert borgtrace.open(tmp_path / "store").manifest.time_zone == "America/New_York"


def test_real_and_synthetic_traces_are_not_mixed(tmp_path):
    paths = {}
    for table, seed in (("job_events", None), ("machine_events", 1), ("task_events", 2)):
        paths[seed] = write_part(tmp_path / str(seed), table, TABLES[table])
        if seed:
            (tmp_path / str(seed) / "truth.json").write_text(json.dumps({"seed": seed}))
    names = {
        None: "Google's trace",
        1: "synthetic, seed 1",
        2: "synthetic, seed 2",
    }
    for pair in ((None, 1), (1, 2), (1, None)):
        with pytest.raises(SourceError) as error:
            ingest([tmp_path / str(seed) for seed in pair], tmp_path / "store", ONE)
        got = "; ".join(sorted(f"{names[seed]}: {paths[seed]}" for seed in pair))
        assert str(error.value) == (
            f"sources: the files mix origins: expected one per store, got {got}; ingest each into a separate store"
        )
    assert ingest([tmp_path / "1"], tmp_path / "store", ONE).manifest.synthetic["seed"] == 1


def test_a_second_writer_is_refused(raw, tmp_path):
    with (
        locked(Layout(tmp_path / "store").lock, tmp_path / "store"),
        pytest.raises(StoreError) as error,
    ):
        ingest([raw], tmp_path / "store", ONE)
    assert "another process is writing here: expected one writer, got process" in str(error.value)


def test_strict_keeps_the_store_and_fails(raw, tmp_path):
    write_part(raw, "task_usage", [*_usage(0), "garbage"], 0)
    with pytest.raises(QualityError) as error:
        ingest([raw], tmp_path / "store", IngestOptions(jobs=1, strict=True))
    assert str(error.value) == (
        f"{tmp_path / 'store'}: rows were refused: expected none, got 1; "
        f"look at them: {tmp_path / 'store' / 'quarantine'}, or omit --strict"
    )
    assert borgtrace.open(tmp_path / "store").manifest.tables["instance_usage"] == 160


def test_a_folder_of_other_things_is_no_store(raw, tmp_path):
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter1.tex").write_text("…")
    for rebuild in (False, True):
        with pytest.raises(StoreError, match="the folder holds something else"):
            ingest([raw], tmp_path / "thesis", IngestOptions(jobs=1, rebuild=rebuild))
    assert (tmp_path / "thesis" / "chapter1.tex").exists()


def test_another_format_version_is_refused_and_rebuilt(raw, tmp_path, expected):
    store = tmp_path / "expected"
    manifest = json.loads((store / "manifest.json").read_text())
    (store / "manifest.json").write_text(json.dumps({**manifest, "format_version": "9.0"}))
    with pytest.raises(StoreError) as error:
        borgtrace.open(store)
    assert str(error.value) == (
        f"{store}: store of another format version: expected 1.1, got 9.0; "
        f"build it again: borgtrace ingest SRC --store {store} --rebuild"
    )
    ingest([raw], store, IngestOptions(jobs=1, rebuild=True))
    assert _digest(store) == expected


def test_2019_shards_in_parquet_and_json_give_the_same_rows(tmp_path):
    import duckdb

    usage = [usage_record(instance_index=str(i)) for i in range(5)]
    events = [
        event_record(
            instance_index=str(i),
            constraint=[
                {
                    "name": HASH,
                    "relation": "1",
                    "value": "x",
                },
                {"name": HASH, "relation": "6"},
            ],
        )
        for i in range(5)
    ]
    paths = [
        write_records(tmp_path / "json", "instance_usage", usage),
        write_records(tmp_path / "json", "instance_events", events),
    ]
    (tmp_path / "parquet").mkdir()
    from borgtrace.ingest.files.raw_layout import raw_layout
    from borgtrace.ingest.read.records import record_types
    from borgtrace.schema.dialects import GOOGLE_2019

    for path in paths:
        table = path.name.rsplit("-", 1)[0]
        columns = ", ".join(
            f"\"{name}\": '{kind}'"
            for name, kind in record_types(raw_layout(GOOGLE_2019, table)).items()
        )
        target = tmp_path / "parquet" / path.name.replace(".json.gz", ".parquet.gz")
        duckdb.sql(
            f"COPY (FROM read_json('{path}', columns={{{columns}}})) TO '{target}' (FORMAT parquet)"
        )
    for kind in ("json", "parquet"):
        ingest([tmp_path / kind], tmp_path / f"store-{kind}", ONE)
    assert _digest(tmp_path / "store-json") == _digest(tmp_path / "store-parquet")
    store = borgtrace.open(tmp_path / "store-json")
    assert store.manifest.tables["instance_constraints"] == 10
    rows = store.sql(
        "select relation, value, position from instance_constraints where instance_index = 3 order by position"
    )
    assert rows.to_pylist() == [
        {
            "relation": "NOT_EQUAL",
            "value": "x",
            "position": 0,
        },
        {
            "relation": "PRESENT",
            "value": None,
            "position": 1,
        },
    ]


def test_sentinels_become_null_and_dedicated_machines_are_flagged(tmp_path):
    events = [
        event_record(machine_id=machine, instance_index=str(i))
        for i, machine in enumerate(("0", "-1", "7"))
    ]
    for name, form in (
        ("quoted", events),
        (
            "numbers",
            [{k: int(v) if k != "resource_request" else v for k, v in e.items()} for e in events],
        ),
    ):
        write_records(tmp_path / name, "instance_events", form)
        ingest([tmp_path / name], tmp_path / f"store-{name}", ONE)
        rows = borgtrace.open(tmp_path / f"store-{name}").sql(
            "select machine_id m, is_on_dedicated_machine d, alloc_collection_id a, alloc_instance_index i "
            "from instance_events order by instance_index"
        )
        assert rows.to_pylist() == [
            {
                "m": None,
                "d": False,
                "a": None,
                "i": None,
            },
            {
                "m": None,
                "d": True,
                "a": None,
                "i": None,
            },
            {
                "m": 7,
                "d": False,
                "a": None,
                "i": None,
            },
        ]


def test_each_column_by_a_distinct_constant(tmp_path):
    line = "600000000,900000000,3,4,5,0.06,0.07,0.08,0.09,0.10,0.11,0.12,0.13,0.14,0.15,0.16,0.17,0.18,1,0.20"
    path = write_part(tmp_path, "task_usage", [line])
    ingest([path], tmp_path / "store", ONE)
    (row,) = borgtrace.open(tmp_path / "store").sql("select * from instance_usage").to_pylist()
    found = {name: round(value, 2) for name, value in row.items() if isinstance(value, float)}
    assert found == {
        "average_cpu": 0.06,
        "average_memory": 0.07,
        "assigned_memory": 0.08,
        "unmapped_page_cache_memory": 0.09,
        "page_cache_memory": 0.10,
        "maximum_memory": 0.11,
        "mean_disk_io_time": 0.12,
        "mean_disk_space": 0.13,
        "maximum_cpu": 0.14,
        "maximum_disk_io_time": 0.15,
        "cycles_per_instruction": 0.16,
        "memory_accesses_per_instruction": 0.17,
        "sample_portion": 0.18,
        "sampled_cpu": 0.20,
    }


def test_19_column_usage_has_no_sampled_cpu(tmp_path):
    path = write_part(tmp_path, "task_usage", [USAGE[0].rsplit(",", 1)[0]])
    ingest([path], tmp_path / "store", ONE)
    rows = borgtrace.open(tmp_path / "store").sql(
        "select sampled_cpu, average_cpu from instance_usage"
    )
    assert rows.to_pylist() == [
        {"sampled_cpu": None, "average_cpu": pytest.approx(0.0015, rel=1e-6)}
    ]


def test_empty_constraint_values_stay_empty_text_and_empty_numbers_are_null(tmp_path):
    write_cell(tmp_path / "raw")
    write_part(tmp_path / "raw", "task_usage", ["600000000,900000000,10,0,5,,,,,,,,,,,,,,,"])
    ingest([tmp_path / "raw"], tmp_path / "store", ONE)
    store = borgtrace.open(tmp_path / "store")
    assert store.sql("select value, name, relation from instance_constraints").to_pylist() == [
        {
            "value": "",
            "name": HASH,
            "relation": "NOT_EQUAL",
        }
    ]
    (row,) = store.sql(
        "select max(average_cpu) a, count(average_cpu) n, count(*) k from instance_usage"
    ).to_pylist()
    assert row == {
        "a": None,
        "n": 0,
        "k": 1,
    }
    (task,) = store.sql(
        "select mean_average_cpu m, max_average_cpu x, n_windows n from tasks"
    ).to_pylist()
    assert task == {
        "m": None,
        "x": None,
        "n": 1,
    }
