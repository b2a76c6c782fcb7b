"""What if constraints were dropped, or machines added: the same trace, changed."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from borgtrace.errors import UsageError
from borgtrace.question import Tables
from borgtrace.scheduling.machines import EXTENDED, UNIT, to_units
from borgtrace.scheduling.replay import Trace
from borgtrace.scheduling.workload import eligible

_WITHOUT = " without "
_CLOSE = 0.001
"""How far a capacity may be from what a user writes, in largest machines."""


def parse_machines(text: str) -> tuple[int, float, float]:
    """Read ``100:0.5:0.25``: how many machines, their CPU and their memory, in largest machines.

    Raises
    ------
    UsageError
        For anything else.

    Examples
    --------
    >>> parse_machines("100:0.5:0.25")
    (100, 0.5, 0.25)
    """
    number, *sizes = text.split(":")
    try:
        cpu, memory = map(float, sizes)
    except ValueError:
        cpu = memory = 0.0
    if not (number.isdecimal() and int(number) and 0 < cpu <= 1 and 0 < memory <= 1):
        expected = "N:CPU:MEMORY, N from 1, the others above 0 and at most 1, the largest machine"
        raise UsageError(
            "--add-machines",
            "no machines",
            expected=expected,
            got=text,
            way_out="try 100:0.5:0.5",
        )
    return int(number), cpu, memory


def parse_upgrade(text: str) -> tuple[list[float], list[float]]:
    """Read ``0.5:0.25=0.5:0.5``: CPU and memory of the machines that are replaced, and of those that come instead.

    Raises
    ------
    UsageError
        For anything else.
    """
    try:
        old, new = ([float(number) for number in part.split(":")] for part in text.split("="))
    except ValueError:
        old = new = []
    if not (len(old) == len(new) == 2 and all(0 < number <= 1 for number in (*old, *new))):
        expected = "CPU:MEMORY=CPU:MEMORY, above 0 and at most 1, the largest machine"
        raise UsageError(
            "--upgrade-machines",
            "no shapes",
            expected=expected,
            got=text,
            way_out="try 0.5:0.25=0.5:0.5",
        )
    return old, new


def variants(
    trace: Trace,
    tables: Tables,
    *,
    each_constraint: bool,
    machines: Sequence[str],
    upgrades: Sequence[str],
) -> Iterator[tuple[str, Trace]]:
    """Yield the trace as it is, then each change of it, with what it adds to the name of a policy.

    Parameters
    ----------
    trace, tables
        What is changed, and where attributes of machines are.
    each_constraint
        Whether the constraints on each attribute are dropped in turn.
    machines, upgrades
        Machines to add, as :func:`parse_machines` reads them, and to replace, as :func:`parse_upgrade` does.
    """
    yield "", trace
    demanded = trace.tasks.demanded
    for name in sorted(
        {constraint[0] for one in demanded for constraint in one if each_constraint}
    ):
        kept = tuple(
            [constraint for constraint in one if constraint[0] != name] for one in demanded
        )
        tasks = replace(trace.tasks, demanded=kept)
        allowed, later = eligible(tables, tasks, trace.machines, 0)
        changes = np.concatenate([later, trace.changes[trace.changes[:, 3] == 0]])
        yield (
            f"{_WITHOUT}{name}",
            replace(
                trace,
                tasks=tasks,
                allowed=allowed,
                changes=changes,
            ),
        )
    for text in machines:
        yield f" + {text}", _with_machines(trace, *parse_machines(text))
    for text in upgrades:
        yield f" upgraded {text}", _upgraded(trace, text)


def _upgraded(trace: Trace, text: str) -> Trace:
    """Give all machines of one shape another."""
    old, new = (to_units(np.array(shape)) for shape in parse_upgrade(text))
    capacity = trace.machines.capacity.copy()
    sizes = capacity[:, :EXTENDED]
    # Capacities are published with four digits, and users write fewer.
    chosen = (np.abs(sizes - old) <= UNIT * _CLOSE).all(axis=1)
    if not chosen.any():
        shapes = "; ".join(
            f"{cpu:.4g}:{memory:.4g}" for cpu, memory in np.unique(sizes, axis=0) / UNIT
        )
        raise UsageError(
            "--upgrade-machines", "no machine has this shape", expected=f"one of {shapes}", got=text
        )
    sizes[chosen] = new
    return replace(trace, machines=replace(trace.machines, capacity=capacity))


def _with_machines(
    trace: Trace,
    number: int,
    cpu: float,
    memory: float,
) -> Trace:
    """Add machines that are there from the start on and meet all constraints, without extended resources."""
    ids = trace.machines.ids
    sets = len(trace.allowed)
    added = np.arange(1, number + 1)
    places = np.arange(len(ids), len(ids) + number)
    capacity = np.pad(trace.machines.capacity, ((0, number), (0, 0)))
    capacity[len(ids) :, :EXTENDED] = to_units(np.array([cpu, memory]))
    cell = replace(trace.machines, ids=np.append(ids, ids[-1] + added), capacity=capacity)
    changes = np.vstack(
        [np.column_stack([0 * places, places, 1 + 0 * places, 0 * places]), trace.changes]
    )
    return replace(
        trace,
        machines=cell,
        changes=changes,
        allowed=np.hstack([trace.allowed, np.ones((sets, number), np.bool_)]),
    )


def costliest(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Say of each policy which attribute's constraints cost the most waiting; nothing where none was dropped."""
    waited: dict[str, float] = {}
    for row in rows:
        waited[row["policy"]] = waited.get(row["policy"], 0.0) + row["waiting_hours"]
    saved: dict[str, list[tuple[float, str]]] = {}
    for policy, hours in waited.items():
        base, is_dropped, name = policy.partition(_WITHOUT)
        if is_dropped:
            saved.setdefault(base, []).append((waited[base] - hours, name))
    return [
        f"{base} (simulated): of {len(found)} attributes, constraints on {max(found)[1]} cost the most waiting, "
        f"{max(found)[0]:,.2f} of {waited[base]:,.2f} task-hours"
        if max(found)[0] > 0
        else f"{base} (simulated): constraints on none of {len(found)} attributes cost any waiting"
        for base, found in saved.items()
    ]
