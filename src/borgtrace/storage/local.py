"""Places: files and folders of this machine; of a bucket, where that can be; any other URL is refused."""

import os
import re
from pathlib import Path

from borgtrace.errors import UsageError
from borgtrace.storage.remote import SCHEME, RemotePath

BUCKETS = ("s3://", "gs://", "abfs://", "abfss://")
"""How URLs of buckets begin."""


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
    if SCHEME.match(str(place)):
        expected, way_out = (
            "a file or folder of this machine",
            "copy it here first, or mount the bucket",
        )
        raise UsageError(
            SCHEME.sub(r"\1://", str(place)), "a URL", expected=expected, way_out=way_out
        )
    return Path(place)


def place(text: str | Path) -> Path:
    """Return a place as a path of this machine or of a bucket.

    Raises
    ------
    UsageError
        For a URL of another kind, or one that holds a password.

    Examples
    --------
    >>> str(place(Path("s3://bucket/store")) / "manifest.json"), str(place("file:///data/store"))
    ('s3://bucket/store/manifest.json', '/data/store')
    """
    url = SCHEME.sub(lambda found: f"{found[1].lower()}://", str(text))
    if url.startswith("file:"):
        return Path(url.removeprefix("file:/"))
    if not url.startswith(BUCKETS):
        return local(text)
    if re.match("[a-z0-9]+://[^@/]*:[^/]*@", url):
        way_out = "leave them to the environment: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
        raise UsageError(
            f"{url.partition('/')[0]}//…", "the URL holds credentials", way_out=way_out
        )
    return RemotePath(url)


def user_cache() -> Path:
    """Return the folder of what may be computed again, as the user's environment names it; it need not exist."""
    # Not `Path.home()`, which raises where there is none: nothing can be kept then, and that is all.
    home = Path(os.environ.get("HOME") or os.devnull)
    return Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache") / "borgtrace"
