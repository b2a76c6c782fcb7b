"""The small rules of reading and converting, each by itself on a few typed values."""

from __future__ import annotations

import hashlib
import io
import json
import random
import stat
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from borgtrace.errors import SchemaError, SourceError, UsageError
from borgtrace.ingest import delimited, streams, usage_index
from borgtrace.ingest.column_checks import count_out_of_order
from borgtrace.ingest.completion import _stays, _time_range, count_rows
from borgtrace.ingest.conversion import open_rows
from borgtrace.ingest.conversion_terms import Basis, Terms
from borgtrace.ingest.converted_usage import windows
from borgtrace.ingest.discovery import discover, origin, truth_about
from borgtrace.ingest.file_ranges import cut_ranges, plan_files, range_condition
from borgtrace.ingest.flattened import _choose
from borgtrace.ingest.flattened_rows import _literal, _whole, record_of
from borgtrace.ingest.json_token_counts import tokens_in
from borgtrace.ingest.own_data import parse_capacity, read_declaration
from borgtrace.ingest.pending import Pending, find_pending, staged_entries
from borgtrace.ingest.raw_layout import Field, NeedsValidation, raw_layout
from borgtrace.ingest.recognition import _cell_of, _kind, _lines, _not_a_trace
from borgtrace.ingest.records import record_types
from borgtrace.ingest.row_order import sort_rows
from borgtrace.ingest.scattered_rows import usual_step
from borgtrace.ingest.schema_csv import read_schema_csv
from borgtrace.ingest.sniffing import sniff
from borgtrace.ingest.sources import Source
from borgtrace.ingest.staged import StagedOutput, StagedPaths, StagedWriter, make_entry, write_entry
from borgtrace.ingest.staged_relation import StagedPart
from borgtrace.ingest.strange_text import is_strange
from borgtrace.schema.dialects import GOOGLE_2011, GOOGLE_2019, KAGGLE_2019, Conversion, RawField
from borgtrace.schema.dialects.declaration import declared_dialect
from borgtrace.schema.time import AFTER_TRACE
from borgtrace.store.manifest import SourceEntry

# Layouts


def test_what_the_fields_of_a_layout_say() -> None:
    order = tuple(field.name for field in GOOGLE_2011.tables["task_events"].fields)
    events = raw_layout(GOOGLE_2011, "task_events", order)
    assert events.columns[:6] == ("time", "missing_type", "collection_id", "instance_index", "machine_id", "type")
    assert (events.width, events.time, events.is_converted, events.derives_dedicated) == (13, "time", False, False)
    assert raw_layout(GOOGLE_2011, "task_usage").time == "start_time"
    machines = raw_layout(GOOGLE_2019, "machine_attributes")
    fields = {field.name: field for field in machines.fields}
    # A flag that is left out is false; a name that is left out is no row.
    assert [name for name, field in fields.items() if field.has_default] == ["is_deleted"]
    assert not machines.derives_dedicated
    nested = raw_layout(GOOGLE_2019, "instance_events")
    # FACTS §8: the machine −1 is one of its own; the flag that says so stands behind the machine.
    assert nested.derives_dedicated
    assert nested.columns[nested.columns.index("machine_id") + 1] == "is_on_dedicated_machine"
    kinds = {field.name: field for field in nested.fields}
    assert kinds["type"].codes[0] == "SUBMIT"
    assert not kinds["type"].has_words
    assert kinds["priority"].codes == {}
    assert kinds["priority"].null_codes == ()
    assert kinds["missing_type"].null_codes == (0,)
    assert not kinds["time"].is_scaled
    assert not kinds["time"].is_text


def test_a_column_of_numbers_is_read_as_text_where_its_field_is_a_date_or_has_words() -> None:
    column = raw_layout(GOOGLE_2011, "machine_events").table.column("time")
    for raw, is_text, is_dated, is_scaled in (
        (RawField("t", "time"), False, False, False),
        (RawField("t", "time", zone="UTC"), True, True, False),
        (RawField("t", "time", words=((">24", 30.0),)), True, False, False),
        (RawField("t", "time", scale=1e6), False, False, True),
        (RawField("t", "time", offset=600), False, False, True),
    ):
        field = Field(raw, column, GOOGLE_2011, 1)
        assert (field.is_text, field.is_dated, field.is_scaled) == (is_text, is_dated, is_scaled)


