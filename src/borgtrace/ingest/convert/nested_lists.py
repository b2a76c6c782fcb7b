"""A list of records inside a row (2019 keeps an event's constraints so) becomes rows of a table of its own."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from borgtrace.ingest.convert.canonical import canonical_chunk
from borgtrace.ingest.files.raw_layout import RawLayout


def unnest(rows: pa.Table, inner: RawLayout) -> pa.Table:
    """Return one row per item of a list column.

    Parameters
    ----------
    rows
        Canonical rows, with ``source_row`` and the list column of `inner`, NULL where a row has no list.
    inner
        What an item holds.

    Raises
    ------
    NeedsValidation
        When an item lacks a mandatory field, or has a code that is not known.
    """
    lists = rows.column(inner.raw.name).combine_chunks()
    flat, owner = pc.list_flatten(lists), pc.list_parent_indices(lists)
    items = pa.table({field.name: pc.struct_field(flat, field.raw.name) for field in inner.fields})
    # Columns of the event that its items share: ids and time.  An item's own columns win.
    own = [
        name
        for name in inner.table.names
        if name in rows.column_names and name not in items.column_names
    ]
    table = rows.select(own).take(owner)
    for name, column in zip(inner.columns, canonical_chunk(inner, items).columns, strict=True):
        table = table.append_column(name, column)
    return table.append_column("position", pa.array(_positions(np.asarray(owner))))


def _positions(owner: np.ndarray) -> np.ndarray:
    """Number the items of each row from 0."""
    rows = np.arange(len(owner))
    is_first = np.ones(len(owner), bool)
    is_first[1:] = owner[1:] != owner[:-1]
    # The row number of the first item, carried forward, is what each item is counted from: no loop over rows.
    return (rows - np.maximum.accumulate(np.where(is_first, rows, 0))).astype(np.int32)
