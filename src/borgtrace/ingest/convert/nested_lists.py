"""Lists of records inside a row, as 2019 keeps the constraints of an event: each record becomes a row of its own."""

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
    flat = pc.list_flatten(lists)
    row_of_item = pc.list_parent_indices(lists)
    items = pa.table({field.name: pc.struct_field(flat, field.raw.name) for field in inner.fields})
    # Columns of the event that its items share: ids and time.  An item's own columns win.
    shared = []
    for name in inner.table.names:
        if name in rows.column_names and name not in items.column_names:
            shared.append(name)
    table = rows.select(shared).take(row_of_item)
    for name, column in zip(inner.columns, canonical_chunk(inner, items).columns, strict=True):
        table = table.append_column(name, column)
    positions = _positions(np.asarray(row_of_item))
    return table.append_column("position", pa.array(positions))


def _positions(row_of_item: np.ndarray) -> np.ndarray:
    """Number the items of each row from 0."""
    places = np.arange(len(row_of_item))
    is_first = np.ones(len(row_of_item), bool)
    is_first[1:] = row_of_item[1:] != row_of_item[:-1]
    # The place of the first item, carried forward, is what each item is counted from: no loop over rows.
    first_places = np.maximum.accumulate(np.where(is_first, places, 0))
    return (places - first_places).astype(np.int32)
