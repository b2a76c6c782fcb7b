"""What is said of a store whose first times lie before the clock of stores begins."""

from borgtrace.schema.time import SECOND, TRACE_START
from borgtrace.store.manifest import Manifest


def notes_on_first_times(manifest: Manifest) -> list[str]:
    """Return a note where a format of one's own has times below 600 s: its clock may begin at 0.

    Parameters
    ----------
    manifest
        Of the store that was built.
    """
    is_own = bool(manifest.declaration)
    # A conversion sets the clock itself.
    if not is_own or manifest.dialect.conversion is not None:
        return []
    first = min((first for first, _ in manifest.time_range.values()), default=TRACE_START)
    if first >= TRACE_START:
        return []
    note = (
        f"The first time is {first / SECOND:g} s, but the clock of a store begins at 600 s: what lies before counts as "
        "before the trace. If the clock of the files begins at 0, add offset=600_000_000 to their fields of time."
    )
    return [] if note in manifest.notes else [note]
