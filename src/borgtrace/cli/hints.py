"""Hints are commands that work when they are pasted, whatever files are called."""

import shlex
from pathlib import Path


def shell_word(path: Path | str) -> str:
    """Return a path as a word of a shell.

    Parameters
    ----------
    path
        Of a file or a folder, or a URL.

    Examples
    --------
    >>> shell_word("cell-2011"), shell_word("my cell"), shell_word("-cell")
    ('cell-2011', "'my cell'", './-cell')
    """
    text = str(path)
    # A name that begins with a hyphen would be taken for an option.
    return shlex.quote(f"./{text}" if text.startswith("-") else text)
