"""Google's tables as pandas, R, Excel and Spark write them again: quotes, 5.0 for 5, doubles, decimals, NaN."""

from __future__ import annotations

import csv
import io
import random
import tomllib
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import borgtrace
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.ingest.find.recognition import classify
from borgtrace.schema.dialects import declare
from tests.ingest.own_data import rows
from tests.ingest.sample_files import SampleTable, sample_tables


def _rewritten(sample: SampleTable, quoting: Any) -> str:
    text = io.StringIO()
    writer = csv.writer(text, quoting=quoting, lineterminator="\n")
    for number in range(1, 5):
        writer.writerow(sample.row(number)[field.name] for field in sample.raw.fields)
    return text.getvalue()


@pytest.mark.parametrize("sample", sample_tables("2011"), ids=lambda sample: sample.raw.name)
def test_quotes_around_fields_are_no_part_of_them(tmp_path: Path, sample: SampleTable) -> None:
    digests = []
    for quoting in (csv.QUOTE_MINIMAL, csv.QUOTE_ALL):
        path = tmp_path / f"part-{quoting}" / sample.file_name
        path.parent.mkdir()
        path.write_text(_rewritten(sample, quoting))
        result = ingest([path], tmp_path / f"store-{quoting}", IngestOptions(jobs=1))
        assert result.manifest is not None
        (entry,) = result.manifest.sources
        assert (entry.raw_table, entry.stored, entry.quarantined) == (sample.raw.name, 4, 0)
        digests.append(result.manifest.digest)
    assert digests[0] == digests[1]


EVENTS: dict[str, list[Any]] = {
    "time": [600_000_000, 600_000_001, 600_000_002],
    "type": [0, 0, 0],
    "collection_id": [7, 7, 7],
    "instance_index": [0, 1, 2],
    "machine_id": [9, 9, 9],
    "priority": [100, 100, 100],
}


def _machines(folder: Path, machines: pa.Array, scheduling_class: pa.Array | None = None) -> Any:
    """Return what is stored of events on these machines: of each the machine, and the reasons of those refused."""
    columns = {**EVENTS, "machine_id": machines}
    if scheduling_class is not None:
        columns["scheduling_class"] = scheduling_class
    path = folder / "instance_events-000000000000.parquet"
    pq.write_table(pa.table(columns), path)
    ingest([path], folder / "store", IngestOptions(jobs=1))
    store = borgtrace.open(folder / "store")
    (entry,) = store.manifest.sources
    assert entry.rows_in == 3 == entry.stored + entry.quarantined
    return rows(store, "instance_events", "instance_index, machine_id"), entry.counters


@pytest.mark.parametrize(
    ("machines", "stored", "refused"),
    [
        (pa.array([9.0, float("nan"), 9.0]), [(0, 9), (1, None), (2, 9)], {}),
        (pa.array([9.0, None, 9.0]), [(0, 9), (1, None), (2, 9)], {}),
        (pa.array([9.0, 9.5, 9.0]), [(0, 9), (2, 9)], {"unparsable_value": 1}),
        # Beyond 2⁵³ a double does not hold each whole number.
        (pa.array([9.0, 2.0**60, 9.0]), [(0, 9), (2, 9)], {"unparsable_value": 1}),
        (pa.array([9.0, float("inf"), 9.0]), [(0, 9), (2, 9)], {"unparsable_value": 1}),
        (
            pa.array([Decimal("9.0"), Decimal("9.5"), Decimal("9.0")]),
            [(0, 9), (2, 9)],
            {"unparsable_value": 1},
        ),
        (pa.array(["9", "9.5", "9.0"]), [(0, 9), (2, 9)], {"unparsable_value": 1}),
        (pa.array(["9", "1_0", "9E0"]), [(0, 9), (2, 9)], {"unparsable_value": 1}),
        (
            pa.array(["9", "10", "9"], pa.large_string()),
            [(0, 9), (1, 10), (2, 9)],
            {},
        ),
    ],
    ids=[
        "nan",
        "null",
        "half",
        "huge",
        "infinite",
        "decimals",
        "texts",
        "spellings",
        "large texts",
    ],
)
def test_a_value_that_is_no_whole_number_refuses_its_row_alone(
    tmp_path: Path,
    machines: pa.Array,
    stored: list[tuple[int, int | None]],
    refused: dict[str, int],
) -> None:
    assert _machines(tmp_path, machines) == (stored, refused)


def test_nan_is_missing_also_where_a_value_must_be_there(tmp_path: Path) -> None:
    path = tmp_path / "instance_events-000000000000.parquet"
    times = pa.array([600e6, float("nan"), 600e6])
    pq.write_table(pa.table({**EVENTS, "time": times}), path)
    result = ingest([path], tmp_path / "store", IngestOptions(jobs=1))
    assert result.staged[0].counters == {"null_in_mandatory_field": 1}


def test_nan_is_missing_in_an_arrow_file(tmp_path: Path) -> None:
    path = tmp_path / "instance_events.feather"
    machines = pa.array([9.0, float("nan"), 9.5])
    pyarrow.feather.write_feather(pa.table({**EVENTS, "machine_id": machines}), str(path))
    ingest([path], tmp_path / "store", IngestOptions(jobs=1))
    store = borgtrace.open(tmp_path / "store")
    assert rows(store, "instance_events", "instance_index, machine_id") == [(0, 9), (1, None)]
    assert store.manifest.sources[0].counters == {"unparsable_value": 1}


def test_a_code_is_not_rounded(tmp_path: Path) -> None:
    stored, refused = _machines(tmp_path, pa.array([9, 9, 9]), pa.array([1.0, 1.5, 2.0]))
    assert ([index for index, _ in stored], refused) == ([0, 2], {"unparsable_value": 1})


def test_whole_numbers_with_a_point_are_whole_numbers(tmp_path: Path) -> None:
    line = "600000000,,7,{index},{machine},0,user,1,0,0.1,0.1,0.1,{flag}\n"
    path = tmp_path / "task_events.csv"
    path.write_text(
        line.format(index="0.0", machine="9.0", flag="0.0")
        + line.format(index="1.", machine="1.2E1", flag="True")
        + line.format(index="2.5", machine="9", flag="0")
    )
    ingest([path], tmp_path / "store", IngestOptions(jobs=1))
    store = borgtrace.open(tmp_path / "store")
    assert rows(
        store, "instance_events", "instance_index, machine_id, needs_different_machine"
    ) == [
        (0, 9, False),
        (1, 12, True),
    ]
    assert store.manifest.sources[0].counters["unparsable_value"] == 1


NODES = """\
clock = "epoch"
[machines]
machine = "machine"
cpu = { column = "cpu", unit = "cores" }
memory = { column = "memory", unit = "bytes" }
"""


def test_every_small_parquet_is_read_whatever_its_bytes_are(tmp_path: Path) -> None:
    """Some of them have a carriage return among their bytes and no line feed."""
    pick = random.Random(16)
    nodes = declare(tomllib.loads(NODES), "nodes.toml")
    n_with_return_alone = 0
    path = tmp_path / "nodes.parquet"
    for _ in range(300):
        columns = {
            "machine": [f"node-{pick.randrange(1000)}" for _ in range(6)],
            "cpu": [pick.choice([8, 32]) for _ in range(6)],
            "memory": [pick.randrange(10**11) for _ in range(6)],
        }
        pq.write_table(pa.table(columns), path)
        content = path.read_bytes()
        n_with_return_alone += b"\r" in content and b"\n" not in content
        assert classify(path, only=nodes).format == "parquet"
    assert n_with_return_alone
