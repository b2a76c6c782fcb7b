"""Damage anywhere under a store and in this user's cache, and nine questions that read all that is kept there."""

from __future__ import annotations

import random
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

import borgtrace
from borgtrace.errors import BorgtraceError
from borgtrace.explore import cell, job, machine
from borgtrace.explore.explored_store import ExploredStore
from borgtrace.explore.pyramid import pyramid
from borgtrace.lifecycle.by_machine import default_metric, machine_usage
from borgtrace.question import EngineTables
from borgtrace.store import Store
from borgtrace.store.coverage import coverage

Answer = object
Damage = Callable[[Path, random.Random], object]


def ask_tables(store: Store) -> Answer:
    query = "SELECT collection_id, average_cpu, start_time FROM instance_usage ORDER BY ALL"
    events = "SELECT time, type, machine_id FROM instance_events ORDER BY ALL"
    return store.sql(query).to_pydict(), store.sql(events).to_pydict()


def ask_trace(store: Store) -> Answer:
    arrays = []
    for row in store.sql("SELECT collection_id AS c, instance_index AS i FROM tasks").to_pylist():
        trace = store.trace(row["c"], row["i"])
        arrays.append({name: array.tolist() for name, array in trace.items()})
    return sorted(map(repr, arrays))


def ask_further_columns(store: Store) -> Answer:
    return [store.array(column).tolist() for column in ("maximum_cpu", "maximum_memory")]


def ask_manifest(store: Store) -> Answer:
    manifest = store.manifest
    return manifest.tables, manifest.counters, manifest.cell, repr(coverage(manifest))


def ask_attempts(store: Store) -> Answer:
    tables = EngineTables.of(store)
    return sorted(map(repr, tables.fetch(tables.instance_attempts).to_pylist()))


def ask_transitions(store: Store) -> Answer:
    tables = EngineTables.of(store)
    return sorted(map(repr, tables.fetch(tables.instance_transitions).to_pylist()))


def ask_cell(store: Store) -> Answer:
    aggregates = pyramid(store)
    explored = ExploredStore(store, aggregates)
    charts = [
        cell.load(aggregates, explored.dialect, "cpu", explored.span).to_json(),
        cell.queue(aggregates, "pending", explored.span).to_json(),
    ]
    heat = cell.heat(aggregates, "memory", explored.span, 0, 2**62)
    return charts, heat["cells"].tolist(), heat["machines"]


def ask_pages(store: Store) -> Answer:
    explored = ExploredStore(store, pyramid(store))
    first = int(explored.pyramid.machines[0])
    collection = int(store.task_ids(store.select_tasks()[:1])[0][0])
    return (
        repr(machine.bars(explored, first)),
        machine.load(explored, first, "cpu", explored.span).to_json(),
        repr(job.bars(explored, collection)),
        job.load(explored, collection, "memory", explored.span).to_json(),
    )


def ask_machine_loads(store: Store) -> Answer:
    tables = EngineTables.of(store)
    dialect = store.manifest.dialect
    usage = machine_usage(
        store,
        tables.instance_events,
        tables.instance_attempts,
        default_metric(dialect, "cpu"),
        default_metric(dialect, "memory"),
    )
    rows = [usage.rows(place).tolist() for place in range(len(usage.machines))]
    return usage.machines.tolist(), repr(rows), repr(usage.terms.tolist()), dict(usage.facts)


QUESTIONS: dict[str, Callable[[Store], Answer]] = {
    "tables": ask_tables,
    "trace": ask_trace,
    "further columns": ask_further_columns,
    "manifest": ask_manifest,
    "attempts": ask_attempts,
    "transitions": ask_transitions,
    "explored cell": ask_cell,
    "explored pages": ask_pages,
    "machine loads": ask_machine_loads,
}


def flip_bit(path: Path, draw: random.Random) -> None:
    data = bytearray(path.read_bytes())
    if data:
        data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
        path.write_bytes(data)


def cut(path: Path, draw: random.Random) -> None:
    path.write_bytes(path.read_bytes()[: draw.randrange(path.stat().st_size + 1)])


def zero(path: Path, draw: random.Random) -> None:
    data = bytearray(path.read_bytes())
    start = draw.randrange(len(data) + 1)
    length = min(draw.choice([1, 8, 64, 512]), len(data) - start)
    data[start : start + length] = bytes(length)
    path.write_bytes(data)


def append(path: Path, draw: random.Random) -> None:
    path.write_bytes(path.read_bytes() + draw.randbytes(draw.choice([1, 4, 100])))


def take_another(path: Path, draw: random.Random) -> None:
    """Put the content of another file of the same kind in its place."""
    others = sorted(other for other in _root(path).rglob(f"*{path.suffix}") if other.is_file())
    path.write_bytes(draw.choice(others).read_bytes())


def swap(path: Path, draw: random.Random) -> None:
    others = sorted(other for other in _root(path).rglob(f"*{path.suffix}") if other.is_file())
    other = draw.choice(others)
    content = path.read_bytes()
    path.write_bytes(other.read_bytes())
    other.write_bytes(content)


def remove(path: Path, draw: random.Random) -> None:
    path.unlink()


def remove_folder(path: Path, draw: random.Random) -> None:
    shutil.rmtree(path.parent)


DAMAGES: list[Damage] = [
    flip_bit,
    cut,
    zero,
    append,
    take_another,
    swap,
    remove,
    remove_folder,
]


def _root(path: Path) -> Path:
    """Return the folder of a run: that of its store and its cache."""
    return next(parent for parent in path.parents if (parent / ".run").exists())


class DamagedRuns:
    """A store whose questions were all asked once, damaged again and again, each time from its sound state."""

    def __init__(self, store: Path, folder: Path) -> None:
        self.sound = folder / "sound"
        self.run = folder / "run"
        shutil.copytree(store, self.sound / "store", ignore=shutil.ignore_patterns("cache"))
        (self.sound / ".run").touch()
        self._use(self.sound)
        opened = borgtrace.open(self.sound / "store")
        self.answers = {name: ask(opened) for name, ask in QUESTIONS.items()}
        # What is right of kept aggregates is right of those that are read back.
        assert self._ask(self.sound) == Counter(right=len(QUESTIONS))

    def damage(self, damage: Damage, draw: random.Random) -> tuple[str, Counter[str]]:
        """Damage a file, ask all questions, and return what was damaged and how many answers were of each kind."""
        shutil.rmtree(self.run, ignore_errors=True)
        shutil.copytree(self.sound, self.run)
        files = sorted(
            path for path in self.run.rglob("*") if path.is_file() and path.name != ".run"
        )
        path = draw.choice(files)
        name = f"{damage.__name__} {path.relative_to(self.run)}"
        damage(path, draw)
        return name, self._ask(self.run)

    def _ask(self, run: Path) -> Counter[str]:
        self._use(run)
        outcomes: Counter[str] = Counter()
        for name, ask in QUESTIONS.items():
            try:
                is_right = ask(borgtrace.open(run / "store")) == self.answers[name]
            except BorgtraceError:
                outcomes["refused"] += 1
            else:
                outcomes["right" if is_right else f"wrong: {name}"] += 1
        return outcomes

    def _use(self, run: Path) -> None:
        self.patch = pytest.MonkeyPatch()
        self.patch.setenv("XDG_CACHE_HOME", str(run / "user"))
