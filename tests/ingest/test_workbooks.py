"""Workbooks (.xlsx): their sheets are tables; written by hand here, as the parts that Excel writes."""

from __future__ import annotations

import importlib.util
import io
import sys
import zipfile

import pytest

from borgtrace.errors import BorgtraceError
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.ingest.find.raw_files import find_raw_files
from borgtrace.schema.time import SECOND
from borgtrace.store import Store
from tests.ingest.own_data import AVERAGES, hashed, ingest_own, rows

NEEDS_OPENPYXL = pytest.mark.skipif(
    importlib.util.find_spec("openpyxl") is None, reason="openpyxl is not installed"
)
MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"
TYPES = "http://schemas.openxmlformats.org/package/2006/content-types"
# Style 1 is a date with its time.
STYLES = (
    f'<styleSheet xmlns="{MAIN}"><fonts count="1"><font/></fonts>'
    '<fills count="1"><fill><patternFill/></fill></fills><borders count="1"><border><left/></border></borders>'
    '<cellStyleXfs count="1"><xf numFmtId="0"/></cellStyleXfs>'
    '<cellXfs count="2"><xf numFmtId="0"/><xf numFmtId="22" applyNumberFormat="1"/></cellXfs></styleSheet>'
)


def _cell(value):
    if isinstance(value, str) and value.startswith("="):
        return f"<c><f>{value[1:]}</f><v>4</v></c>"
    if isinstance(value, str):
        return f'<c t="inlineStr"><is><t>{value}</t></is></c>'
    if value is None:
        return "<c/>"
    # Days since 1900 of Excel's dates, from 2000 to 2100.
    style = ' s="1"' if isinstance(value, float) and 36_526 < value < 73_051 else ""
    return f"<c{style}><v>{value!r}</v></c>"


def _sheet(lines):
    written = "".join(f"<row>{''.join(map(_cell, line))}</row>" for line in lines)
    return f'<worksheet xmlns="{MAIN}"><dimension ref="A1"/><sheetData>{written}</sheetData></worksheet>'


def workbook(**sheets):
    """Return a workbook with some sheets, each a list of rows."""
    listed = "".join(
        f'<sheet name="{name}" sheetId="{number}" r:id="rId{number}"/>'
        for number, name in enumerate(sheets, 1)
    )
    related = "".join(
        f'<Relationship Id="rId{number}" Type="{RELATIONS}/worksheet" Target="worksheets/sheet{number}.xml"/>'
        for number in range(1, len(sheets) + 1)
    )
    related += f'<Relationship Id="rId99" Type="{RELATIONS}/styles" Target="styles.xml"/>'
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    overrides = f'<Override PartName="/xl/workbook.xml" ContentType="{kind}.sheet.main+xml"/>'
    overrides += f'<Override PartName="/xl/styles.xml" ContentType="{kind}.styles+xml"/>'
    parts = {
        "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{RELATIONS}"><sheets>{listed}</sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{PACKAGE}">{related}</Relationships>',
        "xl/styles.xml": STYLES,
        "_rels/.rels": f'<Relationships xmlns="{PACKAGE}"><Relationship Id="rId1" '
        f'Type="{RELATIONS}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
    }
    for number, lines in enumerate(sheets.values(), 1):
        parts[f"xl/worksheets/sheet{number}.xml"] = _sheet(lines)
        overrides += f'<Override PartName="/xl/worksheets/sheet{number}.xml" ContentType="{kind}.worksheet+xml"/>'
    parts["[Content_Types].xml"] = (
        f'<Types xmlns="{TYPES}"><Default Extension="rels" '
        f'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Default Extension="xml" ContentType="application/xml"/>{overrides}</Types>'
    )
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, f'<?xml version="1.0" encoding="UTF-8"?>{text}')
    return buffer.getvalue()


ROWS = [["task", "time", "cpu"], ["web", 0, 2], ["web", 300, "=2*2"], [7, 0, 1], ["web", 550, 8.0]]
WINDOWS = [
    (7, 600 * SECOND, 900 * SECOND, 0.125),
    (hashed("web"), 600 * SECOND, 900 * SECOND, 0.25),
    (hashed("web"), 900 * SECOND, 1150 * SECOND, 0.5),
    (hashed("web"), 1150 * SECOND, 1450 * SECOND, 1.0),
]
COLUMNS = "collection_id, start_time, end_time, average_cpu"


@NEEDS_OPENPYXL
@pytest.mark.parametrize(
    "sheets",
    [
        {"Sheet1": ROWS},
        {"titled": [["What was measured"], [None], *ROWS]},
        {"notes": [["by", "whom"]], "usage": ROWS, "empty": []},
    ],
    ids=["alone", "below a title", "beside others"],
)
def test_the_sheet_that_fits_is_read_like_any_other_table(tmp_path, sheets):
    store = ingest_own(tmp_path, AVERAGES, {"own.xlsx": workbook(**sheets)})
    assert rows(store, "instance_usage", COLUMNS) == WINDOWS


@NEEDS_OPENPYXL
def test_dates_of_cells_are_times(tmp_path):
    # 46327 is 2026-11-01; five minutes are 1/288 of a day.
    lines = [["pod", "time", "cpu"]]
    lines += [["web", 46_327 + step / 288, 2] for step in range(1, 4)]
    path = tmp_path / "own.xlsx"
    path.write_bytes(workbook(Sheet1=lines))
    ingest([path], tmp_path / "store", IngestOptions(jobs=1, capacity="8cores"))
    store = Store.open(tmp_path / "store")
    assert rows(store, "instance_usage", "start_time, average_cpu") == [
        (600 * SECOND, 0.25),
        (900 * SECOND, 0.25),
        (1200 * SECOND, 0.25),
    ]
    assert (
        store.manifest.dialect.wall_clock(600 * SECOND).isoformat() == "2026-11-01T00:05:00+00:00"
    )


def test_without_its_package_a_workbook_is_refused_with_its_name(tmp_path, monkeypatch):
    # What Python does for a package that is not installed.
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    path = tmp_path / "own.xlsx"
    path.write_bytes(workbook(Sheet1=ROWS))
    with pytest.raises(BorgtraceError) as error:
        find_raw_files([path])
    assert str(error.value) == (
        f"{path}: a workbook (.xlsx), which a further package reads; "
        "pip install 'borgtrace[xlsx]', or save its sheet as CSV"
    )


@NEEDS_OPENPYXL
def test_parts_that_expand_beyond_all_reason_are_refused(tmp_path):
    content = io.BytesIO(workbook(Sheet1=ROWS))
    with zipfile.ZipFile(content, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/media/zeros.bin", bytes(1 << 27))
    path = tmp_path / "own.xlsx"
    path.write_bytes(content.getvalue())
    with pytest.raises(BorgtraceError) as error:
        find_raw_files([path])
    assert str(error.value).startswith(
        f"{path}: expands beyond all reason: expected at most 200 times"
    )
