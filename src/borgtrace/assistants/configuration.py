"""What adds a store to an assistant: the entry of its configuration that starts our server."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from borgtrace.store import Store


def command_line(store: Store, options: Sequence[str] = ()) -> list[str]:
    """Return the words of the command that serves a store, from any folder.

    Parameters
    ----------
    store
        An open store.
    options
        Further words.
    """
    return [*whole_paths(store), *options]


def whole_paths(store: Store) -> list[str]:
    """Return the command with the program and the store by whole paths."""
    # An assistant starts the server in a folder, and with a PATH, of its own.
    return [sys.executable, "-m", "borgtrace", "mcp", str(store.path.absolute())]


def configuration_of(store: Store, words: Sequence[str]) -> dict[str, Any]:
    """Return the entry of a configuration, in the form that most assistants read (``mcpServers``).

    Parameters
    ----------
    store
        An open store.
    words
        What :func:`command_line` returns.
    """
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", store.path.name).strip("-") or "store"
    program, *arguments = words
    return {"mcpServers": {f"borgtrace-{name}": {"command": program, "args": arguments}}}


def source_words(sources: Sequence[str]) -> list[str]:
    """Return the options that name code of the user, files by their whole paths.

    Examples
    --------
    >>> source_words(["my_package"])
    ['--from', 'my_package']
    """
    words = []
    for source in sources:
        path = Path(source)
        words += ["--from", str(path.absolute()) if path.is_file() else source]
    return words
