"""The five tables of 2019 as files: ``<table>-000000000000.json.gz`` (or Parquet), hash-sharded.

JSON as BigQuery exports it: every integer and enum is a string, floats are numbers, NULLs are left out,
records are objects.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from borgtrace.schema.arrow import raw_schema
from borgtrace.schema.dialects import GOOGLE_2019
from borgtrace.schema.enums import EVENT_TYPE, MACHINE_EVENT_TYPE, MISSING_TYPE, Enum
from borgtrace.synth.gzip_files import CompressedBlock, GzipFile
from borgtrace.synth.hashing import key
from borgtrace.synth.machines import AttributeEvent, MachineEvent, Machines, attribute_name, hashed
from borgtrace.synth.number_text import ten_bits
from borgtrace.synth.trace_segment import CollectionEvent, InstanceEvent, TraceSegment


def _codes(enum: Enum) -> dict[str, int]:
    return {name: code for code, name in GOOGLE_2019.codes[enum.name].items()}


_EVENT: Final[dict[str, int]] = _codes(EVENT_TYPE)
_MACHINE: Final[dict[str, int]] = _codes(MACHINE_EVENT_TYPE)
_MISSING: Final[dict[str, int]] = _codes(MISSING_TYPE)
_CONSTRAINED: Final = ("SUBMIT", "UPDATE_PENDING", "UPDATE_RUNNING")
"""Events that list the constraints; on each of several events of one instant they would be doubled."""
Record = dict[str, Any]


def machine_record(event: MachineEvent, machines: Machines) -> Record:
    """Return one record of machine_events."""
    i = event.machine
    record: Record = {
        "time": event.time,
        "machine_id": int(machines.ids[i]),
        "type": _MACHINE[event.type],
        "switch_id": hashed("switch", int(machines.switch[i])),
    }
    if not event.is_unknown:
        record["capacity"] = {"cpus": float(machines.cpu[i]), "memory": float(machines.memory[i])}
    record["platform_id"] = hashed("platform", "unknown" if event.is_unknown else machines.platform[i])
    return record


def attribute_record(event: AttributeEvent, machines: Machines) -> Record:
    """Return one record of machine_attributes."""
    record: Record = {"time": event.time, "machine_id": int(machines.ids[event.machine]), "name": event.name}
    if event.value is not None:
        record["value"] = event.value
    record["deleted"] = event.value is None
    return record


def collection_record(event: CollectionEvent) -> Record:
    """Return one record of collection_events."""
    job = event.job
    record: Record = {
        "time": event.time,
        "type": _EVENT[event.type],
        "collection_id": job.id,
        "scheduling_class": job.scheduling_class,
    }
    if event.missing is not None:
        record["missing_type"] = _MISSING[event.missing]
    record |= {
        "collection_type": int(job.is_alloc_set),
        "priority": job.priority,
        "alloc_collection_id": job.host.id if job.host else 0,
        "user": hashed("user", job.user),
        "collection_name": hashed("job", job.name, job.number % 5),
        "collection_logical_name": hashed("logical", job.name),
    }
    if job.parent is not None:
        record["parent_collection_id"] = job.parent.id
    if job.after is not None:
        record["start_after_collection_ids"] = [job.after.id]
    if job.different:
        record["max_per_machine"] = 1
    return record | {"vertical_scaling": job.scaling, "scheduler": int(job.is_batch)}


def instance_record(event: InstanceEvent, machines: Machines) -> Record:
    """Return one record of instance_events."""
    task, job = event.task, event.task.job
    record: Record = {
        "time": event.time,
        "type": _EVENT[event.type],
        "collection_id": job.id,
        "scheduling_class": job.scheduling_class,
    }
    if event.missing is not None:
        record["missing_type"] = _MISSING[event.missing]
    record |= {
        "collection_type": int(job.is_alloc_set),
        "priority": job.priority,
        "alloc_collection_id": job.host.id if job.host else 0,
        "instance_index": task.index,
    }
    if event.machine >= 0:
        record["machine_id"] = int(machines.ids[event.machine])
    record["alloc_instance_index"] = task.index if job.host else -1
    if event.has_request:
        cpu, memory = min(job.cpu * event.scale, 1.0), min(job.memory * event.scale, 1.0)
        record["resource_request"] = {"cpus": float(ten_bits(cpu)), "memory": float(ten_bits(memory))}
    if job.constraints and event.type in _CONSTRAINED:
        record["constraint"] = [
            {"name": attribute_name(attribute), "value": str(value), "relation": operator}
            for attribute, operator, value in job.constraints
        ]
    return record


def json_line(record: Record) -> str:
    r"""Write one record as BigQuery's export does.

    Examples
    --------
    >>> json_line({"time": 5, "deleted": True, "capacity": {"cpus": 0.5}, "ids": [7]})
    '{"time":"5","deleted":true,"capacity":{"cpus":0.5},"ids":["7"]}\n'
    """
    return json.dumps(_exported(record), separators=(",", ":")) + "\n"


def _exported(value: Any) -> Any:
    if isinstance(value, bool | float | str):
        return value
    if isinstance(value, int):
        return str(value)
    if isinstance(value, dict):
        return {name: _exported(item) for name, item in value.items()}
    return [_exported(item) for item in value]


class Writer2019:
    """Writes all tables over hash shards that stay open until the end."""

    def __init__(
        self, out: Path, machines: Machines, shards: dict[str, int], tables: frozenset[str], seed: int, is_parquet: bool
    ) -> None:
        self.machines, self.tables, self.seed, self.is_parquet = machines, tables, seed, is_parquet
        self.rows = dict.fromkeys(sorted(tables), 0)
        self.shards = shards
        ending = "parquet.gz" if is_parquet else "json.gz"
        self._files: dict[tuple[str, int], GzipFile | pq.ParquetWriter] = {}
        for table in sorted(tables):
            for number in range(shards[table]):
                path = out / f"{table}-{number:012d}.{ending}"
                self._files[table, number] = (
                    pq.ParquetWriter(path, raw_schema(GOOGLE_2019.tables[table]), compression="snappy")
                    if is_parquet
                    else GzipFile(path)
                )

    def write(self, segment: TraceSegment) -> None:
        """Write the events of one segment."""
        machines = self.machines
        self._spread("machine_events", (machine_record(e, machines) for e in segment.machines))
        self._spread("machine_attributes", (attribute_record(e, machines) for e in segment.attributes))
        self._spread("collection_events", (collection_record(e) for e in segment.collections))
        self._spread("instance_events", (instance_record(e, machines) for e in segment.instances))

    def _spread(self, table: str, records: Iterator[Record]) -> None:
        """Deal records out to shards by hash, unordered inside."""
        if table not in self.tables:
            return
        piles: list[list[tuple[int, Record]]] = [[] for _ in range(self.shards[table])]
        for record in records:
            value = key(self.seed, table, self.rows[table])
            piles[value % len(piles)].append((value, record))
            self.rows[table] += 1
        for number, pile in enumerate(piles):
            pile.sort(key=lambda item: item[0])
            self._write(table, number, [record for _, record in pile])

    def _write(self, table: str, number: int, records: list[Record]) -> None:
        file = self._files[table, number]
        if isinstance(file, GzipFile):
            file.write("".join(map(json_line, records)).encode())
        elif records:
            file.write_table(pa.Table.from_pylist(records, schema=raw_schema(GOOGLE_2019.tables[table])))

    def add_usage(self, number: int, pieces: dict[int, CompressedBlock | pa.Table], rows: int) -> None:
        """Append the usage of segment `number` to its shards."""
        self.rows["instance_usage"] += rows
        for shard, piece in pieces.items():
            file: Any = self._files["instance_usage", shard]
            if isinstance(piece, CompressedBlock):
                file.append(piece)
            else:
                file.write_table(piece.cast(file.schema))

    def close(self) -> None:
        """Finish all files."""
        for file in self._files.values():
            file.close()
