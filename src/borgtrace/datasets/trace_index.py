"""The chosen traces: where each begins in the store's columns, its length, and the job and user it belongs to."""

from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from borgtrace.datasets.drawing import shuffled
from borgtrace.datasets.selection import GRID_SECONDS, INSTANCE_NAMES, Selection
from borgtrace.datasets.series import grid_spans, place_rows
from borgtrace.datasets.trace_rows import TraceRows
from borgtrace.engine import guard
from borgtrace.engine.identifiers import quoted
from borgtrace.errors import BorgtraceError, UsageError, shell_word
from borgtrace.export import JobsLayout
from borgtrace.kernels.arrays import Index, Values, Words
from borgtrace.store import Store

Counts = tuple[int, int]
"""Traces, and their windows."""

LINE_BYTES = 64
"""Bytes that memory brings at a time."""

PATH_OF_2017 = JobsLayout("sqlite").path_sql
"""SQL of the path of a task's file in an export of jobs, which the pipeline of 2017 sorts and shards by."""
ALL = "all"
KEPT_TASKS = 2_000_000
"""Tasks of a store of which all details are kept, 64 bytes each: of a larger one they are asked twice instead."""

DETAILS = {
    "collection_id": "collection_id",
    "instance_index": "instance_index::bigint",
    "first_time": "coalesce(first_time, 0)",
    "last_time": "coalesce(last_time, 0)",
    # Hashes compare as fast as numbers and take eight bytes, where the names have 44.
    "user": """case when "user" is null then 0 else hash("user") end::ubigint""",
    "logical_name": (
        "case when collection_logical_name is null then 0 else hash(collection_logical_name) end::ubigint"
    ),
}
"""SQL over ``tasks`` of what every dataset needs."""
HASHED = ("user", "logical_name")
"""Columns of :data:`DETAILS` that are uint64; the others are int64."""
PLACED = (
    (
        "first_row",
        "n_windows",
        "length",
        "slot",
        "collection_id",
        "instance_index",
        "first_time",
        "last_time",
    ),
    HASHED,
)
"""Columns that lie beside each other in memory: those that files are made of, and those that tell what sets share."""


class StaticWords(NamedTuple):
    """A static feature that is text: the code of each trace's word, −1 where unknown, and the words."""

    codes: Index
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class TraceIndex(TraceRows):
    """Traces in the order in which they were drawn; all arrays have shape (n,).

    Attributes
    ----------
    last_time
        End of its last window, µs.
    user, logical_name
        Hashes: equal where users (logical names) are equal, 0 where unknown, uint64.
    static_words
        The words of each static feature that is text.
    n_matched
        Traces that fit the selection, before the random subset was taken.
    removed
        What each criterion leaves out: see :func:`count_removed`.
    """

    last_time: Index
    user: Words
    logical_name: Words
    static_words: dict[str, tuple[str, ...]]
    n_matched: int
    removed: dict[str, Counts]

    def groups(self, kind: str) -> Index:
        """Return the dense number of each trace's ``"job"``, ``"user"`` or ``"logical name"``, shape (n,).

        Numbers are in order of first appearance; −1 where the user or name is unknown.
        """
        if kind == "job":
            return dense(self.collection_id)
        hashes = self.user if kind == "user" else self.logical_name
        return np.where(hashes == 0, -1, dense(hashes))


