"""Where machine code is kept: beside its source, else in a folder of the user's, and what the package brings along."""

import os
import stat
import sysconfig
import tempfile
from functools import cache
from importlib.metadata import version
from pathlib import Path

from borgtrace.user_cache import user_cache

_PYTHON = sysconfig.get_config_var("SOABI")
SHIPPED = Path(__file__).parent / "machine_code" / f"{_PYTHON}-numba-{version('numba')}"
"""Machine code for a portable CPU that the wheel brings along, of this Python and Numba; it need not be there."""


@cache
def folder_to_write(source_folder: Path) -> Path | None:
    """Return where machine code of functions in a folder is kept, or None where nothing can be written.

    The first of these that can be written to: the folder of ``NUMBA_CACHE_DIR``, and no other where it is set;
    ``__pycache__`` beside the source; the user's cache folder; a folder of the user's own among temporary files.

    Parameters
    ----------
    source_folder
        Where the source is.
    """
    chosen = _chosen_folder()
    if chosen:
        return chosen if _is_writable(chosen) else None
    for folder in (source_folder / "__pycache__", user_cache() / "machine-code"):
        if _is_writable(folder):
            return folder
    return _temporary_folder()


@cache
def folders_to_read(source_folder: Path) -> tuple[Path, ...]:
    """Return where machine code of functions in a folder may lie, in the order to look.

    Beside the source also where it was written by somebody else: whoever installed the package for all.

    Parameters
    ----------
    source_folder
        Where the source is.
    """
    folders = []
    writable = folder_to_write(source_folder)
    if writable:
        folders.append(writable)
    beside = source_folder / "__pycache__"
    if not _chosen_folder() and writable != beside:
        folders.append(beside)
    folders.append(SHIPPED)
    return tuple(folders)


def _chosen_folder() -> Path | None:
    """Return the folder that Numba's variable names."""
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    return Path(chosen, "borgtrace") if chosen else None


def _is_writable(folder: Path) -> bool:
    """Whether a file can be written in a folder, which is made where it is missing."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return False
    return True


def _temporary_folder() -> Path | None:
    """Return a folder among temporary files that this user alone can read and write; None where there can be none."""
    try:
        folder = Path(tempfile.gettempdir()) / f"borgtrace-machine-code-{os.geteuid()}"
        folder.mkdir(mode=0o700, exist_ok=True)
        state = folder.lstat()
    except OSError:
        return None
    # Somebody else may have made it before us, to have us run what is in it.
    is_ours = stat.S_ISDIR(state.st_mode) and state.st_uid == os.geteuid()
    is_private = not state.st_mode & (stat.S_IRWXG | stat.S_IRWXO)
    return folder if is_ours and is_private and _is_writable(folder) else None
