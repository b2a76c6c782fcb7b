"""Which files of a store are byte for byte as they were written: each is read once, not at every opening.

A file that has kept its size, its inode and its times since its digest was last compared has not been written to: the
kernel sets the time of its last change, and nobody can set that back. A file that was copied, moved to another disk or
changed is read again. Decay below the file system shows in ``verify``, which reads everything.
"""

import hashlib
import json
import os
import time
import warnings
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from borgtrace.errors import StoreNotice
from borgtrace.storage import RemotePath, read_text, user_cache, write_file
from borgtrace.store.digest import file_digests

CLOCK_STEP = 20_000_000
"""Nanoseconds within which two changes of a file may get the same time: kernels count in steps of up to 10 ms."""
LONG_READ = 1 << 30
"""Bytes that take seconds to read."""


class FileState(NamedTuple):
    """What changes whenever a file is written to; times in ns."""

    size: int
    written: int
    changed: int
    inode: int
    device: int


Comparisons = Mapping[str, list[str | int]]
"""By file, the digest that it had when it was last compared, and its state then."""


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
        # Reading all of a bucket is for `verify`: here names are compared, a request for each thousand.
        present_names = {path.relative_to(root).as_posix() for path in root.listing()}
        return dict.fromkeys(digests.keys() - present_names)
    states = {name: _state(root / name) for name in digests}
    present = {name: state for name, state in states.items() if state is not None}
    missing = states.keys() - present.keys()
    compared_before = read_comparisons(root)
    began = time.time_ns()
    unread = [
        name
        for name, state in present.items()
        if compared_before.get(name) != [digests[name], *state]
    ]
    if not unread:
        return dict.fromkeys(missing)
    size = sum(present[name].size for name in unread)
    new_digests = _read_digests(root, unread, size)
    changed = {name for name, digest in new_digests.items() if digest != digests[name]}
    settled = {
        name: [digests[name], *state]
        for name, state in sorted(present.items())
        # A file that changed a moment ago may change once more at the same time: it is read again next time.
        if name not in changed and state.changed + CLOCK_STEP < began
    }
    # With what is known of other files: arrays that are made on first use are compared one by one.
    others = {name: entry for name, entry in compared_before.items() if name not in digests}
    with suppress(OSError):
        write_file(comparisons_file(root), json.dumps(others | settled))
    return {name: new_digests.get(name) for name in digests if name in changed or name in missing}


def _read_digests(root: Path, names: Iterable[str], size: int) -> dict[str, str]:
    """Return the digests of files that have `size` bytes together."""
    if size >= LONG_READ:
        warnings.warn(
            StoreNotice(
                f"{root}: new here: {size / 1e9:.1f} GB are compared with their digests, once"
            ),
            stacklevel=3,
        )
    paths = {name: root / name for name in names}
    # Gigabytes are shared by the cores; for one file, starting threads takes longer than reading.
    threads = (os.cpu_count() or 1) if len(paths) > 1 else 1
    return file_digests(paths, threads)


def _state(path: Path) -> FileState | None:
    try:
        status = path.stat()
    # Another error says nothing about whether it is there.
    except (FileNotFoundError, NotADirectoryError):
        return None
    return FileState(
        size=status.st_size,
        written=status.st_mtime_ns,
        changed=status.st_ctime_ns,
        inode=status.st_ino,
        device=status.st_dev,
    )


def read_comparisons(root: Path) -> Comparisons:
    """Return the comparisons made before; none where they cannot be read, for whatever reason."""
    try:
        comparisons = json.loads(read_text(comparisons_file(root)))
    except (OSError, ValueError):
        return {}
    return comparisons if isinstance(comparisons, dict) else {}


def comparisons_file(root: Path) -> Path:
    """Return where this user's comparisons of a store are: outside, since a store may be read-only or shared."""
    path = str(root.resolve()).encode(errors="surrogateescape")
    digest = hashlib.sha256(path).hexdigest()
    return user_cache() / f"{digest[:16]}.json"
