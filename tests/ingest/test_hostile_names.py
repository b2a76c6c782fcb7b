"""Hostile names of columns, tasks and stores go through every command that takes a file: no effect, no changed name."""

from __future__ import annotations

import random
import tomllib
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

import borgtrace
from borgtrace.catalog import find
from borgtrace.cli import main
from borgtrace.question import EngineTables
from borgtrace.question.comparison import aligned
from tests.ingest.hostile_names import (
    SECRET,
    WRITERS,
    Names,
    declaration,
    distinct_names,
)
from tests.printed import shown

pytestmark = pytest.mark.wide

COLUMNS = 32
"""Columns of a file, the first four of which are declared."""
TASKS = 8
SNIFFED_COLUMNS = 10
NAMES_OF_A_CASE = COLUMNS + TASKS + SNIFFED_COLUMNS
MEASURED_NAMES = 2_000


@pytest.mark.parametrize("seed", range(3))
def test_a_hostile_name_is_a_name(seed: int) -> None:
    check_case(seed)


@pytest.mark.scale
@pytest.mark.parametrize("block", range(10))
def test_two_thousand_hostile_names_are_names(block: int) -> None:
    n_cases = MEASURED_NAMES // NAMES_OF_A_CASE // 10
    for case in range(n_cases):
        check_case(1_000 + block * n_cases + case)


def check_case(seed: int) -> None:
    """Run all commands on a file of hostile names; the formats take turns."""
    chance = random.Random(seed)
    file = list(WRITERS)[seed % len(WRITERS)]
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "secret").write_text(SECRET)
        check_declared_file(folder / "declared", file, chance)
        check_sniffed_file(folder / "sniffed", file, chance)
        assert sorted(entry.name for entry in folder.iterdir()) == ["declared", "secret", "sniffed"]


def check_declared_file(folder: Path, file: str, chance: random.Random) -> None:
    """Declare every column, ingest the file, and read the names of its tasks back."""
    folder.mkdir()
    # Lines of CSV are lines of the file.
    has_line_breaks = file != "own.csv"
    columns = distinct_names(chance, folder.parent, COLUMNS, has_line_breaks=has_line_breaks)
    names = Names(*columns[:4])
    tasks = distinct_names(chance, folder.parent, TASKS, has_line_breaks=has_line_breaks)
    # A number would be the id itself.
    tasks = [f"t{task}" for task in tasks]
    if file == "own.json":
        # DuckDB's JSON holds no NUL: such a row is refused, and counted.
        tasks = [task.replace("\0", "") for task in tasks]
    others = ["x"] * (COLUMNS - 4)
    rows = [(task, 300 * slot, 1.0, task, *others) for slot in range(3) for task in tasks]
    WRITERS[file](folder / file, columns, rows)
    (folder / "own.toml").write_text(declaration(names))
    store = folder / "store"
    options = ["--dialect", folder / "own.toml", "--capacity=8cores"]
    run("ingest", folder / file, "--store", store, "--dry-run", *options)
    run("ingest", folder / file, "--store", store, *options)
    opened = borgtrace.open(store)
    assert [(entry.stored, entry.quarantined) for entry in opened.manifest.sources] == [
        (len(rows), 0)
    ]
    answer = opened.sql("select distinct collection_name as name from collection_events")
    assert sorted(answer.column("name").to_pylist()) == sorted(tasks)
    usage = opened.sql("select average_cpu from instance_usage")
    assert usage.column("average_cpu").to_pylist() == [0.125] * len(rows)
    run("dataset", store, folder / "dataset", "--min-length=1", "--format=npz", "--shards=1")
    present = sorted(entry.name for entry in folder.iterdir())
    assert present == ["dataset", file, "own.toml", "store"]
    check_labels(store, columns)


def check_sniffed_file(folder: Path, file: str, chance: random.Random) -> None:
    """Let the columns of a file be guessed, and read the names that the guess declares."""
    folder.mkdir()
    names = distinct_names(chance, folder.parent, SNIFFED_COLUMNS, has_line_breaks=False)
    # A percent sign is a unit.
    cpu = f"cpu_used_cores {names[0].replace('%', '')}"
    notes = [f"note {name}" for name in names[1:]]
    rows = [("web", 300 * slot, 1.0, *("x" for _ in notes)) for slot in range(24)]
    WRITERS[file](folder / file, ["task", "time", cpu, *notes], rows)
    draft = run("dialect", "sniff", folder / file)
    assert tomllib.loads(draft)["usage"]["cpu"]["column"] == cpu
    (folder / "own.toml").write_text(draft)
    placement = ["--capacity=8cores", "--placement", folder / "placed.csv"]
    run("colocate", "--usage", folder / file, *placement)
    run("ingest", folder / file, "--store", folder / "store", "--capacity=8cores")
    store = borgtrace.open(folder / "store")
    assert [(entry.stored, entry.quarantined) for entry in store.manifest.sources] == [(24, 0)]


def check_labels(store: Path, labels: list[str]) -> None:
    """Compare a store with itself under each label, as folders of these names would be compared."""
    result = find("transitions").run(EngineTables.of(store))
    for label in labels:
        table = aligned({"first": result, label: result})
        others = [name for name in table.column_names if name.endswith(f" {label}")]
        assert len(others) == len(result.table.column_names) - len(result.question.answer.key_names)


def run(*words: object) -> str:
    """Run a command; return what it prints on stdout."""
    with shown(is_terminal=False) as printed, pytest.raises(SystemExit) as caught:
        main([str(word) for word in words])
    out, err = printed.out.text(), printed.err.text()
    assert SECRET not in out + err
    # No file makes a command fail but by its own words.
    assert caught.value.code in (0, 5), err
    return out
