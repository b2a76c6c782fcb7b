"""The chosen traces: where each begins in the store's columns, how long it is, and what it is part of."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from borgtrace.datasets.selection import GRID_SECONDS, TASKS_WITH_USAGE, Selection
from borgtrace.datasets.series import grid_spans
from borgtrace.engine import guard
from borgtrace.errors import BorgtraceError, UsageError
from borgtrace.export import JobsLayout
from borgtrace.kernels.arrays import Index, Words
from borgtrace.store import Store

Columns = dict[str, NDArray[Any]]
Counts = tuple[int, int]
"""Traces, and their windows."""

PATH_OF_2017 = JobsLayout("sqlite").path_sql
"""SQL of the path of a task's file in an export of jobs, which the pipeline of 2017 sorts and shards by."""
ALL = "all"
# Hashes compare as fast as numbers and take eight bytes, where the names have 44.
_HASH_OR_0 = "case when {0} is null then 0 else hash({0}) end::ubigint"
_DETAILS = {
    "collection_id": "collection_id",
    "instance_index": "instance_index::bigint",
    "first_time": "coalesce(first_time, 0)",
    "last_time": "coalesce(last_time, 0)",
    "user": _HASH_OR_0.format('"user"'),
    "logical_name": _HASH_OR_0.format("collection_logical_name"),
}


