"""Values of a column as codes of two bytes, where few are distinct; a general dictionary takes twice the time."""

import numpy as np
import numpy.typing as npt

from borgtrace.kernels.arrays import Bytes, Index
from borgtrace.kernels.compiled import compiled
from borgtrace.kernels.hashing import GOLDEN

Records = npt.NDArray[np.uint16]
"""Rows of codes, shape (rows, places): what is needed of a row at a time lies together."""
MOST_CODES = (1 << 16) - 1
"""Distinct values that two bytes tell apart beside 0, which stands for a missing one."""
TOO_MANY = -1
"""Instead of a row: there are more distinct values than codes."""
_HIGH_HALF = np.uint64(32)


@compiled()
def code_rows(
    bits: npt.NDArray[np.generic],
    valid: Bytes,
    rows: tuple[int, int],
    slots: npt.NDArray[np.uint16],
    distinct: npt.NDArray[np.generic],
    n_distinct: int,
    codes: npt.NDArray[np.uint16],
) -> tuple[int, int]:
    """Write the codes of some rows, as far as there is room for new values.

    Parameters
    ----------
    bits
        Bits of the values of a column, unsigned, shape (n,).
    valid
        Arrow validity bitmap of the column; empty where nothing is missing.
    rows
        The first row, and the one behind the last.
    slots
        Hash table of codes, a power of two.
    distinct, n_distinct
        Values by their code less one, and how many there are.
    codes
        Shape (n,): what is written; it may be a column of `Records`.

    Returns
    -------
    row, n_distinct
        The row that it got to, `TOO_MANY` where codes are exhausted; how many values are known now.  Before the last
        row, `slots` is a quarter full, and a larger one is needed to go on.
    """
    mask = np.uint64(len(slots) - 1)
    for row in range(rows[0], rows[1]):
        if valid.size and not (valid[row >> 3] >> (row & 7)) & 1:
            codes[row] = 0
            continue
        value = bits[row]
        place = ((np.uint64(value) * GOLDEN) >> _HIGH_HALF) & mask
        code = slots[place]
        while code != 0 and distinct[code - 1] != value:
            place = (place + np.uint64(1)) & mask
            code = slots[place]
        if code == 0:
            if n_distinct == len(distinct):
                return TOO_MANY, n_distinct
            # Few collide where three of four places are free.
            if 4 * n_distinct >= len(slots):
                return row, n_distinct
            distinct[n_distinct] = value
            n_distinct += 1
            code = np.uint16(n_distinct)
            slots[place] = code
        codes[row] = code
    return rows[1], n_distinct


@compiled()
def fill_slots(distinct: npt.NDArray[np.generic], slots: npt.NDArray[np.uint16]) -> None:
    """Enter known values into an empty hash table for `code_rows`."""
    mask = np.uint64(len(slots) - 1)
    for number in range(len(distinct)):
        place = ((np.uint64(distinct[number]) * GOLDEN) >> _HIGH_HALF) & mask
        while slots[place] != 0:
            place = (place + np.uint64(1)) & mask
        slots[place] = np.uint16(number + 1)


@compiled()
def decode_rows(
    codes: npt.NDArray[np.uint16],
    run: npt.NDArray[np.int32],
    starts: Index,
    distinct: npt.NDArray[np.generic],
    bits: npt.NDArray[np.generic],
    valid: Bytes,
    first: int,
) -> bool:
    """Write the values of codes, beginning at row `first` of the output; return whether each code has one.

    Parameters
    ----------
    codes
        Shape (n,); it may be a column of `Records`.
    run
        Which values each code is a place in, shape (n,).
    starts
        Where the values of each run begin in `distinct`, and their number as the last entry.
    distinct
        Values of all runs, one run behind the other.
    bits
        What is written; 0 where a value is missing.
    valid
        Validity bitmap, all 1 before.
    first
        First row that is written.
    """
    for row in range(len(codes)):
        code = codes[row]
        if code == 0:
            bits[first + row] = 0
            valid[(first + row) >> 3] &= np.uint8(~(1 << ((first + row) & 7)) & 0xFF)
            continue
        place = starts[run[row]] + code - 1
        # Of a damaged file: what lies behind the array must not be read.
        if place >= starts[run[row] + 1]:
            return False
        bits[first + row] = distinct[place]
    return True


@compiled()
def counted_order(ranks: npt.NDArray[np.uint16], n_ranks: int) -> Index:
    """Return the order of ranks, those that are equal in theirs: by counting, which takes a tenth of sorting.

    Parameters
    ----------
    ranks
        Shape (n,), below `n_ranks`.
    n_ranks
        How many there are.

    Examples
    --------
    >>> counted_order(np.array([1, 0, 1], np.uint16), 2).tolist()
    [1, 0, 2]
    """
    ends = np.zeros(n_ranks + 1, np.int64)
    for rank in ranks:
        ends[rank + 1] += 1
    for rank in range(n_ranks):
        ends[rank + 1] += ends[rank]
    order = np.empty(len(ranks), np.int64)
    for row in range(len(ranks)):
        order[ends[ranks[row]]] = row
        ends[ranks[row]] += 1
    return order
