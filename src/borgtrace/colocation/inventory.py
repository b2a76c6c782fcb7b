"""Machines of unequal size: the capacity table of a cell, and sequences of machines drawn from it."""

from pathlib import Path

import numpy as np

from borgtrace.errors import UsageError
from borgtrace.kernels.arrays import Numbers
from borgtrace.question import Tables
from borgtrace.schema.data_files import read_rows

PUBLISHED = [
    tuple(map(float, row.values()))
    for row in read_rows(Path(__file__).with_name("published_machines.csv"))
]
"""CPU, memory and number of machines of the cell of 2011 (Reiss et al., SoCC'12, Table 1)."""


def capacity_table(tables: Tables) -> Numbers:
    """Kinds of machines: float64 (k, 3) of CPU, memory, number, most frequent first.

    Each machine counts with its last known capacity; a store without machines yields the published table of 2011.
    """
    events = tables.machine_events
    if tables.has("machine_events"):
        known = events.filter(events.cpu_capacity.notnull(), events.memory_capacity.notnull())
        capacities = known.select("machine_id", "time", "cpu_capacity", "memory_capacity")
        rows = tables.fetch(capacities, "capacities").sort_by(
            [("machine_id", "ascending"), ("time", "ascending")]
        )
        machine = rows["machine_id"].to_numpy()
        # Sorted by machine and time, so the last row of each run is its last event.
        is_last = np.append(machine[1:] != machine[:-1], True)
        # Machines come and go and are updated: the last event says how large one was.
        both = np.column_stack(
            [rows["cpu_capacity"].to_numpy(), rows["memory_capacity"].to_numpy()]
        )
        kinds, counts = np.unique(
            np.round(both[is_last].astype(np.float64), 4), axis=0, return_counts=True
        )
        # Stable: kinds of equal number stay in the order of their capacities.
        table = np.column_stack([kinds, counts])[np.argsort(-counts, kind="stable")]
        return table[(table[:, 0] > 0) & (table[:, 1] > 0)]
    return np.array(PUBLISHED)


def parse_mix(text: str) -> Numbers:
    """Kinds of machines from ``CPU:MEMORY:NUMBER,…``, as users write them: float64 (k, 3).

    Examples
    --------
    >>> parse_mix("1:1:2,0.5:0.25:6").tolist()
    [[1.0, 1.0, 2.0], [0.5, 0.25, 6.0]]

    Raises
    ------
    UsageError
        A kind is not three numbers above 0.
    """
    kinds = []
    for kind in text.split(","):
        try:
            numbers = [float(number) for number in kind.split(":")]
        except ValueError:
            numbers = []
        if len(numbers) != 3 or not all(0 < number < np.inf for number in numbers):
            expected = "CPU:MEMORY:NUMBER, all above 0"
            way_out = "try 1:1:2,0.5:0.25:6"
            raise UsageError(
                "mix",
                "not a kind of machine",
                expected=expected,
                got=kind or "nothing",
                way_out=way_out,
            )
        kinds.append(numbers)
    return np.array(kinds)


def machines(table: Numbers, count: int, seed: int) -> Numbers:
    """Draw `count` machines from a capacity table, each kind by its number: float64 (count, 2).

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
    # Streams of one seed: 2 divides the pool, 3 draws machines, 4 picks the tasks of a span, 5 shuffles their series, 6
    # pairs them, 7 makes classes.  (The order of tasks in instance k comes from stream k too.)
    rng = np.random.default_rng([seed, 3])
    return table[rng.choice(len(table), count, p=table[:, 2] / table[:, 2].sum()), :2]
