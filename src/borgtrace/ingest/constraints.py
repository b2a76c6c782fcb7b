"""2019 keeps an event's constraints as a list inside the event: here they become rows."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from borgtrace.ingest.fast_csv import Tripped
from borgtrace.schema.dialects import GOOGLE_2019

_RELATIONS = GOOGLE_2019.codes["relation"]


def unnest_constraints(events: pa.Table, lists: pa.ChunkedArray) -> pa.Table:
    """Return one row per constraint.

    Parameters
    ----------
    events
        Columns collection_id, instance_index, time and source_row of the events.
    lists
        For each event its list of (name, value, relation code) records, or NULL.

    Raises
    ------
    Tripped
        When a constraint has no name, or a relation outside the table of codes.
    """
    merged = lists.combine_chunks()
    merged = merged.chunk(0) if isinstance(merged, pa.ChunkedArray) else merged
    flat, owner = pc.list_flatten(merged), pc.list_parent_indices(merged)
    relation = pc.fill_null(pc.struct_field(flat, "relation"), 0)
    names = pc.struct_field(flat, "name")
    if names.null_count or not set(pc.unique(relation).to_pylist()) <= set(_RELATIONS):
        raise Tripped
    table = events.select(["collection_id", "instance_index", "time", "source_row"]).take(owner)
    labels = pa.DictionaryArray.from_arrays(pc.cast(relation, pa.int8()), pa.array(_RELATIONS.values()))
    return (
        table.append_column("name", names)
        .append_column("relation", labels)
        .append_column("value", pc.struct_field(flat, "value"))
        .append_column("position", pa.array(_positions(np.asarray(owner))))
    )


def _positions(owner: np.ndarray) -> np.ndarray:
    """Number the constraints of each event from 0."""
    rows = np.arange(len(owner))
    is_first = np.ones(len(owner), bool)
    is_first[1:] = owner[1:] != owner[:-1]
    return (rows - np.maximum.accumulate(np.where(is_first, rows, 0))).astype(np.int32)
