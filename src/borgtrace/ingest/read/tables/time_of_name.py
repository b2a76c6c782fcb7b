"""The time in the name of a file, for printed tables that hold no times themselves."""

import re

import pyarrow as pa

_DATE = re.compile(
    r"(?<!\d)(20\d\d)[-_]?([01]\d)[-_]?([0-3]\d)[T_ -]?([0-2]\d)[-_:h]?([0-5]\d)(?:[-_:m]?([0-5]\d))?(?!\d)(Z)?"
)
_EPOCH = re.compile(r"(?<!\d)(1\d{9}|1\d{12})(?!\d)")


def time_of_name(name: str) -> str:
    """Return the time that the name of a file says, as ISO 8601 or as a number since 1970; empty where it says none.

    Examples
    --------
    >>> time_of_name("top-20261101T000500Z.txt"), time_of_name("top.1793491500.txt"), time_of_name("top.txt")
    ('2026-11-01T00:05:00Z', '1793491500', '')
    """
    date = _DATE.search(name)
    if date:
        year, month, day, hour, minute, second, zone = date.groups()
        return f"{year}-{month}-{day}T{hour}:{minute}:{second or '00'}{zone or ''}"
    epoch = _EPOCH.search(name)
    return epoch[0] if epoch else ""


def with_column(batch: pa.RecordBatch, name: str, text: str) -> pa.RecordBatch:
    """Return rows with one more column, which has one text.

    Parameters
    ----------
    batch
        The rows.
    name, text
        The column.
    """
    return batch.append_column(name, pa.repeat(pa.scalar(text, pa.string()), batch.num_rows))
