"""Texts as paths: of this machine, or of a bucket where that is possible; any other URL is refused."""

import os
from pathlib import Path

from borgtrace.errors import UsageError
from borgtrace.redaction import without_secrets
from borgtrace.storage.remote import SCHEME, RemotePath

BUCKETS = ("s3://", "gs://", "abfs://", "abfss://")
"""How URLs of buckets begin."""


def as_local_path(text: str | Path) -> Path:
    """Return a path of this machine.

    Raises
    ------
    UsageError
        For a URL, of any scheme, or a name that is not UTF-8.

    Examples
    --------
    >>> as_local_path("cell/store").parts
    ('cell', 'store')
    >>> as_local_path(Path("gs://bucket/store"))
    Traceback (most recent call last):
    borgtrace.errors.UsageError: gs://bucket/store: a URL: expected a file or folder of this machine; copy it here \
first, or mount the bucket
    """
    if SCHEME.match(str(text)):
        raise UsageError(
            SCHEME.sub(r"\1://", str(text)),
            "a URL",
            expected="a file or folder of this machine",
            way_out="copy it here first, or mount the bucket",
        )
    path = Path(text)
    if not is_utf8(path):
        raise UsageError(
            printable_name(path),
            "the name is not UTF-8",
            expected="a name that all programs can read",
            way_out="rename it, or make a link to it",
        )
    # DuckDB takes ~ for the home directory and Arrow x:y for a URL; an absolute path is neither.
    first_name = path.parts[0] if path.parts else ""
    is_ambiguous = first_name.startswith("~") or ":" in first_name
    return path.absolute() if is_ambiguous else path


def is_utf8(path: Path) -> bool:
    r"""Return whether a path is UTF-8: libraries can open no other.

    Examples
    --------
    >>> is_utf8(Path("café")), is_utf8(Path(os.fsdecode(b"caf\xe9")))
    (True, False)
    """
    try:
        str(path).encode()
    except UnicodeEncodeError:
        return False
    return True


def printable_name(path: Path) -> str:
    r"""Return a path as text that can be printed, whatever its bytes.

    Examples
    --------
    >>> print(printable_name(Path(os.fsdecode(b"caf\xe9"))))
    caf\xe9
    """
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def as_path(text: str | Path) -> Path:
    """Return a path of this machine or of a bucket.

    Raises
    ------
    UsageError
        For a URL of another kind, or one that holds a password.

    Examples
    --------
    >>> str(as_path(Path("s3://bucket/store")) / "manifest.json")
    's3://bucket/store/manifest.json'
    >>> str(as_path("file:///data/store"))
    '/data/store'
    """
    url = SCHEME.sub(lambda match: f"{match[1].lower()}://", str(text))
    if url.startswith("file:"):
        return as_local_path(url.removeprefix("file:/"))
    if not url.startswith(BUCKETS):
        return as_local_path(text)
    if without_secrets(url) != url:
        scheme = url.partition("/")[0]
        raise UsageError(
            f"{scheme}//…",
            "the URL holds credentials",
            way_out="leave them to the environment: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
        )
    return RemotePath(url)
