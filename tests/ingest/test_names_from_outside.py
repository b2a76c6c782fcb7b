"""Names and words of foreign files and declarations: they come through as names, and nothing in them runs."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from borgtrace.ingest import IngestOptions, ingest, prepare_ingest
from borgtrace.store import Store
from tests.ingest.own_data import ingest_own, rows

ATTACKS = [
    """cpu") FROM raw; COPY (SELECT 1) TO '{folder}/written' --""",
    """cpu"") FROM raw; COPY (SELECT 1) TO '{folder}/written' --""",
    """cpu', 1) FROM raw; COPY (SELECT 1) TO '{folder}/written' --""",
    """cpu\\'"; COPY (SELECT 1) TO '{folder}/written' --""",
]
OPTIONS = IngestOptions(jobs=1, capacity="8cores")


def write_csv(path: Path, names: list[str]) -> None:
    header = ",".join('"' + name.replace('"', '""') + '"' for name in names)
    path.write_text(f"{header}\nweb,0,2\nweb,300,1\nweb,600,2\n")


def write_json(path: Path, names: list[str]) -> None:
    records = [dict(zip(names, ("web", 300 * i, 2 - i % 2), strict=True)) for i in range(3)]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


def write_parquet(path: Path, names: list[str]) -> None:
    columns = [
        ["web"] * 3,
        [0, 300, 600],
        [2, 1, 2],
    ]
    pq.write_table(pa.table(dict(zip(names, columns, strict=True))), path)


WRITERS = {
    "own.csv": write_csv,
    "own.json": write_json,
    "own.parquet": write_parquet,
}


@pytest.mark.parametrize("file", WRITERS)
@pytest.mark.parametrize("attack", ATTACKS)
def test_a_name_of_a_column_never_runs(tmp_path: Path, file: str, attack: str) -> None:
    path = tmp_path / file
    WRITERS[file](path, ["pod", "ts", attack.format(folder=tmp_path)])
    plan = prepare_ingest([path], tmp_path / "store", OPTIONS).plan
    assert [table.files for table in plan.tables] == [1]
    assert [entry.name for entry in tmp_path.iterdir()] == [file]
    result = ingest([path], tmp_path / "store", OPTIONS)
    assert [(entry.stored, entry.quarantined) for entry in result.staged] == [(3, 0)]
    store = Store.open(tmp_path / "store")
    assert rows(store, "instance_usage", "average_cpu") == [
        (0.125,),
        (0.25,),
        (0.25,),
    ]
    assert sorted(entry.name for entry in tmp_path.iterdir()) == [file, "store"]


@pytest.mark.parametrize("name", ["own.csv", "own.json"])
def test_a_word_of_a_declaration_never_runs(tmp_path: Path, name: str) -> None:
    word = f"""it's "done") END; COPY (SELECT 1) TO '{tmp_path}/written' --\\"""
    declaration = f"""
clock = "relative"
[tasks]
task = "pod"
start = {{ column = "begin", unit = "s" }}
end = {{ column = "end", unit = "s" }}
status = {{ column = "how it's", codes = {{ {json.dumps(word)} = "FINISH", Failed = "FAIL" }} }}
"""
    names = ["pod", "begin", "end", "how it's"]
    records = [
        ("a", "1", "2", word),
        ("b", "1", "3", "Failed"),
        ("c", "1", "4", "neither"),
    ]
    if name == "own.json":
        lines = [json.dumps(dict(zip(names, record, strict=True))) for record in records]
    else:
        quoted_records = [
            ['"' + text.replace('"', '""') + '"' for text in record] for record in records
        ]
        lines = [",".join(names), *(",".join(record) for record in quoted_records)]
    store = ingest_own(tmp_path, declaration, {name: "\n".join(lines) + "\n"})
    (source,) = store.manifest.sources
    assert (source.stored, source.quarantined) == (2, 1)
    ends = rows(store, "instance_events", "type", "type in ('FINISH', 'FAIL')")
    assert ends == [("FAIL",), ("FINISH",)]
    assert not (tmp_path / "written").exists()


def test_a_zone_of_a_declaration_never_runs(tmp_path: Path) -> None:
    attack = f"UTC', now()); COPY (SELECT 1) TO '{tmp_path}/written' --"
    declaration = f"""
clock = "epoch"
step = "300s"
[usage]
task = "task"
time = {{ column = "time", unit = "iso", zone = {json.dumps(attack)} }}
cpu = {{ column = "cpu", unit = "cores", kind = "average" }}
"""
    content = "task,time,cpu\nweb,2026-01-01 00:00:00,1\nweb,2026-01-01 00:05:00,2\n"
    with pytest.raises(Exception, match=r"zone|read"):
        ingest_own(tmp_path, declaration, {"own.csv": content})
    assert not (tmp_path / "written").exists()
