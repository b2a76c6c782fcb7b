"""The size of the largest machine beside an answer: its chart is drawn in cores and GiB, its columns stay shares."""

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from borgtrace.notation import ResourceAmounts
from borgtrace.notation.amounts import resource_of
from borgtrace.schema import Table

_CORES = b"largest_machine_cores"
_GIB = b"largest_machine_gib"


def with_size(answer: pa.Table, amounts: ResourceAmounts) -> pa.Table:
    """Return an answer that says the size of the largest machine, as far as it is known.

    Parameters
    ----------
    answer
        The answer to a question.
    amounts
        Of the store.
    """
    metadata = dict(answer.schema.metadata or {})
    for key, size in ((_CORES, amounts.cores), (_GIB, amounts.gib)):
        if size is not None:
            metadata[key] = repr(float(size)).encode()
    return answer.replace_schema_metadata(metadata)


def amounts_of(answer: pa.Table) -> ResourceAmounts:
    """Return how amounts of an answer are written: as shares of the largest machine where it does not say its size.

    Examples
    --------
    >>> answer = pa.table({"cpu_used": [0.5]})
    >>> amounts_of(with_size(answer, ResourceAmounts(cores=16.0))).unit("cpu"), amounts_of(answer).unit("cpu")
    ('cores', 'of the largest machine')
    """
    metadata = answer.schema.metadata or {}
    cores = metadata.get(_CORES)
    gib = metadata.get(_GIB)
    return ResourceAmounts(
        None if cores is None else float(cores),
        None if gib is None else float(gib),
    )


def in_own_units(answer: pa.Table) -> pa.Table:
    """Return an answer whose columns of CPU and memory are cores and GiB, as far as it says the size.

    All of its columns that are named after CPU or memory must be amounts.

    Examples
    --------
    >>> answer = with_size(pa.table({"cpu_used": [0.5], "memory_used": [0.5]}), ResourceAmounts(cores=16.0))
    >>> in_own_units(answer).to_pylist()
    [{'cpu_used': 8.0, 'memory_used': 0.5}]
    """
    amounts = amounts_of(answer)
    for position, name in enumerate(answer.column_names):
        resource = resource_of(name)
        if resource is not None and amounts.is_known(resource):
            scaled = pc.multiply(answer[name], amounts.factor(resource))
            answer = answer.set_column(position, name, scaled)
    return answer


def schema_in_own_units(schema: Table, amounts: ResourceAmounts) -> Table:
    """Return the declaration of an answer that :func:`in_own_units` returns.

    Parameters
    ----------
    schema
        Of the answer as it is stored.
    amounts
        Of the store.
    """
    columns = []
    for column in schema.columns:
        resource = resource_of(column.name)
        if resource is not None and amounts.is_known(resource):
            unit: Any = amounts.unit(resource)
            columns.append(replace(column, unit=unit))
        else:
            columns.append(column)
    return replace(schema, columns=tuple(columns))
