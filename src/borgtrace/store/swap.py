"""Putting a finished new version in place, in steps that may be repeated after a crash.

``next/`` is complete when it has that name: everything in it, the manifest last, replaces what is
in the store.  While the manifest is away, readers see a half-built store and say so.
"""

import shutil

from borgtrace.storage import remove
from borgtrace.store.layout import Layout


def commit_next(layout: Layout) -> None:
    """Declare ``next.incomplete`` complete and put it in place."""
    layout.unfinished.rename(layout.next)
    finish_swap(layout)


def finish_swap(layout: Layout) -> bool:
    """Finish a swap that was begun, if there is one; return whether there was."""
    # What was cut off while it was removed: the next staged parts need the name.
    remove(layout.discarded)
    if not layout.next.exists():
        return False
    replacement = layout.next / layout.manifest.name
    if replacement.exists():
        # First: from here until the new manifest arrives, no reader takes half of each version for a store.
        layout.manifest.unlink(missing_ok=True)
        # After a crash this loop goes on with what is still in ``next``; what was moved is no longer there.
        for entry in sorted(layout.next.iterdir()):
            if entry != replacement:
                _replace(layout, entry.name)
        replacement.rename(layout.manifest)
    # Only now: until here the staged parts are the only copy of rows that the store does not hold yet.  In one step:
    # half of them would be taken for rows that are still to come.  And while ``next`` is there, by which a run that
    # finds the rest knows that the store holds these rows.
    if layout.staging.exists():
        layout.staging.rename(layout.discarded)
    # Not rmtree: the folder is empty now, and anything left in it would be a reason to stop.
    layout.next.rmdir()
    remove(layout.discarded)
    return True


def _replace(layout: Layout, name: str) -> None:
    target = layout.root / name
    if target.exists():
        shutil.rmtree(target)
    (layout.next / name).rename(target)
