"""The files that answers are written to: tables, charts and claims."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from borgtrace.engine.csv_text import csv_text, write_csv
from borgtrace.errors import UsageError
from borgtrace.question import Result
from borgtrace.report import drawable
from borgtrace.storage import replacing, write_file

CLAIM_COLUMNS = (
    "recipe",
    "id",
    "kind",
    "statement",
    "published",
    "tolerance",
    "measured",
    "verdict",
    "reason",
    "note",
    "source",
)
"""The columns of claims.csv: the name of the question, then fields of a finding."""


def check_png(png: bool, out: Path | None) -> None:
    """Refuse pictures without a folder for them."""
    if png and out is None:
        raise UsageError("--png", "no folder to write to", way_out="name one: --out DIR")


def write_result(
    result: Result,
    out: Path,
    *,
    png: bool,
    raw: bool = False,
) -> None:
    """Write one result's files into `out`; each appears whole or not at all.

    Parameters
    ----------
    result
        An answer.
    out
        The folder.
    png
        Whether the chart is written as PNG, too.
    raw
        Whether texts of CSV stay as they are, those that a spreadsheet takes for formulas included.
    """
    name = result.question.name
    with replacing(out / f"{name}.parquet") as draft:
        pyarrow.parquet.write_table(with_provenance(result), draft, compression="zstd")
    with replacing(out / f"{name}.csv") as draft:
        write_csv(result.table, draft, raw=raw)
    # None for an answer without rows; its tables are written all the same.
    chart = result.plot()
    if chart is None:
        return
    spec = drawable.specification(chart)
    write_file(out / f"{name}.vl.json", json.dumps(spec, sort_keys=True))
    write_file(out / f"{name}.svg", drawable.svg(spec))
    if png:
        write_file(out / f"{name}.png", drawable.png(spec))


def with_provenance(result: Result) -> pa.Table:
    """Return the table with its provenance in the file's metadata."""
    facts = asdict(result.provenance)
    # The run time differs each time; without it the same question on the same store gives the same file.
    del facts["seconds"]
    if result.not_applicable is not None:
        facts["not_applicable"] = result.not_applicable
    return result.table.replace_schema_metadata({"borgtrace": json.dumps(facts, sort_keys=True)})


def claims_csv(results: Iterable[Result], *, raw: bool = False) -> str:
    """Return the claims about some answers as CSV, a row for each; `raw` as for `write_result`."""
    rows: list[Sequence[Any]] = [CLAIM_COLUMNS]
    for row in claim_rows(results):
        rows.append([row[name] for name in CLAIM_COLUMNS])
    return csv_text(rows, raw=raw)


def claim_rows(results: Iterable[Result]) -> list[dict[str, Any]]:
    """Return the claims about some answers with the name of their question."""
    rows = []
    for result in results:
        for finding in result.findings:
            rows.append({"recipe": result.question.name, **asdict(finding)})
    return rows
