"""The files of a board: Parquet and folders of CSV say the same, and what is something else is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from borgtrace.errors import BorgtraceError
from borgtrace.forecast.board.file_set import VmReadings, read_file_set
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.storage import as_path
from tests.conftest import real_folder
from tests.forecast.board_files import (
    BEGIN,
    HEADER,
    Reading,
    made_readings,
    write_folder,
    write_parquet,
)
from tests.ingest.raw import write_cell

EXPECTED = "a folder of CSV files, or Parquet with the columns vm, time, cpu_mhz, cpu_pct"


def assert_same(one: VmReadings, other: VmReadings) -> None:
    assert one.n_vms == other.n_vms
    for left, right in zip(one[1:], other[1:], strict=True):
        assert left.dtype == right.dtype
        assert np.array_equal(left, right, equal_nan=True)


def message(path: Path) -> str:
    with pytest.raises(BorgtraceError) as error:
        read_file_set(path)
    return str(error.value)


def test_csv_and_parquet_say_the_same(tmp_path: Path) -> None:
    """Twelve VMs: 10.csv comes after 2.csv.gz."""
    made = made_readings(12, 400)
    parquet = read_file_set(write_parquet(tmp_path / "made.parquet", made))
    assert parquet.n_vms == 12
    assert_same(read_file_set(write_folder(tmp_path / "csv", made)), parquet)
    assert_same(read_file_set(write_folder(tmp_path / "ms", made, scale=1000)), parquet)


def test_readings_are_sorted_and_ties_keep_their_order(tmp_path: Path) -> None:
    rows: list[Reading] = [
        (7, BEGIN + 300, 3, 3),
        (2, BEGIN + 600, 5, 5),
        (7, BEGIN, 1, 1),
        (7, BEGIN, 2, 2),
        (2, BEGIN, 4, 4),
    ]
    readings = read_file_set(write_parquet(tmp_path / "made.parquet", rows))
    assert readings.vm.tolist() == [0, 0, 1, 1, 1]
    assert readings.mhz.tolist() == [4, 5, 1, 2, 3]
    assert (readings.seconds - BEGIN).tolist() == [0, 600, 0, 0, 300]


def test_a_vm_without_readings_is_a_vm(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "csv", made_readings(2, 400))
    (folder / "3.csv").write_text(HEADER + "\n")
    assert read_file_set(folder).n_vms == 3


def test_a_measurement_that_is_left_out_is_missing(tmp_path: Path) -> None:
    folder = tmp_path / "csv"
    folder.mkdir()
    (folder / "1.csv").write_text(f"{HEADER}\n{BEGIN};\t4;\t1;\t;\t2.5;\t0;\t0;\t0;\t0;\t0;\t0\n")
    readings = read_file_set(folder)
    assert np.isnan(readings.mhz).tolist() == [True]
    assert readings.percent.tolist() == [2.5]


def test_the_real_csv_files_say_what_the_parquet_says(trace: Path) -> None:
    """VMs 1, 3, 13 and 233 lie here in both forms."""
    folder = real_folder(trace, "bitbrains")
    whole = real_folder(trace, "bitbrains-1250") / "bitbrains-1250.parquet"
    of_csv = read_file_set(folder)
    table = pq.read_table(whole, filters=[("vm", "in", [1, 3, 13, 233])])
    assert of_csv.n_vms == 4
    assert of_csv.seconds.tolist() == table["time"].to_pylist()
    assert np.array_equal(of_csv.mhz, table["cpu_mhz"].to_numpy())
    assert np.array_equal(of_csv.percent, table["cpu_pct"].to_numpy())


def test_a_store_is_refused_with_the_reason(tmp_path: Path) -> None:
    store = tmp_path / "store"
    ingest([write_cell(tmp_path / "raw")], store, IngestOptions(jobs=1))
    assert message(store) == (
        f"{store}: a store holds CPU as a fraction of the largest VM, without percent and without repeated "
        "readings: expected the files as they were published; name the folder that was ingested"
    )


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    place = tmp_path / "nowhere"
    assert message(place) == f"{place}: no such file or folder: expected {EXPECTED}"


def test_a_bucket_is_refused() -> None:
    assert message(as_path("s3://bucket/bitbrains")) == (
        "s3://bucket/bitbrains: files of a board are read on this machine; copy them here, and name the copy"
    )


def test_other_parquet_is_named_with_its_columns(tmp_path: Path) -> None:
    place = tmp_path / "other.parquet"
    pq.write_table(pa.table({"vm": [1], "time": [2], "cpu": [0.5]}), place)
    assert message(place) == (
        f"{place}: no column cpu_mhz and no column cpu_pct: expected {EXPECTED}, got the columns vm, time, cpu"
    )


def test_a_file_that_is_no_parquet_is_named(tmp_path: Path) -> None:
    place = tmp_path / "readings.csv"
    place.write_text("vm,time\n1,2\n")
    assert message(place).startswith(
        f"{place}: not readings of VMs: expected {EXPECTED}, got Parquet magic bytes not found"
    )


def test_a_time_that_is_missing_is_named(tmp_path: Path) -> None:
    place = tmp_path / "made.parquet"
    columns = {"vm": [1, 1], "time": [BEGIN, None], "cpu_mhz": [1.0, 2.0], "cpu_pct": [1.0, 2.0]}
    pq.write_table(pa.table(columns), place)
    assert message(place) == (
        f"{place}: not readings of VMs: expected {EXPECTED}, got column time has 1 missing values"
    )


def test_a_file_without_a_row_is_named(tmp_path: Path) -> None:
    place = tmp_path / "made.parquet"
    columns = {name: pa.array([], pa.int64()) for name in ("vm", "time", "cpu_mhz", "cpu_pct")}
    pq.write_table(pa.table(columns), place)
    assert message(place) == f"{place}: no reading in it"


def test_the_folder_above_names_the_folders_in_it(tmp_path: Path) -> None:
    for month in ("2013-8", "2013-7"):
        write_folder(tmp_path / month, made_readings(1, 3))
    assert message(tmp_path) == (
        f"{tmp_path}: no CSV file in it: expected a file for each VM, such as 1.csv or 1.csv.gz, got folders: "
        "2013-7, 2013-8; name one of its folders; rnd is the one of July"
    )


def test_a_file_of_another_trace_is_named(tmp_path: Path) -> None:
    place = tmp_path / "1.csv"
    place.write_text("time,cpu\n1,2\n")
    assert message(tmp_path) == (
        f"{place}: no column Timestamp [ms] and no column CPU usage [MHZ] and no column CPU usage [%]: expected "
        "a file of GWA-T-12: fields are separated by semicolons, got time,cpu"
    )


def test_a_value_that_is_no_number_is_named(tmp_path: Path) -> None:
    place = tmp_path / "1.csv"
    place.write_text(f"{HEADER}\n{BEGIN};\t4;\t1;\tmuch;\t2.5;\t0;\t0;\t0;\t0;\t0;\t0\n")
    assert message(tmp_path) == (
        f"{place}: not readings of a VM: got In CSV column #3: Row #1: CSV conversion error to double: "
        "invalid value 'much'"
    )


def test_a_row_without_a_time_is_named(tmp_path: Path) -> None:
    place = tmp_path / "1.csv"
    place.write_text(f"{HEADER}\n;\t4;\t1;\t2;\t2.5;\t0;\t0;\t0;\t0;\t0;\t0\n")
    assert message(tmp_path) == (
        f"{place}: not readings of a VM: got 1 rows have no Timestamp [ms]"
    )
