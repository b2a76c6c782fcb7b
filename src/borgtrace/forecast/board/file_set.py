"""Read the files of a board as they were published: of each VM its readings of CPU in MHz and in percent.

A store does not do: it holds CPU as a fraction of the largest VM, without percent, and merges repeated readings, of
which a board takes the first.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from borgtrace.errors import SourceError, UsageError, first_line
from borgtrace.kernels.arrays import Index, Values
from borgtrace.schema.dialects.bitbrains import FIRST_MILLISECONDS
from borgtrace.storage import RemotePath, refuse_shortage, require_regular
from borgtrace.store.targets import is_store

PARQUET_COLUMNS = ("vm", "time", "cpu_mhz", "cpu_pct")
CSV_COLUMNS = ("Timestamp [ms]", "CPU usage [MHZ]", "CPU usage [%]")
_SHOWN_NAMES = 5
"""Of columns or folders that are something else."""
_ENDINGS = (".csv", ".csv.gz")


class VmReadings(NamedTuple):
    """VmReadings of VMs, by VM and time; of one time in the order of the file.

    Attributes
    ----------
    n_vms
        How many VMs there are, also those without a reading.
    vm
        int64 (n,): from 0, in the order of their numbers.
    seconds
        int64 (n,): Unix time.
    mhz, percent
        float32 (n,): use of CPU; NaN where it was not measured.
    """

    n_vms: int
    vm: Index
    seconds: Index
    mhz: Values
    percent: Values


def read_file_set(path: Path) -> VmReadings:
    """Read a Parquet file of readings, or a folder with a CSV for each VM.

    Parameters
    ----------
    path
        A file with the columns vm, time (s), cpu_mhz and cpu_pct; or a folder of GWA-T-12, whose files may be
        compressed by gzip.

    Raises
    ------
    UsageError
        It is a store, or in a bucket.
    SourceError
        It is not there, holds something else, or no reading at all.
    """
    if isinstance(path, RemotePath):
        raise UsageError(
            str(path),
            "files of a board are read on this machine",
            way_out="copy them here, and name the copy",
        )
    if path.is_dir() and is_store(path):
        raise UsageError(
            str(path),
            "a store holds CPU as a fraction of the largest VM, without percent and without repeated readings",
            expected="the files as they were published",
            way_out="name the folder that was ingested",
        )
    readings = _of_folder(path) if path.is_dir() else _of_parquet(path)
    if not len(readings.vm):
        raise SourceError(str(path), "no reading in it")
    return _sorted(readings)


def _of_parquet(path: Path) -> VmReadings:
    expected = f"a folder of CSV files, or Parquet with the columns {', '.join(PARQUET_COLUMNS)}"
    try:
        schema = pa.parquet.read_schema(require_regular(path))
        missing = [name for name in PARQUET_COLUMNS if name not in schema.names]
        if missing:
            raise SourceError(
                str(path),
                f"no column {' and no column '.join(missing)}",
                expected=expected,
                got=f"the columns {', '.join(schema.names[:_SHOWN_NAMES])}",
            )
        table = pa.parquet.read_table(path, columns=list(PARQUET_COLUMNS))
        vm = _column(table, "vm", pa.int64())
        seconds = _column(table, "time", pa.int64())
        mhz = _column(table, "cpu_mhz", pa.float32())
        percent = _column(table, "cpu_pct", pa.float32())
    except FileNotFoundError as error:
        raise SourceError(str(path), "no such file or folder", expected=expected) from error
    except (OSError, pa.ArrowException) as error:
        refuse_shortage(error, path)
        raise SourceError(
            str(path), "not readings of VMs", expected=expected, got=first_line(error)
        ) from error
    numbers, rank = np.unique(vm, return_inverse=True)
    return VmReadings(len(numbers), rank.astype(np.int64), seconds, mhz, percent)


def _column(table: pa.Table, name: str, kind: pa.DataType) -> Any:
    """Return a column as an array: a time is never missing, a measurement is NaN where it is."""
    column = table[name]
    if pa.types.is_integer(kind) and column.null_count:
        raise pa.ArrowInvalid(f"column {name} has {column.null_count:,} missing values")
    return column.cast(kind, safe=pa.types.is_integer(kind)).to_numpy()


def _of_folder(folder: Path) -> VmReadings:
    files = _files_of_vms(folder)
    parts = [_of_csv(file) for file in files]
    lengths = [len(part[0]) for part in parts]
    seconds, mhz, percent = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return VmReadings(
        n_vms=len(files),
        vm=np.repeat(np.arange(len(files)), lengths),
        seconds=seconds,
        mhz=mhz,
        percent=percent,
    )


def _files_of_vms(folder: Path) -> list[Path]:
    """Return the files of a folder in the order of the numbers that are their names."""
    files = [path for path in folder.iterdir() if path.name.lower().endswith(_ENDINGS)]
    if not files:
        below = sorted(path.name for path in folder.iterdir() if path.is_dir())
        raise SourceError(
            str(folder),
            "no CSV file in it",
            expected="a file for each VM, such as 1.csv or 1.csv.gz",
            got=f"folders: {', '.join(below[:_SHOWN_NAMES])}" if below else None,
            way_out="name one of its folders; rnd is the one of July" if below else None,
        )
    return sorted(files, key=_number_of)


def _number_of(path: Path) -> tuple[int, str]:
    digits = re.match(r"\d{1,18}(?=\.)", path.name)
    # Files without a number come last.
    return (int(digits[0]) if digits else 10**18, path.name)


def _of_csv(path: Path) -> tuple[Index, Values, Values]:
    """Return the times and the two measurements of a VM."""
    try:
        with pa.input_stream(str(require_regular(path)), compression="detect") as stream:
            header, _, rows = stream.read().partition(b"\n")
        names = [name.strip() for name in header.decode().split(";")]
        missing = [name for name in CSV_COLUMNS if name not in names]
        if missing:
            raise SourceError(
                str(path),
                f"no column {' and no column '.join(missing)}",
                expected="a file of GWA-T-12: fields are separated by semicolons",
                got=header.decode()[:80].strip(),
            )
        table = _numbers_of(rows, names)
    except (OSError, ValueError, pa.ArrowException) as error:
        if isinstance(error, SourceError):
            raise
        refuse_shortage(error, path)
        raise SourceError(str(path), "not readings of a VM", got=first_line(error)) from error
    time, mhz, percent = (table[name].to_numpy() for name in CSV_COLUMNS)
    in_seconds = np.where(time >= FIRST_MILLISECONDS, time / 1000, time)
    return np.floor(in_seconds).astype(np.int64), mhz.astype(np.float32), percent.astype(np.float32)


def _numbers_of(rows: bytes, names: list[str]) -> pa.Table:
    """Return the columns that a board takes, float64."""
    schema = pa.schema([(name, pa.float64()) for name in CSV_COLUMNS])
    if not rows.strip():
        return schema.empty_table()
    table = pa.csv.read_csv(
        # A field that is left out is a tab, which is no number.
        pa.BufferReader(rows.replace(b"\t", b"")),
        read_options=pa.csv.ReadOptions(column_names=names, use_threads=False),
        parse_options=pa.csv.ParseOptions(delimiter=";"),
        convert_options=pa.csv.ConvertOptions(
            column_types=schema, include_columns=list(CSV_COLUMNS)
        ),
    )
    n_missing = table[CSV_COLUMNS[0]].null_count
    if n_missing:
        raise pa.ArrowInvalid(f"{n_missing:,} rows have no {CSV_COLUMNS[0]}")
    return table


def _sorted(readings: VmReadings) -> VmReadings:
    """Return readings by VM and time; those of one time stay in the order of their file."""
    same_vm = np.diff(readings.vm) == 0
    later = np.diff(readings.seconds) >= 0
    if (np.diff(readings.vm) >= 0).all() and (later | ~same_vm).all():
        return readings
    # Stable: ties keep their order.
    order = np.lexsort((readings.seconds, readings.vm))
    return VmReadings(
        n_vms=readings.n_vms,
        vm=readings.vm[order],
        seconds=readings.seconds[order],
        mhz=readings.mhz[order],
        percent=readings.percent[order],
    )
