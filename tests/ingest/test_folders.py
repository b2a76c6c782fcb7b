"""Archives cut into folders: files of one name in several, several cells, and what BigQuery exports."""

from __future__ import annotations

import gzip
import io
import json
import lzma
import zipfile
from pathlib import Path

import pytest

import borgtrace
from borgtrace.errors import SourceError
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.ingest.build.staged_relation import number_parts
from borgtrace.ingest.files.sources import Source, tell_apart
from borgtrace.ingest.find.discovery import discover
from borgtrace.ingest.find.raw_files import find_raw_files
from borgtrace.ingest.ingest_plan import estimate
from borgtrace.schema.dialects import GOOGLE_2011
from borgtrace.store.manifest import SourceEntry
from borgtrace.store.verify import verify
from borgtrace.synth import generate
from tests.ingest.raw import TABLES, event_record, usage_record, write_part, write_records

ONE = IngestOptions(jobs=1)
REPLACE = IngestOptions(jobs=1, replace=True)


def _line(collection: int, minute: int = 10) -> str:
    return (
        f"{minute * 60_000_000},{(minute + 5) * 60_000_000},{collection},0,5,0.5,0.1,,,,,,,,,,,,,"
    )


def _write(folder: Path, collections: list[int], part: int = 0) -> Path:
    return write_part(folder, "task_usage", [*map(_line, collections), "garbage"], part)


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    """Two days with the same names of files; both have the same machines, and a line that is refused."""
    for day, collections in (("day1", [1, 2]), ("day2", [3, 1])):
        write_part(tmp_path / "raw" / day, "machine_events", TABLES["machine_events"])
        for part, collection in enumerate(collections):
            _write(tmp_path / "raw" / day, [collection], part)
    return tmp_path / "raw"


def _digest(store: Path) -> str:
    assert all(check.holds for check in verify(store))
    return borgtrace.open(store).digest


def _names(store: Path) -> list[str]:
    return [entry.name for entry in borgtrace.open(store).manifest.sources]


def test_files_of_one_name_in_two_folders_are_two_sources(raw: Path, tmp_path: Path) -> None:
    done = ingest([raw], tmp_path / "store", ONE)
    assert done.manifest is not None
    assert (done.manifest.tables["instance_usage"], done.manifest.tables["machine_events"]) == (
        4,
        1,
    )
    assert _names(tmp_path / "store") == [
        "machine_events/day1/part-00000",
        *(f"task_usage/{day}/part-0000{part}" for day in ("day1", "day2") for part in (0, 1)),
    ]
    assert len(list((tmp_path / "store" / "quarantine").rglob("*.parquet"))) == 4
    # In order within each folder, whatever the digests: ties of time are told by it.
    rows = borgtrace.open(tmp_path / "store").sql(
        "select collection_id c, source_part p from instance_usage"
    )
    parts = {(row["c"], row["p"]) for row in rows.to_pylist()}
    assert {p for c, p in parts if c in (1, 3)} >= {0, 1}
    assert {p for c, p in parts if c == 2} <= {2, 3}
    assert ingest([raw], tmp_path / "store", ONE).staged == ()
    # Whatever the folder is called, and from wherever it is named.
    ingest([raw / "day2", raw / "day1"], tmp_path / "other", ONE)
    assert _digest(tmp_path / "other") == _digest(tmp_path / "store")


@pytest.mark.wide
def test_folders_that_come_one_after_the_other_give_what_all_give_at_once(
    raw: Path,
    tmp_path: Path,
) -> None:
    store = tmp_path / "store"
    ingest([raw / "day1"], store, ONE)
    assert _names(store)[1:] == ["task_usage/part-00000", "task_usage/part-00001"]
    # The second day alone could as well be the first one, changed.
    with pytest.raises(SourceError, match="the source has changed since it was ingested") as error:
        ingest([raw / "day2"], store, ONE)
    assert str(error.value).endswith(
        "; if it is another part, name the folder above both; else accept the new content with --replace"
    )
    done = ingest([raw], store, ONE)
    assert (len(done.staged), _names(store)[1:3]) == (
        2,
        ["task_usage/day2/part-00000", "task_usage/day2/part-00001"],
    )
    ingest([raw], tmp_path / "all", ONE)
    assert _digest(store) == _digest(tmp_path / "all")
    # Where folders are known, the next one may come alone.
    _write(raw / "day3", [7])
    ingest([raw / "day3"], tmp_path / "all", ONE)
    ingest([raw], store, ONE)
    assert _digest(store) == _digest(tmp_path / "all")
    assert "task_usage/day3/part-00000" in _names(tmp_path / "all")


