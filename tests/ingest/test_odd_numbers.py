"""A number that is too large, too small or none is one refused row: of every format, in every numeric column.

What is due is decided here by hand: by Python's own numbers, the units of the fields, and what machines can have.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq
import pytest

import borgtrace
from borgtrace.errors import SourceError
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.ingest.build.staging import stage
from borgtrace.ingest.find.recognition import classify
from borgtrace.schema import RawField
from tests.ingest.own_data import AVERAGES, ingest_own, rows
from tests.ingest.sample_files import (
    CAPACITY,
    DECLARATIONS,
    SampleTable,
    sample_dialects,
    sample_tables,
    staged_rows,
)

FORTY_DIGITS = "1234567890" * 4
ODD_TEXTS = (FORTY_DIGITS, "1e400", "-0", str(2**63), str(2**64), "nan", "inf", "", "abc")
REFUSED = object()
LARGEST = {
    "us": 10**16,
    "cores": 10**9,
    "bytes": 2**60,
    "s": 10**15,
    "MHz": 10**14,
    "1": 10**9,
}
"""What converted rows can have: 317 years, a billion cores, 1 EiB …"""
LARGEST_SHARE = 10**6
_INTEGERS = {"int8": 2**7, "int32": 2**31, "int64": 2**63}


class Case(NamedTuple):
    """A field with an odd text."""

    field: RawField
    text: str


def cases_of(sample: SampleTable) -> Iterator[Case]:
    """Yield every numeric field of a table, and every one that fills no column, with every odd text."""
    for field in sample.raw.fields:
        column = sample.column(field)
        is_number = column is None or column.type in (*_INTEGERS, "float32", "float64")
        # A date is no number.
        if field.zone:
            continue
        # What is a label of Prometheus is a word, whatever it looks like.
        is_code = column is not None and column.type == "enum" and sample.format != "prometheus"
        if is_number or is_code:
            for text in ODD_TEXTS:
                yield Case(field, text)


def due(sample: SampleTable, case: Case) -> Any:
    """Return the value that is due, None for no value, or REFUSED."""
    field, text = case
    column = sample.column(field)
    if column is None:
        return None
    if not text:
        return _due_of_nothing(sample, field)
    if text == "nan" and _may_lack(sample, field):
        return None
    if text not in ("-0", FORTY_DIGITS, str(2**63), str(2**64)):
        return REFUSED
    number = Decimal(text)
    if column.type == "enum":
        return _due_code(sample, column.enum, number)
    if number in sample.dialect.none.get(column.name, ()):
        return REFUSED if field.is_mandatory or not column.nullable else None
    value = number * Decimal(field.scale) + field.offset
    if value < 0 or value > _largest(sample, field) or _ends_before_it_starts(sample, field, value):
        return REFUSED
    return float(value)


def _may_lack(sample: SampleTable, field: RawField) -> bool:
    """Whether a word for no number is read as one: in formats that are converted, where the field may be empty."""
    column = sample.column(field)
    assert column is not None
    has_words = isinstance(next(iter(sample.dialect.codes.get(column.enum or "", {})), None), str)
    is_number = not (column.type == "enum" and has_words)
    is_converted = sample.dialect.conversion is not None
    # A sample without a value says nothing.
    is_sample = sample.format == "prometheus"
    may_be_empty = column.nullable and not (field.is_mandatory or is_sample)
    return is_converted and is_number and may_be_empty


def _due_code(sample: SampleTable, enum: Any, number: Decimal) -> Any:
    if number in sample.dialect.null_codes.get(enum, ()):
        return None
    return sample.dialect.codes[enum].get(0, REFUSED) if number == 0 else REFUSED


def _ends_before_it_starts(sample: SampleTable, field: RawField, value: Decimal) -> bool:
    """Whether a window would end before it starts: a large start before, a small end after the other's sound value."""
    columns = {other.column for other in sample.raw.fields}
    if not (columns & {"end", "end_time"} and columns & {"time", "start_time"}):
        return False
    if sample.raw.table not in ("usage_rows", "instance_usage"):
        return False
    is_end = field.column in ("end", "end_time")
    is_start = field.column in ("time", "start_time")
    return (is_end and value == 0) or (is_start and value > 2**53)


