"""What Slurm's ``sacct --json`` prints: an object with a list of jobs, each with its steps inside.

Times are seconds since 1970; a number may be an object that says whether it is set, whether it is infinite, and which
it is. Releases differ in where they put some of the values.

Source: SchedMD/slurm, src/plugins/data_parser/v0.0.39 to v0.0.43.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, BinaryIO

from borgtrace.errors import SourceError
from borgtrace.ingest.files.sources import Source
from borgtrace.ingest.files.streams import LONGEST_LINE
from borgtrace.ingest.read.json_walker import JsonWalker, NumberText
from borgtrace.ingest.read.logs.kind import LogKind, LogShape, Record, Refused
from borgtrace.ingest.read.logs.slurm_values import NO_VALUE, UNENDED, gpus_of, instant, nodes

_JOBS = re.compile(r'"jobs"\s*:\s*\[')
_NO_JOBS = re.compile(r'"jobs"\s*:\s*\[\s*\]')
_SLURM = re.compile(r'"slurm"\s*:', re.IGNORECASE)


def _shape(label: str, lines: Sequence[str]) -> LogShape | None:
    text = "\n".join(lines)
    if not text.lstrip().startswith("{") or not _JOBS.search(text):
        return None
    if '"submission"' in text:
        return LogShape()
    if _NO_JOBS.search(text) and _SLURM.search(text):
        raise SourceError(
            label,
            "a log of Slurm without jobs",
            way_out="ask for another time: sacct --json --starttime 2026-10-01",
        )
    if '"job_id"' in text and '"job_state"' in text:
        raise SourceError(
            label,
            "jobs as squeue and scontrol print them",
            expected="those of sacct",
            way_out="ask for them: sacct --json --starttime 2026-10-01",
        )
    return None


def _rows(stream: BinaryIO, _: Source) -> Iterator[Record | Refused]:
    walker = JsonWalker(stream, LONGEST_LINE)
    for key in walker.entries():
        if key != "jobs":
            walker.value()
            continue
        for job in walker.items():
            yield from _records(job)
    walker.end()


def _records(job: Any) -> Iterator[Record | Refused]:
    if not isinstance(job, dict) or "job_id" not in job:
        yield Refused(str(job)[:1000])
        return
    name = _name(job)
    yield _without_nothing(_job(name, job))
    steps = job.get("steps")
    for step in steps if isinstance(steps, list) else []:
        if isinstance(step, dict):
            yield _without_nothing(_step(name, step))


def _name(job: Mapping[str, Any]) -> str:
    """Return the id as ``sacct`` prints it in columns: of an array 123_4, of a heterogeneous job 123+0."""
    array_id = _number(_at(job, "array", "job_id"))
    task_id = _number(_at(job, "array", "task_id"))
    waiting = _at(job, "array", "task")
    if array_id:
        if task_id is not None:
            return f"{array_id:.0f}_{task_id:.0f}"
        if isinstance(waiting, str) and waiting:
            return f"{array_id:.0f}_[{waiting}]"
    first_id = _number(_at(job, "het", "job_id"))
    offset = _number(_at(job, "het", "job_offset"))
    if first_id and offset is not None:
        return f"{first_id:.0f}+{offset:.0f}"
    return str(job["job_id"])


def _job(name: str, job: Mapping[str, Any]) -> dict[str, Any]:
    given = _resources(_at(job, "tres", "allocated"))
    asked = _resources(_at(job, "tres", "requested"))
    how = _state(job)
    node_names = nodes(str(job.get("nodes") or ""))
    cores = given.get("cpu") or asked.get("cpu") or _number(_at(job, "required", "CPUs"))
    start = _instant(_at(job, "time", "start"))
    elapsed = _number(_at(job, "time", "elapsed"))
    is_over = how not in UNENDED
    return {
        "JobID": name,
        "JobName": job.get("name"),
        "User": job.get("user") or _at(job, "association", "user"),
        "Submit": _instant(_at(job, "time", "submission")),
        # A job that was cancelled while it waited has the time of that as its start.
        "Start": start if node_names != [] or elapsed else None,
        "End": _instant(_at(job, "time", "end")) if is_over else None,
        "Elapsed": elapsed if is_over else None,
        "State": how,
        "AllocCPUS": cores,
        "ReqMem": _asked_memory(job, given, asked, cores),
        "gpus": gpus_of(given) or gpus_of(asked),
        "NodeList": "|".join(node_names) if node_names is not None else "\ufffd",
        "TotalCPU": _seconds(_at(job, "time", "total")),
    }


def _step(name: str, step: Mapping[str, Any]) -> dict[str, Any]:
    own_name = (
        _at(step, "step", "name") or _at(step, "step", "id", "step_id") or _at(step, "step", "id")
    )
    used = _resources(_at(step, "tres", "requested", "max"))
    return {
        "JobID": name,
        "step": str(own_name or "step"),
        "Start": _instant(_at(step, "time", "start")),
        "End": _instant(_at(step, "time", "end")),
        "TotalCPU": _seconds(_at(step, "time", "total")),
        "MaxRSS": used.get("mem"),
    }


def _asked_memory(
    job: Mapping[str, Any],
    given: Mapping[str, Any],
    asked: Mapping[str, Any],
    cores: float | str | None,
) -> float | None:
    """Return the memory that a job asked for, in bytes: Slurm counts it in MiB of a CPU or a node."""
    mebibytes = 1024.0**2
    # As a resource, in MiB.
    if asked.get("mem"):
        return float(asked["mem"]) * mebibytes
    per_cpu = _number(_at(job, "required", "memory_per_cpu"))
    if per_cpu and cores:
        return per_cpu * float(cores) * mebibytes
    per_node = _number(_at(job, "required", "memory_per_node"))
    n_nodes = given.get("node") or asked.get("node") or _number(job.get("allocation_nodes"))
    if per_node and n_nodes:
        return per_node * float(n_nodes) * mebibytes
    return float(given["mem"]) * mebibytes if given.get("mem") else None


def _at(value: Any, *path: str) -> Any:
    for name in path:
        if not isinstance(value, dict):
            return None
        value = value.get(name)
    return value


def _number(value: Any) -> float | None:
    """Return a number, which may be an object that says whether it is set; None where it is 0, infinite or not set."""
    if isinstance(value, dict):
        is_none = not value.get("set", True) or value.get("infinite", False)
        return None if is_none else _number_as_it_is(value.get("number"))
    number = _number_as_it_is(value)
    # What is not set is 0 where it is no object.
    return number or None


def _instant(value: Any) -> str | None:
    """Return seconds since 1970 as a date and time."""
    since_1970 = _number(value)
    return instant(f"{since_1970:.0f}") if since_1970 else None


def _number_as_it_is(value: Any) -> float | None:
    return float(value) if isinstance(value, NumberText) else None


def _seconds(value: Any) -> float | None:
    if not isinstance(value, dict):
        return None
    whole = _number_as_it_is(value.get("seconds"))
    if whole is None:
        return None
    return whole + (_number_as_it_is(value.get("microseconds")) or 0.0) / 1e6


def _resources(listed: Any) -> dict[str, float | str]:
    """Return the amounts of a list of resources, by the names that ``sacct`` gives them in columns."""
    amounts: dict[str, float | str] = {}
    for item in listed if isinstance(listed, list) else []:
        amount = _number_as_it_is(_at(item, "count"))
        if amount is None:
            continue
        name = str(item.get("type"))
        if item.get("name"):
            name = f"{name}/{item['name']}"
        amounts[name] = amount
    return amounts


def _state(job: Mapping[str, Any]) -> str | None:
    current = _at(job, "state", "current")
    # A list since v0.0.40: the state first, then marks such as COMPLETING.
    if isinstance(current, list):
        current = current[0] if current else None
    return None if current in NO_VALUE else current


def _without_nothing(record: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in record.items() if value not in (None, "")}


KIND = LogKind(table="sacct_json", shape=_shape, rows=_rows)
