"""Recognize logs in the Standard Workload Format and its variants, and read their header."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from borgtrace.ingest.files.sources import MachineGroup
from borgtrace.schema import RawTable

_NUMBER = re.compile(r"-?\d+(\.\d+)?")
_HEADER_LINE = re.compile(r";+\s*([A-Za-z]+)\s*:\s*(.*?)\s*")
_COUNT = re.compile(r"\d{1,3}(,\d{3})+|\d+")
_NAME = re.compile(r"\.swf(\.(gz|zst|bz2|xz|lz4|zip))?$")
_N_FIELDS = 18
_STATUS_AT = 10
_NAMES_AT = range(11, 17)
"""Places of user, group, program, queue, partition and the jobs before: numbers by the format, names in some logs."""
_STATUSES = frozenset(map(str, range(-1, 6)))
_HOUR = 3600
_A_LIFETIME = 30 * 365 * 86_400
"""Seconds: no log is as long."""


class WorkloadHeader(NamedTuple):
    """What the header of a log says.

    Parameters
    ----------
    epoch
        The second since 1970 from which its times count; 0 where they count from 1970, or nobody says.
    time_zone
        The time zone of the machine; empty where it is not said.
    machines
        Its nodes; none where they are not counted.
    """

    epoch: int = 0
    time_zone: str = ""
    machines: tuple[MachineGroup, ...] = ()


def is_workload_log(name: str, lines: Sequence[str]) -> bool:
    """Whether a file is a log: by its name, else by a job of 18 numbers below a header of comments.

    Parameters
    ----------
    name
        The name of the file.
    lines
        Its first lines, which may be comments only.
    """
    if _NAME.search(name):
        return True
    comments = [line for line in lines if line.lstrip().startswith(";")]
    jobs = [line.split() for line in lines if line.strip() and line not in comments]
    if jobs:
        # The last line may be cut.
        return all(_is_job(fields) for fields in (jobs[:-1] or jobs))
    return any(_HEADER_LINE.fullmatch(line) for line in comments)


def _is_job(fields: Sequence[str]) -> bool:
    if len(fields) < _N_FIELDS or not all(map(_NUMBER.fullmatch, fields[:_N_FIELDS])):
        return False
    return fields[0].isdigit() and fields[_STATUS_AT] in _STATUSES


def first_job(lines: Sequence[str]) -> list[str]:
    """Return the fields of the first line that is a job: amounts and times are numbers, whatever its owners are called.

    Examples
    --------
    >>> first_job(["id submit wait …", "1 0 0 60 4 -1 -1 4 90 -1 1 alice staff app q_1d -1 3&4 0"])[16]
    '3&4'
    """
    for line in lines:
        fields = line.split()
        amounts = [text for place, text in enumerate(fields[:_N_FIELDS]) if place not in _NAMES_AT]
        if len(fields) >= _N_FIELDS and all(map(_NUMBER.fullmatch, amounts)):
            return fields
    return []


def fits_workload_table(raw: RawTable, row: Sequence[str]) -> bool:
    """Whether a job may be of a raw table: fields beyond the 18 of the format tell which program wrote it.

    Parameters
    ----------
    raw
        The table.
    row
        Fields of the job; none where there is no job to look at.
    """
    n_fields = len(raw.fields)
    if n_fields == _N_FIELDS or not row:
        return True
    patterns = [field.pattern for field in raw.fields]
    if not any(patterns):
        return len(row) == n_fields
    if len(row) <= patterns.index(max(patterns)):
        return False
    return all(
        re.fullmatch(pattern, text) for pattern, text in zip(patterns, row, strict=False) if pattern
    )


def read_workload_header(lines: Sequence[str], row: Sequence[str]) -> WorkloadHeader:
    """Read the comments at the start of a log.

    Parameters
    ----------
    lines
        The first lines of the log.
    row
        Fields of its first job.

    Examples
    --------
    >>> read_workload_header(["; UnixStartTime: 1027839845", "; MaxProcs: 240", "; MaxNodes: 120"], [])
    WorkloadHeader(epoch=1027839845, time_zone='', machines=(MachineGroup(n_machines=120, cores=2.0),))
    """
    values: dict[str, str] = {}
    for line in lines:
        match = _HEADER_LINE.fullmatch(line)
        if match:
            values.setdefault(match[1].lower(), match[2])
    start = _count(values.get("unixstarttime", ""))
    # Some programs write times since 1970 below a header that says when the log began.
    if row and start and abs(float(row[1]) - start) < _A_LIFETIME:
        start = 0
    return WorkloadHeader(start, _time_zone(values), _machines(values))


def _count(text: str) -> int:
    match = _COUNT.match(text)
    return int(match[0].replace(",", "")) if match else 0


def _time_zone(values: dict[str, str]) -> str:
    name = values.get("timezonestring", "")
    if name:
        return name
    # Seconds east of Greenwich, in winter; only whole hours have names.
    match = re.match(r"-?\d+", values.get("timezone", ""))
    if match is None or int(match[0]) % _HOUR:
        return ""
    return f"Etc/GMT{-int(match[0]) // _HOUR:+d}"


def _machines(values: dict[str, str]) -> tuple[MachineGroup, ...]:
    """Return the nodes with their processors; where these are no multiple, some nodes have one more."""
    n_processors = _count(values.get("maxprocs", ""))
    n_nodes = _count(values.get("maxnodes", ""))
    if not n_processors:
        return ()
    # Fewer processors than nodes: either of the two is wrong.
    if not 0 < n_nodes <= n_processors:
        n_nodes = 1
    cores, n_larger = divmod(n_processors, n_nodes)
    groups = [MachineGroup(n_larger, cores + 1.0), MachineGroup(n_nodes - n_larger, float(cores))]
    return tuple(group for group in groups if group.n_machines)
