"""Values as Slurm prints them: times, lengths of time, amounts of memory, resources (TRES), lists of nodes, states.

Each function returns what a text means, None where it says that nothing is known, and the text itself where it is none
that Slurm prints: the row is then refused with it.

Source: SchedMD/slurm, sacct.1, src/sacct/print.c and src/common/parse_time.c.
"""

import re
from datetime import UTC, datetime
from itertools import product

NO_VALUE = frozenset(
    {
        "",
        "Unknown",
        "None",
        "N/A",
        "None assigned",
        "(null)",
        "NONE",
        "UNLIMITED",
        "Partition_Limit",
        "INVALID",
    }
)
_DURATION = re.compile(r"(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+(?:\.\d+)?)")
_AMOUNT = re.compile(r"(\d+(?:\.\d+)?)([KMGTPE]?)(?:i?B)?", re.IGNORECASE)
_POWER = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4, "P": 5, "E": 6}
_SECONDS_SINCE_1970 = re.compile(r"\d{9,11}")
_JOB_ID = re.compile(r"(\d+(?:_(?:\d+|\[[^\].]*\]?))?(?:\+\d+)?)(?:\.(.+))?")
_RANGE = re.compile(r"(\d+)(?:-(\d+))?")
_STATE = re.compile(r"([A-Z_]+)(\+?)(?: by .*)?")
STATES = (
    "BOOT_FAIL",
    "CANCELLED",
    "COMPLETED",
    "COMPLETING",
    "CONFIGURING",
    "DEADLINE",
    "FAILED",
    "NODE_FAIL",
    "OUT_OF_MEMORY",
    "PENDING",
    "PREEMPTED",
    "REQUEUED",
    "RESIZING",
    "REVOKED",
    "RUNNING",
    "SUSPENDED",
    "TIMEOUT",
)
"""States in full; a column that is too narrow cuts them, with a plus at the end."""
UNENDED = frozenset({"PENDING", "RUNNING", "SUSPENDED", "COMPLETING", "CONFIGURING"})
MOST_NODES = 1 << 17
"""Nodes of a list; the largest clusters have fewer."""


def instant(text: str) -> str | None:
    """Return a date and time as text, the zone of which may be missing.

    Examples
    --------
    >>> instant("2022-02-18T17:32:41"), instant("Unknown"), instant("1645205561")
    ('2022-02-18T17:32:41', None, '2022-02-18T17:32:41+00:00')
    """
    if text in NO_VALUE:
        return None
    # SLURM_TIME_FORMAT=%s.
    if _SECONDS_SINCE_1970.fullmatch(text):
        return datetime.fromtimestamp(int(text), UTC).isoformat()
    return text