def _due_of_nothing(sample: SampleTable, field: RawField) -> Any:
    column = sample.column(field)
    assert column is not None
    if sample.format == "prometheus":
        return REFUSED
    if sample.format == "swf":
        # A log has −1 where there is nothing.
        no_number = -1 in sample.dialect.none.get(column.name, ())
        is_code = column.type == "enum"
        return None if no_number or is_code else REFUSED
    if field.is_mandatory:
        return REFUSED
    is_renamed = sample.format == "kaggle" and field.name == "type"
    if is_renamed or column.nullable:
        return REFUSED if is_renamed else None
    return next(iter(sample.dialect.codes[column.enum].values())) if column.enum else None


def _largest(sample: SampleTable, field: RawField) -> float:
    column = sample.column(field)
    assert column is not None
    # A limit beyond every machine is none, which is known when rows are converted.
    if column.name in ("cpu_limit", "memory_limit"):
        return math.inf
    if column.type in _INTEGERS and column.unit != "us":
        return _INTEGERS[column.type] - 1
    conversion = sample.dialect.conversion
    if conversion is None:
        if sample.raw.table == "power_measurements":
            return LARGEST_SHARE
        return 2**63 - 1 if column.type == "int64" else 3.4e38
    resource = {"cores": "cpu", "bytes": "memory"}.get(column.unit, "")
    is_usage = sample.raw.table == "usage_rows"
    is_share = is_usage and conversion.share_of.get(resource, "clock") != "clock"
    if resource in conversion.shares or is_share:
        return LARGEST_SHARE
    return LARGEST[column.unit]


