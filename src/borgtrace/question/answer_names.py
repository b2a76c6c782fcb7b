"""Jobs and machines of an answer by their names: the answer itself has ids."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pyarrow as pa

from borgtrace.notation import Names
from borgtrace.notation.names import with_id
from borgtrace.schema import Table

JOB = "collection_id"
MACHINE = "machine_id"


def with_names(rows: pa.Table, schema: Table, names: Names) -> tuple[pa.Table, Table]:
    """Return rows whose jobs and machines are called by their names, with their ids in brackets, and the declaration.

    Parameters
    ----------
    rows
        Some rows of an answer: all of their names are looked up.
    schema
        Their declaration.
    names
        Of the store; where nobody gave names, ids stay numbers.
    """
    if not names.are_own:
        return rows, schema
    columns = list(schema.columns)
    for place, column in enumerate(columns):
        if column.name not in (JOB, MACHINE):
            continue
        ids = rows[column.name].to_pylist()
        texts = names_of(column.name, [id_ for id_ in ids if id_ is not None], names)
        named = pa.array([None if id_ is None else texts[id_] for id_ in ids], pa.string())
        rows = rows.set_column(rows.column_names.index(column.name), column.name, named)
        columns[place] = replace(column, type="string")
    return rows, replace(schema, columns=tuple(columns))


def names_of(column: str, ids: Iterable[int], names: Names) -> dict[int, str]:
    """Return the name of each job or machine with its id in brackets, by id."""
    called = names.jobs(ids) if column == JOB else {id_: names.machine(id_) for id_ in ids}
    return {id_: with_id(name, id_) for id_, name in called.items()}
