"""Machines of unequal size: the capacity table of a cell, and sequences of machines drawn from it."""

from pathlib import Path

import numpy as np

from borgtrace.colocation.tasks.streams import MACHINES
from borgtrace.errors import UsageError
from borgtrace.kernels.arrays import Numbers
from borgtrace.question import Tables
from borgtrace.schema.bounds import CAPACITY
from borgtrace.schema.data_files import read_rows

CPU, MEMORY, NUMBER = range(3)
"""Columns of a table of kinds of machines."""


def _published_machines() -> list[tuple[float, float, float]]:
    rows = read_rows(Path(__file__).with_name("published_machines.csv"))
    return [(float(row["cpu"]), float(row["memory"]), float(row["number"])) for row in rows]


PUBLISHED = _published_machines()
"""CPU, memory and number of machines of the cell of 2011 (Reiss et al., SoCC'12, Table 1)."""


def capacity_table(tables: Tables) -> Numbers:
    """Return the kinds of machines: float64 (k, 3) of CPU, memory and number, most frequent first.

    Each machine counts with its last known capacity; a store without machines yields the published table of 2011.

    Parameters
    ----------
    tables
        The store's tables.
    """
    events = tables.machine_events
    if not tables.has("machine_events"):
        return np.array(PUBLISHED)
    known = events.filter(events.cpu_capacity.notnull(), events.memory_capacity.notnull())
    capacities = known.select("machine_id", "time", "cpu_capacity", "memory_capacity")
    rows = tables.fetch(capacities, "capacities")
    rows = rows.sort_by([("machine_id", "ascending"), ("time", "ascending")])

    # Machines come and go and are updated: the last event, which ends a run of rows, says how large one was.
    machine = rows["machine_id"].to_numpy()
    is_last = np.append(machine[1:] != machine[:-1], True)
    cpu = rows["cpu_capacity"].to_numpy()[is_last]
    memory = rows["memory_capacity"].to_numpy()[is_last]
    sizes = np.column_stack([cpu, memory]).astype(np.float64)
    kinds, counts = np.unique(np.round(sizes, 4), axis=0, return_counts=True)
    # Stable: kinds of equal number stay in the order of their capacities.
    order = np.argsort(-counts, kind="stable")
    table = np.column_stack([kinds, counts])[order]
    has_capacity = (table[:, CPU] > 0) & (table[:, MEMORY] > 0)
    return table[has_capacity]


def parse_mix(text: str) -> Numbers:
    """Read kinds of machines from ``CPU:MEMORY:NUMBER,…``, as users write them: float64 (k, 3).

    Parameters
    ----------
    text
        Kinds, separated by commas.

    Raises
    ------
    UsageError
        A kind is not three numbers above 0.

    Examples
    --------
    >>> parse_mix("1:1:2,0.5:0.25:6").tolist()
    [[1.0, 1.0, 2.0], [0.5, 0.25, 6.0]]
    """
    kinds = []
    for kind in text.split(","):
        try:
            numbers = [float(number) for number in kind.split(":")]
        except ValueError:
            numbers = []
        if len(numbers) != 3 or not all(map(CAPACITY.contain, numbers)):
            raise UsageError(
                "--mix",
                "not a kind of machine",
                expected=f"CPU:MEMORY:NUMBER, each {CAPACITY.describe()}",
                got=kind or "nothing",
                way_out="try 1:1:2,0.5:0.25:6",
            )
        kinds.append(numbers)
    return np.array(kinds)


def machines(table: Numbers, count: int, seed: int) -> Numbers:
    """Draw machines from a table of kinds, each kind by its number: float64 (count, 2) of CPU and memory.

    Parameters
    ----------
    table
        float64 (k, 3): CPU, memory and number of each kind.
    count
        How many machines to draw.
    seed
        Seed of the draw.

    Examples
    --------
    >>> machines(np.array([[1.0, 0.5, 3.0]]), 2, seed=0)
    array([[1. , 0.5],
           [1. , 0.5]])
    """
    rng = np.random.default_rng([seed, MACHINES])
    shares = table[:, NUMBER] / table[:, NUMBER].sum()
    kinds = rng.choice(len(table), count, p=shares)
    return table[kinds, :NUMBER]
