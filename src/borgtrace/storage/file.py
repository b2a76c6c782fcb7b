"""One file, written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

from borgtrace.storage.folder import INCOMPLETE


def write_file(path: Path, content: bytes | str) -> None:
    """Write beside `path`, then rename into place: a reader sees the old content or all of the new.

    Parameters
    ----------
    path
        The file; folders that it lacks are made.
    content
        Bytes, or text that is written as UTF-8.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    incomplete = path.with_name(f"{path.name}.{os.getpid()}{INCOMPLETE}")
    incomplete.write_bytes(content.encode() if isinstance(content, str) else content)
    incomplete.replace(path)
