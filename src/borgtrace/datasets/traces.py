"""The chosen traces: where each begins in the store's columns, how long it is, and what it is part of."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from borgtrace.datasets._series import grid_spans
from borgtrace.datasets.order import path_order, shuffled
from borgtrace.datasets.selection import GRID_SECONDS, Selection
from borgtrace.errors import BorgtraceError, UsageError

if TYPE_CHECKING:
    from borgtrace.store import Store

Index = NDArray[np.int64]
Hashes = NDArray[np.uint64]

_OWNERS = {"user_hash": '"user"', "name_hash": "collection_logical_name"}
_DETAILS = {
    "collection_id": "collection_id",
    "instance_index": "instance_index",
    "first_time": "coalesce(first_time, 0)",
    "last_time": "coalesce(last_time, 0)",
    **{kind: f"case when {column} is null then 0 else hash({column}) end" for kind, column in _OWNERS.items()},
}
_CHUNK = 4_000_000
"""Candidates whose details are fetched at a time: bounds memory whatever the size of the store."""


@dataclass(frozen=True, slots=True, eq=False)
class Traces:
    """Traces in the order in which they were drawn; all arrays have shape (n,).

    Attributes
    ----------
    first_row, n_windows
        The rows of the trace in the store's columns.
    length, slot
        Points that the trace has in the dataset; on a grid, the number of its first slot.
    collection_id, instance_index
        Who it is.
    first_time, last_time
        Start of its first window and end of its last, µs.
    user_hash, name_hash
        Equal where users (logical names) are equal, 0 where unknown, uint64.
    columns
        Static features: float32 numbers of shape (n,), or (codes, words) where −1 is an unknown word.
    n_matched
        Traces that fit the selection, before the random subset was taken.
    """

    first_row: Index
    n_windows: Index
    length: Index
    slot: Index
    collection_id: Index
    instance_index: Index
    first_time: Index
    last_time: Index
    user_hash: Hashes
    name_hash: Hashes
    columns: dict[str, Any] = field(default_factory=dict)
    n_matched: int = 0

    def __len__(self) -> int:
        return len(self.first_row)

    @property
    def job(self) -> Index:
        """Dense number of each trace's collection."""
        return dense(self.collection_id)

    @property
    def user(self) -> Index:
        """Dense number of each trace's user, −1 where unknown."""
        return _owner_codes(self.user_hash)

    @property
    def logical_name(self) -> Index:
        """Dense number of each trace's logical name, −1 where unknown."""
        return _owner_codes(self.name_hash)


@dataclass(frozen=True, slots=True)
class Static:
    """One static feature: its name, the SQL that yields it, whether it is a word."""

    name: str
    sql: str
    is_word: bool


def choose(
    store: Store, selection: Selection, statics: Sequence[Static], seed: int, *, is_original: bool = False
) -> Traces:
    """Select, order, shuffle and truncate.

    Parameters
    ----------
    store
        Where from.
    selection
        What.
    statics
        Columns of ``tasks`` to fetch beside what every dataset needs.
    seed
        Seed of the order, from 0 to 2³²−1.
    is_original
        Start from the order of paths, as the pipeline of 2017, in place of the order of the store.

    Raises
    ------
    UsageError
        The predicate is not SQL over ``tasks``, or nothing matches.
    """
    condition = selection.condition(store.manifest.generation)
    rows = _candidates(store, selection, condition, is_original)
    first, windows = (rows[name].astype(np.int64, copy=False) for name in ("first_row", "n_windows"))
    if selection.gaps == "grid":
        kept, slot, length = _on_grid(store, selection, first, windows)
    else:
        kept, slot, length = np.arange(len(first)), np.broadcast_to(np.int64(0), first.shape), windows
    if not len(kept):
        raise UsageError(
            "selection",
            "no task matches",
            expected="at least one",
            got=f"0 where {condition}",
            way_out="see borgtrace dataset STORE --histogram",
        )
    order = kept
    if is_original:
        order = kept[path_order(*_identities(rows, kept))]
    order = shuffled(order, seed)[: selection.sample]
    details = _fetch(store, condition, statics, first, order)
    chosen = windows[order]
    is_grid = selection.gaps == "grid"
    return Traces(
        first_row=first[order],
        n_windows=chosen,
        length=length[order] if is_grid else chosen,
        slot=slot[order] if is_grid else slot[: len(order)],
        n_matched=len(kept),
        **details,
    )


def dense(values: NDArray[Any]) -> Index:
    """Number equal values alike, from 0, by first appearance.

    Examples
    --------
    >>> dense(np.array([7, 5, 7])).tolist()
    [0, 1, 0]
    """
    codes = pa.array(values).dictionary_encode().indices
    return codes.to_numpy(zero_copy_only=False).astype(np.int64)


