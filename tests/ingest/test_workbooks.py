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
from tests.ingest.workbook_samples import ROWS, workbook

NEEDS_OPENPYXL = pytest.mark.skipif(
    importlib.util.find_spec("openpyxl") is None, reason="openpyxl is not installed"
)
WINDOWS = [
    (7, 600 * SECOND, 900 * SECOND, 0.125),
    (hashed("web"), 600 * SECOND, 900 * SECOND, 0.5),
    (hashed("web"), 900 * SECOND, 1150 * SECOND, 0.25),
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
        "pip install openpyxl, or save its sheet as CSV"
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
