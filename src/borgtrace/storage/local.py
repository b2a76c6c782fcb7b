"""Places are files and folders of this machine: a URL is refused, before it becomes a folder of that name."""

import re
from pathlib import Path

from borgtrace.errors import UsageError

# At least two letters: a single one is a drive of Windows.  One slash: a `Path` keeps no second one.
_SCHEME = re.compile(r"^([a-z][a-z0-9+.-]+):/+", re.IGNORECASE)


def local(place: str | Path) -> Path:
    """Return a place as a path of this machine.

    Raises
    ------
    UsageError
        For a URL, of any scheme.

    Examples
    --------
    >>> local("cell/store").parts
    ('cell', 'store')
    >>> local(Path("gs://bucket/store"))
    Traceback (most recent call last):
    borgtrace.errors.UsageError: gs://bucket/store: a URL: expected a file or folder of this machine; copy it here \
first, or mount the bucket
    """
    text = str(place)
    if _SCHEME.match(text):
        raise UsageError(
            _SCHEME.sub(r"\1://", text),
            "a URL",
            expected="a file or folder of this machine",
            way_out="copy it here first, or mount the bucket",
        )
    return Path(place)
