"""How measurements of other formats become windows of canonical usage."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from borgtrace.errors import SourceError, UsageError
from borgtrace.ingest.build.converted_sorting import BrokenRows
from borgtrace.ingest.convert.capacity import Capacity
from borgtrace.ingest.convert.conversion import open_rows
from borgtrace.ingest.convert.conversion_terms import Basis, Terms
from borgtrace.ingest.convert.converted_usage import (
    WindowCutter,
    are_cut_when_sorted,
    usual_step,
    windows_sql,
)
from borgtrace.ingest.files.staged_part import StagedPart
from borgtrace.schema import DIALECTS, TABLES
from borgtrace.schema.dialects import Conversion
from borgtrace.schema.dialects.declaration import declared_dialect
from borgtrace.schema.time import SECOND
from tests.analyses.tiny import arrow


def test_what_files_of_own_data_fill() -> None:
    fills = {"task_rows": frozenset({"start"}), "usage_rows": frozenset[str]()}
    terms = Terms(Conversion(), Basis(cores=8.0, zero=5), fills)
    asked = (("task_rows",), ("task_rows", "start"), ("task_rows", "end"), ("machine_rows",))
    assert [terms.has(*each) for each in asked] == [True, True, False, False]
    assert terms.has_lives
    assert not Terms(Conversion(), Basis(), {"task_rows": frozenset({"end"})}).has_lives
    assert terms.time_sql("t") == "(t - -599999995)"
    assert (terms.fraction_sql("x", "cpu"), terms.fraction_sql("x", "memory")) == (
        "(x / 8.0)",
        "(x)",
    )


ROWS = [
    ("a", 0),
    ("a", 290),
    ("a", 600),
    ("b", 1000),
    ("b", 1000),
]


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
        (
            Conversion(step=300, window=600),
            [
                (0, 290),
                (290, 590),
                (600, 900),
                (1000, 1300),
                (1000, 1300),
            ],
        ),
        # Where nothing more is made of them, they are cut once they are sorted.
        (
            Conversion(step=300),
            [
                (0, 300),
                (290, 590),
                (600, 900),
                (1000, 1300),
                (1000, 1300),
            ],
        ),
        (
            Conversion(step=300, is_regular=True),
            [
                (0, 300),
                (290, 590),
                (600, 900),
                (1000, 1300),
                (1000, 1300),
            ],
        ),
        (
            Conversion(step=300, label="end"),
            [
                (0, 0),
                (0, 290),
                (300, 600),
                (700, 1000),
                (1000, 1000),
            ],
        ),
        (
            Conversion(
                step=300,
                label="end",
                is_regular=True,
            ),
            [
                (0, 0),
                (0, 290),
                (300, 600),
                (700, 1000),
                (700, 1000),
            ],
        ),
    ],
)
def test_windows_of_measurements(conversion: Conversion, spans: list[tuple[int, int]]) -> None:
    con = measured()
    sql = windows_sql(
        Terms(conversion, Basis(), {"usage_rows": frozenset({"time", "average_cpu"})})
    )
    found = con.execute(f"SELECT start, stop FROM ({sql}) ORDER BY source_row").fetchall()
    assert (found[:4], len(found)) == (spans[:4], 5)


MEASURED = {"time", "average_cpu"}


@pytest.mark.parametrize(
    ("conversion", "columns", "is_cut"),
    [
        (Conversion(step=300), MEASURED, True),
        # Rows may say how long they are: windows that overlap stay as they are.
        (Conversion(), MEASURED | {"length"}, False),
        (Conversion(), MEASURED | {"end"}, False),
        (Conversion(step=300), MEASURED | {"end"}, False),
        (Conversion(step=300), {"time", "counter_cpu"}, False),
        (Conversion(step=300), {"length", "average_cpu"}, False),
        (Conversion(step=300, label="end"), MEASURED, False),
        (Conversion(step=300, is_regular=True), MEASURED, False),
        (Conversion(step=300, window=600), MEASURED, False),
    ],
)
def test_only_windows_of_a_step_from_their_start_are_cut(
    conversion: Conversion,
    columns: set[str],
    is_cut: bool,
) -> None:
    terms = Terms(conversion, Basis(), {"usage_rows": frozenset(columns)})
    assert are_cut_when_sorted(terms) is is_cut


@pytest.mark.parametrize("rows", [1, 2, 3, 7])
def test_sorted_windows_are_cut_where_the_next_of_the_same_task_begins(rows: int) -> None:
    # Two rows of one time are repeats; another instance and another collection are other tasks.
    windows = pa.record_batch(
        {
            "collection_id": pa.array([1, 1, 1, 1, 1, 2, 2], pa.int64()),
            "instance_index": pa.array([0, 0, 0, 0, 1, 1, 1], pa.int32()),
            "start_time": pa.array([0, 290, 600, 600, 700, 800, 1099], pa.int64()),
            "end_time": pa.array([300, 590, 900, 900, 1000, 1100, 1399], pa.int64()),
        }
    )
    cutter = WindowCutter()
    cut = pa.Table.from_batches(cutter.cut(windows[at : at + rows] for at in range(0, 7, rows)))
    assert cut.column("end_time").to_pylist() == [290, 590, 900, 900, 1000, 1099, 1399]
    assert cut.drop("end_time").equals(pa.Table.from_batches([windows]).drop("end_time"))
    assert cutter.has_common_starts
    # Without the second row of one time; that of another instance at the same time is none.
    others = windows.filter(pa.array([True, True, True, False, True, True, True]))
    cutter = WindowCutter()
    assert pa.Table.from_batches(cutter.cut([others])).num_rows == 6
    assert not cutter.has_common_starts


def test_windows_that_say_their_end_or_length() -> None:
    con = measured(
        end=pa.array([10, None, None, None, None], pa.int64()),
        length=pa.array([7, 7, None, 1, 2], pa.int64()),
    )
    sql = windows_sql(
        Terms(Conversion(), Basis(), {"usage_rows": frozenset({"time", "average_cpu"})})
    )
    assert con.execute(f"SELECT start, stop FROM ({sql}) ORDER BY source_row").fetchall() == [
        (0, 10),
        (290, 297),
        (600, None),
        (1000, 1001),
        (1000, 1002),
    ]


def test_rows_that_break_a_rule_and_are_stored_are_counted_over_all_files(tmp_path: Path) -> None:
    broken = BrokenRows(TABLES["instance_usage"], DIALECTS["azure-2019"])
    assert broken.total() == {}
    for lengths in ([300, 301], [600]):
        windows = [{"start_time": 0, "end_time": length * SECOND} for length in lengths]
        with broken.watch(tmp_path, 0) as take:
            for batch in arrow("instance_usage", windows).to_batches():
                take(batch)
    assert broken.total() == {"window_over_300s": 2}


def test_the_usual_step_of_a_counter() -> None:
    counted = measured(counter_cpu=pa.array([1.0, 2.0, 3.0, 4.0, None]))
    counted.execute(
        "INSERT INTO usage_rows (task, time, counter_cpu) VALUES ('c', 0, 1), ('c', 310, 2), ('c', 310, 3)"
    )
    assert usual_step(counted, "counter_cpu") == 310
    assert usual_step(measured(), "counter_cpu") == 0


EIGHT_CORES = Capacity(8.0)


def opened(tmp_path: Path, capacity: Capacity = EIGHT_CORES, **columns: list[Any]) -> Terms:
    """What is found out of two measurements of one task, 300 s apart."""
    rows = {
        "task": ["web", "web"],
        "time": [0, 300_000_000],
        "source_row": [0, 1],
    } | columns
    pq.write_table(pa.table(rows), tmp_path / "u.parquet")
    own = declared_dialect({"clock": "relative", "machines": {"machine": "node"}}, "own.toml")
    return open_rows(
        duckdb.connect(),
        own,
        {"usage_rows": [StagedPart(tmp_path / "u.parquet", 3)]},
        capacity,
    )


def test_two_names_of_one_id_are_refused(tmp_path: Path) -> None:
    # The lower half of md5("one") without its highest bit; a number is its own id.
    both = ["192254321972271663", "one"]
    for column, kind in (("task", "task"), ("machine", "machine")):
        with pytest.raises(SourceError) as caught:
            opened(tmp_path, **{column: both})
        assert str(caught.value) == (
            f"column {kind}: two names have one id: got 192254321972271663 and one; rename one of them"
        )


def test_times_alone_have_the_usual_step(tmp_path: Path) -> None:
    counted = opened(tmp_path, counter_cpu=[1.0, 2.0])
    assert (counted.conversion.step, counted.basis) == (300_000_000, Basis(8.0, None, 0))
    assert counted.fills["usage_rows"] >= {"task", "time", "counter_cpu"}
    assert opened(tmp_path, average_cpu=[1.0, 2.0]).conversion.step == 300_000_000
    assert opened(tmp_path, average_cpu=[1.0, 2.0], length=[9, 9]).conversion.step is None
    with pytest.raises(
        UsageError,
        match="--capacity: cpu is in cores, and no table of machines says",
    ):
        opened(tmp_path, Capacity(), average_cpu=[1.0, 2.0])
