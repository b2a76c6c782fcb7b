"""Texts as programs of a desk write them: other encodings, and lines above the header."""

from __future__ import annotations

import pytest

from borgtrace.errors import SourceError
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.ingest.find.raw_files import find_raw_files
from borgtrace.ingest.read.line_numbers import line_numbers
from borgtrace.store import Store
from tests.ingest.own_data import AVERAGES, hashed, ingest_own, rows
from tests.ingest.raw import MACHINES, write_part

TEXT = "task,time,cpu\nweb,1793491200,2\nweb,1793491500,4\nköln,1793491200,1\n"
STORED = sorted([(hashed("web"), 0.25), (hashed("web"), 0.5), (hashed("köln"), 0.125)])
COMMENTS = "# written by a probe\n# of größe\n\n"

TEXTS = {
    "plain": TEXT.encode(),
    "a line for Excel": b"sep=;\n" + TEXT.replace(",", ";").encode(),
    "a line for Excel behind a mark": b'\xef\xbb\xbf"sep=,"\r\n'
    + TEXT.replace("\n", "\r\n").encode(),
    "comments": (COMMENTS + TEXT).encode(),
    "a header in a comment": ("# of web\n# " + TEXT).encode(),
    "a header behind a mark": ("#" + TEXT).encode(),
    "empty lines": ("\n\n" + TEXT).encode(),
    "a header in quotes": TEXT.replace("task,time,cpu", '"task","time","cpu"').encode(),
    "blanks around names": TEXT.replace("task,time,cpu", "task , time , cpu").encode(),
    "cp1252": TEXT.encode("cp1252"),
    "cp1252 with comments": (COMMENTS + TEXT).encode("cp1252"),
    "utf-16": (COMMENTS + TEXT).encode("utf-16"),
}


@pytest.mark.wide
@pytest.mark.parametrize("is_declared", [True, False])
def test_texts_of_one_table_give_the_same_rows(tmp_path, is_declared):
    declaration = AVERAGES.replace('"relative"', '"epoch"')
    for name, content in TEXTS.items():
        folder = tmp_path / name
        folder.mkdir()
        if is_declared:
            store = ingest_own(folder, declaration, {"own.csv": content})
        else:
            (folder / "own.csv").write_bytes(content)
            options = IngestOptions(jobs=1, capacity="8cores")
            ingest([folder / "own.csv"], folder / "store", options)
            store = Store.open(folder / "store")
        assert rows(store, "instance_usage", "collection_id, average_cpu") == STORED, name
        remarks = [note for note in store.manifest.notes if "UTF-8" in note]
        line = 7 if "comments" in name else 4
        expected = f"own.csv: byte 0xF6 in line {line} is no UTF-8: the text is read as Windows-1252 (Latin-1)"
        assert remarks == ([expected] if "cp1252" in name else []), name


def test_a_text_with_characters_of_utf_8_is_damaged_where_a_byte_is_none(tmp_path):
    (tmp_path / "own.csv").write_bytes(TEXT.encode() + b"w\xf6b,1793491500,3\n")
    options = IngestOptions(jobs=1, capacity="8cores")
    result = ingest([tmp_path / "own.csv"], tmp_path / "store", options)
    assert [(entry.stored, entry.quarantined) for entry in result.staged] == [(3, 1)]


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_without_a_mark_is_refused_with_the_way_out(tmp_path, encoding):
    path = tmp_path / "own.csv"
    path.write_bytes(TEXT.encode(encoding))
    with pytest.raises(SourceError) as error:
        find_raw_files([path])
    assert str(error.value) == (
        f"{path}: UTF-16 without a byte order mark: expected UTF-8; write it as UTF-8: "
        f"iconv -f {encoding.upper().replace('-16-', '-16')} -t UTF-8"
    )


def test_lines_above_the_header_count_in_the_numbers_of_lines(tmp_path):
    path = tmp_path / "own.csv"
    path.write_text(COMMENTS + TEXT)
    (source,) = find_raw_files([path]).discovery.sources
    # Two comments, an empty line and the header stand above the first row.
    assert line_numbers(source, [0, 2]) == [5, 7]


BLANK = {
    "own.csv": "task,time,cpu\nweb,0,2\n\nweb,300,x\n   \nweb,600,4\n\n\n",
    "returns.csv": "task,time,cpu\r\nweb,0,2\r\n\r\nweb,300,x\r\n \r\nweb,600,4\r\n\r\n",
    "semicolons.csv": "task;time;cpu\nweb;0;2\n\nweb;300;x\n\nweb;600;4\n",
    "own.json": '{"task":"web","time":0,"cpu":2}\n\n{"task":"web","time":300,"cpu":"x"}\n\n'
    '{"task":"web","time":600,"cpu":4}\n',
}


@pytest.mark.parametrize("name", BLANK)
def test_blank_lines_are_no_rows_and_count_where_lines_are_numbered(tmp_path, name):
    store = ingest_own(tmp_path, AVERAGES, {name: BLANK[name]})
    (entry,) = store.manifest.sources
    assert (entry.rows_in, entry.stored, entry.quarantined) == (3, 2, 1)
    (refused,) = entry.refusals
    assert (refused.reason, refused.line) == ("unparsable_value", 3 if name == "own.json" else 4)


def test_a_blank_line_of_a_published_table_is_no_row(tmp_path):
    path = write_part(tmp_path, "machine_events", [*MACHINES, "", *MACHINES, ""])
    manifest = ingest([path], tmp_path / "store", IngestOptions(jobs=1)).manifest
    (entry,) = manifest.sources
    assert (entry.rows_in, entry.stored, entry.quarantined) == (2, 2, 0)