@pytest.mark.wide
def test_a_changed_file_is_told_by_its_folder(raw: Path, tmp_path: Path) -> None:
    ingest([raw / "day1"], tmp_path / "grown", ONE)
    for store in ("grown", "store"):
        ingest([raw], tmp_path / store, ONE)
    before = _digest(tmp_path / "store")
    for day, collection in (("day2", 8), ("day1", 9)):
        path = _write(raw / day, [collection, 4])
        for place in (raw, raw / day):
            for store in ("grown", "store"):
                with pytest.raises(SourceError, match="the source has changed") as error:
                    ingest([place], tmp_path / store, ONE)
                assert str(error.value).startswith(f"{path}: ")
        ingest([raw], tmp_path / "grown", REPLACE)
        ingest([raw / day], tmp_path / "store", REPLACE)
        ingest([raw], tmp_path / day, ONE)
        assert (
            _digest(tmp_path / "grown")
            == _digest(tmp_path / "store")
            == _digest(tmp_path / day)
            != before
        )


def test_folders_staged_one_by_one_while_raw_files_vanish(raw: Path, tmp_path: Path) -> None:
    ingest([raw], tmp_path / "all", ONE)
    ingest([raw], tmp_path / "store", IngestOptions(jobs=1, stage_only=True))
    assert ingest([raw], tmp_path / "store", ONE).known == 6
    assert _digest(tmp_path / "store") == _digest(tmp_path / "all")


def test_the_plan_names_the_folders(raw: Path, tmp_path: Path) -> None:
    (_, usage) = estimate(discover([raw]), tmp_path / "store", 1).tables
    assert (usage.files, usage.parts) == (4, "0–1 of 500 in day1, day2")
    for day in (3, 4):
        _write(raw / f"day{day}", [day])
    (_, usage) = estimate(discover([raw]), tmp_path / "store", 1).tables
    assert usage.parts == "0–1 of 500 in day1, day2, day3, …"
    (_, usage) = estimate(discover([raw / "day1"]), tmp_path / "store", 1).tables
    assert usage.parts == "0–1 of 500"


@pytest.mark.parametrize(
    ("places", "folders"),
    [
        (["day1/task_usage/x", "day2/task_usage/x"], ["day1", "day2"]),
        (["task_usage/day=1/x", "task_usage/day=2/x"], ["day=1", "day=2"]),
        (["m1/d1/x", "m1/d2/x", "m2/d1/x", "m2/d2/y"], ["m1/d1", "m1/d2", "m2/d1", ""]),
        # One in the other's folder may be a copy that went astray; files of other names need no folder.
        (["a/x", "a/b/x"], ["", ""]),
        (["a/x", "b/y"], ["", ""]),
        (["a/x"], [""]),
    ],
)
def test_folders_that_lie_side_by_side_tell_files_apart(
    tmp_path: Path,
    places: list[str],
    folders: list[str],
) -> None:
    sources = [
        Source(tmp_path / f"{place}.csv", GOOGLE_2011, "task_usage", "csv") for place in places
    ]
    found = {source.path: source.folder for source in tell_apart(sources)}
    assert [found[source.path] for source in sources] == folders


def test_places_in_the_order_of_numbers_stand_for_numbers_that_come_again() -> None:
    def entry(name: str, part: int | None, sha256: str) -> SourceEntry:
        return SourceEntry(
            name,
            name,
            "instance_usage",
            "task_usage",
            "csv",
            1,
            sha256,
            part,
            None,
            1,
            1,
            0,
        )

    ledger = [
        entry("a/4", 4, "y"),
        entry("b/4", 4, "x"),
        entry("a/9", 9, "a"),
        entry("loose", None, "b"),
    ]
    assert number_parts(ledger) == {
        "b/4": 0,
        "a/4": 1,
        "a/9": 2,
        "loose": 3,
    }
    assert number_parts(ledger[1:]) == {
        "b/4": 4,
        "a/9": 9,
        "loose": 10,
    }


def _cells(folder: Path, *places: str) -> None:
    for place in places:
        write_records(folder / place, "instance_usage", [usage_record(machine_id=str(len(place)))])


def test_one_cell_of_several_is_chosen(tmp_path: Path) -> None:
    _cells(tmp_path / "raw", "cell_a", "cell-b")
    record = "instance_usage-000000000000.json.gz"
    with pytest.raises(SourceError) as error:
        ingest([tmp_path / "raw"], tmp_path / "store", ONE)
    assert str(error.value) == (
        f"sources: the files mix cells: expected one per store, got cell a: {tmp_path}/raw/cell_a/{record}; "
        f"cell b: {tmp_path}/raw/cell-b/{record}; ingest each into a separate store: --cell a"
    )
    with pytest.raises(SourceError) as error:
        ingest([tmp_path / "raw"], tmp_path / "store", IngestOptions(jobs=1, cell="c"))
    assert str(error.value) == (
        "sources: no file is of this cell: expected c, got a, b; choose one of these with --cell"
    )
    for cell in "ab":
        done = ingest([tmp_path / "raw"], tmp_path / cell, IngestOptions(jobs=1, cell=cell))
        assert done.manifest is not None
        assert (done.manifest.cell, len(done.manifest.sources)) == (cell, 1)


