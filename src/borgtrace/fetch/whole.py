"""Check that a gzip or Parquet file begins and ends as such a file must."""

from pathlib import Path

from isal import igzip, isal_zlib

GZIP_MAGIC = b"\x1f\x8b"
PARQUET_MAGIC = b"PAR1"
_BLOCK = 1 << 20
_SHOWN = 40


def starts_right(head: bytes) -> bool:
    """Return whether the first bytes are those of gzip or Parquet: an error page's are not.

    A published ``.parquet.gz`` may be plain Parquet, so the name does not matter.
    """
    return head.startswith((GZIP_MAGIC, PARQUET_MAGIC))


def flaw(path: Path) -> str | None:
    """Read a file to its end and say what is wrong with it; None when it is whole.

    gzip is unpacked (its trailer holds the length and CRC-32 of the content); of Parquet the closing
    magic is checked, after which nothing may come.
    """
    # Only for files without a published digest, which would have told already.
    with path.open("rb") as file:
        head = file.read(4)
        if head == PARQUET_MAGIC:
            # Not the first four bytes once more: a file of nothing but the magic is not whole.
            file.seek(max(4, path.stat().st_size - 4))
            return None if file.read() == PARQUET_MAGIC else "the Parquet file ends early"
    return _gzip_flaw(path) if head.startswith(GZIP_MAGIC) else "neither gzip nor Parquet"


def _gzip_flaw(path: Path) -> str | None:
    try:
        with igzip.open(path, "rb") as file:
            while file.read(_BLOCK):
                pass
    except EOFError:
        return "the gzip stream ends early"
    except (OSError, isal_zlib.error) as error:  # type: ignore[misc]
        return f"the gzip stream is damaged ({error})"
    return None


def describe(head: bytes) -> str:
    """Say in a few words what came instead of an archive.

    Examples
    --------
    >>> describe(b"<!DOCTYPE html><html>")
    'an HTML page'
    >>> describe(b"")
    'nothing'
    """
    text = head.lstrip().lower()
    if not text:
        return "nothing"
    if text.startswith((b"<!doctype html", b"<html")):
        return "an HTML page"
    if text.startswith(b"<?xml"):
        return "an XML page"
    return f"bytes that begin with {head[:_SHOWN]!r}"