def seconds(text: str) -> float | str | None:
    """Return a length of time in seconds: ``d-hh:mm:ss``, ``hh:mm:ss``, ``mm:ss.mmm``.

    Examples
    --------
    >>> seconds("1-02:00:10"), seconds("00:05:16"), seconds("02:10.584"), seconds("UNLIMITED"), seconds("soon")
    (93610.0, 316.0, 130.584, None, 'soon')
    """
    if text in NO_VALUE:
        return None
    match = _DURATION.fullmatch(text)
    if match is None:
        return text
    days, hours, minutes, rest = (float(part or 0) for part in match.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + rest


def memory(text: str, unit: str = "") -> float | str | None:
    """Return an amount of memory in bytes; letters are powers of 1024.

    Parameters
    ----------
    text
        The amount.
    unit
        The letter of an amount without one.

    Examples
    --------
    >>> memory("2.50G"), memory("114944K"), memory("4000", "M"), memory("many")
    (2684354560.0, 117702656.0, 4194304000.0, 'many')
    """
    if text in NO_VALUE:
        return None
    match = _AMOUNT.fullmatch(text)
    if match is None:
        return text
    return float(match[1]) * 1024 ** _POWER[(match[2] or unit).upper()]


def requested_memory(text: str, n_nodes: float | None, n_cpus: float | None) -> float | str | None:
    """Return the memory that a job asked for in bytes: of the whole job, or (before 21.08) of each node or CPU.

    Nothing where it asked for all there is (0), or where it is not known of how many.

    Examples
    --------
    >>> requested_memory("100M", 2, 8), requested_memory("4Gn", 2, 8), requested_memory("1Mc", 2, 8)
    (104857600.0, 8589934592.0, 8388608.0)
    """
    factor: float | None = 1.0
    if text[-1:] in ("n", "c"):
        factor = n_nodes if text[-1] == "n" else n_cpus
        text = text[:-1]
    amount = memory(text, "M")
    if not isinstance(amount, float):
        return amount
    return amount * factor if amount and factor else None


def resources(text: str) -> dict[str, float | str]:
    """Return the amounts of trackable resources: CPUs, bytes, nodes and devices.

    Examples
    --------
    >>> resources("cpu=4,mem=16G,node=1,gres/gpu=2,gres/gpu:a100=2")
    {'cpu': 4.0, 'mem': 17179869184.0, 'node': 1.0, 'gres/gpu': 2.0, 'gres/gpu:a100': 2.0}
    """
    amounts: dict[str, float | str] = {}
    for part in text.split(","):
        name, _, amount = part.partition("=")
        read = memory(amount, "M" if name == "mem" else "") if amount else None
        if read is not None:
            amounts[name] = read
    return amounts


def gpus_of(amounts: dict[str, float | str]) -> float | str | None:
    """Return the GPUs among resources: where kinds are listed beside their sum, the sum.

    Examples
    --------
    >>> gpus_of({"gres/gpu": 2.0, "gres/gpu:a100": 2.0}), gpus_of({"gres/gpu:a100": 1.0, "gres/gpu:v100": 2.0})
    (2.0, 3.0)
    """
    if "gres/gpu" in amounts:
        return amounts["gres/gpu"]
    kinds = [amount for name, amount in amounts.items() if name.startswith("gres/gpu:")]
    if not kinds:
        return None
    strange = next((amount for amount in kinds if isinstance(amount, str)), None)
    if strange is not None:
        return strange
    return sum(amount for amount in kinds if isinstance(amount, float))


def job_and_step(text: str) -> tuple[str, str] | None:
    """Return the id of a job, and the step that a row is about, an empty one for the job itself; None for no id.

    Examples
    --------
    >>> job_and_step("123_4.batch"), job_and_step("123_[5-9%2]"), job_and_step("123+0.extern"), job_and_step("a|1")
    (('123_4', 'batch'), ('123_[5-9%2]', ''), ('123+0', 'extern'), None)
    """
    match = _JOB_ID.fullmatch(text)
    return (match[1], match[2] or "") if match else None


def state(text: str) -> str:
    """Return a state without who cancelled the job, and in full where it was cut.

    Examples
    --------
    >>> state("CANCELLED by 1000"), state("OUT_OF_ME+"), state("CANCELLED+"), state("RE+")
    ('CANCELLED', 'OUT_OF_MEMORY', 'CANCELLED', 'RE+')
    """
    match = _STATE.fullmatch(text)
    if match is None:
        return text
    if not match[2]:
        return match[1]
    full = [name for name in STATES if name.startswith(match[1])]
    return full[0] if len(full) == 1 else text


def nodes(text: str) -> list[str] | None:
    """Return the names in a list of nodes; None where it is no such list.

    Examples
    --------
    >>> nodes("tux[0-2,07],login"), nodes("r[1-2]n[01-02]"), nodes("None assigned"), nodes("tux[0-")
    (['tux0', 'tux1', 'tux2', 'tux07', 'login'], ['r1n01', 'r1n02', 'r2n01', 'r2n02'], [], None)
    """
    if text in NO_VALUE:
        return []
    names: list[str] = []
    for pattern in re.split(r",(?![^\[]*\])", text):
        pieces = re.split(r"(\[[^\]]*\])", pattern)
        expanded = [_piece(piece) for piece in pieces]
        if any(piece is None for piece in expanded):
            return None
        names += ["".join(parts) for parts in product(*(piece or [""] for piece in expanded))]
        if len(names) > MOST_NODES:
            return None
    return names


def _piece(piece: str) -> list[str] | None:
    """Return the texts that a piece of a pattern stands for; None where it has a bracket that does not close."""
    if not piece.startswith("["):
        return None if set(piece) & set("[]|") else [piece]
    texts: list[str] = []
    for part in piece[1:-1].split(","):
        match = _RANGE.fullmatch(part)
        if match is None:
            return None
        first, last = match[1], match[2] or match[1]
        if int(last) - int(first) > MOST_NODES:
            return None
        texts += [str(number).zfill(len(first)) for number in range(int(first), int(last) + 1)]
    return texts
