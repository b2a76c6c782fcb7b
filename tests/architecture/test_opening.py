"""Files of strangers are opened by `borgtrace.storage.regular_files`, or by a library after that has looked."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import borgtrace
from tests.architecture.source import tree

SOURCE = Path(borgtrace.__file__).parent
OPENERS = {"open", "read_text", "read_bytes"}
"""What Python opens files with."""
LIBRARIES = {
    "ParquetFile",
    "load",
    "memmap",
    "read_metadata",
    "read_schema",
    "read_table",
}
"""What NumPy and Arrow open files with."""
LOOKED_AT = {"open_regular", "readable", "require_regular"}
OWN_FILES = {
    "cli/commands/synth.py": "what it has just written",
    "colocation/packing/from_moments.py": "a file that open_regular opened",
    "datasets/card.py": "a file of the package",
    "ingest/read/tables/partitioned_file.py": "a file that open_regular opened",
    "datasets/formats/npz.py": "a member of an archive",
    "engine/child.py": "its own log, and the memory of a process",
    "engine/query_worker.py": "the memory of this process",
    "engine/stored.py": "the end of a file of a bucket",
    "explore/application.py": "a file of the package",
    "explore/lives.py": "an aggregate, whose digest was compared",
    "explore/pyramid.py": "an aggregate, whose digest was compared",
    "explore/windows.py": "an aggregate, whose digest was compared",
    "export/files/queries.py": "a file of the package",
    "export/jobs/files.py": "a part of the store, whose digest was compared",
    "extensions/origins.py": "code of the user, which was imported",
    "extensions/sources.py": "code of the user, which was just run",
    "fetch/transfer.py": "what it has just fetched",
    "fetch/whole.py": "what it has just fetched",
    "fetch/digests.py": "what it has just fetched",
    "forecast/saved.py": "a file that open_regular has opened before",
    "ingest/build/damaged_staging.py": "a staged part, to tell whether it is damaged",
    "ingest/convert/conversion.py": "a part that it has just written",
    "ingest/find/recognition.py": "a file that open_regular opened",
    "ingest/read/parquet.py": "a raw file that was recognized",
    "lifecycle/by_machine/terms.py": "what it has just written",
    "lifecycle/cache.py": "a module of the package",
    "report/page.py": "a script in the user's own cache",
    "scheduling/event_log.py": "a file of the package",
    "schema/data_files.py": "a file of the package",
    "store/kept_folders.py": "a module of the package",
    "store/layout.py": "parts of the store, whose digests were compared",
    "store/machine.py": "a file of the package",
    "store/version.py": "a file of a bucket",
    "testing/suite.py": "what a process of its own has written",
}
"""Modules that open files in another way, and which; a new one needs a reason."""


@cache
def opened_otherwise(path: Path) -> list[ast.Call]:
    """Return the calls of a module that open a file for reading without looking what it is."""
    text = path.read_text("utf-8")
    # To look through all modules takes seconds; most open nothing.
    if not any(f"{name}(" in text for name in OPENERS | LIBRARIES):
        return []
    calls = [node for node in ast.walk(tree(path)) if isinstance(node, ast.Call)]
    return [call for call in calls if is_opening(call) and not is_looked_at(call)]


def is_opening(call: ast.Call) -> bool:
    if isinstance(call.func, ast.Name):
        # Of a store it is our own.
        return call.func.id == "open" and ast.unparse(call.args[0]) != "store"
    if not isinstance(call.func, ast.Attribute):
        return False
    receiver = ast.unparse(call.func.value)
    if call.func.attr in LIBRARIES:
        return receiver in ("np", "pq", "json") and call.func.attr != "loads"
    if call.func.attr not in OPENERS:
        return False
    # Stores, datasets, ledgers, browsers; and files that are written.
    mode = ast.unparse(call.args[0]) if call.args else "'r'"
    is_read = mode in ("'r'", "'rb'") or call.func.attr != "open"
    return is_read and receiver not in (
        "borgtrace",
        "Store",
        "Ledger",
        "webbrowser",
        "os",
        "self",
        "super()",
    )


def is_looked_at(call: ast.Call) -> bool:
    # What reads from an open file opens none.
    if any(keyword.arg == "fileobj" for keyword in call.keywords):
        return True
    if not call.args or not isinstance(call.args[0], ast.Call):
        return False
    function = call.args[0].func
    return isinstance(function, ast.Name) and function.id in LOOKED_AT


def test_files_of_strangers_are_opened_by_one_function() -> None:
    others = {}
    for path in sorted(SOURCE.rglob("*.py")):
        name = path.relative_to(SOURCE).as_posix()
        calls = opened_otherwise(path)
        if calls and not name.startswith("storage/") and name not in OWN_FILES:
            others[name] = [f"{call.lineno}: {ast.unparse(call)}" for call in calls]
    assert others == {}


def test_every_exception_is_needed() -> None:
    needed = {name for name in OWN_FILES if opened_otherwise(SOURCE / name)}
    assert needed == set(OWN_FILES)
