"""Sums by machine and slot in memory: an engine takes twice as long to find the group of each window.

A page holds the sums of 256 neighboring slots of one machine, so that the windows of a task add to one page for most of
a day.  Pages are found by a hash table, and made for machines and days that occur.
"""

from collections.abc import Iterator
from contextlib import closing

import ibis
import numpy as np
import pyarrow as pa

from borgtrace.analyses.shared.compiled_windows import (
    LARGEST,
    amount_of,
    is_regular,
    is_summable,
    seconds_of,
    slot_of,
)
from borgtrace.analyses.shared.windows import BITS
from borgtrace.kernels.arrays import Flags, Index, ShortIndex, Values
from borgtrace.kernels.compiled import compiled
from borgtrace.kernels.hashing import GOLDEN
from borgtrace.question import Tables
from borgtrace.question.shared_tables import LeftToSQLError
from borgtrace.schema.time import WINDOW

SLOTS = 256
"""Slots of a page: 21 hours."""
N_OUTERMOST, CPU, MEMORY, TASK_SECONDS = range(4)
COLUMNS = ("n_outermost", "cpu", "memory", "task_seconds")
PAGE_BYTES = SLOTS * len(COLUMNS) * 8
NO_MACHINE = NO_VALUE = -(2**63)
"""Stand for NULL."""
NOTHING_BEGAN = -1
"""Number of windows of a slot in which none begins."""
PAGES_PER_BATCH = 256
LEAST_ROWS = 1_000_000
"""Windows below which SQL is done before a kernel is compiled."""
ROWS = 250_000
"""Windows that are handed to the kernel at a time."""
SHARE_OF_BUDGET = 4
FULLNESS = 0.9
MOST_PARTS = 4
"""Reading usage four times takes as long as SQL does where all sums fit into memory."""
SCHEMA = pa.schema([(name, pa.int64()) for name in ("machine_id", "slot", *COLUMNS)])
TOO_MANY, TOO_LARGE = -1, -2
"""Instead of a number of pages: there is no room for one more; a sum may not fit into 64 bits."""
_HIGH_HALF = np.uint64(32)


