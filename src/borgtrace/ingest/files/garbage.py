"""Letting Python's collector of cycles rest while many small objects are made, of which none is in a cycle."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_collection() -> Iterator[None]:
    """Let the collector of cycles rest.

    Of samples of series it looked at each again and again, and took nine tenths of the time; while own data are looked
    at, it looks at all modules once or twice, which takes as long as to parse 20,000 records.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
