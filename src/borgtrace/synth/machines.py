"""Machines: shapes, churn and attributes.

Shapes, churn rate and downtimes are those of the real machine_events table of 2011; attributes those
of its first 40 machines (42 attributes each, most with one value, a few that change).
"""

import base64
import hashlib
import math
import random
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from borgtrace.schema.time import SECOND, TRACE_START
from borgtrace.synth.draws import Stratified
from borgtrace.synth.hashing import generator
from borgtrace.synth.profiles import Profile

# 7,380 updates in 29 days.
UPDATES_PER_HOUR = 7380 / 12583.0 / 696.0
# 97 of the 8,957 removals have no ADD after them.
NEVER_BACK = 97 / 8957
MODES = (2, 2, 3, 2, 4, 5, 2, 3)
"""Values of the attributes that constraints may name; they never change while a trace runs."""
FIXED = 34
"""Further attributes with one value on every machine."""
# 10.7 million rows of machine_attributes over 12,583 machines and 696 hours.
CHANGES_PER_HOUR = 1.2
"""Attribute rows per machine and hour."""


def hashed(*words: str | int) -> str:
    """Return what the trace prints for a name: base64 of a SHA-256, 44 characters.

    Examples
    --------
    >>> len(hashed("user", 7)), hashed("user", 7).endswith("=")
    (44, True)
    """
    digest = hashlib.sha256("\\x1f".join(map(str, words)).encode()).digest()
    return base64.b64encode(digest).decode()


@dataclass(frozen=True, slots=True)
class MachineEvent:
    """One row of machine_events; `type` is ADD, REMOVE or UPDATE; unknown means without capacity."""

    time: int
    machine: int
    type: str
    is_unknown: bool = False


@dataclass(frozen=True, slots=True)
class AttributeEvent:
    """One row of machine_attributes; `value` None means deleted."""

    time: int
    machine: int
    name: str
    value: str | None


@dataclass(frozen=True, slots=True)
class Machines:
    """The machines of a cell.

    Parameters
    ----------
    ids
        Machine ids, shape (m,).
    platform
        Names of platforms, length m.
    cpu, memory
        Capacities, shape (m,).
    switch
        Number of the network switch, shape (m,).
    attributes
        Values 1, 2 … of the attributes that constraints may name: shape (m, len(MODES)).
    """

    ids: NDArray[np.int64]
    platform: tuple[str, ...]
    cpu: NDArray[np.float64]
    memory: NDArray[np.float64]
    switch: NDArray[np.int64]
    attributes: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.ids)


def draw_machines(profile: Profile, count: int, seed: int) -> Machines:
    """Draw the machines of a cell: shapes in the published proportions, largest remainder first.

    Parameters
    ----------
    profile
        Its shapes and their shares.
    count
        Number of machines.
    seed
        Decides ids, switches, attributes, and which machine has which shape.
    """
    rng = generator(seed, "machines")
    shares = np.array([shape[3] for shape in profile.shapes], dtype=float)
    exact = shares / shares.sum() * count
    numbers = np.floor(exact).astype(int)
    # Not a draw: in a cell of 100 machines the rare shapes would otherwise come and go with the seed.
    for i in np.argsort(-(exact - numbers), kind="stable")[: count - numbers.sum()]:
        numbers[i] += 1
    shape = rng.permutation(np.repeat(np.arange(len(numbers)), numbers))
    # Spread over the range of the real ids, 5 … 6,457,070,948.
    possible = np.arange(5, 5 + 517_000 * 12) * 1037 + 5
    ids = np.sort(
        rng.choice(
            np.setdiff1d(possible, profile.taken, assume_unique=True), size=count, replace=False
        )
    )
    values = np.stack([rng.integers(1, modes + 1, size=count) for modes in MODES], axis=1)
    switch = rng.integers(0, max(1, count // 20), size=count)
    platform, cpu, memory, _ = zip(*(profile.shapes[i] for i in shape), strict=True)
    return Machines(ids.astype(np.int64), platform, np.array(cpu), np.array(memory), switch, values)


def machine_events(profile: Profile, count: int, end: int, seed: int) -> list[MachineEvent]:
    """Return ADDs at time 0 and the churn until `end` (µs): REMOVE, ADD and UPDATE, in time order.

    Parameters
    ----------
    profile
        How often machines go, and for how long.
    count
        Number of machines.
    end
        End of the trace, µs.
    seed
        Decides which machines go, when and for how long.
    """
    events = [MachineEvent(0, machine, "ADD") for machine in range(count)]
    hours = (end - TRACE_START) / SECOND / 3600.0
    # One even stream for all machines: downtimes reach from seconds to 12 days, and a small cell sees few of them.
    away = Stratified(random.Random(int(generator(seed, "downtimes").integers(2**62))), block=16)
    for machine in range(count):
        # A stream for each machine: when it is to go depends on no other machine.
        rng = generator(seed, "churn", machine)
        events += _life(profile, machine, hours, end, rng, away)
    return sorted(events, key=lambda event: (event.time, event.machine))


def _life(
    profile: Profile,
    machine: int,
    hours: float,
    end: int,
    rng: np.random.Generator,
    away: Stratified,
) -> list[MachineEvent]:
    times = [(t, "REMOVE") for t in rng.random(rng.poisson(profile.removals * hours)) * hours]
    times += [(t, "UPDATE") for t in rng.random(rng.poisson(UPDATES_PER_HOUR * hours)) * hours]
    events: list[MachineEvent] = []
    back = 0
    for hour, kind in sorted(times):
        time = TRACE_START + round(hour * 3600 * SECOND)
        # Drawn for a time at which the machine is away.
        if time <= back:
            continue
        events.append(MachineEvent(time, machine, kind))
        if kind == "REMOVE":
            if rng.random() < NEVER_BACK:
                break
            back = time + round(profile.downtime.at(away.draw()) * SECOND)
            if back >= end:
                break
            events.append(MachineEvent(back, machine, "ADD"))
    return events


def attribute_events(machines: Machines, end: int, seed: int) -> list[AttributeEvent]:
    """Return all attributes at time 0 and the changes until `end` (µs), in time order.

    Parameters
    ----------
    machines
        The machines, with the values that constraints may name.
    end
        End of the trace, µs.
    seed
        Decides what changes, and when.
    """
    names = [hashed("attribute", i) for i in range(len(MODES) + FIXED)]
    events = [
        AttributeEvent(
            0, machine, names[i], str(machines.attributes[machine, i] if i < len(MODES) else 1)
        )
        for machine in range(len(machines))
        for i in range(len(names))
    ]
    moving = [hashed("moving attribute", i) for i in range(6)]
    hours = (end - TRACE_START) / SECOND / 3600.0
    changes: list[AttributeEvent] = []
    for machine in range(len(machines)):
        rng = generator(seed, "attributes", machine)
        for hour in np.sort(rng.random(rng.poisson(CHANGES_PER_HOUR * hours)) * hours):
            # None of these is an attribute that constraints name: which machines a job may use never changes.
            name = moving[int(rng.integers(len(moving)))]
            value = None if rng.random() < 0.1 else hashed("value", int(rng.integers(60)))
            time = TRACE_START + math.floor(hour * 3600 * SECOND)
            changes.append(AttributeEvent(time, machine, name, value))
    return events + sorted(changes, key=lambda event: (event.time, event.machine))