def test_files_that_do_not_say_their_cell_are_of_the_one_that_is_said(tmp_path: Path) -> None:
    _cells(tmp_path / "raw", "loose", "cell_b")
    (tmp_path / "raw" / "loose" / "instance_usage-000000000000.json.gz").rename(
        tmp_path / "raw" / "usage.json.gz"
    )
    done = ingest([tmp_path / "raw"], tmp_path / "store", IngestOptions(jobs=1, cell="b"))
    assert done.manifest is not None
    assert (done.manifest.cell, len(done.manifest.sources)) == ("b", 2)
    done = ingest([tmp_path / "raw"], tmp_path / "other", IngestOptions(jobs=1, cell="d"))
    assert done.manifest is not None
    assert (done.manifest.cell, len(done.manifest.sources)) == ("d", 1)


def _as_bigquery_writes(folder: Path, out: Path) -> None:
    """Lay the shards of a folder out as ``bq extract`` does: a folder for each table, files called by numbers."""
    for path in folder.glob("*-*"):
        table, _, rest = path.name.partition("-")
        (out / table).mkdir(parents=True, exist_ok=True)
        (out / table / rest).write_bytes(path.read_bytes())


@pytest.mark.wide
@pytest.mark.parametrize("kind", ["json", "parquet"])
def test_what_bigquery_exports_is_the_same_store(tmp_path: Path, kind: str) -> None:
    generate(
        tmp_path / "raw",
        "2019",
        2,
        1.0,
        3,
        file_format=kind,
    )
    ingest([tmp_path / "raw"], tmp_path / "store", ONE)
    _as_bigquery_writes(tmp_path / "raw", tmp_path / "extract")
    assert (tmp_path / "extract" / "instance_usage" / f"000000000000.{kind}.gz").exists()
    done = ingest([tmp_path / "extract"], tmp_path / "again", ONE)
    assert (done.faults, done.manifest is not None) == ((), True)
    one, two = (borgtrace.open(tmp_path / name) for name in ("store", "again"))
    assert two.manifest.tables == one.manifest.tables
    assert not sum(entry.quarantined for entry in two.manifest.sources)
    # Shards whose names say no number of theirs are numbered by content.
    for table in one.manifest.tables:
        names = "* exclude (source_part, source_row)" if table != "tasks" else "*"
        query = f"select {names} from {table} order by all"
        assert two.sql(query).equals(one.sql(query)), table
    assert ingest([tmp_path / "extract"], tmp_path / "again", ONE).staged == ()


def test_a_table_that_few_fields_tell_is_that_of_the_folder(tmp_path: Path) -> None:
    """Events with an instance are of instances: what else they leave out, a folder must not make them another table."""
    event = {
        "time": "5",
        "type": "0",
        "collection_id": "9",
        "collection_type": "0",
    }
    for table, record in (
        ("collection_events", event),
        ("instance_events", event_record(instance_index="0")),
    ):
        folder = tmp_path / "extract" / table
        folder.mkdir(parents=True)
        (folder / "000000000000.json").write_text(json.dumps(record) + "\n")
    found = discover([tmp_path / "extract"]).sources
    assert [source.name for source in found] == [
        f"{table}/000000000000.json" for table in ("collection_events", "instance_events")
    ]


def test_avro_is_not_read_and_says_what_is(tmp_path: Path) -> None:
    path = tmp_path / "000000000000.avro"
    path.write_bytes(b"Obj\x01\x04\x14avro.codec\x08null")
    with pytest.raises(SourceError) as error:
        discover([path])
    assert str(error.value) == (
        f"{path}: Avro is not read; export it as JSON lines or Parquet: "
        "bq extract --destination_format=NEWLINE_DELIMITED_JSON (or PARQUET)"
    )


