"""The log of jobs of Microsoft's Philly: a list of jobs, each with its attempts, their machines and GPUs."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, BinaryIO

from borgtrace.ingest.files.sources import Source
from borgtrace.ingest.files.streams import LONGEST_LINE
from borgtrace.ingest.read.json_walker import JsonWalker
from borgtrace.ingest.read.logs.kind import LogKind, LogShape, Record, Refused

_NO_VALUE = (None, "", "None")
_KEYS = ('"attempts"', '"jobid"', '"submitted_time"', '"vc"')
_LIST = re.compile(r"\s*\[")


def _shape(_: str, lines: Sequence[str]) -> LogShape | None:
    text = "\n".join(lines)
    is_log = _LIST.match(text) and all(key in text for key in _KEYS)
    return LogShape() if is_log else None


def _rows(stream: BinaryIO, _: Source) -> Iterator[Record | Refused]:
    walker = JsonWalker(stream, LONGEST_LINE)
    for job in walker.items():
        if isinstance(job, dict) and job.get("jobid") not in _NO_VALUE:
            yield from _attempts(job)
        else:
            yield Refused(str(job)[:1000])
    walker.end()


def _attempts(job: Mapping[str, Any]) -> Iterator[Record]:
    """Yield a record for each machine of each attempt of a job; one for a job without an attempt."""
    attempts = [attempt for attempt in job.get("attempts") or [] if isinstance(attempt, dict)]
    last = len(attempts) - 1
    if not attempts:
        yield _record(job, {}, {}, 0, is_last=True)
    for number, attempt in enumerate(attempts):
        machines = [machine for machine in attempt.get("detail") or [] if isinstance(machine, dict)]
        # What it was between two attempts: it waits from the end of the one before.
        submitted = (
            job.get("submitted_time") if number == 0 else attempts[number - 1].get("end_time")
        )
        for instance, machine in enumerate(machines or [{}]):
            yield _record(
                {**job, "submitted_time": submitted},
                attempt,
                machine,
                instance,
                is_last=number == last,
            )


def _record(
    job: Mapping[str, Any],
    attempt: Mapping[str, Any],
    machine: Mapping[str, Any],
    instance: int,
    *,
    is_last: bool,
) -> dict[str, Any]:
    has_ended = attempt.get("end_time") not in _NO_VALUE
    # An attempt that was followed by another was not the end of its job.
    status = job.get("status") if is_last else "attempt"
    if not has_ended and attempt:
        status = "running"
    if not attempt and status == "Running":
        status = "queued"
    record = {
        "jobid": job.get("jobid"),
        "instance": instance,
        "vc": job.get("vc"),
        "user": job.get("user"),
        "status": status,
        "submitted_time": job.get("submitted_time"),
        "start_time": attempt.get("start_time"),
        "end_time": attempt.get("end_time"),
        "ip": machine.get("ip"),
        "gpus": len(machine["gpus"]) if isinstance(machine.get("gpus"), list) else None,
    }
    return {name: value for name, value in record.items() if value not in _NO_VALUE}


KIND = LogKind(table="cluster_job_log", shape=_shape, rows=_rows)