def check_cases(folder: Path, sample: SampleTable, cases: list[Case]) -> list[str]:
    """Stage a file with one odd row for each case; return what differs from what is due."""
    sound_rows = [sample.row(number) for number in range(1, len(cases) + 3)]
    odd_rows = [dict(row) for row in sound_rows]
    for row, case in zip(odd_rows[1:], cases, strict=False):
        row[case.field.name] = case.text
    sound, _ = _staged(folder / "sound", sample, sample.content(sound_rows))
    stored, refused = _staged(folder / "odd", sample, sample.content(odd_rows))
    lines_per_row = len(sound) // len(sound_rows)
    faults = []
    for place, row in sound.items():
        number = place // lines_per_row
        case = cases[number - 1] if 1 <= number <= len(cases) else None
        found = stored.get(place)
        if found == row and place not in refused:
            continue
        if case is None:
            faults.append(f"{sample.file_name}: the sound row {number} became {found}")
        elif place in refused:
            if due(sample, case) is not REFUSED or found is not None:
                faults.append(f"{sample.file_name}: {case} was refused: {refused[place]}")
        elif not _is_due(sample, case, row, found):
            faults.append(f"{sample.file_name}: {case} became {found}")
    n_due = sum(due(sample, case) is REFUSED for case in cases)
    if len(refused) != n_due:
        refused_cases = {place // lines_per_row for place in refused}
        missed = [
            case
            for number, case in enumerate(cases, 1)
            if due(sample, case) is REFUSED and number not in refused_cases
        ]
        faults.append(f"{sample.file_name}: {len(refused)} refused, {n_due} due: {missed}")
    return faults


def _is_due(sample: SampleTable, case: Case, sound: dict[str, Any], found: Any) -> bool:
    """Whether a stored row is the sound one, but for the value that is due in one column."""
    if found is None:
        return False
    changed = {name: value for name, value in found.items() if value != sound[name]}
    value = due(sample, case)
    if not changed.keys() <= {case.field.column, "is_on_dedicated_machine"}:
        return False
    held = found.get(case.field.column)
    if isinstance(value, float) and isinstance(held, int | float):
        return math.isclose(held, value, rel_tol=1e-6)
    return bool(held == value)


def _staged(
    folder: Path, sample: SampleTable, content: bytes
) -> tuple[dict[int, dict[str, Any]], dict[int, str]]:
    """Stage a file; return its rows and the reasons of its refused ones, by their places in the file."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / sample.file_name
    path.write_bytes(content)
    cell = "a" if sample.format == "kaggle" else ""
    source = classify(path, cell=cell, only=sample.dialect)
    entry = stage(source, folder / "staging")
    stored = _by_place(staged_rows(folder / "staging", sample.raw))
    refused_rows = []
    for part in (folder / "staging" / "quarantine").glob("*/*.parquet"):
        refused_rows += pq.read_table(part).to_pylist()
    refused = _by_place(refused_rows)
    if sample.format != "kaggle":
        assert entry.rows_in == len(stored) + len(refused)
    return stored, {place: row["reason"] for place, row in refused.items()}


def _by_place(rows: list[dict[str, Any]]) -> dict[int, dict[str, Any]]:
    return {row.pop("source_row"): row for row in rows}


def _params(in_make_test: Callable[[str], bool]) -> list[Any]:
    """Return all formats by name; those that `make test` has no time for are marked."""
    params = []
    for name in sample_dialects():
        marks = () if in_make_test(name) else (pytest.mark.scale,)
        params.append(pytest.param(name, marks=marks))
    return params


def _is_converted(name: str) -> bool:
    # Of Google's own traces, `test_lines` walks over odd values too.
    return sample_dialects()[name].conversion is not None


@pytest.mark.parametrize("name", _params(_is_converted))
def test_odd_numbers_are_refused_one_by_one(tmp_path: Path, name: str) -> None:
    faults = []
    for number, sample in enumerate(sample_tables(name)):
        # Own data come in three formats of files: two of them are read alike.
        if _is_converted(name) and sample.format == "parquet" and name != "opendc":
            continue
        cases = list(cases_of(sample))
        has_numbers = {"value", "cpu"} & set(sample.raw.names)
        assert cases or (name == "prometheus" and not has_numbers)
        faults += check_cases(tmp_path / str(number), sample, cases)
    assert not faults, "\n".join(faults)


@pytest.mark.scale
@pytest.mark.parametrize("name", sample_dialects())
def test_an_odd_number_alone_in_its_file(tmp_path: Path, name: str) -> None:
    """The fast readers, which give up at the first odd number among many."""
    faults = []
    for number, sample in enumerate(sample_tables(name)):
        for place, case in enumerate(cases_of(sample)):
            faults += check_cases(tmp_path / f"{number}-{place}", sample, [case])
    assert not faults, "\n".join(faults)


def _ingest_all(folder: Path, name: str, rows_of_table: dict[str, list[dict[str, str]]]) -> Path:
    """Ingest the tables of a format, in its first format of files, into a store."""
    folder.mkdir(parents=True)
    dialect = sample_dialects()[name]
    for sample in sample_tables(name):
        if sample.format == dialect.formats[0] and sample.raw.name in rows_of_table:
            content = sample.content(rows_of_table[sample.raw.name])
            (folder / sample.file_name).write_bytes(content)
    options = IngestOptions(
        jobs=1,
        capacity=CAPACITY if dialect.conversion else "",
        cell="a" if dialect.flattened else "",
        dialect=_declaration(folder, name),
    )
    ingest([folder], folder / "store", options)
    return folder / "store"


def _declaration(folder: Path, name: str) -> str:
    if name not in DECLARATIONS:
        return ""
    path = folder.with_suffix(".toml")
    path.write_text(DECLARATIONS[name])
    return str(path)


def _refused_cases(name: str) -> dict[str, list[Case]]:
    """Return the cases that are due to be refused, by table: the tables without them are the sound ones."""
    dialect = sample_dialects()[name]
    cases = {}
    for sample in sample_tables(name):
        if sample.format == dialect.formats[0]:
            refused = [case for case in cases_of(sample) if due(sample, case) is REFUSED]
            cases[sample.raw.name] = refused
    return cases


def _tables_of(store: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Return the rows of all tables, without the places in the files that they are from."""
    opened = borgtrace.open(store)
    held = {}
    for table in opened.manifest.tables:
        found = opened.sql(f"select * from {table}").to_pylist()
        for row in found:
            row.pop("source_row", None)
        held[table] = sorted((tuple(row.values()) for row in found), key=repr)
    return held


@pytest.mark.parametrize("name", _params(lambda name: name in ("opendc", "openb", "own-counters")))
def test_a_store_with_odd_rows_is_the_store_without_them(tmp_path: Path, name: str) -> None:
    if name == "kaggle-2019":
        pytest.skip("a flattened row holds records of three tables, and is refused whole")
    samples = {sample.raw.name: sample for sample in sample_tables(name)}
    sound_rows: dict[str, list[dict[str, str]]] = {}
    all_rows: dict[str, list[dict[str, str]]] = {}
    n_refused = 0
    for table, cases in _refused_cases(name).items():
        sample = samples[table]
        sound_rows[table] = [sample.row(number) for number in range(1, 7)]
        odd_rows = []
        for number, case in enumerate(cases, 7):
            odd_rows.append(sample.row(number) | {case.field.name: case.text})
        # In between: what is refused must not shift what comes after it.
        all_rows[table] = [*sound_rows[table][:3], *odd_rows, *sound_rows[table][3:]]
        n_refused += len(odd_rows)
    expected = _tables_of(_ingest_all(tmp_path / "sound", name, sound_rows))
    store = _ingest_all(tmp_path / "odd", name, all_rows)
    assert _n_quarantined(store) == n_refused > 0
    found = _tables_of(store)
    if name == "prometheus":
        # An odd row of a node gives its other amount all the same: it is a series of its own.
        found = {table: [row for row in found[table] if row in expected[table]] for table in found}
    assert found == expected


def _n_quarantined(store: Path) -> int:
    manifest = borgtrace.open(store).manifest
    return sum(entry.quarantined for entry in manifest.sources)


@pytest.mark.scale
@pytest.mark.parametrize("name", sample_dialects())
def test_each_odd_number_leaves_a_store(tmp_path: Path, name: str) -> None:
    """Whatever is stored of one odd number, no ingest ends because of it."""
    dialect = sample_dialects()[name]
    samples = [sample for sample in sample_tables(name) if sample.format == dialect.formats[0]]
    sound_rows = {
        sample.raw.name: [sample.row(number) for number in range(1, 4)] for sample in samples
    }
    for sample in samples:
        for place, case in enumerate(cases_of(sample)):
            rows_of_table = {table: list(found) for table, found in sound_rows.items()}
            rows_of_table[sample.raw.name].append(sample.row(4) | {case.field.name: case.text})
            folder = tmp_path / f"{sample.raw.name}-{place}"
            is_refused = due(sample, case) is REFUSED
            assert _n_quarantined(_ingest_all(folder, name, rows_of_table)) == is_refused, case


def test_a_corrected_file_is_no_changed_source(tmp_path: Path) -> None:
    """What a failed run staged does not bind the next one: no `--replace` is asked for."""
    # A share of a machine whose own size is next to nothing: the fault is known only when all rows are there.
    machines = 'task = "task"\n[machines]\nmachine = "machine"\ncpu = { column = "cores", unit = "cores" }\n'
    declaration = (
        AVERAGES.replace('task = "task"\n', 'task = "task"\n', 1) + machines.split("\n", 1)[1]
    )
    usage = "task,time,cpu\na,0,1\na,300,1\n"
    files = {"usage.csv": usage, "machines.csv": "machine,cores\nm,1e-300\n"}
    with pytest.raises(SourceError) as caught:
        ingest_own(tmp_path, declaration, files)
    assert str(caught.value).startswith(
        "machines.csv, usage.csv: amounts or times that are out of range together: got Conversion Error: "
    )
    assert str(caught.value).endswith(
        "; look for windows of centuries, or for machines without CPU or memory"
    )
    files["machines.csv"] = "machine,cores\nm,2\n"
    store = ingest_own(tmp_path, declaration, files)
    assert rows(store, "instance_usage", "average_cpu") == [(0.5,), (0.5,)]


def test_a_part_that_changed_after_it_was_staged(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    (tmp_path / "own.toml").write_text(AVERAGES)
    options = IngestOptions(
        jobs=1,
        dialect=str(tmp_path / "own.toml"),
        capacity="8cores",
        stage_only=True,
    )
    path.write_text("task,time,cpu\na,0,1\n")
    ingest([path], tmp_path / "store", options)
    path.write_text("task,time,cpu\na,0,2\nb,0,2\n")
    with pytest.raises(SourceError) as caught:
        ingest([path], tmp_path / "store", options)
    assert str(caught.value).startswith(
        f"{path}: the source has changed since it was staged: expected 20 bytes, sha256 "
    )
