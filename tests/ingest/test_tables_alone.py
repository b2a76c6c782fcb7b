"""Any one table of a format alone: the store holds its rows, or the ingest says what is missing and keeps no store."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import borgtrace
from borgtrace.errors import SchemaError, SourceError
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.ingest.find.recognition import recognize
from borgtrace.schema import DIALECTS
from borgtrace.store.manifest import Manifest
from tests.ingest.own_data import rows
from tests.ingest.sample_files import (
    CAPACITY,
    DECLARATIONS,
    SampleTable,
    sample_dialects,
    sample_tables,
)

CONVERTED = [
    sample
    for name, dialect in sample_dialects().items()
    if dialect.conversion
    for sample in sample_tables(name)
]
NEED_ANOTHER = {
    ("opendc", "fragments"): "tasks or meta, which says when tasks start",
    ("alibaba-pai-2020", "pai_job_table"): (
        "pai_task_table or pai_instance_table, which says when tasks ran"
    ),
    ("alibaba-pai-2020", "pai_sensor_table"): (
        "pai_task_table or pai_instance_table, which says when tasks start"
    ),
    ("azure-packing-2020", "vmType"): "vm, which says when tasks ran",
    (
        "azure-2017",
        "vm_cpu_readings",
    ): "vmtable, which says what tasks request: usage is a share of it",
    (
        "azure-2019",
        "vm_cpu_readings",
    ): "vmtable, which says what tasks request: usage is a share of it",
}
"""Tables of which nothing can be kept alone, with what is said to be missing."""
_NAMES_OF_SAMPLES = [f"{each.dialect.name}-{each.raw.name}-{each.format}" for each in CONVERTED]
REFUSALS = (
    "no row can be stored without another table",
    # Of series, whose files hold one metric each.
    "requests, limits and owners without usage",
    "no two samples of a series near each other",
)
TABLES_OF_RECORD = {
    "machine_rows": ("machine_events",),
    "usage_rows": ("instance_usage",),
    "task_rows": ("instance_events", "collection_events"),
}


def _write(folder: Path, sample: SampleTable) -> Path:
    task_file = sample.raw.task_file
    n_rows = (task_file and task_file.n_rows) or 6
    path = folder / "20110303" / sample.file_name
    path.parent.mkdir()
    path.write_bytes(sample.content([sample.row(number) for number in range(1, n_rows + 1)]))
    return path


def _ingest(folder: Path, sample: SampleTable) -> Manifest:
    path = _write(folder, sample)
    format_name = sample.dialect.name
    if format_name in DECLARATIONS:
        format_name = str(folder / "own.toml")
        (folder / "own.toml").write_text(DECLARATIONS[sample.dialect.name])
    options = IngestOptions(jobs=1, capacity=f"{CAPACITY},100000MHz", dialect=format_name)
    result = ingest([path], folder / "store", options)
    assert result.manifest is not None
    return result.manifest


@pytest.mark.parametrize("sample", CONVERTED, ids=_NAMES_OF_SAMPLES)
def test_rows_of_one_table_alone_are_there_or_said_to_lack_another(
    tmp_path: Path, sample: SampleTable
) -> None:
    refusal = None
    try:
        manifest = _ingest(tmp_path, sample)
    except (SchemaError, SourceError) as error:
        refusal = str(error)
    if refusal is not None:
        assert any(f": {phrase}: expected " in refusal for phrase in REFUSALS)
        assert not (tmp_path / "store").exists()
        return
    (entry,) = manifest.sources
    assert (entry.stored, entry.quarantined) == (entry.rows_in, 0)
    n_rows = sum(manifest.tables[name] for name in TABLES_OF_RECORD[sample.raw.table])
    assert n_rows > 0
    if sample.raw.table == "usage_rows":
        _assert_amounts_or_note(tmp_path / "store", manifest)


@pytest.mark.parametrize("name", [name for name in sample_dialects() if name in DIALECTS])
def test_a_typed_sample_is_recognized_as_what_it_is(tmp_path: Path, name: str) -> None:
    for number, sample in enumerate(sample_tables(name)):
        (tmp_path / str(number)).mkdir()
        (source,) = recognize(_write(tmp_path / str(number), sample)).sources
        # Where several tables share a file, its rows tell.
        shared_files = {"kaggle": "kaggle", "prometheus": "series"}
        table = shared_files.get(sample.format, sample.raw.name)
        assert (source.dialect.name, source.table) == (name, table)


def _assert_amounts_or_note(folder: Path, manifest: Manifest) -> None:
    """Every row has an amount, or a sentence says how many have none and which table would tell."""
    store = borgtrace.open(folder)
    ((n_empty,),) = rows(
        store,
        "instance_usage",
        "count(*)",
        "coalesce(average_cpu, average_memory) is null",
    )
    has_note = any(note.startswith("Unknown cpu in ") for note in manifest.notes)
    assert bool(n_empty) == has_note


@pytest.mark.parametrize(
    "sample",
    [each for each in CONVERTED if (each.dialect.name, each.raw.name) in NEED_ANOTHER],
    ids=lambda each: f"{each.dialect.name}-{each.raw.name}",
)
def test_a_refusal_names_the_table_that_is_missing(tmp_path: Path, sample: SampleTable) -> None:
    with pytest.raises(SchemaError) as error:
        _ingest(tmp_path, sample)
    needed = NEED_ANOTHER[sample.dialect.name, sample.raw.name]
    table = needed.split(",")[0]
    assert str(error.value) == (
        f"{sample.file_name}: no row can be stored without another table: expected {needed}, "
        f"got {sample.raw.name}; ingest it together with {table}"
    )
    assert error.value.exit_code == 4


def test_shares_of_unknown_requests_are_counted_beside_what_can_be_kept(tmp_path: Path) -> None:
    usage = next(each for each in CONVERTED if each.raw.name == "container_usage")
    manifest = _ingest(tmp_path, usage)
    assert manifest.notes[-2:] == (
        "Unknown cpu in 6 of 6 rows: it is a share of what their task requests, which no row of container_meta or "
        "batch_task says.",
        "Unknown memory in 6 of 6 rows: it is a share of what their task requests, which no row of container_meta or "
        "batch_task says.",
    )
    # Cycles per instruction are known all the same.
    store = borgtrace.open(tmp_path / "store")
    assert rows(store, "instance_usage", "count(cycles_per_instruction)") == [(6,)]


def test_fragments_of_tasks_that_no_row_is_about_are_left_out_and_counted(tmp_path: Path) -> None:
    tasks = {
        "id": ["7"],
        "submission_time": [1_793_491_200_000],
        "duration": [60_000],
        "cpu_count": [4],
        "cpu_capacity": [10_000.0],
        "mem_capacity": [8_000_000],
    }
    fragments = {
        "id": ["7", "8", "8", "7"],
        "duration": [30_000] * 4,
        "cpu_usage": [2_500.0, 1.0, 1.0, 0.0],
    }
    for name, columns in (("tasks", tasks), ("fragments", fragments)):
        pq.write_table(pa.table(columns), tmp_path / f"{name}.parquet")
    places = [tmp_path / "tasks.parquet", tmp_path / "fragments.parquet"]
    options = IngestOptions(jobs=1, capacity="16cores,16GB")
    result = ingest(places, tmp_path / "store", options)
    assert result.manifest is not None
    entries = {entry.raw_table: entry for entry in result.staged}
    read = entries["fragments"]
    assert (read.rows_in, read.stored, read.skipped, read.quarantined) == (4, 2, 2, 0)
    assert result.manifest.tables["instance_usage"] == 2
    assert result.manifest.notes == (
        "Left out: 2 rows of fragments about tasks of which tasks or meta says no life.",
    )