def slot_sums_in_parts(tables: Tables) -> Iterator[pa.RecordBatchReader]:
    """Yield the rows of :func:`~borgtrace.analyses.shared.machine_slots.sum_slots` for some machines after the other.

    Parameters
    ----------
    tables
        The store's tables.

    Raises
    ------
    LeftToSQLError
        There are few windows, their sums do not fit into a share of the budget, or not into 64 bits.
    """
    if tables.n_rows("instance_usage") < LEAST_ROWS:
        raise LeftToSQLError
    most_pages = max(tables.memory // SHARE_OF_BUDGET // PAGE_BYTES, 1)
    n_parts = number_of_parts(tables, most_pages)
    usage = columns_for_pages(tables.instance_usage)
    for part in range(n_parts):
        # All remainders are of powers of two: those are not negative whatever the id.
        windows = usage.filter((usage.machine_id & (n_parts - 1)) == part)
        pages = SlotPages(most_pages, 2.0**BITS)
        stream = tables.fetch_batches(windows if n_parts > 1 else usage, "slot_sums", ROWS)
        with closing(stream) as batches:
            for batch in batches:
                pages.add(batch)
        yield pa.RecordBatchReader.from_batches(SCHEMA, pages.batches())


def number_of_parts(tables: Tables, most_pages: int) -> int:
    """Return in how many parts of the machines their sums are made, a power of two.

    Raises
    ------
    LeftToSQLError
        Reading usage so often would take longer.
    """
    machine_ids = tables.machine_events.machine_id
    counted = tables.fetch(machine_ids.nunique().name("n").as_table(), "number_of_machines")
    n_machines = 1 + sum(counted["n"].to_pylist())
    pages_of_machine = 1 + tables.coverage.span // (WINDOW * SLOTS)
    # As if all machines were there all the time; parts are not equal.
    n_parts = 1
    while n_machines * pages_of_machine > n_parts * most_pages * FULLNESS:
        n_parts *= 2
    if n_parts > MOST_PARTS:
        raise LeftToSQLError
    return n_parts


def columns_for_pages(usage: ibis.Table) -> ibis.Table:
    """Return what :meth:`SlotPages.add` takes, all of it as it is stored but for NULL and text.

    Parameters
    ----------
    usage
        ``instance_usage``.
    """
    return usage.select(
        "start_time",
        "end_time",
        "average_cpu",
        "average_memory",
        machine_id=usage.machine_id.fill_null(NO_MACHINE),
        is_outermost=usage.alloc_collection_id.isnull().cast("int8"),
        is_task=(usage.collection_type == "JOB").fill_null(False).cast("int8"),
    )


class SlotPages:
    """Sums of windows by machine and slot.

    Parameters
    ----------
    most
        Pages that there is room for; memory is taken as they are used.
    scale
        Two to the power of the binary digits of amounts.
    """

    def __init__(self, most: int, scale: float) -> None:
        self._scale = scale
        self._n_pages = 0
        self._keys = np.empty((most, 2), np.int64)
        # A third of the places at most is taken.
        self._places = np.zeros(1 << (3 * most).bit_length(), np.int32)
        self._sums = np.empty((most, SLOTS, len(COLUMNS)), np.int64)

    def add(self, windows: pa.RecordBatch) -> None:
        """Add some windows.

        Parameters
        ----------
        windows
            ``machine_id`` (`NO_MACHINE` where it is not known), ``start_time``, ``end_time``, ``average_cpu``,
            ``average_memory``; ``is_outermost`` and ``is_task`` as bytes.

        Raises
        ------
        LeftToSQLError
            There is no room for them.
        """
        n_pages = add_windows(
            read_only(windows["machine_id"]),
            read_only(windows["start_time"]),
            read_only(windows["end_time"]),
            (read_only(windows["average_cpu"]), read_only(windows["average_memory"])),
            (read_only(windows["is_outermost"]), read_only(windows["is_task"])),
            self._scale,
            self._n_pages,
            (self._keys, self._places, self._sums),
        )
        if n_pages < 0:
            raise LeftToSQLError
        self._n_pages = n_pages

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield a row for each machine and slot in which a window begins, sorted by both."""
        keys = self._keys[: self._n_pages]
        order = np.lexsort((keys[:, 1], keys[:, 0]))
        for first in range(0, len(order), PAGES_PER_BATCH):
            pages = order[first : first + PAGES_PER_BATCH]
            sums = self._sums[pages]
            page, slot = np.nonzero(sums[:, :, N_OUTERMOST] != NOTHING_BEGAN)
            machine_ids = keys[pages, 0][page]
            columns = {
                "machine_id": pa.array(machine_ids, mask=machine_ids == NO_MACHINE),
                "slot": pa.array(keys[pages, 1][page] * SLOTS + slot),
            }
            for place, name in enumerate(COLUMNS):
                values = sums[page, slot, place]
                columns[name] = pa.array(values, mask=values == NO_VALUE)
            yield pa.record_batch(columns)


def read_only(values: pa.Array) -> np.ndarray:
    """Return values as NumPy has them, NaN for NULL, and never to be written, so that kernels are compiled once."""
    array = values.to_numpy(zero_copy_only=False)
    array.flags.writeable = False
    return array


@compiled()
def add_windows(
    machine_ids: Index,
    starts: Index,
    ends: Index,
    resources: tuple[Values, Values],
    flags: tuple[Flags, Flags],
    scale: float,
    n_pages: int,
    pages: tuple[Index, ShortIndex, Index],
) -> int:
    """Add windows to their slots, and return how many pages are used now, or `TOO_MANY` or `TOO_LARGE`.

    Parameters
    ----------
    machine_ids, starts, ends
        Shape (n,).
    resources
        CPU and memory, NaN where there is no value.
    flags
        Whether a window lies outside alloc sets, and whether it is one of a task.
    scale
        Two to the power of the binary digits of amounts.
    n_pages
        Pages that are used.
    pages
        Machine and number of each page; the hash table, of numbers of pages from 1; sums.
    """
    keys, _, sums = pages
    is_outermost, is_task = flags
    last_machine, last_number, page = 0, -1, -1
    for i in range(len(starts)):
        if not is_regular(starts[i], ends[i]):
            continue
        slot = slot_of(starts[i])
        number = slot // SLOTS
        if machine_ids[i] != last_machine or number != last_number:
            last_machine, last_number = machine_ids[i], number
            page = find_page(last_machine, last_number, n_pages, pages)
            if page == len(keys):
                return TOO_MANY
            n_pages = max(n_pages, page + 1)
        place = slot % SLOTS
        seconds = seconds_of(starts[i], ends[i])
        if sums[page, place, N_OUTERMOST] == NOTHING_BEGAN:
            sums[page, place, N_OUTERMOST] = 0
        if is_task[i] and not add_amount(sums, page, place, TASK_SECONDS, seconds):
            return TOO_LARGE
        if is_outermost[i]:
            sums[page, place, N_OUTERMOST] += 1
            for resource in range(2):
                value = resources[resource][i]
                if np.isnan(value):
                    continue
                if not is_summable(value, seconds, scale):
                    return TOO_LARGE
                amount = amount_of(value, seconds, scale)
                if not add_amount(sums, page, place, CPU + resource, amount):
                    return TOO_LARGE
    return n_pages


@compiled(inline=True)
def find_page(
    machine_id: int, number: int, n_pages: int, pages: tuple[Index, ShortIndex, Index]
) -> int:
    """Return the page of a machine, a new one where it has none; one more than there are if there is no room.

    Parameters
    ----------
    machine_id, number
        The machine, and which of its pages.
    n_pages, pages
        As for :func:`add_windows`.
    """
    keys, places, sums = pages
    mask = np.uint64(len(places) - 1)
    mixed = (np.uint64(machine_id) * GOLDEN ^ np.uint64(number)) * GOLDEN
    place = (mixed >> _HIGH_HALF) & mask
    page = int(places[place]) - 1
    while page >= 0 and (keys[page, 0] != machine_id or keys[page, 1] != number):
        place = (place + np.uint64(1)) & mask
        page = int(places[place]) - 1
    if page < 0 and n_pages < len(keys):
        keys[n_pages, 0] = machine_id
        keys[n_pages, 1] = number
        places[place] = n_pages + 1
        sums[n_pages] = NO_VALUE
        sums[n_pages, :, N_OUTERMOST] = NOTHING_BEGAN
    return page if page >= 0 else n_pages


@compiled(inline=True)
def add_amount(sums: Index, page: int, place: int, column: int, amount: int) -> bool:
    """Add to a sum of a slot, and return whether it is far from where 64 bits end.

    Parameters
    ----------
    sums
        Of all pages.
    page, place, column
        Which sum.
    amount
        What is added.
    """
    before = sums[page, place, column]
    after = amount if before == NO_VALUE else before + amount
    sums[page, place, column] = after
    return abs(after) < LARGEST
