"""A Slurm job, or one of its steps, as a record: what it requested, was given, and used."""

from collections.abc import Mapping
from typing import Any

from borgtrace.ingest.read.logs.kind import Record
from borgtrace.ingest.read.logs.slurm_values import (
    UNENDED,
    gpus_of,
    instant,
    job_and_step,
    memory,
    nodes,
    requested_memory,
    resources,
    seconds,
    state,
)

AMOUNT_COLUMNS = (
    "AllocTRES",
    "ReqTRES",
    "AllocCPUS",
    "NCPUS",
    "ReqCPUS",
    "ReqMem",
    "AllocNodes",
    "NNodes",
    "ReqNodes",
)
USED_CPU_COLUMNS = ("TotalCPU", "UserCPU", "SystemCPU")
RUN_TIME_COLUMNS = ("ElapsedRaw", "Elapsed")


def job_record(texts: Mapping[str, str]) -> Record | None:
    """Return the record of a row; None where it has no id of a job.

    Parameters
    ----------
    texts
        Values by the names of columns of ``sacct``, as far as there are any.
    """
    values = {name: text.strip() for name, text in texts.items()}
    known_id = job_and_step(values.get("JobID") or values.get("JobIDRaw", ""))
    if known_id is None:
        return None
    job, step = known_id
    node_names = nodes(values.get("NodeList", ""))
    record = {
        "JobID": job,
        "step": step or None,
        "JobName": values.get("JobName") or None,
        "User": values.get("User") or None,
        **amounts(values),
        # A list that does not end is refused, as a text that no name of a machine can be.
        "NodeList": "|".join(node_names) if node_names is not None else "\ufffd",
        "TotalCPU": used_cpu(values),
        "MaxRSS": memory(values.get("MaxRSS", "")) or None,
        **_times(values, node_names),
    }
    return {name: value for name, value in record.items() if value not in (None, "")}


def _times(values: Mapping[str, str], node_names: list[str] | None) -> dict[str, Any]:
    """Return when a job was submitted, started and ended, and how, as far as it did."""
    how = state(values.get("State", ""))
    times: dict[str, Any] = {
        "Submit": instant(values.get("Submit", "")),
        "Start": instant(values.get("Start", "")),
        "State": how or None,
    }
    elapsed = run_time(values)
    was_nowhere = "NodeList" in values and node_names == []
    # A job that was cancelled while it waited has the time of that as its start.
    if was_nowhere and not elapsed:
        times["Start"] = None
    if how not in UNENDED:
        times["End"] = instant(values.get("End", ""))
        times["Elapsed"] = elapsed
    return times


def run_time(values: Mapping[str, str]) -> float | str | None:
    """Return how many seconds a job ran, of `RUN_TIME_COLUMNS`."""
    if values.get("ElapsedRaw", "").isdigit():
        return float(values["ElapsedRaw"])
    return seconds(values.get("ElapsedRaw") or values.get("Elapsed", ""))


def amounts(values: Mapping[str, str]) -> dict[str, float | str | None]:
    """Return the CPUs, the memory and the GPUs of a job, of `AMOUNT_COLUMNS`."""
    given = resources(values.get("AllocTRES", ""))
    asked = resources(values.get("ReqTRES", ""))
    cores = _first(
        given.get("cpu"),
        *_counts(values, "AllocCPUS", "NCPUS"),
        asked.get("cpu"),
        *_counts(values, "ReqCPUS"),
    )
    return {
        "AllocCPUS": cores,
        "ReqMem": _asked_memory(values, given, asked, cores),
        "gpus": _first(gpus_of(given), gpus_of(asked)),
    }


def _asked_memory(
    values: Mapping[str, str],
    given: Mapping[str, float | str],
    asked: Mapping[str, float | str],
    cores: float | str | None,
) -> float | str | None:
    n_nodes = _first(
        given.get("node"),
        *_counts(values, "AllocNodes", "NNodes"),
        asked.get("node"),
        *_counts(values, "ReqNodes"),
    )
    n_cpus = cores if isinstance(cores, float) else None
    requested = requested_memory(
        values.get("ReqMem", ""),
        n_nodes if isinstance(n_nodes, float) else None,
        n_cpus,
    )
    # Who asks for all memory of a node asks for 0.
    return _first(requested, asked.get("mem"), given.get("mem"))


def used_cpu(values: Mapping[str, str]) -> float | str | None:
    """Return the CPU seconds that a job used, of `USED_CPU_COLUMNS`."""
    total = seconds(values.get("TotalCPU", ""))
    if total is not None:
        return total
    user = seconds(values.get("UserCPU", ""))
    system = seconds(values.get("SystemCPU", ""))
    if isinstance(user, float) and isinstance(system, float):
        return user + system
    return None


def _counts(values: Mapping[str, str], *names: str) -> list[float | str | None]:
    """Return the numbers of some columns: NULL for 0, which stands for "not yet"."""
    counts: list[float | str | None] = []
    for name in names:
        count = memory(values.get(name, ""))
        counts.append(count or None)
    return counts


def _first(*amounts: float | str | None) -> float | str | None:
    """Return the first amount that is known and not 0; 0 where that is all there is."""
    known = [amount for amount in amounts if amount is not None]
    return next((amount for amount in known if amount), known[0] if known else None)
