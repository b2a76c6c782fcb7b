"""Everything that is printed passes one place, and every table in CSV one writer."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import borgtrace

SOURCE = Path(borgtrace.__file__).parent
CSV_WRITERS = {
    "engine/csv_text.py": "the writer of all tables for people",
    "export/jobs/csv.py": "columns of instance_usage, which hold numbers and declared words alone",
    "export/jobs/index.py": "numbers, and paths of our own",
}
"""Modules that write CSV by a library, and why no formula of a file can be in it."""
CONSOLES = {
    "cli/harmless_console.py": "the console of Rich that all use",
}
STATUS = {
    "cli/console.py": "working() lets control characters of Rich pass, and those of texts not",
}
BYTES_OF_STDOUT = {
    "cli/terminal.py": "asks whether a terminal shows them",
}


def calls(path: Path) -> set[str]:
    """Names of what a module calls or imports, the last two parts: ``csv.writer``, ``rich.console.Console``."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute):
            names.add(".".join(ast.unparse(node).split(".")[-2:]))
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return names


def modules_with(*wanted: str) -> set[str]:
    return {
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        if calls(path) & set(wanted)
    }


@pytest.mark.wide
@pytest.mark.parametrize(
    ("names", "allowed"),
    [
        (
            ("csv.writer", "csv.DictWriter", "csv.write_csv", "pa_csv.write_csv", "csv.CSVWriter"),
            CSV_WRITERS,
        ),
        (("rich.console.Console",), CONSOLES),
        (("talk.status", "rich.status.Status"), STATUS),
        (("stdout.buffer", "stderr.buffer", "sys.__stdout__", "sys.__stderr__"), BYTES_OF_STDOUT),
    ],
)
def test_one_place_writes(names: tuple[str, ...], allowed: dict[str, str]) -> None:
    assert modules_with(*names) == set(allowed)


@pytest.mark.parametrize(
    "code",
    [
        "import csv\ncsv.writer(file)",
        "import pyarrow.csv\npyarrow.csv.write_csv(table, file)",
        "from rich.console import Console",
        "import sys\nsys.stdout.buffer.write(data)",
    ],
)
def test_another_place_is_noticed(tmp_path: Path, code: str) -> None:
    path = tmp_path / "module.py"
    path.write_text(code)
    known = {"csv.writer", "csv.write_csv", "rich.console.Console", "stdout.buffer"}
    assert calls(path) & known


def test_columns_of_exported_files_hold_no_foreign_text() -> None:
    from borgtrace.schema import TABLES

    assert not [
        column.name for column in TABLES["instance_usage"].columns if column.type == "string"
    ]
