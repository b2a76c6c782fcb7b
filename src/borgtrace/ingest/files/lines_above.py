"""Lines above the header of delimited text: comments, empty ones, and what separates the fields."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from borgtrace.ingest.files.separators import separator_of, split_fields

_SEPARATOR_LINE = re.compile(r'"?sep=(.|\\t)"?\s*', re.IGNORECASE)
_EXPOSITION = re.compile(r"# *(HELP|TYPE|UNIT|EOF)\b")
"""Comments that mean something, in the text form of Prometheus."""
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
_COMMENT_MARK = re.compile(r"#+ *")


class LinesAbove(NamedTuple):
    """What is passed over: bytes in UTF-8, and how many lines these are."""

    n_bytes: int
    n_lines: int


NOTHING = LinesAbove(0, 0)


def lines_above_header(head: bytes) -> LinesAbove:
    r"""Return what stands above the header of a text that begins with some bytes.

    Where the names of the columns are a comment themselves, only its mark is passed over.

    Parameters
    ----------
    head
        The first bytes, in UTF-8.

    Examples
    --------
    >>> lines_above_header(b"sep=;\n# of web\ntask;cpu\n"), lines_above_header(b"# task,cpu\nweb,1\n")
    (LinesAbove(n_bytes=15, n_lines=2), LinesAbove(n_bytes=2, n_lines=0))
    """
    if not head[:1].isspace() and head[:1] not in (b"#", b"s", b"S", b'"'):
        return NOTHING
    lines = head.decode("utf-8", "surrogateescape").split("\n")
    n_above = 0
    while n_above < len(lines) - 1 and _is_above(lines[n_above]):
        n_above += 1
    above, below = lines[:n_above], [line for line in lines[n_above:-1] if line.strip()]
    if not n_above or any(_EXPOSITION.match(line) for line in above) or not _are_fields(below):
        return NOTHING
    comment = above[-1]
    if comment.startswith("#") and _names_columns(comment, below):
        n_bytes = _length(above[:-1]) + len(_COMMENT_MARK.match(comment)[0])  # type: ignore[index]
        return LinesAbove(n_bytes, n_above - 1)
    return LinesAbove(_length(above), n_above)


def _length(lines: Sequence[str]) -> int:
    return sum(len(line.encode("utf-8", "surrogateescape")) + 1 for line in lines)


def _is_above(line: str) -> bool:
    bare = line.strip("\r")
    return not bare.strip() or line.startswith("#") or bool(_SEPARATOR_LINE.fullmatch(bare))


def _are_fields(lines: Sequence[str]) -> bool:
    separator = separator_of(lines)
    return bool(lines) and len(split_fields(lines[0], separator)) > 1


def _names_columns(comment: str, rows: Sequence[str]) -> bool:
    """Return whether a comment names the columns of the rows below: words alone, one for each of their fields."""
    separator = separator_of(rows)
    first = split_fields(rows[0], separator)
    names = split_fields(comment.strip(), separator)
    has_numbers = any(_NUMBER.fullmatch(text.strip()) for text in first)
    return (
        has_numbers
        and len(names) == len(first)
        and not any(_NUMBER.fullmatch(name.strip()) for name in names)
    )
