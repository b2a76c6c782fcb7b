"""Check where an output may go: into no store, over no input, and to a name that can be written."""

from collections.abc import Iterable
from pathlib import Path

from borgtrace.errors import UsageError
from borgtrace.schema import TABLES
from borgtrace.storage import RemotePath, require_replaceable
from borgtrace.store.layout import Layout


def checked_target(
    target: Path,
    inputs: Iterable[Path] = (),
    *,
    may_be_store: bool = False,
) -> Path:
    """Return where an output really goes, with links followed.

    Parameters
    ----------
    target
        The file or folder that is to be written, here or in a bucket.
    inputs
        What is read: stores, other folders and files.
    may_be_store
        Whether `target` may be a store, to which more is added; it must not lie in one all the same.

    Raises
    ------
    UsageError
        It is a link to nothing, a pipe or a device, lies in a store, or is read, too.
    """
    if isinstance(target, RemotePath):
        _refuse_stores(target, [folder for folder in (target, *target.parents) if folder in inputs])
        return target
    if target.is_symlink() and not target.exists():
        raise UsageError(
            str(target),
            "a link to a place that is not there",
            way_out="remove the link, or name the place itself",
        )
    # Before the work, which may take hours.
    require_replaceable(target)
    place = target.resolve()
    above = place.parents if may_be_store else (place, *place.parents)
    _refuse_stores(target, [folder for folder in above if is_store(folder)])
    for path in inputs:
        if not isinstance(path, RemotePath) and path.is_file() and place == path.resolve():
            raise UsageError(
                str(target),
                "is read as well",
                expected="another file",
                way_out="name another place for the output",
            )
    # A name of its own, which `.` and `..` lack; others are shown as they were typed.
    is_nameless = target.name in ("", "..") or target.is_symlink()
    return place if is_nameless else target


def _refuse_stores(target: Path, stores: Iterable[Path]) -> None:
    for store in stores:
        raise UsageError(
            str(target),
            "lies in a store, which holds nothing else",
            expected=f"a place outside {store}",
            way_out="name another place for the output",
        )


def is_store(folder: Path) -> bool:
    """Return whether a folder of this machine is a store, be it half-built or damaged."""
    layout = Layout(folder)
    # Of a store that is not complete: what is staged, or a version that is about to be put in place.
    if (layout.staging / "ledger").is_dir() or (layout.next / "manifest.json").is_file():
        return True
    if not layout.manifest.is_file():
        return False
    return layout.traces.is_dir() or any(layout.table(name).is_dir() for name in TABLES)
