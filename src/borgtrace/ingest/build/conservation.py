"""The law of conservation: every row of every file is stored, or refused with a reason."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from borgtrace.errors import StoreError
from borgtrace.store.manifest import SourceEntry


def rows_of_table(name: str, entry: SourceEntry) -> int:
    """Return how many rows of a table a source gave."""
    return entry.stored if entry.table == name else entry.also.get(name, 0)


def conserve(root: Path, entries: Sequence[SourceEntry], rows: Mapping[str, int]) -> None:
    """Check the law of conservation: every row of every file is accounted for.

    Parameters
    ----------
    root
        The store, for the message.
    entries
        Its ledger.
    rows
        What each table has.

    Raises
    ------
    StoreError
        When rows went missing on the way, which would be our fault.
    """
    for entry in entries:
        if not entry.is_conserved:
            accounted = entry.stored + entry.quarantined
            raise not_conserved(root, entry.name, entry.rows_in, accounted)
    for name, n_stored in rows.items():
        expected = sum(rows_of_table(name, entry) for entry in entries)
        if n_stored != expected:
            raise not_conserved(root, name, expected, n_stored)


def not_conserved(
    root: Path,
    what: str,
    expected: int,
    got: int,
) -> StoreError:
    """Return the error of a build that lost rows.

    Parameters
    ----------
    root
        The store.
    what
        Whose rows they are.
    expected, got
        How many there should be, and are.
    """
    return StoreError(
        str(root),
        f"rows of {what} are not conserved",
        expected=f"{expected} rows",
        got=f"{got}",
        way_out="this is a bug in borgtrace, and the store was not changed; please report it",
    )
