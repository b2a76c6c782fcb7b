"""Machines: shapes, churn and attributes.

Shapes, churn rate and downtimes are those of the real machine_events table of 2011; attributes those
of its first 40 machines (42 attributes each, most with one value, a few that change).
"""

import base64
import hashlib
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from borgtrace.kernels.arrays import Index, Numbers
from borgtrace.schema.time import SECOND, TRACE_START
from borgtrace.synth.model.draws import Stratified
from borgtrace.synth.model.hashing import generator, python_random
from borgtrace.synth.model.profile import Profile

# 7,380 updates in 29 days.
UPDATES_PER_HOUR = 7380 / 12583.0 / 696.0
# 97 of the 8,957 removals have no ADD after them.  Of these, 63 machines were just away when the trace ended: so many
# are away at any time (8,957 removals in 696.2 hours of 17,577 s each).
NEVER_BACK = (97 - 63) / 8957
MODES = (2, 2, 3, 2, 4, 5, 2, 3)
"""Number of values of each attribute that constraints may name; these never change while a trace runs."""
FIXED = 34
"""Further attributes, with one value on every machine."""
MOVING = 6
"""Attributes whose values change."""
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
    text = "\\x1f".join(map(str, words))
    digest = hashlib.sha256(text.encode()).digest()
    return base64.b64encode(digest).decode()


@dataclass(frozen=True, slots=True)
class MachineEvent:
    """One row of machine_events.

    Parameters
    ----------
    time, machine
        When (µs), and the number of the machine.
    type
        ADD, REMOVE or UPDATE.
    is_unknown
        Whether the row has no capacity.
    """

    time: int
    machine: int
    type: str
    is_unknown: bool = False


@dataclass(frozen=True, slots=True)
class AttributeEvent:
    """One row of machine_attributes; a `value` of None means deleted."""

    time: int
    machine: int
    name: str
    value: str | None


@dataclass(frozen=True, slots=True)
class CellMachines:
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


def draw_machines(
    profile: Profile,
    count: int,
    seed: int,
) -> CellMachines:
    """Draw the machines of a cell: shapes in the published proportions, largest remainder first.

    Parameters
    ----------
    profile
        The shapes, their shares, and ids that are taken.
    count
        Number of machines.
    seed
        Decides ids, switches, attributes, and which machine has which shape.
    """
    rng = generator(seed, "machines")
    numbers = _machines_per_shape(profile, count)
    in_order = np.repeat(np.arange(len(numbers)), numbers)
    shape_numbers = rng.permutation(in_order)
    shapes = [profile.shapes[number] for number in shape_numbers]
    # Spread over the range of the real ids, 5 … 6,457,070,948.
    n_possible = 517_000 * 12
    possible = np.arange(5, 5 + n_possible) * 1037 + 5
    free = np.setdiff1d(possible, profile.taken, assume_unique=True)
    ids = rng.choice(free, size=count, replace=False)
    attributes = [rng.integers(1, modes + 1, size=count) for modes in MODES]
    n_switches = max(1, count // 20)
    switch = rng.integers(0, n_switches, size=count)
    return CellMachines(
        ids=np.sort(ids).astype(np.int64),
        platform=tuple(shape.platform for shape in shapes),
        cpu=np.array([shape.cpu for shape in shapes]),
        memory=np.array([shape.memory for shape in shapes]),
        switch=switch,
        attributes=np.stack(attributes, axis=1),
    )


def _machines_per_shape(profile: Profile, count: int) -> Index:
    shares = np.array([shape.share for shape in profile.shapes], dtype=float)
    exact = shares / shares.sum() * count
    numbers = np.floor(exact).astype(int)
    # Not drawn: in a cell of 100 machines the rare shapes would otherwise come and go with the seed.
    largest_remainders = np.argsort(-(exact - numbers), kind="stable")
    numbers[largest_remainders[: count - numbers.sum()]] += 1
    return numbers


def machine_events(
    profile: Profile,
    count: int,
    end: int,
    seed: int,
) -> list[MachineEvent]:
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
    # One even stream for all machines: downtimes reach from seconds to 12 days, and a small cell sees few of them.
    downtimes = Stratified(python_random(seed, "downtimes"), block=16)
    for machine in range(count):
        # A separate stream for each machine: when it goes depends on no other machine.
        rng = generator(seed, "churn", machine)
        events += _churn(profile, machine, end, rng, downtimes)
    return sorted(events, key=lambda event: (event.time, event.machine))


def _churn(
    profile: Profile,
    machine: int,
    end: int,
    rng: np.random.Generator,
    downtimes: Stratified,
) -> list[MachineEvent]:
    """Return the events of one machine after its first ADD."""
    hours = _hours_until(end)
    removal_hours = _random_times(profile.removals, hours, rng)
    changes = [(hour, "REMOVE") for hour in removal_hours]
    update_hours = _random_times(UPDATES_PER_HOUR, hours, rng)
    changes += [(hour, "UPDATE") for hour in update_hours]
    events: list[MachineEvent] = []
    back = 0
    for hour, kind in sorted(changes):
        time = TRACE_START + round(hour * 3600 * SECOND)
        # Drawn for a time at which the machine is away.
        if time <= back:
            continue
        events.append(MachineEvent(time, machine, kind))
        if kind == "REMOVE":
            if rng.random() < NEVER_BACK:
                break
            seconds_away = profile.downtime.at(downtimes.draw())
            back = time + round(seconds_away * SECOND)
            if back >= end:
                break
            events.append(MachineEvent(back, machine, "ADD"))
    return events


def _random_times(rate: float, hours: float, rng: np.random.Generator) -> Numbers:
    """Draw the hours at which something happens so often an hour."""
    count = rng.poisson(rate * hours)
    return rng.random(count) * hours


def _hours_until(end: int) -> float:
    return (end - TRACE_START) / SECOND / 3600.0


def attribute_events(
    machines: CellMachines,
    end: int,
    seed: int,
) -> list[AttributeEvent]:
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
    n_attributes = len(MODES) + FIXED
    names = [hashed("attribute", number) for number in range(n_attributes)]
    events: list[AttributeEvent] = []
    for machine in range(len(machines)):
        for number, name in enumerate(names):
            is_named = number < len(MODES)
            value = machines.attributes[machine, number] if is_named else 1
            events.append(AttributeEvent(0, machine, name, str(value)))
    changes: list[AttributeEvent] = []
    for machine in range(len(machines)):
        changes += _attribute_changes(machine, end, generator(seed, "attributes", machine))
    changes.sort(key=lambda event: (event.time, event.machine))
    return events + changes


def _attribute_changes(
    machine: int,
    end: int,
    rng: np.random.Generator,
) -> list[AttributeEvent]:
    """Return the changes of one machine's attributes inside the trace."""
    # Constraints name none of these: which machines a job may use never changes.
    names = [hashed("moving attribute", number) for number in range(MOVING)]
    hours = _hours_until(end)
    changes: list[AttributeEvent] = []
    for hour in np.sort(_random_times(CHANGES_PER_HOUR, hours, rng)):
        name = names[int(rng.integers(len(names)))]
        is_deleted = rng.random() < 0.1
        value = None
        if not is_deleted:
            value = hashed("value", int(rng.integers(60)))
        time = TRACE_START + math.floor(hour * 3600 * SECOND)
        changes.append(AttributeEvent(time, machine, name, value))
    return changes