class Candidates(NamedTuple):
    """Tasks that fit all criteria in SQL, in the order of the store; int64 of shape (n,), but for `matching`.

    Attributes
    ----------
    first_row, n_windows, length, slot
        As in :class:`TraceIndex`.
    matching
        Positions of those that fit the bounds on the length, too, in the order in which they are shuffled.
    details
        What else is known of them, in the order of the engine; None where these are too many to be kept.
    """

    first_row: Index
    n_windows: Index
    length: Index
    slot: Index
    matching: Index
    details: pa.Table | None


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
        Static features to fetch as well: names, and SQL over ``tasks``.
    seed
        Seed of the order, from 0 to 2³²−1.
    is_original
        Start from the order of paths, as the pipeline of 2017, instead of the order of the store.

    Raises
    ------
    UsageError
        The predicate is not SQL over ``tasks``, or nothing matches.
    """
    check_predicate(store, selection)
    columns = DETAILS | {f"static {name}": sql for name, sql in statics.items()}
    # Beside what other threads do, since no query has work for all of them at all times.
    with ThreadPoolExecutor(1) as background:
        counting = background.submit(count_and_shuffle, store, selection, seed)
        candidates = fetch_candidates(store, selection, columns, is_original=is_original)
        counted = counting.result()
    matching = candidates.matching
    if not len(matching):
        raise UsageError(
            "selection",
            f"no {INSTANCE_NAMES[selection.instances]} matches",
            expected="at least one",
            got=f"0 where {selection.condition(store.manifest.dialect)}",
            way_out=f"see borgtrace dataset {shell_word(store.path)} --histogram",
        )
    shuffled_order = counted.shuffled_order
    is_order_of_store = selection.gaps != "grid" and not is_original
    if not is_order_of_store or len(shuffled_order) != len(matching):
        shuffled_order = shuffled(matching, seed)
    drawn = shuffled_order[: selection.sample]
    details = fetch_details(store, selection, columns, candidates, drawn)
    removed = counted.removed
    removed |= count_not_drawn(candidates, details.columns["n_windows"], selection)
    removed = {option: counts for option, counts in removed.items() if option == ALL or any(counts)}
    static_columns = take_statics(details.statics, statics)
    return TraceIndex(
        **details.columns,
        static_numbers=static_columns.numbers,
        static_codes={name: column.codes for name, column in static_columns.words.items()},
        static_words={name: column.words for name, column in static_columns.words.items()},
        n_matched=len(matching),
        removed=removed,
    )


class CountedTasks(NamedTuple):
    """What each criterion leaves out, and positions of as many tasks as seem to be left, shuffled."""

    removed: dict[str, Counts]
    shuffled_order: Index


def count_and_shuffle(store: Store, selection: Selection, seed: int) -> CountedTasks:
    """Count what each criterion leaves out, and shuffle as many tasks as are left if none is left out twice.

    Parameters
    ----------
    store, selection, seed
        As for :func:`select_traces`.
    """
    removed = count_removed(store, selection)
    n_left_out = sum(n_traces for option, (n_traces, _) in removed.items() if option != ALL)
    n_left = max(removed[ALL][0] - n_left_out, 0)
    return CountedTasks(removed, shuffled(np.arange(n_left), seed))


class StaticColumns(NamedTuple):
    """Static features by name: those that are numbers, and those that are text."""

    numbers: dict[str, Values]
    words: dict[str, StaticWords]


def take_statics(details: pa.Table, names: Iterable[str]) -> StaticColumns:
    """Take the static features from what was fetched; its types tell which are text."""
    numbers = {}
    words = {}
    for name in names:
        column = details.column(f"static {name}")
        if pa.types.is_string(column.type):
            words[name] = encode_words(column)
        else:
            numbers[name] = column.to_numpy().astype(np.float32)
    return StaticColumns(numbers, words)


def count_removed(store: Store, selection: Selection) -> dict[str, Counts]:
    """Count what each criterion leaves out, each for itself: what two leave out is counted at both.

    Returns
    -------
    dict
        Traces and windows by option, after those of all that there is to choose from at :data:`ALL`.
    """
    removal_conditions = {ALL: "true"}
    for option, condition in selection.conditions(store.manifest.dialect).items():
        removal_conditions[option] = f"({condition}) is not true"
    sums = ", ".join(
        f"count(*) filter (where {condition}), "
        f"coalesce(sum(n_windows) filter (where {condition}), 0)::bigint"
        for condition in removal_conditions.values()
    )
    row = store.sql(f"select {sums} from tasks where {selection.population}")
    values = [column[0].as_py() for column in row.columns]
    traces = values[::2]
    windows = values[1::2]
    counts = zip(traces, windows, strict=True)
    return dict(zip(removal_conditions, counts, strict=True))


def count_not_drawn(
    candidates: Candidates, drawn_windows: Index, selection: Selection
) -> dict[str, Counts]:
    """Count traces and windows of candidates that do not fit on the grid, or are not in the random subset.

    Parameters
    ----------
    candidates
        All of them.
    drawn_windows
        Windows of each that was drawn.
    selection
        What was asked for.
    """
    n_windows = candidates.n_windows
    matching = candidates.matching
    n_matching_windows = int(n_windows.sum())
    removed = {}
    if selection.gaps == "grid":
        off_grid = len(n_windows) - len(matching)
        n_off_grid_windows = n_matching_windows - int(n_windows[matching].sum())
        n_matching_windows -= n_off_grid_windows
        removed["slots of the grid"] = (off_grid, n_off_grid_windows)
    not_drawn = len(matching) - len(drawn_windows)
    removed["--sample"] = (not_drawn, n_matching_windows - int(drawn_windows.sum()))
    return removed


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
    check_predicate(store, selection)
    with naming_predicate(store, selection):
        return store.sql(f"select {columns} from tasks where {condition} {tail}")


def check_predicate(store: Store, selection: Selection) -> None:
    """Refuse a predicate that is more than one condition, or reads what it must not.

    Raises
    ------
    UsageError
        It is no predicate over ``tasks``.
    """
    if selection.where:
        with naming_predicate(store, selection):
            guard.condition(selection.where)


@contextmanager
def naming_predicate(store: Store, selection: Selection) -> Iterator[None]:
    """Say of an error of the engine that the user's own predicate is behind it, where there is one."""
    try:
        yield
    except BorgtraceError as error:
        # Without a predicate of the user's the query is ours, and so is the mistake.
        if not selection.where:
            raise
        raise UsageError(
            "--where",
            "not a predicate over tasks",
            got=" ".join(str(error).split()),
            way_out=f"see borgtrace info {shell_word(store.path)} --schema",
        ) from error


