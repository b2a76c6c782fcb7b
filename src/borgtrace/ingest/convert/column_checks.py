"""The declared checks of columns over Arrow tables: rows to refuse, and rows only to count.

Nothing here touches Python per row.  The same checks as SQL over text are in `text_fields`.
"""

from collections import Counter
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from borgtrace.schema import Column, Table
from borgtrace.schema.checks import NOT_NEGATIVE, ColumnCheck
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
    for column, check in _checks(table, data, refuses=True):
        is_kept_anyway = is_unsigned and check in NOT_NEGATIVE
        if not is_kept_anyway and _broken_rows(column, check, data) is not None:
            return True
    return False


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
    broken_rows: dict[ColumnCheck, pa.ChunkedArray] = {}
    for column, check in _checks(table, data, refuses=False):
        # Lists are counted one by one: a row may break both of its lists.
        if column.length:
            counts[check.reason] += _count_broken_lists(check, data.column(column.name))
            continue
        is_broken = _broken_rows(column, check, data)
        if is_broken is not None:
            # Without bound and other column: three means may exceed their maxima, and the row still counts once.
            kind = ColumnCheck(
                check.reason,
                check.rule,
                flag=check.flag,
                reason_if_flag=check.reason_if_flag,
            )
            if kind in broken_rows:
                is_broken = pc.or_(broken_rows[kind], is_broken)
            broken_rows[kind] = is_broken
    for check, is_broken in broken_rows.items():
        n_flagged = 0
        if check.flag in data.column_names:
            is_flagged = pc.fill_null(data.column(check.flag), False)
            n_flagged = _count_true(pc.and_(is_broken, is_flagged))
            counts[check.reason_if_flag] += n_flagged
        counts[check.reason] += _count_true(is_broken) - n_flagged
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
    n_falls = np.count_nonzero(times[1:] < times[:-1])
    return int(n_falls) + int(times[0] < previous)


def _checks(table: Table, data: pa.Table, *, refuses: bool) -> Iterator[tuple[Column, ColumnCheck]]:
    """Yield the checks that can be judged with the columns of `data`."""
    for column in table.columns:
        for check in column.checks:
            if REASONS[check.reason].quarantines != refuses:
                continue
            needed = {column.name}
            if check.minus:
                needed.add(check.minus)
            # A column that files lack (sampled CPU of v2.0, what 2019 does not publish) cannot break a rule.
            if needed <= set(data.column_names):
                yield column, check


def _broken_rows(column: Column, check: ColumnCheck, data: pa.Table) -> pa.ChunkedArray | None:
    """Return which rows break a check, or None where no row can: the extreme value is checked first."""
    own_values = data.column(column.name)
    values = pc.list_flatten(own_values) if column.length else own_values
    if check.minus:
        values = pc.subtract(values, data.column(check.minus))
    # Arrow compares amounts with no integer above 2⁵³.
    bound = float(check.bound) if pa.types.is_floating(values.type) else check.bound
    # In nearly every chunk nothing is broken, and a minimum is cheaper than a mask.
    if check.rule == "at_least":
        lowest = pc.min(values).as_py()
        if lowest is None or not lowest < bound:
            return None
        is_broken = pc.less(values, bound)
    else:
        highest = pc.max(values).as_py()
        if highest is None or not highest > bound:
            return None
        is_broken = pc.greater(values, bound)
    if check.minus and column.unit == "us":
        # A window that ends after the trace has no length.
        is_broken = pc.and_(is_broken, pc.not_equal(own_values, AFTER_TRACE))
    return pc.fill_null(is_broken, False)


def _count_true(flags: pa.ChunkedArray) -> int:
    return int(pc.sum(flags).as_py() or 0)


def _count_broken_lists(check: ColumnCheck, lists: pa.ChunkedArray) -> int:
    count = _empty_lists if check.rule == "not_empty" else _unordered_lists
    return sum(count(chunk) for chunk in lists.chunks)


def _empty_lists(chunk: pa.Array) -> int:
    """Count lists without values, missing ones among them."""
    lengths = np.diff(np.asarray(chunk.offsets))
    return int(np.count_nonzero(lengths == 0))


def _unordered_lists(chunk: pa.Array) -> int:
    """Count lists whose values do not ascend."""
    values = chunk.flatten().to_numpy(zero_copy_only=False)
    falls = np.flatnonzero(values[1:] < values[:-1]) + 1
    lengths = np.diff(np.asarray(chunk.offsets))
    owner = np.repeat(np.arange(len(lengths)), lengths)
    # A fall from the end of one list to the start of the next is none.
    is_inside = owner[falls] == owner[falls - 1]
    return len(np.unique(owner[falls][is_inside]))
