"""Workbooks written by hand, as the parts that Excel writes."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence

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


def _cell(value: str | float | None) -> str:
    if isinstance(value, str) and value.startswith("="):
        return f"<c><f>{value[1:]}</f><v>4</v></c>"
    if isinstance(value, str):
        return f'<c t="inlineStr"><is><t>{value}</t></is></c>'
    if value is None:
        return "<c/>"
    # Days since 1900 of Excel's dates, from 2000 to 2100.
    style = ' s="1"' if isinstance(value, float) and 36_526 < value < 73_051 else ""
    return f"<c{style}><v>{value!r}</v></c>"


def _sheet(lines: Sequence[Sequence[str | float | None]]) -> str:
    written = "".join(f"<row>{''.join(map(_cell, line))}</row>" for line in lines)
    return f'<worksheet xmlns="{MAIN}"><dimension ref="A1"/><sheetData>{written}</sheetData></worksheet>'


def workbook(**sheets: Sequence[Sequence[str | float | None]]) -> bytes:
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


ROWS: list[list[str | float | None]] = [
    ["task", "time", "cpu"],
    ["web", 0, "=2*2"],
    ["web", 300, 2],
    [7, 0, 1],
    ["web", 550, 8.0],
]
