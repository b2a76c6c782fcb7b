"""What ``overcommit explain`` prints: the terms of policies at one machine and time."""

from collections.abc import Mapping, Sequence
from typing import Any

from borgtrace.cli.grid import TextColumn, print_grid
from borgtrace.notation import Notation, number
from borgtrace.notation.amounts import RESOURCES
from borgtrace.notation.lookup import find_machine
from borgtrace.overcommit.policies import RATIOS
from borgtrace.store import Store


def print_terms(
    store: Store,
    terms: Sequence[Mapping[str, Any]],
    machine: str,
    time: int,
) -> None:
    """Print a table of each resource, in its unit, below the machine and the time.

    Parameters
    ----------
    store
        An open store.
    terms
        From :func:`borgtrace.overcommit.explain_prediction`.
    machine
        As the user named it.
    time
        On the trace's clock, µs.
    """
    notation = Notation.of(store)
    name = notation.names.machine_and_id(find_machine(store, machine))
    print(f"machine {name} at {notation.clock.moment(time)}")
    for resource, title in RESOURCES.items():
        rows = [row for row in terms if row["resource"] == resource]
        if not rows:
            continue
        values = []
        for row in rows:
            is_ratio = row["term"] in RATIOS
            value = row["value"]
            values.append(number(value) if is_ratio else notation.amounts.number(value, resource))
        heading = notation.amounts.heading(title, resource)
        print_grid(
            [
                TextColumn("policy", [row["policy"] for row in rows], is_folded=True),
                TextColumn("term", [row["term"] for row in rows]),
                TextColumn(heading, values, is_number=True),
            ]
        )
