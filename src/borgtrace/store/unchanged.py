"""Which files of a store are byte for byte as they were written: each is read once, not at every opening.

A file that has kept its size, its inode and its times since its digest was last compared has not been written to: the
kernel sets the time of its last change, and nobody can set that back.  A file that was copied, moved to another disk
or changed is read again.  What decays below the file system shows in ``verify``, which reads everything.
"""

import hashlib
import json
import os
import time
import warnings
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from borgtrace.errors import StoreNotice
from borgtrace.storage import RemotePath, user_cache, write_file
from borgtrace.store.digest import file_digests

State = tuple[int, int, int, int]
"""Size, time of the last write, time of the last change of anything (both in ns), inode."""
_TICK = 20_000_000
"""Nanoseconds within which two changes of a file may get the same time: kernels count in steps of up to 10 ms."""
_LONG = 1 << 30
"""Bytes that take seconds to read."""


def changed_files(root: Path, digests: Mapping[str, str]) -> dict[str, str | None]:
    """Return the files that are not as they were written, with the digests that they have; None for a missing one.

    Parameters
    ----------
    root
        The store.
    digests
        SHA-256 of its files, by their paths in the store.
    """
    if isinstance(root, RemotePath):
        # To read all of a bucket is for `verify`: here its names count, which take a request for each thousand.
        return dict.fromkeys(
            digests.keys() - {path.relative_to(root).as_posix() for path in root.listing()}
        )
    states = {name: _state(root / name) for name in digests}
    known, began = _known(root), time.time_ns()
    held = {name: state for name, state in states.items() if state is not None}
    unread = {
        name: root / name
        for name, state in held.items()
        if known.get(name) != [digests[name], *state]
    }
    if not unread:
        return dict.fromkeys(states.keys() - held.keys())
    _announce(root, sum(held[name][0] for name in unread))
    # Gigabytes are shared by the cores; for less, starting threads takes longer than reading.
    found = file_digests(unread, os.cpu_count() or 1) if len(unread) > 1 else file_digests(unread)
    sound = held.keys() - {name for name, digest in found.items() if digest != digests[name]}
    # What was changed a moment ago may be changed once more without another time: it is read again next time.
    settled = {
        name: [digests[name], *held[name]]
        for name in sorted(sound)
        if held[name][2] + _TICK < began
    }
    with suppress(OSError):
        # With what is known of other files: arrays that are made on first use are compared one by one.
        others = {name: state for name, state in known.items() if name not in digests}
        write_file(_record(root), json.dumps(others | settled))
    return {name: found.get(name) for name in digests if name not in sound}


def _announce(root: Path, size: int) -> None:
    if size >= _LONG:
        warnings.warn(
            StoreNotice(
                f"{root}: new here: {size / 1e9:.1f} GB are compared with their digests, once"
            ),
            stacklevel=2,
        )


def _state(path: Path) -> State | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino


def _known(root: Path) -> dict[str, list[str | int]]:
    """Return digest and state of the files that were compared before; whatever is wrong with them, they are unknown."""
    try:
        known = json.loads(_record(root).read_text())
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}


def _record(root: Path) -> Path:
    """Return where this user's comparisons of a store are kept: outside, since a store may be read-only or shared."""
    name = hashlib.sha256(str(root.resolve()).encode(errors="surrogateescape")).hexdigest()[:16]
    return user_cache() / f"{name}.json"
