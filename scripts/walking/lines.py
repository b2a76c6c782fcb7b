"""The command lines of a walk: on a store, and those that need none."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import borgtrace
from borgtrace.cli.app import COMMANDS
from walking.stores import raw_folder

OWN_SCHEDULER = ("--from", "examples/extend/fewest_tasks.py")
"""A scheduler of the user's own."""
NOWHERE = "http://127.0.0.1:9"
"""Nothing listens there: what a command says offline."""


@dataclass(frozen=True)
class Line:
    """A command line, and lines that are run before it to make what it reads."""

    words: tuple[object, ...]
    before: tuple[tuple[object, ...], ...] = ()

    @property
    def command(self) -> str:
        """The command, of one word or two."""
        two_words = " ".join(map(str, self.words[:2]))
        return two_words if two_words in COMMANDS else str(self.words[0])


def lines_on(store: Path, out: Path) -> list[Line]:
    """Return a line for every command that reads a store."""
    opened = borgtrace.open(store)
    machine, task = first_of(opened)
    placed = ("--realizations", 200, "--instances", 2, "--size", 20)
    every_line: list[tuple[object, ...]] = [
        ("info", store),
        ("sql", store, "select count(*) from tasks"),
        ("trace", store, *task),
        ("machine", store, machine),
        ("machine", store, machine, "--at", "2m"),
        ("analyze", store),
        ("compare", store, store),
        ("reproduce", "zhu2015", store, "--out", out),
        ("report", store, out / "report.html"),
        ("dataset", store, out, "--format", "npz"),
        ("export", store, out),
        ("forecast", store),
        ("forecast", store, "--pack", "--out", out),
        ("overcommit", store),
        ("overcommit", store, "--out", out),
        ("overcommit", "target", store),
        ("overcommit", "reclaim", store),
        ("overcommit", "recommend", store),
        ("overcommit", "explain", store, machine, "--at", "2m"),
        ("colocate", store, *placed, "--out", out),
        ("colocate", "place", store),
        ("colocate", "pool", store, "--out", out),
        ("advise", store, "--out", out / "advice.html"),
        ("experiment", experiment_on(store, out), "--out", out / "experiment"),
        ("experiment", schedules_on(store, out), "--out", out / "waits", *OWN_SCHEDULER),
        ("compact", store),
        ("compact", store, *OWN_SCHEDULER, "--policy", "fewest-tasks"),
        ("simulate", store, "--empty-machines"),
        ("simulate", store),
        ("simulate", store, *OWN_SCHEDULER, "--policy", "fewest-tasks+preempt"),
        ("simulate", "gpus", store),
        ("subset", store, out, "--fraction", 0.5),
        ("verify", store),
        ("explore", store, "--no-browser"),
        ("mcp", store, "--config"),
        *(("dialect", "sniff", path) for path in tables_of(store)),
    ]
    return [*map(Line, every_line), merge_line(opened, out)]


def experiment_on(store: Path, out: Path) -> Path:
    """Write an experiment of two policies on a store, and return its file."""
    file = out.with_name("experiment.toml")
    policies = '["limit", "borg:phi=0.9"]'
    file.write_text(f"policies = {policies}\nstores = {{ cell = '{store.absolute()}' }}\n")
    return file


def schedules_on(store: Path, out: Path) -> Path:
    """Write an experiment of two schedulers on a store, one of them of the user's own, and return its file."""
    file = out.with_name("schedules.toml")
    schedulers = '["best-fit", "fewest-tasks"]'
    file.write_text(f"schedulers = {schedulers}\nstores = {{ cell = '{store.absolute()}' }}\n")
    return file


def merge_line(store: borgtrace.Store, out: Path) -> Line:
    """Return the line that merges two halves of a store, or the store with itself where it has one job alone."""
    jobs = store.sql("select distinct collection_id as id from tasks order by id")
    ids = jobs.column("id").to_pylist()
    if len(ids) < 2:
        return Line(("merge", store.path, store.path, out))
    middle = ids[len(ids) // 2]
    halves = {"first": f"collection_id < {middle}", "second": f"collection_id >= {middle}"}
    before = [
        ("subset", store.path, out / name, "--where", where) for name, where in halves.items()
    ]
    return Line(("merge", out / "first", out / "second", out / "both"), tuple(before))


def lines_without_store(out: Path) -> list[Line]:
    """Return a line for every command that reads no store."""
    every_line: list[tuple[object, ...]] = [
        ("doctor",),
        ("check", "examples/extend/recent_peak.py"),
        ("views", "--cell", "a", "--dataset", "project.borg_a"),
        ("dialect", "list"),
        ("synth", out, "--machines", 4, "--hours", 0.5, "--seed", 1),
        ("demo", out / "demo"),
        ("fetch", "2011", out, "--parts", 0, "--base-url", NOWHERE),
        ("fetch", "prometheus", NOWHERE, out),
        ("ingest", out / "missing", "--store", out / "store"),
    ]
    return list(map(Line, every_line))


def first_of(store: borgtrace.Store) -> tuple[object, tuple[object, ...]]:
    """Return a machine and a task of a store, with usage where some have any."""
    machines = [
        f"select min(machine_id) as id from {table} where machine_id is not null"
        for table in ("instance_usage", "instance_events", "machine_events")
    ]
    ids = [store.sql(query).column("id").to_pylist()[0] for query in machines]
    machine = next((id_ for id_ in ids if id_ is not None), 0)
    first_task = """
        select collection_id, instance_index
        from tasks
        order by n_windows = 0, collection_id, instance_index
        limit 1
    """
    tasks = store.sql(first_task).to_pylist()
    return machine, tuple(tasks[0].values()) if tasks else (0, 0)


def tables_of(store: Path) -> list[Path]:
    """Return a table of the raw files that were made for a store; none where it is cut from another."""
    return sorted(raw_folder(store).glob("*.csv"))[:1]
