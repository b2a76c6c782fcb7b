"""Why a command failed on a store: because of what it was asked, or because a file is not as it was written?"""

import os
from pathlib import Path

from borgtrace.errors import BorgtraceError, StoreError

# What DuckDB calls faults of a query and of the machine; what else it says of a query may come from a damaged file.
_NO_DAMAGE = ("Parser", "Binder", "Catalog", "Permission", "Out of Memory", "Conversion", "Not implemented")


def damage_behind(error: Exception, store: object) -> StoreError | None:
    """Return the error of a damaged store, where a command failed on one; None where the store is whole.

    Only asked when a command has failed in a way that it does not explain itself, since every file is read.

    Parameters
    ----------
    error
        What the command raised.
    store
        Its argument of this name.
    """
    if not isinstance(store, Path) or _is_explained(error):
        return None
    from borgtrace.cli._console import talk
    from borgtrace.store.layout import Layout
    from borgtrace.store.verify import as_error, verify

    if not Layout(store).manifest.is_file():
        return None
    with talk.status("looking whether the store is damaged"):
        try:
            return as_error(store, verify(store, threads=os.cpu_count() or 1))
        except StoreError as damaged:
            return damaged


def _is_explained(error: Exception) -> bool:
    if not isinstance(error, BorgtraceError):
        return False
    cause = error.__cause__
    of_files = isinstance(cause, OSError) or type(cause).__module__.startswith(("duckdb", "_duckdb", "pyarrow"))
    return isinstance(error, StoreError) or not of_files or str(cause).startswith(_NO_DAMAGE)