def fetch_candidates(
    store: Store,
    selection: Selection,
    details: Mapping[str, str],
    *,
    is_original: bool,
) -> Candidates:
    """Fetch where each task that matches begins and how long it is, and what else is known of it if memory allows.

    Parameters
    ----------
    store, selection
        Where from, and which.
    details
        SQL over ``tasks`` of what else is asked of the drawn ones.
    is_original
        As for :func:`select_traces`.
    """
    columns = "first_row::bigint as first_row, n_windows::bigint as n_windows"
    if is_original:
        columns += f", row_number() over (order by {PATH_OF_2017}, instance_index) as place"
    has_details = store.manifest.tables.get("tasks", 0) <= KEPT_TASKS
    if has_details:
        columns += f", {selected(details)}"
    table = query_tasks(store, selection, columns)
    first_row = table.column("first_row").to_numpy()
    # The engine keeps the order of the files, but does not promise it.
    is_in_order = bool((first_row[1:] >= first_row[:-1]).all())
    order = slice(None) if is_in_order else np.argsort(first_row, kind="stable")
    first_row = first_row[order]
    n_windows = table.column("n_windows").to_numpy()[order]

    slot = np.zeros_like(first_row)
    length = n_windows
    matching = np.arange(len(first_row))
    if selection.gaps == "grid":
        slot, length = spans_on_grid(store, first_row, n_windows)
        shortest = selection.min_length or 1
        longest = selection.max_length or np.iinfo(np.int64).max
        matching = np.flatnonzero((length >= shortest) & (length <= longest))
    if is_original:
        matching = np.argsort(table.column("place").to_numpy()[order])
    return Candidates(
        first_row=first_row,
        n_windows=n_windows,
        length=length,
        slot=slot,
        matching=matching,
        details=table if has_details else None,
    )


def spans_on_grid(store: Store, first_row: Index, n_windows: Index) -> tuple[Index, Index]:
    """Return the first slot of the grid of each task, and how many slots it spans, shape (n,) each.

    Parameters
    ----------
    store
        Where from.
    first_row, n_windows
        Where the windows of each task begin, and how many they are.
    """
    slot = np.empty_like(first_row)
    length = np.empty_like(first_row)
    start_time = np.asarray(store.array("start_time"))
    # Copies, since compiled code takes what Arrow lends for read-only, and that for another type.
    grid_spans(start_time, first_row.copy(), n_windows.copy(), GRID_SECONDS, slot, length)
    return slot, length


def selected(columns: Mapping[str, str]) -> str:
    """Return what stands after ``select`` for columns: names, and SQL."""
    return ", ".join(f"{sql} as {quoted(name)}" for name, sql in columns.items())


class Details(NamedTuple):
    """What is known of the drawn traces, in their order: the columns of :data:`PLACED`, and static features."""

    columns: dict[str, NDArray[Any]]
    statics: pa.Table


def batches_of_details(
    store: Store,
    selection: Selection,
    columns: Mapping[str, str],
    candidates: Candidates,
) -> Iterable[pa.RecordBatch]:
    """Return what is known of all candidates, from memory or as the store streams it: see :func:`fetch_details`."""
    if candidates.details is not None:
        return candidates.details.to_batches()
    condition = selection.condition(store.manifest.dialect)
    return store.stream(f"select first_row, {selected(columns)} from tasks where {condition}")


