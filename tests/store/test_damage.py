"""Random damage to a store: one line and exit 5, or the right answer; never a traceback, never another answer."""

from __future__ import annotations

import io
import json
import random
import shutil
import warnings
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import borgtrace
from borgtrace.catalog import find
from borgtrace.cli import main
from borgtrace.errors import StoreError
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.ingest.subset import subset
from borgtrace.question import EngineTables
from borgtrace.store import integrity
from borgtrace.store.criteria import Criteria
from borgtrace.store.digest import file_digest
from borgtrace.store.manifest import read_manifest
from borgtrace.store.verify import verify
from tests.ingest.raw import write_cell, write_part
from tests.store.conftest import EVENTS, USAGE, in_time_order, usage, vouch

pytestmark = pytest.mark.wide

ONE = IngestOptions(jobs=1)
_SUMS = "select count(*), min(time), sum(machine_id) from instance_events"
_USED = "select count(*), sum(average_cpu), sum(maximum_memory), sum(end_time) from instance_usage"
_COMMANDS: tuple[tuple[str, ...], ...] = (
    ("info", "STORE"),
    ("sql", "STORE", _SUMS),
    ("sql", "STORE", _USED),
    ("sql", "STORE", "select * from tasks"),
    ("trace", "STORE", "10", "0", "--columns", "average_cpu,maximum_cpu", "--format", "json"),
    ("machine", "STORE", "5", "--json"),
    ("analyze", "STORE", "machine_downtime", "transitions"),
    ("dataset", "STORE", "OUT", "--min-length", "1", "--format", "npz"),
    ("export", "STORE", "OUT", "--workers", "1"),
    ("subset", "STORE", "OUT", "--fraction", "1"),
    ("ingest", "LATER", "--store", "STORE", "--jobs", "1"),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with refused rows, an array and a derived table made on first use; and a part that comes later."""
    root = tmp_path_factory.mktemp("damage")
    write_cell(root / "raw")
    write_part(root / "raw", "task_events", in_time_order(EVENTS))
    write_part(root / "raw", "task_usage", [*USAGE, usage(10, 0, 4, "much")])
    write_part(root / "later", "task_usage", [usage(10, 0, 5, "0.25")], 7)
    ingest([root / "raw"], root / "store", ONE)
    borgtrace.open(root / "store").array("maximum_cpu")
    find("transitions").run(EngineTables.of(root / "store"))
    assert list((root / "store" / "cache").rglob("*.parquet"))
    return root


@pytest.fixture
def store(folder: Path, tmp_path: Path) -> Path:
    """A copy that may be damaged."""
    return shutil.copytree(folder / "store", tmp_path / "store")


def _cut(path: Path, generator: random.Random) -> None:
    path.write_bytes(path.read_bytes()[: generator.randrange(path.stat().st_size)])


def _flip(path: Path, generator: random.Random) -> None:
    data = bytearray(path.read_bytes())
    data[generator.randrange(len(data))] ^= 1 << generator.randrange(8)
    path.write_bytes(data)


def _scramble(path: Path, generator: random.Random) -> None:
    data = bytearray(path.read_bytes())
    start = generator.randrange(len(data))
    end = min(start + 64, len(data))
    data[start:end] = generator.randbytes(end - start)
    path.write_bytes(data)


def _append(path: Path, generator: random.Random) -> None:
    path.write_bytes(path.read_bytes() + generator.randbytes(20))


def _confuse(path: Path, generator: random.Random) -> None:
    """Put the content of another file of the same kind in its place."""
    files = sorted(path.parent.parent.rglob(f"*{path.suffix}"))
    others = [other for other in files if other != path]
    content = generator.choice(others).read_bytes() if others else b"{}"
    path.write_bytes(content)


def _remove(path: Path, generator: random.Random) -> None:
    path.unlink()


def _empty(path: Path, generator: random.Random) -> None:
    path.write_bytes(b"")


_DAMAGES: tuple[Callable[[Path, random.Random], None], ...] = (
    _cut,
    _flip,
    _flip,
    _flip,
    _scramble,
    _append,
    _confuse,
    _remove,
    _empty,
)


def run_command(arguments: tuple[str, ...], places: dict[str, Path]) -> tuple[int, str, str]:
    """Return the exit code of a command, its output with the files that it wrote, and its messages."""
    shutil.rmtree(places["OUT"], ignore_errors=True)
    out = io.StringIO()
    err = io.StringIO()
    with redirect_stdout(out), redirect_stderr(err), warnings.catch_warnings():
        # As in a process of its own, where a warning is a line.
        warnings.simplefilter("ignore")
        with pytest.raises(SystemExit) as ended:
            main([str(places.get(word, word)) for word in arguments])
    answer = [out.getvalue().replace(str(places["STORE"]), "STORE")]
    for path in sorted(places["OUT"].rglob("*")):
        if path.is_file() and path.suffix in {".parquet", ".csv"}:
            answer.append(f"{path.name}: {path.read_bytes().hex()}")
    code = int(ended.value.code or 0)
    return code, "\n".join(answer), err.getvalue()


def _fuzz(folder: Path, tmp_path: Path, seeds: range) -> None:
    """Damage the store once for each seed: a command refuses it in one line, or answers as on the whole store."""
    source = folder / "store"
    files = sorted(path.relative_to(source) for path in source.rglob("*") if path.is_file())
    places = {
        "STORE": tmp_path / "store",
        "OUT": tmp_path / "out",
        "LATER": folder / "later",
    }
    right: dict[tuple[str, ...], str] = {}
    for command in _COMMANDS:
        shutil.copytree(source, places["STORE"])
        code, right[command], _ = run_command(command, places)
        assert code == 0, command
        shutil.rmtree(places["STORE"])
    n_refused = 0
    for seed in seeds:
        generator = random.Random(seed)
        file = generator.choice(files)
        damage = generator.choice(_DAMAGES)
        shutil.copytree(source, places["STORE"])
        damage(places["STORE"] / file, generator)
        case = f"seed {seed}: {damage.__name__} of {file}"
        n_refused += _count_refusals(case, generator, places, right)
        shutil.rmtree(places["STORE"])
    # Most files are read by every opening; damage to the rest (derived tables) is mended on the way.
    assert n_refused > len(seeds)
    print(
        f"{len(seeds)} damages: {n_refused} commands refused the store, all others gave the right answer"
    )


def _count_refusals(
    case: str,
    generator: random.Random,
    places: dict[str, Path],
    right: dict[tuple[str, ...], str],
) -> int:
    """Run some commands on a damaged store, and return how many of them refused it."""
    code, _, err = run_command(("verify", "STORE"), places)
    assert code in {0, 5}, (case, err)
    assert "Traceback" not in err, case
    n_refused = 0
    for command in generator.sample(_COMMANDS, 3):
        code, answer, err = run_command(command, places)
        assert code in {0, 5}, (case, command, err)
        assert "Traceback" not in err, (case, command)
        if code:
            messages = [line for line in err.splitlines() if line.startswith("borgtrace: ")]
            assert len(messages) == 1, (case, err)
            n_refused += 1
        else:
            assert answer == right[command], (case, command, "another answer")
        if command[0] == "ingest":
            break
    return n_refused


def test_a_damaged_store_is_refused_in_one_line(folder: Path, tmp_path: Path) -> None:
    _fuzz(folder, tmp_path, range(8))


@pytest.mark.scale
def test_five_hundred_damages(folder: Path, tmp_path: Path) -> None:
    _fuzz(folder, tmp_path, range(500))


def rebuild_with(store: Path) -> str:
    return f"; build it again: borgtrace ingest SRC --store {store} --rebuild"


def refusal(action: Callable[[], object]) -> str:
    with pytest.raises(StoreError) as error:
        action()
    return str(error.value)


def test_a_missing_file_is_no_empty_table(store: Path) -> None:
    (store / "instance_usage" / "part-00000.parquet").unlink()
    expected = f"{store}: instance_usage/part-00000.parquet is missing{rebuild_with(store)}"
    assert refusal(lambda: borgtrace.open(store)) == expected
    assert refusal(lambda: subset(store, store.parent / "part", Criteria(fraction=1.0))) == expected
    assert refusal(lambda: ingest([], store, ONE)) == expected


def changed_since(store: Path, name: str) -> str:
    written = read_manifest(store).files[name][:12]
    return (
        f"{store}: {name} has changed since it was written: "
        f"expected {written}, got {file_digest(store / name)[:12]}{rebuild_with(store)}"
    )


def test_a_changed_file_is_named_before_any_library_parses_it(store: Path) -> None:
    """A flipped byte in a page of data decodes to another number; one in a footer made a library end the process."""
    assert borgtrace.open(store).trace(10, 0)
    for name in (
        "tasks/part-00000.parquet",
        "instance_usage/part-00000.parquet",
        "traces/average_cpu.npy",
    ):
        path = store / name
        whole = path.read_bytes()
        damaged = bytearray(whole)
        damaged[len(whole) // 2] ^= 4
        path.write_bytes(damaged)
        assert refusal(lambda: borgtrace.open(store)) == changed_since(store, name)
        path.write_bytes(whole)
    assert borgtrace.open(store).manifest.tables["instance_usage"] == 6


def test_a_file_more_is_named(store: Path) -> None:
    tasks = store / "tasks"
    shutil.copy(tasks / "part-00000.parquet", tasks / "part-00001.parquet")
    assert refusal(lambda: borgtrace.open(store)) == (
        f"{store}: tasks/part-00001.parquet is none of the files that the manifest lists{rebuild_with(store)}"
    )


def test_a_manifest_that_counts_other_rows_is_refused(store: Path) -> None:
    manifest = read_manifest(store)
    tables = {**manifest.tables, "instance_usage": 7}
    replace(manifest, tables=tables).write(store / "manifest.json")
    assert refusal(lambda: borgtrace.open(store)) == (
        f"{store}: instance_usage does not have the rows that the manifest counts: "
        f"expected 7 rows, got 6{rebuild_with(store)}"
    )


def test_a_file_of_a_store_without_digests_is_named_when_it_cannot_be_read(store: Path) -> None:
    replace(read_manifest(store), files={}).write(store / "manifest.json")
    (store / "tasks" / "part-00000.parquet").write_bytes(b"PAR1")
    assert refusal(lambda: borgtrace.open(store)) == (
        f"{store}: tasks/part-00000.parquet cannot be read: got Parquet file size is 4 bytes, smaller than the minimum "
        f"file footer (8 bytes){rebuild_with(store)}"
    )


def test_a_manifest_that_was_changed_is_refused(store: Path) -> None:
    path = store / "manifest.json"
    data = json.loads(path.read_text())
    seal = data["sha256"]
    # Spaced in another way it says the same.
    path.write_text(json.dumps(data))
    assert borgtrace.open(store).manifest.cell == data["cell"]
    path.write_text(json.dumps({**data, "cell": "b"}))
    message = refusal(lambda: borgtrace.open(store))
    assert message.startswith(
        f"{store}: manifest.json has changed since it was written: expected {seal[:12]}, got "
    )
    assert message.endswith(rebuild_with(store))


def test_an_array_is_named_when_it_is_missing_truncated_or_another(store: Path) -> None:
    path = store / "traces" / "duration.npy"
    data = path.read_bytes()
    opened = borgtrace.open(store)
    path.unlink()
    where = f"{store}: traces/duration.npy is missing or damaged: "
    what = rebuild_with(store)
    # Of a store that is open already.
    assert refusal(lambda: opened.trace(10, 0)) == (
        f"{where}got [Errno 2] No such file or directory: '{path}'{what}"
    )
    assert (
        refusal(lambda: borgtrace.open(store)) == f"{store}: traces/duration.npy is missing{what}"
    )
    assert {check.name for check in verify(store) if not check.holds} == {"files", "arrays"}
    path.write_bytes(data[:-4])
    assert refusal(opened.traces) == f"{where}got mmap length is greater than file size{what}"
    assert refusal(lambda: borgtrace.open(store)) == changed_since(store, "traces/duration.npy")
    path.write_bytes(data + b"more")
    assert refusal(lambda: opened.array("duration")) == (
        f"{where}expected shape (6,) of float32, got shape (6,) of float32 in 156 bytes{what}"
    )
    np.save(path, np.zeros(7))
    assert refusal(lambda: opened.array("duration")) == (
        f"{where}expected shape (6,) of float32, got shape (7,) of float64 in 184 bytes{what}"
    )


@pytest.mark.parametrize("damage", ["cut", "another", "gone"])
def test_an_array_made_on_first_use_is_made_again(store: Path, damage: str) -> None:
    right = borgtrace.open(store).array("maximum_cpu").tolist()
    (path,) = (store / "cache").rglob("maximum_cpu.npy")
    if damage == "cut":
        path.write_bytes(path.read_bytes()[:140])
    elif damage == "another":
        np.save(path, np.zeros(6, np.float32))
    else:
        path.unlink()
    np.testing.assert_array_equal(borgtrace.open(store).array("maximum_cpu"), right)
    # One beside those of the store is not read: whoever sends a store could put anything there.
    np.save(store / "traces" / "maximum_memory.npy", np.zeros(6, np.float32))
    assert borgtrace.open(store).array("maximum_memory").tolist() == [0.5] * 6
    assert all(check.holds for check in verify(store))


def test_an_index_that_points_elsewhere_is_refused_before_anything_is_read(store: Path) -> None:
    path = store / "tasks" / "part-00000.parquet"
    table = pq.read_table(path)
    moved = table.column("first_row").to_numpy() + 1
    place = table.column_names.index("first_row")
    pq.write_table(table.set_column(place, "first_row", [moved]), path)
    vouch(store)
    assert refusal(lambda: borgtrace.open(store).trace(10, 0)) == (
        f"{store}: the index of tasks is damaged: got rows that do not follow each other{rebuild_with(store)}"
    )


def test_damage_goes_into_no_other_store(
    store: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "instance_usage/part-00000.parquet"
    pq.write_table(pq.read_table(store / name), store / name)
    # What decays below the file system, which no time of a change tells: then every byte is compared.
    monkeypatch.setattr(integrity, "changed_files", lambda root, digests: {})
    for action in (
        lambda: subset(store, store.parent / "part", Criteria(fraction=1.0)),
        lambda: ingest([folder / "later"], store, ONE),
    ):
        assert refusal(action) == changed_since(store, name)
    assert not (store.parent / "part").exists()


def test_files_that_stay_keep_their_digests(
    store: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "instance_events/part-00000.parquet"
    pq.write_table(pq.read_table(store / name), store / name)
    before = read_manifest(store)
    monkeypatch.setattr(integrity, "changed_files", lambda root, digests: {})
    after = ingest([folder / "later"], store, ONE).manifest
    assert after is not None
    assert after.files[name] == before.files[name]
    assert after.content["instance_events"] == before.content["instance_events"]
    assert "files" in [check.name for check in verify(store) if not check.holds]


def test_refused_rows_are_compared_with_the_ledger(store: Path) -> None:
    checks = {check.name: check for check in verify(store)}
    assert checks["quarantine"].found == "1 rows refused, all kept"
    path = store / "quarantine" / "instance_usage" / "task_usage-part-00000.parquet"
    pq.write_table(pq.read_table(path).slice(1), path)
    failed = {check.name: check.found for check in verify(store) if not check.holds}
    assert sorted(failed) == ["files", "quarantine"]
    vouch(store)
    failed = {check.name: check.found for check in verify(store) if not check.holds}
    assert failed == {"quarantine": "task_usage-part-00000: 0, the ledger says 1"}
    path.unlink()
    vouch(store)
    assert {check.name for check in verify(store) if not check.holds} == {"quarantine"}


def test_a_command_that_meets_damage_says_so_and_a_wrong_question_is_told_as_such(
    store: Path, tmp_path: Path
) -> None:
    places = {"STORE": store, "OUT": tmp_path / "out"}
    # What was asked wrongly is told as such, and no file is read for it.
    code, _, err = run_command(("sql", "STORE", "select speed from tasks"), places)
    assert code == 2
    assert err.startswith('borgtrace: query: Binder Error: Referenced column "speed" not found')
    path = store / "instance_usage" / "part-00000.parquet"
    data = path.read_bytes()
    path.write_bytes(data[:4] + b"\xff" * 400 + data[404:])
    code, _, err = run_command(("sql", "STORE", "select * from instance_usage"), places)
    assert (code, err) == (
        5,
        f"borgtrace: {changed_since(store, 'instance_usage/part-00000.parquet')}\n",
    )


def test_a_store_without_digests_is_verified_when_a_command_meets_damage(
    store: Path, tmp_path: Path
) -> None:
    replace(read_manifest(store), files={}).write(store / "manifest.json")
    path = store / "instance_usage" / "part-00000.parquet"
    data = path.read_bytes()
    path.write_bytes(data[:4] + b"\xff" * 400 + data[404:])
    code, _, err = run_command(
        ("sql", "STORE", "select * from instance_usage"), {"STORE": store, "OUT": tmp_path / "out"}
    )
    assert code == 5
    assert err.splitlines()[-1].startswith(
        f"borgtrace: {store}: the store is damaged: got files, instance_usage: "
    )
