"""Put a finished new version in place, in steps that may be repeated after a crash.

``next/`` is complete when it has that name: everything in it, the manifest last, replaces what is in the store. While
the manifest is away, readers report a half-built store.
"""

import os

from borgtrace.storage import remove
from borgtrace.store.layout import Layout


def commit_next(layout: Layout) -> None:
    """Declare ``next.incomplete`` complete and put it in place."""
    layout.unfinished.rename(layout.next)
    finish_swap(layout)


def finish_swap(layout: Layout) -> bool:
    """Finish a swap that was begun, if there is one; return whether there was."""
    # A removal may have been cut off, and the next staged parts need the name.
    remove(layout.discarded)
    remove(layout.replaced)
    if not layout.next.exists():
        return False
    replacement = layout.next / layout.manifest.name
    if replacement.exists():
        # First: until the new manifest arrives, no reader must take a mixture of two versions for a store.
        layout.manifest.unlink(missing_ok=True)
        # After a crash this loop goes on with what is still in ``next``; moved entries are no longer there.
        for entry in sorted(layout.next.iterdir()):
            if entry != replacement:
                replace_entry(layout, entry.name)
        replacement.rename(layout.manifest)
    # Only now: until here the staged parts are the only copy of rows that the store does not hold yet. In one step:
    # half of them would look like rows that are still to come. And while ``next`` is there: by it a later run knows
    # that the store holds these rows.
    if layout.staging.exists():
        layout.staging.rename(layout.discarded)
    # Not rmtree: the folder must be empty now, and anything left in it would be a reason to stop.
    layout.next.rmdir()
    remove(layout.discarded)
    remove(layout.replaced)
    return True


def replace_entry(layout: Layout, name: str) -> None:
    """Move a file or folder of the next version to its place in the store.

    The present one is moved away and removed later: readers find no store meanwhile, and renaming takes microseconds.
    A link to a folder elsewhere is moved as a link, and the folder stays as it is.
    """
    target = layout.root / name
    if os.path.lexists(target):
        layout.replaced.mkdir(exist_ok=True)
        target.rename(layout.replaced / name)
    (layout.next / name).rename(target)
