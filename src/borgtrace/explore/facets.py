"""Who and what is in the cell: users, priorities and constraints, each with its jobs; and the search by id."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pyarrow as pa

from borgtrace.explore.trace import Trace
from borgtrace.schema.sql import literal

MOST_ROWS = 100
_NUMBERS = re.compile(r"\s*(\d{1,18})(?:\s*[:/ ,]\s*(\d{1,9}))?\s*")


@dataclass(frozen=True, slots=True)
class Facet:
    """A way to divide the tasks: its heading, and its query; ``key`` names the columns that identify a group."""

    title: str
    query: str
    key: Sequence[str]


_QUERIES = tomllib.loads(Path(__file__).with_name("facets.toml").read_text("utf-8"))
FACETS = {name: Facet(**facet) for name, facet in _QUERIES["facets"].items()}


def groups(trace: Trace, name: str, limit: int = MOST_ROWS) -> pa.Table:
    """Return the groups of a facet, the largest first (priorities: in their order).

    Parameters
    ----------
    trace
        What is explored.
    name
        Of the facet.
    limit
        How many at most.
    """
    return trace.store.sql(f"{FACETS[name].query} LIMIT {limit}")


def jobs(trace: Trace, chosen: Mapping[str, str], limit: int = MOST_ROWS) -> pa.Table:
    """Return the jobs of a group, those with the most tasks first.

    Parameters
    ----------
    trace
        What is explored.
    chosen
        Values of ``user``, ``priority``, or of a constraint's ``name``, ``relation`` and ``value``; an empty text is
        "unknown" for the first two.
    limit
        How many at most.
    """
    conditions = [_equals(name, chosen[name]) for name in ("user", "priority") if name in chosen]
    constraint = [
        _equals(name, chosen[name]) for name in ("name", "relation", "value") if name in chosen
    ]
    if constraint:
        conditions.append(
            "(collection_id, instance_index) IN (SELECT (collection_id, instance_index) FROM instance_constraints "
            f"WHERE {' AND '.join(constraint)})"
        )
    return trace.store.sql(
        _QUERIES["jobs"].format(condition=" AND ".join(conditions) or "true", limit=limit)
    )


def _equals(name: str, value: str) -> str:
    # As text: a priority that is no number is found nowhere, and is no error.
    if not value and name != "value":
        return f"{name} IS NULL"
    return f"{name}::VARCHAR = {literal(value)}"


def search(trace: Trace, text: str) -> list[tuple[str, str, str]]:
    """Return what an id, a pair of ids, or the beginning of a name may mean.

    Returns
    -------
    list
        Kind, name and address of each: a machine, a job, a task, a user.
    """
    found: list[tuple[str, str, str]] = []
    numbers = _NUMBERS.fullmatch(text)
    if numbers:
        first, second = int(numbers[1]), numbers[2]
        low, high = trace.store.rows_of_collection(first)
        if second is not None and low < high:
            instances = trace.store.task_ids(np.arange(low, high))[1]
            if int(second) in instances:
                found.append(("task", f"{first}:{second}", f"/task/{first}/{second}"))
        elif low < high:
            found.append(("job", f"{first} ({high - low} tasks)", f"/job/{first}"))
        if second is None and trace.pyramid.place(first) is not None:
            found.append(("machine", str(first), f"/machine/{first}"))
    if text.strip():
        found += _named(trace, text.strip())
    return found


def _named(trace: Trace, text: str) -> list[tuple[str, str, str]]:
    rows = trace.store.sql(_QUERIES["named"].format(text=literal(text))).to_pylist()
    return [
        (kind, name, f"/jobs?user={quote(name, safe='')}" if id_ is None else f"/job/{id_}")
        for kind, name, id_ in (row.values() for row in rows)
    ]