def test_a_quote_is_a_part_of_its_field_but_in_own_data(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text('5,1,"name",b,0\n')
    fields = tuple(field.name for field in GOOGLE_2011.tables["machine_attributes"].fields)
    source = Source(path, GOOGLE_2011, "machine_attributes", "csv", order=fields)
    (chunk,) = delimited.read_delimited(source, raw_layout(GOOGLE_2011, "machine_attributes", fields))
    assert chunk.column("name").to_pylist() == ['"name"']
    own = declared_dialect({"clock": "relative", "machines": {"machine": "node"}}, "own.toml")
    path.write_text('"n1"\n')
    with pytest.raises(NeedsValidation):
        list(delimited.read_delimited(Source(path, own, "machines", "csv"), raw_layout(own, "machines", ("node",))))


def test_records_are_typed_by_their_columns() -> None:
    types = record_types(raw_layout(GOOGLE_2019, "machine_attributes"))
    assert types == {
        "time": "BIGINT",
        "machine_id": "BIGINT",
        "name": "VARCHAR",
        "value": "VARCHAR",
        "deleted": "VARCHAR",
    }


# Texts


@pytest.mark.parametrize(
    ("text", "cores", "n_bytes"),
    [
        ("", None, None),
        ("1core", 1.0, None),
        ("1.5 GiB , 2cores", 2.0, 1.5 * 2**30),
        ("500MB", None, 5e8),
        ("64bytes", None, 64.0),
    ],
)
def test_the_size_of_a_machine(text: str, cores: float | None, n_bytes: float | None) -> None:
    assert parse_capacity(text) == (cores, n_bytes)


@pytest.mark.parametrize("text", ["8apples", "0cores", "8cores,4cores", "1GiB,2MB", "cores", "8", "-1cores", "1GiBx"])
def test_what_is_no_size_of_a_machine(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_capacity(text)
    assert str(caught.value) == f"--capacity: not the size of a machine: expected such as 8cores,32GiB, got {text}"


def test_a_declaration_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(SourceError) as caught:
        read_declaration(tmp_path / "own.toml")
    assert str(caught.value) == (
        f"{tmp_path / 'own.toml'}: no such file or directory; "
        "write a first draft: borgtrace dialect sniff FILE > own.toml"
    )
    (tmp_path / "own.toml").write_text("a =")
    with pytest.raises(SourceError, match=r"own.toml: not TOML \(.*; mend the line"):
        read_declaration(tmp_path / "own.toml")


@pytest.mark.parametrize(
    ("text", "strange"),
    [
        (b"0x1", True),
        (b"1,0XfF\n", True),
        (b'{"a": "0b1"}', True),
        (b"5\t0B10\t5", True),
        (b"0xg,0x1", True),  # the second one
        (b"a0x1,b", False),
        (b"0x1a=,5", False),
        (b"0x,0b", False),
        (b"10x5", False),
        (b"a\0", True),
        ("a\N{REPLACEMENT CHARACTER}".encode(), True),
        (b"", False),
        (b"1,2.5,abc\n", False),
    ],
)
def test_text_that_arrow_and_we_read_differently(text: bytes, strange: bool) -> None:
    assert is_strange(text) is strange


@pytest.mark.parametrize("length", [0, 1, 7, 64, 200])
def test_strange_text_and_flags_are_found_at_any_place_of_a_block(length: int) -> None:
    # Compiled code looks at many bytes at a time, and at the last ones by themselves.
    before, after = b"10,x0.5," * 30, b',"b":5.0,"e":"u"'
    assert not is_strange(before[:length])
    assert is_strange(before[:length] + b",0X1F")
    assert is_strange(b"0b1" + after * length)
    assert is_strange(before[:length] + b"\xef\xbf\xbd" + after)
    assert not is_strange(before[:length] + b"\xef\xbf\xbe" + after)
    for text, flags in ((b"true", 1), (b"false", 1), (b"falsetrue", 2), (b"fals", 0), (b"True rue TRUE", 0)):
        assert tokens_in(b"," * length + text)[3] == flags


@pytest.mark.parametrize(
    ("printed", "text"),
    [
        ("{'cpus': 0.5, 'memory': None}", '{"cpus": 0.5, "memory": null}'),
        ("{'a': nan}", '{"a": null}'),
        ("[0.1 1. 2.5e-05 3]", "[0.1,1.0,2.5e-05,3]"),
        (
            "[{'name': 'nan\"b', 'value': ''} {'name': \"it's\"}]",
            '[{"name": "nan\\"b", "value": ""},{"name": "it\'s"}]',
        ),
        (" [] ", "[]"),
    ],
)
def test_a_printed_python_literal_becomes_json(printed: str, text: str) -> None:
    assert _literal(printed) == text
    json.loads(text)


def test_what_pandas_made_of_integers_is_undone() -> None:
    assert [_whole(text) for text in ("5.0", "-5.0", "+5", "5.5", "a.0", "5.00")] == [
        "5",
        "-5",
        "+5",
        "5.5",
        "a.0",
        "5.00",
    ]
    flattened = KAGGLE_2019.flattened
    assert flattened
    raw = KAGGLE_2019.tables["collection_events"]
    # A column that was renamed is there even where it is empty: its row is to be refused.
    assert record_of(flattened, raw, {"time": "", "scheduler": "nan"}) == '{"type":"","scheduler":"nan"}'


def test_a_cell_is_chosen_where_a_file_mixes_them() -> None:
    def source(cell: str) -> Source:
        return Source(Path("x.csv"), KAGGLE_2019, "kaggle", "kaggle", cell=cell)

    mixed = Counter({"b": 2, "a": 1})
    assert [_choose(source(cell), mixed) for cell in ("a", "b")] == ["a", "b"]
    assert _choose(source(""), Counter({"d": 5})) == "d"
    for cell, cells in (("", mixed), ("c", mixed), ("c", Counter({"d": 5}))):
        with pytest.raises(UsageError) as caught:
            _choose(source(cell), cells)
        known = ", ".join(f"{name} ({number} rows)" for name, number in sorted(cells.items()))
        assert str(caught.value) == (
            f"--cell: x.csv mixes cells, and a store holds one: expected one of {known}, got {cell or 'none'}; "
            f"choose one: --cell {min(cells)}"
        )


# Lines


def lengths(*blocks: bytes) -> None:
    looked = streams.LineLengths(Path("x"))
    for block in blocks:
        looked.look(block)


def test_a_line_may_be_as_long_as_is_allowed_and_not_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "LONGEST_LINE", 4)
    for blocks in ((b"1234\n1234\n", b"1234"), (b"12", b"34\n", b"\n\n1234"), (b"",), (b"1\n" * 9, b"1234\n1234")):
        lengths(*blocks)
    for blocks in ((b"12345\n",), (b"1\n12345",), (b"12", b"345"), (b"12", b"345\n1\n"), (b"1\n2\n12345\n1\n",)):
        with pytest.raises(SourceError, match="x: a line is too long: expected lines of at most 16 MiB"):
            lengths(*blocks)


def test_a_workload_file_is_read_as_delimited_lines() -> None:
    text = b"; a comment\n  1  2\t3\n\n4 a,b 6\n;5 6\n7"
    expected = b"1,2,3\n4,a;b,6\n7\n"
    for size in (-1, 1, 4, 100):
        fields = streams._Fields(io.BytesIO(text))  # type: ignore[arg-type]
        found = b""
        while block := fields.read(size):
            assert size < 0 or len(block) <= size
            found += block
        assert found == expected
    buffer = bytearray(8)
    assert streams._Fields(io.BytesIO(text)).readinto(buffer) == 8  # type: ignore[arg-type]
    assert bytes(buffer) == expected[:8]
    assert streams._Fields(io.BytesIO(b"")).readable()  # type: ignore[arg-type]


def test_an_error_of_the_disk_is_no_damage(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(b"plain")
    source = Source(path, GOOGLE_2011, "task_usage", "csv", is_zstd=True)
    with pytest.raises(SourceError, match="zstd data is damaged or ends early"), streams.open_stream(source) as stream:
        stream.read()

    def fail() -> None:
        with streams.open_stream(Source(path, GOOGLE_2011, "task_usage", "csv", is_zstd=True)):
            raise OSError(5, "the disk fails")

    path.write_bytes(pa.compress(b"1\n", "zstd", asbytes=True))
    with pytest.raises(OSError, match="the disk fails"):
        fail()


def test_kinds_of_what_is_no_file() -> None:
    assert [_kind(mode) for mode in (stat.S_IFIFO, stat.S_IFDIR, stat.S_IFSOCK, stat.S_IFCHR)] == [
        "a pipe",
        "a folder",
        "a socket",
        "a device",
    ]
    assert _lines(b"1,2\r\n\n3,4\n5") == ["1,2", "3,4"]
    assert _lines(b"1,2") == ["1,2"]
    shown = str(_not_a_trace(Path("x"), "a" * 41))
    assert f"got '{'a' * 40}…'" in shown
    assert f"got '{'a' * 40}'" in str(_not_a_trace(Path("x"), "a" * 40))


@pytest.mark.parametrize(
    ("folder", "cell"),
    [("clusterdata_2019_a", "a"), ("clusterdata_2019_h/json", "h"), ("clusterdata_2019_archive", ""), ("cell_a", "")],
)
def test_a_folder_named_like_the_bucket_says_the_cell(tmp_path: Path, folder: str, cell: str) -> None:
    assert _cell_of(tmp_path / folder / "x.json.gz", GOOGLE_2019) == cell
    assert _cell_of(tmp_path / folder / "x.csv.gz", GOOGLE_2011) == ""


def test_the_nearest_account_of_a_synthetic_trace_counts(tmp_path: Path) -> None:
    inner = tmp_path / "raw" / "inner"
    inner.mkdir(parents=True)
    assert truth_about(inner / "x.csv") is None
    (tmp_path / "truth.json").write_text('{"seed": 1, "version": "0", "parameters": {"a": 2}}')
    assert truth_about(inner / "x.csv") == {"seed": 1, "version": "0", "parameters": {"a": 2}}
    (tmp_path / "raw" / "truth.json").write_text('{"seed": 3, "parts": {"t": 4}, "more": 5}')
    assert truth_about(inner / "x.csv") == {"seed": 3, "version": None, "parameters": None, "parts": {"t": 4}}
    (inner / "truth.json").write_text("[1]")
    with pytest.raises(SourceError, match="not the account of a synthetic trace"):
        truth_about(inner / "x.csv")
    assert (origin({"seed": 3}), origin(None)) == ("synthetic, seed 3", "Google's trace")


def test_where_nothing_is_found(tmp_path: Path) -> None:
    (tmp_path / ".hidden").write_text("x")
    (tmp_path / "truth.json").write_text("{}")
    with pytest.raises(SourceError) as caught:
        discover([tmp_path])
    assert str(caught.value).startswith(f"{tmp_path}: no trace files found: expected 2011 CSV parts or 2019 JSON")
    with pytest.raises(SourceError, match="no such file or folder; check the path"):
        discover([tmp_path / "nothing"])


# Rows


@pytest.mark.parametrize("seed", range(8))
def test_rows_are_sorted_as_python_sorts_them(seed: int) -> None:
    draw = random.Random(seed)
    n = draw.choice([0, 1, 2, 50])
    kinds = {
        "wide": lambda: draw.choice([0, 1, 2**62, 2**63 - 1]),
        "few": lambda: draw.randrange(3),
        "signed": lambda: draw.randrange(-3, 3),
        "gaps": lambda: draw.choice([None, 1, 5]),
        "text": lambda: draw.choice(["a", "b", "", None]),
        "time": lambda: draw.randrange(2**40),
    }
    key = draw.sample(sorted(kinds), draw.choice([1, 2, 4]))
    rows = [{name: kinds[name]() for name in key} | {"at": at} for at in range(n)]
    types = [(name, pa.string() if name == "text" else pa.int64()) for name in [*key, "at"]]
    found = sort_rows(pa.Table.from_pylist(rows, pa.schema(types)), [*key, "at"]).to_pylist()

    def in_order(row: dict[str, Any]) -> list[tuple[bool, Any]]:
        # NULL comes last.
        return [(row[name] is None, row[name] or ("" if name == "text" else 0)) for name in [*key, "at"]]

    assert found == sorted(rows, key=in_order)


@pytest.mark.parametrize("wide", [2**62, 2**63 - 1])
@pytest.mark.parametrize("far", [1, 2**20, 2**40, 2**62])
def test_ties_of_a_wide_column_are_settled_by_what_follows(wide: int, far: int) -> None:
    """Both together take more bits than a word has: what is left over is compared among equal rows only."""
    rows = [
        (first, second, third) for third in (9, 0) for second in (far, 5, 0, 2, far - 1, 3) for first in (wide, 7, 0)
    ]
    names = ("a", "b", "c")
    table = pa.table({name: [row[place] for row in rows] for place, name in enumerate(names)})
    for n_columns in (2, 3):
        key = [row[:n_columns] for row in rows]
        found = sort_rows(table.select(names[:n_columns]), names[:n_columns])
        assert list(zip(*(column.to_pylist() for column in found.columns), strict=True)) == sorted(key)


def test_times_out_of_order_are_counted_across_chunks() -> None:
    assert count_out_of_order(np.array([]), 5) == 0
    assert count_out_of_order(np.array([5, 5, 4, 6, 1]), 5) == 2
    assert count_out_of_order(np.array([4, 9]), 5) == 1


def test_files_of_collections_are_cut_and_kept() -> None:
    ids, counts = np.array([1, 5, 9, 12]), np.array([3, 2, 7, 1])
    assert cut_ranges(ids, counts, 5) == [9, 12]  # 3 and 2 fill one exactly; 7 is more than a file
    assert cut_ranges(ids, counts, 100) == []
    assert [range_condition([5, 9], number) for number in range(3)] == [
        "collection_id < 5",
        "collection_id >= 5 AND collection_id < 9",
        "collection_id >= 9",
    ]
    present = [Path("a"), Path("b"), Path("c")]
    # New rows of 5: the first file, which ends before 9, is written anew and split, the others stay.
    assert plan_files(ids, counts, 4, present, [9, 12], np.array([5])) == ([5, 9, 12], {2: Path("b"), 3: Path("c")})
    assert plan_files(ids, counts, 100, present, [9, 12], np.array([], np.int64)) == (
        [9, 12],
        {0: Path("a"), 1: Path("b"), 2: Path("c")},
    )


def usage_of(pairs: list[tuple[int, int]]) -> pa.Table:
    return pa.table({"collection_id": [a for a, _ in pairs], "instance_index": [b for _, b in pairs]})


def test_the_last_task_of_a_block_waits_for_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert usage_index._last_task(usage_of([(1, 0), (1, 1), (1, 1)])) == 1
    assert usage_index._last_task(usage_of([(1, 1), (2, 1), (2, 1)])) == 1
    assert usage_index._last_task(usage_of([(1, 0), (1, 0)])) == 0
    tasks = [(1, 0)] * 3 + [(1, 1)] + [(2, 0)] * 4 + [(3, 0)]
    kinds = {"collection_type": pa.string()} | dict.fromkeys(usage_index.STATISTICS_COLUMNS, pa.float32())
    parts = []
    for number, rows in enumerate((tasks[:4], tasks[4:])):
        columns = {name: pa.nulls(len(rows), kinds.get(name, pa.int64())) for name in usage_index._READ}
        columns |= {name: usage_of(rows).column(name) for name in ("collection_id", "instance_index")}
        parts.append(tmp_path / f"part-{number:05d}.parquet")
        pq.write_table(pa.table(columns), parts[-1])
    monkeypatch.setattr(usage_index, "ROWS_PER_BLOCK", 2)
    found = list(usage_index._whole_tasks(parts))
    ids = [
        list(zip(*(block.column(name).to_pylist() for name in usage_index._READ[:2]), strict=True))
        for _, block in found
    ]
    assert [pair for block in ids for pair in block] == tasks
    assert [first for first, _ in found] == [sum(map(len, ids[:i])) for i in range(len(ids))]
    # No task is in two blocks.
    assert sum(len(set(block)) for block in ids) == 4
    assert list(usage_index._whole_tasks([])) == []


def test_the_first_and_the_last_time_of_a_table(tmp_path: Path) -> None:
    pq.write_table(pa.table({"start_time": [5, 9], "end_time": [8, AFTER_TRACE]}), tmp_path / "u.parquet")
    pq.write_table(pa.table({"time": [3, AFTER_TRACE, 4]}), tmp_path / "e.parquet")
    pq.write_table(pa.table({"time": [AFTER_TRACE]}), tmp_path / "m.parquet")
    files = {
        "instance_usage": [tmp_path / "u.parquet"],
        "instance_events": [tmp_path / "e.parquet"],
        "machine_events": [tmp_path / "m.parquet"],
        "machine_attributes": [],
    }
    assert _time_range(duckdb.connect(), files) == {"instance_usage": [5, 8], "instance_events": [3, 4]}
    assert [count_rows(paths) for paths in files.values()] == [2, 3, 1, 0]
    assert [_stays(path, tmp_path) for path in (None, tmp_path / "u.parquet", Path("/other/u.parquet"))] == [
        False,
        False,
        True,
    ]


# Conversion


def test_what_files_of_own_data_fill() -> None:
    fills = {"task_rows": frozenset({"start"}), "usage_rows": frozenset[str]()}
    terms = Terms(Conversion(), Basis(cores=8.0, zero=5), fills)
    asked = (("task_rows",), ("task_rows", "start"), ("task_rows", "end"), ("machine_rows",))
    assert [terms.has(*each) for each in asked] == [True, True, False, False]
    assert terms.has_lives
    assert not Terms(Conversion(), Basis(), {"task_rows": frozenset({"end"})}).has_lives
    assert terms.time("t") == "(t - -599999995)"
    assert (terms.amount("x", "cpu"), terms.amount("x", "memory")) == ("(x / 8.0)", "(x)")


ROWS = [("a", 0), ("a", 290), ("a", 600), ("b", 1000), ("b", 1000)]


def measured(**more: Any) -> duckdb.DuckDBPyConnection:
    con = duckdb.connect()
    columns: dict[str, Any] = {
        "task": [task for task, _ in ROWS],
        "instance": pa.nulls(len(ROWS), pa.int32()),
        "time": pa.array([time for _, time in ROWS], pa.int64()),
        "end": pa.nulls(len(ROWS), pa.int64()),
        "length": pa.nulls(len(ROWS), pa.int64()),
        "average_cpu": pa.nulls(len(ROWS), pa.float64()),
        "counter_cpu": pa.nulls(len(ROWS), pa.float64()),
        "source_part": [0] * len(ROWS),
        "source_row": list(range(len(ROWS))),
    }
    rows = pa.table(columns | more)
    con.register("given", rows)
    con.execute("CREATE TABLE usage_rows AS FROM given")
    return con


@pytest.mark.parametrize(
    ("conversion", "spans"),
    [
        # A window ends after a step, or where the next one begins; two rows of one time are repeats.
        (Conversion(step=300), [(0, 290), (290, 590), (600, 900), (1000, 1300), (1000, 1300)]),
        (Conversion(step=300, is_regular=True), [(0, 300), (290, 590), (600, 900), (1000, 1300), (1000, 1300)]),
        (Conversion(step=300, label="end"), [(0, 0), (0, 290), (300, 600), (700, 1000), (1000, 1000)]),
        (Conversion(step=300, label="end", is_regular=True), [(0, 0), (0, 290), (300, 600), (700, 1000), (700, 1000)]),
    ],
)
def test_windows_of_measurements(conversion: Conversion, spans: list[tuple[int, int]]) -> None:
    con = measured()
    sql = windows(Terms(conversion, Basis(), {"usage_rows": frozenset({"average_cpu"})}))
    found = con.execute(f"SELECT start, stop FROM ({sql}) ORDER BY source_row").fetchall()
    assert (found[:4], len(found)) == (spans[:4], 5)


def test_windows_that_say_their_end_or_length() -> None:
    con = measured(
        end=pa.array([10, None, None, None, None], pa.int64()), length=pa.array([7, 7, None, 1, 2], pa.int64())
    )
    sql = windows(Terms(Conversion(), Basis(), {"usage_rows": frozenset({"average_cpu"})}))
    assert con.execute(f"SELECT start, stop FROM ({sql}) ORDER BY source_row").fetchall() == [
        (0, 10),
        (290, 297),
        (600, None),
        (1000, 1001),
        (1000, 1002),
    ]


def test_the_usual_step_of_a_counter() -> None:
    counted = measured(counter_cpu=pa.array([1.0, 2.0, 3.0, 4.0, None]))
    counted.execute("INSERT INTO usage_rows (task, time, counter_cpu) VALUES ('c', 0, 1), ('c', 310, 2), ('c', 310, 3)")
    assert usual_step(counted) == 310
    assert usual_step(measured()) == 0


def opened(tmp_path: Path, capacity: tuple[float | None, float | None] = (8.0, None), **columns: list[Any]) -> Terms:
    """What is found out of two measurements of one task, 300 s apart."""
    rows = {"task": ["web", "web"], "time": [0, 300_000_000], "source_row": [0, 1]} | columns
    pq.write_table(pa.table(rows), tmp_path / "u.parquet")
    own = declared_dialect({"clock": "relative", "machines": {"machine": "node"}}, "own.toml")
    return open_rows(duckdb.connect(), own, {"usage_rows": [StagedPart(tmp_path / "u.parquet", 3)]}, capacity)


def test_two_names_of_one_id_are_refused(tmp_path: Path) -> None:
    # The lower half of md5("one") without its highest bit; a number is its own id.
    both = ["192254321972271663", "one"]
    for column, kind in (("task", "task"), ("machine", "machine")):
        with pytest.raises(SourceError) as caught:
            opened(tmp_path, **{column: both})
        assert str(caught.value) == (
            f"column {kind}: two names have one id: got 192254321972271663 and one; rename one of them"
        )


def test_only_a_counter_has_a_usual_step(tmp_path: Path) -> None:
    counted = opened(tmp_path, counter_cpu=[1.0, 2.0])
    assert (counted.conversion.step, counted.basis) == (300_000_000, Basis(8.0, None, 0))
    assert counted.fills["usage_rows"] >= {"task", "time", "counter_cpu"}
    assert opened(tmp_path, average_cpu=[1.0, 2.0]).conversion.step is None
    with pytest.raises(UsageError, match="--capacity: cpu is in cores, and no table of machines says"):
        opened(tmp_path, (None, None), average_cpu=[1.0, 2.0])


# Staged files


def test_staged_rows_have_their_name_when_they_are_complete(tmp_path: Path) -> None:
    writer = StagedWriter(tmp_path / "x.parquet", ("collection_id", "instance_index"))
    writer.finish()
    assert not list(tmp_path.iterdir())
    for ids in ([3, 1], [2]):
        writer.write(pa.table({"collection_id": ids, "source_row": list(range(len(ids)))}))
    assert (writer.rows, writer.columns, writer.path.exists()) == (3, ("collection_id", "source_row"), False)
    writer.finish()
    assert [path.name for path in tmp_path.iterdir()] == ["x.parquet"]
    assert pq.read_table(writer.path).column("collection_id").to_pylist() == [1, 2, 3]
    given_up = StagedWriter(tmp_path / "y.parquet")
    given_up.write(pa.table({"a": [1]}))
    given_up.abandon()
    assert (given_up.rows, [path.name for path in tmp_path.iterdir()]) == (0, ["x.parquet"])
    given_up.write(pa.table({"a": [1, 2]}))
    given_up.finish()
    assert pq.read_table(given_up.path).num_rows == 2


def test_what_is_discarded_of_a_source_may_not_be_there(tmp_path: Path) -> None:
    paths = StagedPaths.of(tmp_path, "task_usage/part-00001")
    paths.discard()
    for path in (paths.entry, paths.table("instance_usage"), paths.quarantine("instance_usage")):
        path.parent.mkdir(parents=True)
        path.touch()
    other = StagedPaths.of(tmp_path, "task_usage/part-00002").table("instance_usage")
    other.touch()
    paths.discard()
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [other]


def attributes(times: list[int]) -> pa.Table:
    n = len(times)
    return pa.table(
        {"time": times, "machine_id": [1] * n, "name": ["a"] * n, "value": ["b"] * n, "is_deleted": [False] * n}
    )


def test_rows_are_numbered_counted_and_refused(tmp_path: Path) -> None:
    layout = raw_layout(GOOGLE_2011, "machine_attributes")
    paths = StagedPaths(tmp_path, "x")
    (tmp_path / "machine_attributes").mkdir()
    source = Source(Path("part-00003-of-00007.csv"), GOOGLE_2011, "machine_attributes", "csv", size=9)
    with StagedOutput(paths, layout) as output:
        output.write(attributes([9]))
        output.restart()
        output.write(attributes([5, 4]))
        output.write(attributes([]).cast(attributes([1]).schema))
        output.write(attributes([3, 6]))
        output.refuse(pa.table({"source_row": [4], "reason": ["unparsable_value"], "raw": ["x"]}))
    assert pq.read_table(paths.table("machine_attributes")).column("source_row").to_pylist() == [0, 1, 2, 3]
    entry = make_entry(source, output, "sha")
    assert (entry.rows_in, entry.stored, entry.quarantined, entry.part, entry.parts) == (5, 4, 1, 3, 7)
    assert entry.counters == {"time_out_of_order": 2, "unparsable_value": 1}
    assert make_entry(source, output, "sha", rows_in=8, skipped=3).skipped == 3

    def fail() -> None:
        with StagedOutput(StagedPaths(tmp_path, "y"), layout) as failing:
            failing.write(attributes([1]))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert [path.name for path in (tmp_path / "machine_attributes").iterdir()] == ["x.parquet"]


# Guessing


def draft(tmp_path: Path, text: str) -> tuple[dict[str, Any], dict[str, str]]:
    path = tmp_path / "own.csv"
    path.write_text(text)
    found = sniff(path)
    return found.declaration, found.said


@pytest.mark.parametrize(
    ("times", "unit", "clock", "step"),
    [
        ([0, 300, 600], "s", "relative", "5m"),
        ([100_000_000, 100_000_060], "s", "epoch", "1m"),
        ([99_999_879, 99_999_939], "s", "relative", "1m"),
        ([100_000_000_000, 100_000_001_000], "ms", "epoch", "1s"),
        ([10**14, 10**14 + 10**6], "us", "epoch", "1s"),
        ([10**17, 10**17 + 10**9], "ns", "epoch", "1s"),
    ],
)
def test_times_are_guessed_by_their_size(tmp_path: Path, times: list[int], unit: str, clock: str, step: str) -> None:
    lines = "".join(f"web,{time},{place % 2 + 1}.5\n" for place, time in enumerate([*times, times[-1] * 2 - times[-2]]))
    declared, said = draft(tmp_path, f"pod,ts,cpu\n{lines}")
    assert declared == {
        "name": "own",
        "clock": clock,
        "step": step,
        "label": "start",
        "usage": {
            "task": "pod",
            "time": {"column": "ts", "unit": unit},
            "cpu": {"column": "cpu", "unit": "cores", "kind": "average"},
        },
    }
    since = "1970" if clock == "epoch" else "the start of the trace"
    assert said["usage.time"] == f"column ts: guessed from its size to be {unit} since {since}"


@pytest.mark.parametrize(
    ("header", "values", "usage"),
    [
        ("cpu_usage_seconds_total", "1 2 3", {"cpu": {"unit": "s", "kind": "counter"}}),
        ("cpu_instant_milli", "3 2 3", {"cpu": {"unit": "millicores", "kind": "instant"}}),
        ("cpu_percent", "3 2 3", {"cpu": {"kind": "average"}}),
        ("cpu", "1 2 3", {"cpu": {"unit": "cores"}}),  # it never falls: it may be a counter
        ("mem_MiB", "3 2 3", {"memory": {"unit": "MiB", "kind": "average"}}),
        ("current_memory", "3000000 2 1000000", {"memory": {"unit": "bytes", "kind": "instant"}}),
        ("memory", "999999 999999 1", {"memory": {"kind": "average"}}),
        ("memory_bytes", "3 2 3", {"memory": {"unit": "bytes", "kind": "average"}}),
    ],
)
def test_usage_is_guessed_by_name_and_size(tmp_path: Path, header: str, values: str, usage: dict[str, Any]) -> None:
    lines = "".join(
        f"7,{index},n1,{300 * index},{300 * index + 300},{value}\n" for index, value in enumerate(values.split())
    )
    lines = lines.replace("7,1,", "7,0,").replace("7,2,", "7,0,")
    declared, _ = draft(tmp_path, f"job_id,task_index,node,start,end_time,{header}\n{lines}")
    ((name, facts),) = usage.items()
    assert declared["usage"] == {
        "task": "job_id",
        "time": {"column": "start", "unit": "s"},
        "end": {"column": "end_time", "unit": "s"},
        "instance": "task_index",
        "machine": "node",
        name: {"column": header, **facts},
    }
    # The end of each window is said: no step is guessed.
    assert "step" not in declared


@pytest.mark.parametrize(
    ("header", "what"),
    [("a,ts,cpu", "task"), ("pod,when,cpu", "time"), ("pod,ts,disk", "cpu"), ("pod,ts,cpu_limit", "cpu")],
)
def test_a_column_that_is_not_there_is_asked_for(tmp_path: Path, header: str, what: str) -> None:
    with pytest.raises(SourceError) as caught:
        draft(tmp_path, f"{header}\n1,2,3\n")
    assert str(caught.value) == (
        f"{tmp_path / 'own.csv'}: no column is called like a {what}: got {header.replace(',', ', ')}; "
        f"write a file with [usage] and {what} = its column, and add --dialect FILE.toml"
    )


def test_a_draft_says_beside_each_line_what_was_guessed(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    path.write_text("pod,date,memory\nweb,2026-01-01 00:00:00,5\nweb,2026-01-01 00:05:00,4\n")
    found = sniff(path)
    assert found.text() == (
        "# A first draft: each guess is said beside it. Correct what is wrong, and fill in what is left open.\n"
        'name = "own"\n'
        'clock = "epoch"\n'
        'step = "5m"  # step 5m: guessed, the most common time between two rows of a task\n'
        'label = "start"  # label start: guessed, a row is about the step that begins at its time\n'
        "\n[usage]\n"
        'task = "pod"\n'
        'time = { column = "date", unit = "iso", zone = "UTC" }'
        "  # column date: guessed that times which do not say their zone are UTC\n"
        'memory = { column = "memory", kind = "average" }  # column memory: add the unit, such as MiB\n'
    )
    assert len(found.guesses) == 4


# What a folder says, and what is in already


def described(**changed: list[int]) -> str:
    """A ``schema.csv`` in which fields of some tables come in another order, or are left out."""
    lines = ["file pattern,field number,content,format,mandatory"]
    for name, raw in GOOGLE_2011.tables.items():
        places = changed.get(name, list(range(len(raw.fields))))
        for number, place in enumerate(places, 1):
            field = raw.fields[place]
            mandatory = "YES" if field.is_mandatory else "NO"
            lines.append(f"{name}/part-?????-of-?????.csv.gz,{number},{field.name}, {field.format} ,{mandatory}")
    return "\n".join([*lines, "", "too,few"])


def test_a_schema_beside_the_data_decides_the_order(tmp_path: Path) -> None:
    path = tmp_path / "schema.csv"
    path.write_text(described())
    plain = read_schema_csv(path)
    # The format document: time, machine ID, event type, platform ID, CPUs, memory.
    assert plain["machine_events"] == ("time", "machine ID", "event type", "platform ID", "CPUs", "Memory")
    assert list(plain) == sorted(GOOGLE_2011.tables)
    path.write_text(described(machine_events=[1, 0, 2, 3, 5, 4], task_usage=list(range(19))))
    orders = read_schema_csv(path)
    assert orders["machine_events"] == ("machine ID", "time", "event type", "platform ID", "Memory", "CPUs")
    # Version 2.0 had one field of usage less.
    assert len(orders["task_usage"]) == 19
    for fewer in ([0, 1, 2, 3, 4], [0, 1, 2, 3, 4, 4]):
        path.write_text(described(machine_events=fewer))
        with pytest.raises(SchemaError, match="machine_events field 6: "):
            read_schema_csv(path)


def test_sources_are_new_known_or_replaced(tmp_path: Path) -> None:
    def source(folder: str, part: int, text: bytes) -> Source:
        path = tmp_path / folder / f"part-{part:05d}-of-00500.csv"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(text)
        return Source(path, GOOGLE_2011, "task_usage", "csv", size=len(text))

    def entry(of: Source, text: bytes) -> Any:
        digest = hashlib.sha256(text).hexdigest()
        return SourceEntry(of.name, "", "instance_usage", "task_usage", "csv", len(text), digest, 1, 500, 1, 1, 0)

    staging = tmp_path / "staging"
    one, two, three = (source("raw", part, b"abc%d" % part) for part in (1, 2, 3))
    copy, other = source("copy", 3, b"abc3"), source("other", 3, b"abc4")
    held = [entry(one, b"abc1"), entry(two, b"abcX")]
    found = find_pending([one, three, copy], held, staging, replace=False)
    assert found == Pending((three,), (one,), ())
    with pytest.raises(SourceError) as caught:
        find_pending([three, other], [], staging, replace=True)
    assert str(caught.value) == (
        f"{other.path}: two different files claim to be the same part: expected the content of {three.path}, "
        "got another; ingest each into a separate store, or leave one out"
    )
    with pytest.raises(SourceError) as caught:
        find_pending([two], held, staging, replace=False)
    digest = hashlib.sha256(b"abcX").hexdigest()[:12]
    assert str(caught.value) == (
        f"{two.path}: the source has changed since it was ingested: expected 4 bytes, sha256 {digest}…, "
        "got 4 bytes of other content; accept the new content with --replace"
    )
    assert find_pending([two], held, staging, replace=True) == Pending((two,), (), (two.name,))
    # What is staged comes first: it is newer than what the store holds.
    write_entry(StagedPaths.of(staging, two.name).entry, entry(two, b"abc2"))
    assert find_pending([two], held, staging, replace=False) == Pending((), (two,), ())
    write_entry(StagedPaths.of(staging, two.name).entry, entry(two, b"abcY"))
    assert [each.name for each in staged_entries(staging)] == [two.name]
    assert find_pending([two], [], staging, replace=True) == Pending((two,), (), ())
    assert staged_entries(staging) == []


@pytest.mark.parametrize(
    ("blocks", "barred", "stops"),
    [
        ([b"1,2\r\n3,", b"4\n"], b"", False),
        ([b"1\r", b"\n2\n"], b"", False),
        ([b"1\r2\n"], b"", True),
        ([b"1\n2\r3"], b"", True),  # in the last line, which has no end
        ([b"0", b"x10\n"], b"", True),  # cut in the middle of what is strange
        ([b'"1"\n'], b"", False),
        ([b'"1"\n'], b'"', True),
    ],
)
def test_lines_that_arrow_would_take_otherwise(blocks: list[bytes], barred: bytes, stops: bool) -> None:
    waiting = iter([*blocks, b""])
    stream: Any = SimpleNamespace(read=lambda size: next(waiting))
    lines = delimited._Lines(stream, barred)
    if stops:
        with pytest.raises(NeedsValidation):
            list(iter(lambda: lines.read(9), b""))
    else:
        assert [lines.read(9) for _ in range(len(blocks) + 1)] == [*blocks, b""]