def fetch_details(
    store: Store,
    selection: Selection,
    columns: Mapping[str, str],
    candidates: Candidates,
    drawn: Index,
) -> Details:
    """Fetch what else is known of the candidates at positions `drawn`.

    Where a store has more than fit into memory, all candidates are streamed and the chosen ones kept.

    Parameters
    ----------
    store, selection
        Where from, and which.
    columns
        SQL of what is known, by name: those of :data:`DETAILS`, then static features.
    candidates
        All of them.
    drawn
        Positions of those that were drawn.
    """
    has_statics = len(columns) > len(DETAILS)
    # Which place each candidate has in the random order; −1 where it was not drawn.
    place = np.full(len(candidates.first_row), -1)
    place[drawn] = np.arange(len(drawn))
    # A trace is a row of memory: whatever is asked of one at a random place then comes at once.
    tables = [aligned_rows(len(drawn), len(names)) for names in PLACED]
    static_batches = []
    row_of_place = np.empty(len(drawn), np.int64)
    n_streamed = 0
    n_kept = 0
    for batch in batches_of_details(store, selection, columns, candidates):
        positions = find_rows(
            candidates.first_row, batch.column("first_row").to_numpy(), n_streamed
        )
        places = place[positions]
        n_streamed += batch.num_rows
        for names, table in zip(PLACED, tables, strict=True):
            values = (column_of(name, batch, candidates, positions) for name in names)
            place_rows(tuple(values), places, table)
        if has_statics:
            rows = np.flatnonzero(places >= 0)
            static_batches.append(batch.select(list(columns)[len(DETAILS) :]).take(rows))
            row_of_place[places[rows]] = np.arange(n_kept, n_kept + len(rows))
            n_kept += len(rows)
    static_table = pa.table({})
    if has_statics:
        static_table = pa.Table.from_batches(static_batches).combine_chunks().take(row_of_place)
    columns_by_name: dict[str, NDArray[Any]] = {}
    for names, table in zip(PLACED, tables, strict=True):
        columns_by_name |= dict(zip(names, table.T, strict=True))
    for name in HASHED:
        columns_by_name[name] = columns_by_name[name].view(np.uint64)
    return Details(columns_by_name, static_table)


def aligned_rows(n_rows: int, n_columns: int) -> Index:
    """Return int64 of undefined content, shape (rows, columns): eight columns are one line of the caches.

    Rows that begin within a line take two, and half as long again to be read at random places.
    """
    numbers = np.empty(n_rows * n_columns + LINE_BYTES // 8, np.int64)
    first = -numbers.ctypes.data % LINE_BYTES // 8
    return numbers[first : first + n_rows * n_columns].reshape(n_rows, n_columns)


def column_of(
    name: str,
    batch: pa.RecordBatch,
    candidates: Candidates,
    positions: Index | slice,
) -> Index:
    """Return a column of :data:`PLACED` for the candidates of a batch, which stand at these positions."""
    is_fetched = name in DETAILS
    values = batch.column(name).to_numpy() if is_fetched else getattr(candidates, name)[positions]
    # Another array on the same memory: that of the candidates stays as it is.
    values = values.view(np.int64)
    # As Arrow's are: all columns of a row have one type.
    values.flags.writeable = False
    return values


def find_rows(first_row: Index, streamed: Index, expected: int) -> Index | slice:
    """Return where in `first_row`, which is sorted, each of some first rows stands; a slice of neighbors.

    Parameters
    ----------
    first_row
        First rows of all candidates.
    streamed
        Those of a batch, which may come in any order.
    expected
        Where the batch begins as long as batches come in the order of the store.

    Examples
    --------
    >>> find_rows(np.array([0, 5, 9, 12]), np.array([12, 5]), 2).tolist()
    [3, 1]
    """
    # The engine seldom leaves this order, and looking at it is faster than a search for each row.
    neighbors = slice(expected, expected + len(streamed))
    if np.array_equal(first_row[neighbors], streamed):
        return neighbors
    return np.searchsorted(first_row, streamed)


def encode_words(column: pa.ChunkedArray) -> StaticWords:
    """Return the code of each word, and the words by first appearance."""
    encoded = column.combine_chunks().dictionary_encode()
    codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return StaticWords(codes.astype(np.int64), tuple(encoded.dictionary.to_pylist()))
