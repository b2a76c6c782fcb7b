"""Files that are nearly a table of a known format: name the missing columns instead of saying "no trace"."""

from collections.abc import Sequence

from borgtrace.errors import SourceError
from borgtrace.schema import Dialect, RawTable

_LEAST_SHARE = 0.6
"""Of the columns that each row of a table must have: fewer are anybody's."""
_LEAST_COLUMNS = 4


def near_miss(
    label: str,
    names: Sequence[str],
    tables: Sequence[tuple[Dialect, RawTable]],
) -> SourceError | None:
    """Return the error for a file that lacks few columns of a table; None where it is like none.

    Parameters
    ----------
    label
        What messages call the file.
    names
        Names of its columns.
    tables
        Tables whose columns have names.
    """
    present = set(names)
    best: tuple[float, Dialect, RawTable] | None = None
    for dialect, raw in tables:
        mandatory = set(raw.mandatory)
        n_present = len(mandatory & present)
        if n_present < max(_LEAST_COLUMNS, _LEAST_SHARE * len(mandatory)):
            continue
        share = n_present / len(mandatory)
        if best is None or share > best[0]:
            best = (share, dialect, raw)
    if best is None:
        return None
    _, dialect, raw = best
    missing = [name for name in raw.mandatory if name not in present]
    return SourceError(
        label,
        f"columns of {raw.name} ({dialect.name}) are missing",
        expected=", ".join(missing) or ", ".join(raw.marks),
        got=", ".join(names[:6]),
        way_out="fetch the whole table, or describe the file: borgtrace dialect sniff FILE",
    )