def _candidates(store: Store, selection: Selection, condition: str, is_original: bool) -> dict[str, NDArray[Any]]:
    names = ["first_row", "n_windows", *(["collection_id", "instance_index"] if is_original else [])]
    try:
        table = store.sql(f"select {', '.join(names)} from tasks where {condition}")
    except BorgtraceError as error:
        if not selection.where:
            raise
        raise UsageError(
            "--where",
            "not a predicate over tasks",
            got=" ".join(str(error).split()),
            way_out="see borgtrace info STORE --schema",
        ) from error
    rows = {name: table.column(name).to_numpy() for name in names}
    order = _store_order(rows["first_row"])
    return rows if order is None else {name: column[order] for name, column in rows.items()}


def _identities(rows: dict[str, NDArray[Any]], kept: Index) -> tuple[Index, Index]:
    return tuple(rows[name][kept].astype(np.int64) for name in ("collection_id", "instance_index"))  # type: ignore[return-value]


def _store_order(first: NDArray[Any]) -> Index | None:
    """Return what puts rows into the order of the store, None where the engine has kept it."""
    return None if np.all(first[1:] > first[:-1]) else np.argsort(first, kind="stable")


def _on_grid(store: Store, selection: Selection, first: Index, windows: Index) -> tuple[Index, Index, Index]:
    slot, slots = np.empty_like(first), np.empty_like(first)
    grid_spans(np.asarray(store.array("start_time")), first, windows, GRID_SECONDS, slot, slots)
    longest = selection.max_length or np.iinfo(np.int64).max
    return np.flatnonzero((slots >= selection.min_length) & (slots <= longest)), slot, slots


def _fetch(store: Store, condition: str, statics: Sequence[Static], first: Index, order: Index) -> dict[str, Any]:
    """Fetch what else is told of the chosen tasks, a few million candidates at a time."""
    wanted = _DETAILS | {f"static {static.name}": static.sql for static in statics}
    words = {f"static {static.name}" for static in statics if static.is_word}
    fetched: dict[str, list[Any]] = {name: [] for name in wanted}
    places = []
    for low, high in _ranges(len(first)):
        is_all = high - low == len(first)
        place = np.flatnonzero((order >= low) & (order < high)) if not is_all else np.arange(len(order))
        bounds = f"first_row between {first[low]} and {first[high - 1]}"
        expressions = ", ".join(f'{sql} as "{name}"' for name, sql in wanted.items())
        table = store.sql(f"select first_row, {expressions} from tasks where {condition} and {bounds}")
        index, back = order[place] - low, _store_order(table.column("first_row").to_numpy())
        for name, column in _all_taken(table, wanted, index if back is None else back[index], words):
            fetched[name].append(column)
        places.append(place)
    return _details(fetched, places, words)


def _ranges(n: int) -> Iterator[tuple[int, int]]:
    for low in range(0, n, _CHUNK):
        yield low, min(low + _CHUNK, n)


def _all_taken(table: pa.Table, names: Iterable[str], index: Index, words: set[str]) -> Iterator[tuple[str, Any]]:
    """Take rows of columns side by side: NumPy lets go of the lock while it copies."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        columns = pool.map(lambda name: _taken(table.column(name), index, name in words), names)
        yield from zip(names, columns, strict=True)


def _taken(column: pa.ChunkedArray, index: Index, is_word: bool) -> Any:
    if is_word:
        return column.cast(pa.string()).take(pa.array(index)).combine_chunks()
    return column.to_numpy()[index]


def _details(fetched: dict[str, list[Any]], places: list[Index], words: set[str]) -> dict[str, Any]:
    columns: dict[str, Any] = {}
    back = np.argsort(np.concatenate(places)) if len(places) > 1 else places[0]
    for name, parts in fetched.items():
        if name in words:
            columns[name] = _coded(pa.concat_arrays(parts).take(pa.array(back)))
        else:
            columns[name] = parts[0] if len(parts) == 1 else np.concatenate(parts)[back]
    statics = {name.removeprefix("static "): columns.pop(name) for name in list(columns) if name.startswith("static ")}
    owners = {name: columns.pop(name).astype(np.uint64, copy=False) for name in _OWNERS}
    whole = {name: columns[name].astype(np.int64, copy=False) for name in columns}
    numbers = {
        name: column if isinstance(column, tuple) else column.astype(np.float32) for name, column in statics.items()
    }
    return {**whole, **owners, "columns": numbers}


def _owner_codes(hashes: Hashes) -> Index:
    codes = dense(hashes)
    codes[hashes == 0] = -1
    return codes


def _coded(words: pa.Array) -> tuple[Index, tuple[str, ...]]:
    """Return the position of each word among the words that occur, and these, by first appearance."""
    encoded = words.dictionary_encode()
    codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    return codes, tuple(encoded.dictionary.to_pylist())