@dataclass(
    frozen=True,
    slots=True,
    eq=False,
)
class TraceIndex:
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
    user, logical_name
        Hashes: equal where users (logical names) are equal, 0 where unknown, uint64.
    statics
        Static features: float32 numbers of shape (n,), or (codes, words) where −1 is an unknown word.
    n_matched
        Traces that fit the selection, before the random subset was taken.
    removed
        What each criterion leaves out: see :func:`count_removed`.
    """

    first_row: Index
    n_windows: Index
    length: Index
    slot: Index
    collection_id: Index
    instance_index: Index
    first_time: Index
    last_time: Index
    user: Words
    logical_name: Words
    statics: dict[str, Any]
    n_matched: int
    removed: dict[str, Counts]

    def __len__(self) -> int:
        return len(self.first_row)

    def groups(self, kind: str) -> Index:
        """Return the dense number of each trace's ``"job"``, ``"user"`` or ``"logical name"``, shape (n,).

        Numbers are in order of first appearance; −1 where the user or name is unknown.
        """
        if kind == "job":
            return dense(self.collection_id)
        hashes = self.user if kind == "user" else self.logical_name
        return np.where(hashes == 0, -1, dense(hashes))


def dense(values: NDArray[Any]) -> Index:
    """Number equal values alike, from 0, by first appearance.

    Examples
    --------
    >>> dense(np.array([7, 5, 7])).tolist()
    [0, 1, 0]
    """
    # pandas' factorize without pandas: np.unique sorts, which takes four times as long.
    codes = pa.array(values).dictionary_encode().indices
    return codes.to_numpy(zero_copy_only=False).astype(np.int64)


def select_traces(
    store: Store,
    selection: Selection,
    statics: Mapping[str, str],
    seed: int,
    *,
    is_original: bool = False,
) -> TraceIndex:
    """Select, order, shuffle and truncate.

    Parameters
    ----------
    store
        Where from.
    selection
        What.
    statics
        What to fetch beside what every dataset needs: names, and SQL over ``tasks``.
    seed
        Seed of the order, from 0 to 2³²−1.
    is_original
        Start from the order of paths, as the pipeline of 2017, in place of the order of the store.

    Raises
    ------
    UsageError
        The predicate is not SQL over ``tasks``, or nothing matches.
    """
    candidates = _candidates(store, selection, is_original)
    first = candidates["first_row"]
    windows = candidates["n_windows"]
    order = np.arange(len(first))
    slot = np.zeros_like(first)
    length = windows
    if selection.gaps == "grid":
        order, slot, length = _on_grid(store, selection, first, windows)
    if is_original:
        order = np.argsort(candidates["place"])
    if not len(order):
        got = f"0 where {selection.condition(store.manifest.dialect)}"
        way_out = "see borgtrace dataset STORE --histogram"
        raise UsageError(
            "selection",
            "no task matches",
            expected="at least one",
            got=got,
            way_out=way_out,
        )
    removed = count_removed(store, selection)
    if selection.gaps == "grid":
        removed["slots of the grid"] = (
            len(windows) - len(order),
            int(windows.sum() - windows[order].sum()),
        )
    n_matched = len(order)
    matched = int(windows[order].sum())
    order = shuffled(order, seed)[: selection.sample]
    removed["--sample"] = (n_matched - len(order), matched - int(windows[order].sum()))
    details = _details(store, selection, statics, first, order)
    return TraceIndex(
        first[order],
        windows[order],
        length[order],
        slot[order],
        **{
            name: details.column(name).to_numpy().copy() for name in _DETAILS
        },  # Arrow's own memory is read-only
        statics={name: _static(details.column(f"static {name}")) for name in statics},
        n_matched=n_matched,
        removed={
            option: counts for option, counts in removed.items() if option == ALL or any(counts)
        },
    )


def count_removed(store: Store, selection: Selection) -> dict[str, Counts]:
    """Count what each criterion leaves out, each for itself: what two leave out is counted at both.

    Returns
    -------
    dict
        Traces and windows by option, after those of all tasks with usage at :data:`ALL`.
    """
    terms = {ALL: "true"} | {
        option: f"({term}) is not true"
        for option, term in selection.conditions(store.manifest.dialect).items()
    }
    sums = ", ".join(
        f"count(*) filter (where {term}), coalesce(sum(n_windows) filter (where {term}), 0)::bigint"
        for term in terms.values()
    )
    counts = [
        column[0].as_py()
        for column in store.sql(f"select {sums} from tasks where {TASKS_WITH_USAGE}").columns
    ]
    return dict(zip(terms, zip(counts[::2], counts[1::2], strict=True), strict=True))


def query_tasks(
    store: Store,
    selection: Selection,
    columns: str,
    tail: str = "",
) -> pa.Table:
    """Query the selected tasks.

    Parameters
    ----------
    store, selection
        Where from, and which.
    columns, tail
        What stands after ``select`` and after the condition.

    Raises
    ------
    UsageError
        The predicate of the selection is not SQL over ``tasks``.
    """
    condition = selection.condition(store.manifest.dialect)
    try:
        if selection.where:
            guard.condition(selection.where)
        return store.sql(f"select {columns} from tasks where {condition} {tail}")
    except BorgtraceError as error:
        # Without a predicate of the user's the query is ours, and so is the mistake.
        if not selection.where:
            raise
        got = " ".join(str(error).split())
        way_out = "see borgtrace info STORE --schema"
        raise UsageError(
            "--where", "not a predicate over tasks", got=got, way_out=way_out
        ) from error


def shuffled(index: Index, seed: int) -> Index:
    """Shuffle a copy of `index` with NumPy's legacy generator, whose stream is frozen for ever.

    Examples
    --------
    >>> shuffled(np.arange(5), 0).tolist()
    [2, 0, 1, 3, 4]
    """
    copy = index.copy()
    # NumPy promises that `RandomState` never changes; `default_rng` may.
    np.random.RandomState(seed).shuffle(copy)
    return copy


def _candidates(store: Store, selection: Selection, is_original: bool) -> Columns:
    """Return where each task that matches begins and how long it is, in the order of the store."""
    columns = "first_row::bigint as first_row, n_windows::bigint as n_windows"
    if is_original:
        columns += f", row_number() over (order by {PATH_OF_2017}, instance_index) as place"
    table = query_tasks(store, selection, columns)
    rows = {name: table.column(name).to_numpy() for name in table.column_names}
    # The engine keeps the order of the files, but does not promise it; what is in order is sorted fast.
    order = np.argsort(rows["first_row"], kind="stable")
    return {name: column[order] for name, column in rows.items()}


def _on_grid(
    store: Store,
    selection: Selection,
    first: Index,
    windows: Index,
) -> tuple[Index, Index, Index]:
    slot = np.empty_like(first)
    slots = np.empty_like(first)
    grid_spans(
        np.asarray(store.array("start_time")),
        first,
        windows,
        GRID_SECONDS,
        slot,
        slots,
    )
    shortest = selection.min_length or 1
    longest = selection.max_length or np.iinfo(np.int64).max
    return np.flatnonzero((slots >= shortest) & (slots <= longest)), slot, slots


def _details(
    store: Store,
    selection: Selection,
    statics: Mapping[str, str],
    first: Index,
    order: Index,
) -> pa.Table:
    """Return what else is known of the candidates at `order`, in this order.

    All candidates are streamed and the chosen ones kept: a store may have many more than fit into memory.
    """
    wanted = _DETAILS | {f"static {name}": sql for name, sql in statics.items()}
    columns = ", ".join(f'{sql} as "{name}"' for name, sql in wanted.items())
    query = f"select first_row, {columns} from tasks where {selection.condition(store.manifest.dialect)}"
    place = np.full(len(first), -1)
    # Which place each candidate has in the random order; −1 where it was not drawn.
    place[order] = np.arange(len(order))
    kept = []
    back = np.empty(len(order), np.int64)
    count = 0
    for batch in store.stream(query):
        # Found by the first row, which is unique and sorted: batches come in any order.
        places = place[np.searchsorted(first, batch.column("first_row").to_numpy())]
        kept.append(batch.filter(pa.array(places >= 0)))
        places = places[places >= 0]
        back[places] = np.arange(count, count + len(places))
        count += len(places)
    return pa.Table.from_batches(kept).combine_chunks().take(pa.array(back))


def _static(column: pa.ChunkedArray) -> Any:
    """Return the numbers of a static feature, or the code of each word and the words, by first appearance."""
    if not pa.types.is_string(column.type):
        return column.to_numpy().astype(np.float32)
    encoded = column.combine_chunks().dictionary_encode()
    codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    return codes, tuple(encoded.dictionary.to_pylist())
