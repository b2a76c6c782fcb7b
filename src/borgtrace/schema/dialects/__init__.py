"""Trace formats, each one value: everything in which two traces differ is asked here."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from borgtrace.errors import UsageError
from borgtrace.schema.dialects.declaration import declared_dialect
from borgtrace.schema.dialects.format_files import read_formats
from borgtrace.schema.dialects.raw import Absent, Flattened, RawField, RawTable
from borgtrace.schema.dialects.trace_format import (
    Citation,
    Codes,
    Conversion,
    Dialect,
    Publication,
    Rate,
)

DIALECTS: dict[str, Dialect] = read_formats(Path(__file__).parent)
"""Known trace formats by name: all files of this package, so that a new one is a new file."""
GOOGLE_2011, GOOGLE_2019, KAGGLE_2019 = (DIALECTS[name] for name in ("2011", "2019", "kaggle-2019"))

PUBLISHED: tuple[Dialect, ...] = tuple(
    one for one in DIALECTS.values() if one.name == one.trace and one.conversion is None
)
"""Google's traces; what is flattened, or published beside one, is a part of it, and others are converted."""

DECLARED: dict[str, Dialect] = {}
"""Formats of own data that were declared in this process: by files, or by stores that were made with them."""


def declare(declaration: Mapping[str, Any], where: str) -> Dialect:
    """Make the format that a file for ``--dialect`` declares, and know it by its name from now on.

    Parameters
    ----------
    declaration
        What the file says.
    where
        The file, for errors.
    """
    made = declared_dialect(declaration, where)
    # The first one made stays: raw layouts are cached by the identity of their format.
    return DECLARED.setdefault(made.name, made)


def dialect(name: str) -> Dialect:
    """Return the trace format of a name, as options and manifests write it.

    Raises
    ------
    UsageError
        When there is none of that name.

    Examples
    --------
    >>> dialect("2011").title
    'Google cluster trace 2011'
    """
    if name in DECLARED:
        return DECLARED[name]
    if name not in DIALECTS:
        raise UsageError(
            "dialect", "no such trace format", expected=", ".join(DIALECTS), got=name or "none"
        )
    return DIALECTS[name]


__all__ = [
    "DECLARED",
    "DIALECTS",
    "GOOGLE_2011",
    "GOOGLE_2019",
    "KAGGLE_2019",
    "PUBLISHED",
    "Absent",
    "Citation",
]
__all__ += [
    "Codes",
    "Conversion",
    "Dialect",
    "Flattened",
    "Publication",
    "Rate",
    "RawField",
    "RawTable",
    "declare",
]
__all__ += ["dialect"]
