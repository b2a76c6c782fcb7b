"""What a killed ingest left in the folder of a store: finish it or remove it."""

from pathlib import Path

from borgtrace.ingest.build.freed_rows import finished_files
from borgtrace.storage import INCOMPLETE, RemotePath, remove
from borgtrace.store.layout import Layout
from borgtrace.store.swap import finish_swap


def tidy(layout: Layout) -> None:
    """Finish an interrupted swap or removal of a store, and delete unfinished files that the next run makes again.

    Parameters
    ----------
    layout
        Of the store; its lock must be held.
    """
    if _is_being_cleared(layout):
        clear(layout)
    finish_swap(layout)
    remove_unfinished(layout)
    remove(layout.spill)
    if isinstance(layout.staging, RemotePath):
        # Copies of parts for a build that was interrupted.
        remove(layout.root / layout.staging.name)
        return
    # Parts whose ledger entry is missing stay: they are written again under the same name.
    for path in layout.staging.rglob(f"*{INCOMPLETE}"):
        path.unlink()


def remove_unfinished(layout: Layout) -> None:
    """Remove what a killed build left of the next version, but for files that alone have rows that were staged.

    Parameters
    ----------
    layout
        Of the store; its lock must be held.
    """
    kept = finished_files(layout)
    if not kept:
        remove(layout.unfinished)
        return
    folders = {path.parent for path in kept}
    for path in (*layout.unfinished.glob("*"), *layout.unfinished.glob("*/*")):
        if path not in kept | folders:
            remove(path)


def clear(layout: Layout) -> None:
    """Remove a store of another version, but never a folder that is no store.

    Parameters
    ----------
    layout
        Of the store; its lock must be held.
    """
    is_store = layout.manifest.exists() or layout.staging.exists() or _is_being_cleared(layout)
    if not is_store:
        return
    layout.discarded.mkdir(exist_ok=True)
    for path in _in_order_of_removal(layout):
        path.rename(layout.discarded / path.name)
    remove(layout.discarded)


def _in_order_of_removal(layout: Layout) -> list[Path]:
    """Return the entries of a store's folder: the manifest first, staged parts last but for what was made of them.

    A manifest in the discarded folder tells the next run that all of the rest has to go too.  As long as staged parts
    are there, the folder is recognized as a store.  Staged parts may lack rows that an unfinished version has; without
    them, the next run removes that one.
    """
    # This process holds the lock.
    kept = (layout.lock, layout.discarded)
    paths = sorted(path for path in layout.root.iterdir() if path not in kept)
    last = (layout.staging, layout.unfinished)
    paths.sort(key=lambda path: (path != layout.manifest, path in last, path == layout.unfinished))
    return paths


def _is_being_cleared(layout: Layout) -> bool:
    return (layout.discarded / layout.manifest.name).exists()
