"""The six tables of 2011 as files: ``<table>/part-?????-of-?????.csv.gz``, ``schema.csv``, ``SHA256SUM``."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Final

from borgtrace.schema.dialects import GOOGLE_2011
from borgtrace.schema.enums import EVENT_TYPE, MACHINE_EVENT_TYPE, MISSING_TYPE, Enum
from borgtrace.synth.gzip_files import CompressedBlock, GzipFile, write_gzip
from borgtrace.synth.machines import AttributeEvent, MachineEvent, Machines, attribute_name, hashed
from borgtrace.synth.number_text import printed
from borgtrace.synth.trace_segment import CollectionEvent, InstanceEvent, TraceSegment


def _codes(enum: Enum) -> dict[str, int]:
    return {name: code for code, name in GOOGLE_2011.codes[enum.name].items()}


_EVENT: Final = _codes(EVENT_TYPE)
_MACHINE: Final = _codes(MACHINE_EVENT_TYPE)
_MISSING: Final[dict[str | None, str]] = {None: "", **{name: str(code) for name, code in _codes(MISSING_TYPE).items()}}

_hash = lru_cache(maxsize=100_000)(hashed)
_printed = lru_cache(maxsize=100_000)(printed)


def job_row(event: CollectionEvent) -> str:
    """Return one line of job_events."""
    job = event.job
    return (
        f"{event.time},{_MISSING[event.missing]},{job.id},{_EVENT[event.type]},{_hash('user', job.user)},"
        f"{job.scheduling_class},{_hash('job', job.name, job.number % 5)},{_hash('logical', job.name)}\n"
    )


def task_row(event: InstanceEvent, machines: Machines) -> str:
    """Return one line of task_events."""
    job, task = event.task.job, event.task
    machine = machines.ids[event.machine] if event.machine >= 0 else ""
    requests = ",,,"
    if event.has_request:
        cpu, memory = _printed(min(job.cpu * event.scale, 1.0)), _printed(min(job.memory * event.scale, 1.0))
        requests = f"{cpu},{memory},{_printed(job.disk)},{int(job.different)}"
    return (
        f"{event.time},{_MISSING[event.missing]},{job.id},{task.index},{machine},{_EVENT[event.type]},"
        f"{_hash('user', job.user)},{job.scheduling_class},{job.priority},{requests}\n"
    )


def constraint_rows(event: InstanceEvent) -> str:
    """Return the lines of task_constraints that belong to a SUBMIT (operator, name, value)."""
    start = f"{event.time},{event.task.job.id},{event.task.index},"
    return "".join(
        f"{start}{operator},{_hash_attribute(attribute)},{value}\n"
        for attribute, operator, value in event.task.job.constraints
    )


_hash_attribute = lru_cache(maxsize=1000)(attribute_name)


def machine_row(event: MachineEvent, machines: Machines) -> str:
    """Return one line of machine_events."""
    i = event.machine
    start = f"{event.time},{machines.ids[i]},{_MACHINE[event.type]},"
    if event.is_unknown:
        return f"{start}{_hash('platform', 'unknown')},,\n"
    capacity = f"{printed(machines.cpu[i])},{printed(machines.memory[i])}"
    return f"{start}{_hash('platform', machines.platform[i])},{capacity}\n"


def attribute_row(event: AttributeEvent, machines: Machines) -> str:
    """Return one line of machine_attributes."""
    return f"{event.time},{machines.ids[event.machine]},{event.name},{event.value or ''},{int(event.value is None)}\n"


def schema_text() -> str:
    """Return ``schema.csv``: every field of every table.

    Examples
    --------
    >>> schema_text().splitlines()[0]
    'file pattern,field number,content,format,mandatory'
    """
    lines = ["file pattern,field number,content,format,mandatory"]
    order = ("job_events", "task_events", "machine_events", "machine_attributes", "task_constraints", "task_usage")
    for name in order:
        raw = GOOGLE_2011.tables[name]
        single = "part-00000-of-00001" if raw.parts == 1 else "part-?????-of-?????"
        lines += [
            f"{name}/{single}.csv.gz,{number},{field.name},{field.format},{'YES' if field.is_mandatory else 'NO'}"
            for number, field in enumerate(raw.fields, 1)
        ]
    return "\n".join(lines) + "\n"


class Writer2011:
    """Writes the event tables part by part; the machine tables are one file each."""

    def __init__(self, out: Path, machines: Machines, parts: int, tables: frozenset[str]) -> None:
        self.out, self.machines, self.parts, self.tables = out, machines, parts, tables
        self.digests: dict[str, str] = {}
        self.rows: dict[str, int] = dict.fromkeys(sorted(tables), 0)
        self._single = {
            name: GzipFile(out / name / "part-00000-of-00001.csv.gz")
            for name in ("machine_events", "machine_attributes")
            if name in tables
        }

    def path(self, table: str, number: int) -> str:
        """Return the name of a part, relative to the folder of the trace."""
        return f"{table}/part-{number:05d}-of-{self.parts:05d}.csv.gz"

    def write(self, segment: TraceSegment) -> None:
        """Write the events of one segment."""
        machines = self.machines
        self._append("machine_events", [machine_row(e, machines) for e in segment.machines])
        self._append("machine_attributes", [attribute_row(e, machines) for e in segment.attributes])
        self._part("job_events", segment.number, [job_row(e) for e in segment.collections])
        self._part("task_events", segment.number, [task_row(e, machines) for e in segment.instances])
        constraints = [constraint_rows(e) for e in segment.instances if e.type == "SUBMIT" and e.has_request]
        self._part("task_constraints", segment.number, constraints)

    def _append(self, table: str, rows: list[str]) -> None:
        if table in self._single:
            self._single[table].write("".join(rows).encode())
            self.rows[table] += len(rows)

    def _part(self, table: str, number: int, rows: list[str]) -> None:
        if table in self.tables:
            text = "".join(rows)
            name = self.path(table, number)
            self.digests[name] = write_gzip(self.out / name, [text.encode()])
            self.rows[table] += text.count("\n")

    def add_usage(self, number: int, pieces: dict[int, CompressedBlock], rows: int) -> None:
        """Write part `number` of task_usage."""
        self.rows["task_usage"] += rows
        name = self.path("task_usage", number)
        file = GzipFile(self.out / name)
        for piece in pieces.values():
            file.append(piece)
        self.digests[name] = file.close()

    def close(self) -> None:
        """Finish the single files and write ``schema.csv`` and ``SHA256SUM``."""
        for name, file in self._single.items():
            self.digests[f"{name}/part-00000-of-00001.csv.gz"] = file.close()
        (self.out / "schema.csv").write_text(schema_text())
        lines: Iterable[str] = (f"{digest}  {name}\n" for name, digest in sorted(self.digests.items()))
        (self.out / "SHA256SUM").write_text("".join(lines))