def _zipped(text: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("log.swf", text)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("name", "head", "refusal"),
    [
        ("log.7z", b"7z\xbc\xaf\x27\x1c", "7-Zip is not read; unpack it first: 7z x"),
        ("log.rar", b"Rar!\x1a\x07\x00", "RAR is not read; unpack it first: unrar x"),
        (
            "log.Z",
            b"\x1f\x9d\x90",
            "the packing of compress is not read; unpack it first: uncompress",
        ),
        (
            "own.xls",
            b"\xd0\xcf\x11\xe0\xa1\xb1",
            "a workbook of Excel 97 is not read; save it as .xlsx or CSV",
        ),
        (
            "own.csv",
            b"<!DOCTYPE html><html>",
            "a web page is not read; "
            "fetch the file itself: this is what a server answered in its place",
        ),
    ],
)
def test_what_is_not_read_is_said_with_what_to_do(
    tmp_path: Path, name: str, head: bytes, refusal: str
) -> None:
    path = tmp_path / name
    path.write_bytes(head + bytes(100))
    with pytest.raises(SourceError) as error:
        discover([path])
    assert str(error.value) == f"{path}: {refusal}"


@pytest.mark.parametrize("name", ["log.swf.xz", "log.zip"])
def test_a_log_is_read_out_of_its_packing(tmp_path: Path, name: str) -> None:
    pack = _zipped if name.endswith(".zip") else lzma.compress
    path = tmp_path / name
    path.write_bytes(pack(b"; MaxProcs: 8\n1 0 0 60 8 -1 -1 8 60 -1 1 1 1 -1 1 -1 -1 -1\n"))
    assert [source.format for source in discover([path]).sources] == ["swf"]


def test_parquet_below_a_folder_with_an_equals_sign_has_the_columns_of_the_file(
    tmp_path: Path,
) -> None:
    generate(
        tmp_path / "raw",
        "2019",
        1,
        1.0,
        3,
        file_format="parquet",
        tables=("machine_events",),
    )
    for day in (1, 2):
        (tmp_path / "parts" / f"type={day}").mkdir(parents=True)
        data = (tmp_path / "raw" / "machine_events-000000000000.parquet.gz").read_bytes()
        (tmp_path / "parts" / f"type={day}" / "x.parquet").write_bytes(data)
    done = ingest([tmp_path / "parts"], tmp_path / "store", ONE)
    again = ingest([tmp_path / "raw"], tmp_path / "plain", ONE)
    assert done.manifest is not None
    assert again.manifest is not None
    # The two are copies of one: taken once.
    assert done.manifest.tables == again.manifest.tables
    assert not sum(entry.quarantined for entry in done.manifest.sources)


def test_json_below_a_folder_with_an_equals_sign_has_the_fields_of_the_file(tmp_path: Path) -> None:
    path = write_records(
        tmp_path / "raw" / "time=7" / "machine_id=1",
        "instance_usage",
        [usage_record()],
    )
    path.with_suffix("").write_bytes(gzip.decompress(path.read_bytes()))
    path.unlink()
    done = ingest([tmp_path / "raw"], tmp_path / "store", ONE)
    assert done.manifest is not None
    assert borgtrace.open(tmp_path / "store").sql("select machine_id m from instance_usage")[
        "m"
    ].to_pylist() == [23624491139]


SACCT_TEXT = "JobID|State|Start|End\n1|COMPLETED|2026-11-01T00:00:00|2026-11-01T00:01:00\n"


def _zip_of(folder, files):
    path = folder / "week.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return path


def _folder_of(folder, files):
    for name, text in files.items():
        (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder


@pytest.mark.parametrize("place", [_folder_of, _zip_of], ids=["folder", "archive"])
def test_a_text_that_is_recognized_is_read_and_another_is_a_description(tmp_path, place):
    files = {
        "jobs.txt": SACCT_TEXT,
        "readme.txt": "What was measured, and by whom.\n",
        "notes.txt": "Written elsewhere.\n".encode("utf-16-le"),
    }
    found = discover([place(tmp_path, files)])
    assert [source.table for source in found.sources] == ["sacct"]
    assert found.faults == []


@pytest.mark.parametrize("place", [_folder_of, _zip_of], ids=["folder", "archive"])
def test_a_description_beside_own_data_is_no_part_of_them(tmp_path, place):
    files = {"own.csv": "pod,time,cpu\nweb,0,1\nweb,300,0.5\n", "readme.txt": "a,b\n1,2\n"}
    found = find_raw_files([place(tmp_path, files)])
    assert found.declaration["usage"]["task"] == "pod"
    assert len(found.discovery.sources) == 1


def test_own_data_may_be_in_texts_alone(tmp_path):
    text = "pod,time,cpu\nweb,0,1\nweb,300,0.5\n"
    found = find_raw_files([_folder_of(tmp_path, {"own.txt": text})])
    assert [source.file_name for source in found.discovery.sources] == ["own.txt"]


def test_a_folder_of_a_description_alone_says_what_it_is(tmp_path):
    with pytest.raises(SourceError) as error:
        discover([_folder_of(tmp_path, {"readme.txt": "What was measured.\n"})])
    assert str(error.value).startswith(f"{tmp_path}/readme.txt: not part of a trace: ")
