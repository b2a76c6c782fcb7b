"""Ingests that leave nothing to store: all rows were refused, or there were none."""

from collections import Counter
from collections.abc import Sequence

from borgtrace.errors import SchemaError, SourceError
from borgtrace.schema.reasons import REASONS
from borgtrace.store.manifest import SourceEntry
from borgtrace.store.refusals import lines_of_refusals

_MEASUREMENTS = "usage_rows"
"""Rows without which the others of a converted format say little: tasks and machines that use nothing."""
_MOST_FILES = 3
"""Files that a message names."""


def entries_without_rows(staged: Sequence[SourceEntry]) -> list[SourceEntry]:
    """Return the staged files for which nothing is to be built: all of them, or those of usage; else none.

    Parameters
    ----------
    staged
        All files that a store would be built of.
    """
    usage = [entry for entry in staged if entry.table == _MEASUREMENTS]
    for entries in (list(staged), usage):
        if entries and not any(entry.stored for entry in entries):
            return entries
    return []


def no_rows_error(entries: Sequence[SourceEntry], faults: Sequence[SourceError]) -> SchemaError:
    """Return the error for files without a row that can be stored.

    Parameters
    ----------
    entries
        The files.
    faults
        What is wrong with other files, which could not be read at all.
    """
    n_rows = sum(entry.rows_in for entry in entries)
    others = [str(fault) for fault in faults]
    files = [entry.file for entry in entries]
    more = f" and {len(files) - _MOST_FILES} more" if len(files) > _MOST_FILES else ""
    where = ", ".join(files[:_MOST_FILES]) + more
    if not n_rows:
        return SchemaError(
            where,
            "; ".join(("no rows", *others)),
            expected="at least one row",
            way_out="name files with rows; nothing was stored",
        )
    refusals = lines_of_refusals(entries)
    if not refusals:
        return SchemaError(
            where,
            "; ".join(("no row of a kind that is stored", *others)),
            expected="at least one row",
            got=_reasons(entries),
            way_out="name files with rows; nothing was stored",
        )
    all_rows = "the only row was" if n_rows == 1 else f"all {n_rows:,} rows were"
    return SchemaError(
        where,
        "; ".join((f"{all_rows} refused: {refusals[0]}", *refusals[1:], *others)),
        way_out="correct the rows, or say how they are written "
        "(borgtrace dialect sniff FILE > own.toml, and --dialect own.toml); nothing was stored",
    )


def _reasons(entries: Sequence[SourceEntry]) -> str:
    """Say why rows are left out, how many for each reason."""
    counts: Counter[str] = Counter()
    for entry in entries:
        counts.update(entry.counters)
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    parts = [
        f"{number:,} × {code}: {REASONS[code].sentence.rstrip('.')}" for code, number in ordered
    ]
    return "; ".join(parts) or "rows of other cells"
