"""The declared checks of columns over Arrow tables: what must be refused, what is only counted.

Nothing here touches Python per row.  The same checks as SQL over text are in `text_fields`.
"""

from collections import Counter
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from borgtrace.schema import Column, Table
from borgtrace.schema.checks import NOT_NEGATIVE, Check
from borgtrace.schema.reasons import REASONS
from borgtrace.schema.time import AFTER_TRACE


def breaks_a_rule(table: Table, data: pa.Table, *, is_unsigned: bool = False) -> bool:
    """Return whether any row of `data` must be refused by the checks of `table`.

    Parameters
    ----------
    table
        Declares the checks.
    data
        Canonical columns.
    is_unsigned
        Whether no number can be negative, so that checks for that are spared.

    Examples
    --------
    >>> from borgtrace.schema import TABLES
    >>> breaks_a_rule(TABLES["instance_usage"], pa.table({"start_time": [300], "end_time": [200]}))
    True
    """
    return any(
        _broken(column, check, data) is not None
        for column, check in _checks(table, data, refuses=True)
        if not (is_unsigned and check in NOT_NEGATIVE)
    )


def count_broken(table: Table, data: pa.Table) -> Counter[str]:
    """Count, by reason code, the rows of `data` that are stored although they break a check of `table`.

    A row that breaks several checks of one reason counts once; of a list, every broken list counts.

    Parameters
    ----------
    table
        Declares the checks.
    data
        Canonical columns; a check whose columns are not all there is left out.

    Examples
    --------
    >>> from borgtrace.schema import TABLES
    >>> count_broken(TABLES["instance_usage"], pa.table({"start_time": [0], "end_time": [300_000_001]}))
    Counter({'window_over_300s': 1})
    """
    counts: Counter[str] = Counter()
    masks: dict[Check, pa.ChunkedArray] = {}
    for column, check in _checks(table, data, refuses=False):
        # Lists are counted one by one: a row may break both of its lists.
        if column.length:
            counts[check.reason] += sum(
                _LISTS[check.rule](chunk) for chunk in data.column(column.name).chunks
            )
            continue
        mask = _broken(column, check, data)
        if mask is not None:
            # Without bound and other column: three means may exceed their maxima, and the row still counts once.
            alike = Check(
                check.reason, check.rule, flag=check.flag, reason_if_flag=check.reason_if_flag
            )
            masks[alike] = pc.or_(masks[alike], mask) if alike in masks else mask
    for check, mask in masks.items():
        flagged = 0
        if check.flag in data.column_names:
            flagged = _count(pc.and_(mask, pc.fill_null(data.column(check.flag), False)))
            counts[check.reason_if_flag] += flagged
        counts[check.reason] += _count(mask) - flagged
    # `+` drops the zeros.
    return +counts


def count_out_of_order(times: np.ndarray, previous: int) -> int:
    """Count the rows whose time is before that of the row above (`previous` for the first).

    Parameters
    ----------
    times
        Times in µs, shape (n,).
    previous
        Time of the row above the first, in µs.
    """
    if not len(times):
        return 0
    return int(np.count_nonzero(times[1:] < times[:-1])) + int(times[0] < previous)


def _checks(table: Table, data: pa.Table, *, refuses: bool) -> Iterator[tuple[Column, Check]]:
    """Yield the checks that can be judged with the columns of `data`."""
    for column in table.columns:
        for check in column.checks:
            needed = {column.name, check.minus} - {""}
            # A column that files lack (sampled CPU of v2.0, what 2019 does not publish) cannot break a rule.
            if REASONS[check.reason].quarantines == refuses and needed <= set(data.column_names):
                yield column, check


def _broken(column: Column, check: Check, data: pa.Table) -> pa.ChunkedArray | None:
    """Return which rows break a check, or None where no row can: the extreme value tells that first."""
    found = data.column(column.name)
    values = pc.list_flatten(found) if column.length else found
    if check.minus:
        values = pc.subtract(values, data.column(check.minus))
    is_lower = check.rule == "at_least"
    # In nearly every chunk nothing is broken, and a minimum is cheaper than a mask.
    extreme = (pc.min if is_lower else pc.max)(values).as_py()
    if extreme is None or not (extreme < check.bound if is_lower else extreme > check.bound):
        return None
    mask = (pc.less if is_lower else pc.greater)(values, check.bound)
    if check.minus and column.unit == "us":
        # A window that ends after the trace has no length.
        mask = pc.and_(mask, pc.not_equal(found, AFTER_TRACE))
    return pc.fill_null(mask, False)


def _count(mask: pa.ChunkedArray) -> int:
    return int(pc.sum(mask).as_py() or 0)


def _empty_lists(chunk: pa.Array) -> int:
    """Count lists without values, missing ones among them."""
    return int(np.count_nonzero(np.diff(np.asarray(chunk.offsets)) == 0))


def _unordered_lists(chunk: pa.Array) -> int:
    """Count lists whose values do not ascend."""
    values = chunk.flatten().to_numpy(zero_copy_only=False)
    falls = np.flatnonzero(values[1:] < values[:-1]) + 1
    lengths = np.diff(np.asarray(chunk.offsets))
    owner = np.repeat(np.arange(len(lengths)), lengths)
    # A fall from the end of one list to the start of the next is none.
    return len(np.unique(owner[falls][owner[falls] == owner[falls - 1]]))


_LISTS = {"not_empty": _empty_lists, "ascending": _unordered_lists}
