"""Trace formats, each one value: everything in which two traces differ is asked here."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from borgtrace.errors import UsageError
from borgtrace.schema.dialects.google2011 import GOOGLE_2011
from borgtrace.schema.dialects.google2019 import GOOGLE_2019
from borgtrace.schema.dialects.kaggle2019 import KAGGLE_2019
from borgtrace.schema.dialects.raw import Absent, Flattened, RawField, RawTable
from borgtrace.schema.dialects.trace_format import Citation, Codes, Dialect, Publication, Rate

_MODULES = [import_module(f"{__name__}.{found.name}") for found in iter_modules(__path__)]
DIALECTS: dict[str, Dialect] = {
    one.name: one for module in _MODULES for one in vars(module).values() if isinstance(one, Dialect)
}
"""Known trace formats by name: all that modules of this package define, so that a new one is one new file."""

PUBLISHED: tuple[Dialect, ...] = tuple(one for one in DIALECTS.values() if one.flattened is None)
"""Those with tables of their own; the rows of a flattened file come from one of these."""


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
    if name not in DIALECTS:
        raise UsageError("dialect", "no such trace format", expected=", ".join(DIALECTS), got=name or "none")
    return DIALECTS[name]


__all__ = [
    "DIALECTS",
    "GOOGLE_2011",
    "GOOGLE_2019",
    "KAGGLE_2019",
    "PUBLISHED",
    "Absent",
    "Citation",
    "Codes",
    "Dialect",
    "Flattened",
    "Publication",
    "Rate",
    "RawField",
    "RawTable",
    "dialect",
]
