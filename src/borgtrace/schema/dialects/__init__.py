"""Trace formats, one module each: whatever differs between two traces is declared here."""

from __future__ import annotations

import copyreg
from collections.abc import Mapping
from typing import Any

from borgtrace.errors import UsageError, check_names
from borgtrace.extensions import Registry
from borgtrace.schema.dialects import (
    alea,
    alibaba2017,
    alibaba2018,
    alibaba_pai2020,
    azure2017,
    azure2019,
    azure_packing2020,
    bitbrains,
    bitbrains_cpu,
    crf2019,
    fdata,
    flat2019,
    google2011,
    google2019,
    helios,
    kaggle2019,
    openb,
    opendc,
    opendc2020,
    philly,
    planetlab,
    pm100,
    powerdata2019,
    prometheus,
    sacct,
    swf,
)
from borgtrace.schema.dialects.contract import check_dialect
from borgtrace.schema.dialects.declaration import declared_dialect
from borgtrace.schema.dialects.described import DESCRIPTION, describe, described_dialect
from borgtrace.schema.dialects.raw import Absent, Flattened, RawField, RawTable
from borgtrace.schema.dialects.trace_format import (
    EVENTS_FROM_TIMES,
    AnomalyRate,
    Citation,
    Codes,
    Conversion,
    Dialect,
    PriorityTier,
    Publication,
)

_MODULES = (
    alea,
    alibaba2017,
    alibaba2018,
    alibaba_pai2020,
    azure2017,
    azure2019,
    azure_packing2020,
    bitbrains,
    bitbrains_cpu,
    crf2019,
    fdata,
    flat2019,
    google2011,
    google2019,
    helios,
    kaggle2019,
    openb,
    opendc,
    opendc2020,
    philly,
    planetlab,
    pm100,
    powerdata2019,
    prometheus,
    sacct,
    swf,
)
DIALECTS: dict[str, Dialect] = {module.DIALECT.name: module.DIALECT for module in _MODULES}
"""Known trace formats, by name."""


def _pickled(trace_format: Dialect) -> Any:
    """Pickle a known format as its name: whole, it would be most of what each worker is sent and returns of a file."""
    if DIALECTS.get(trace_format.name) is trace_format:
        return dialect, (trace_format.name,)
    return object.__reduce_ex__(trace_format, 2)


copyreg.pickle(Dialect, _pickled)

GOOGLE_2011 = google2011.DIALECT
GOOGLE_2019 = google2019.DIALECT
KAGGLE_2019 = kaggle2019.DIALECT

PUBLISHED: tuple[Dialect, ...] = (GOOGLE_2011, GOOGLE_2019)
"""Google's traces, whose tables the store has; what is flattened, or published beside one, is a part of it."""

DECLARED: dict[str, Dialect] = {}
"""Formats of own data that were declared in this process: by files, or by stores that were made with them."""


def is_dialect(value: Any) -> bool:
    """Whether an object is a trace format."""
    return isinstance(value, Dialect)


DIALECT_KINDS = Registry[Dialect](
    "trace format",
    "borgtrace.dialects",
    DIALECTS,
    is_dialect,
    "DIALECT = borgtrace.Dialect(…)",
)
"""Formats by name, those of others included; files are recognized as ours alone, so that no package changes a store."""


def declare(declaration: Mapping[str, Any], where: str) -> Dialect:
    """Make the format that a file for ``--dialect`` declares, and know it by its name from now on.

    Parameters
    ----------
    declaration
        What the file says.
    where
        The file, for errors.
    """
    new_dialect = declared_dialect(declaration, where)
    # The first one made stays: raw layouts are cached by the identity of their format.
    return DECLARED.setdefault(new_dialect.name, new_dialect)


def declare_python(own: Dialect, where: str) -> tuple[Dialect, dict[str, Any]]:
    """Know a format that Python code describes, and return it with what a store keeps of it.

    Parameters
    ----------
    own
        As the code made it.
    where
        The file or the package, for errors.

    Raises
    ------
    UsageError
        Something in it is no data, or not what a format has there.
    SchemaError
        The format does not fit the tables of a store.
    """
    description = describe(own, DIALECT_KINDS.source(own))
    return declare_stored(description, where), description


def declare_stored(declaration: Mapping[str, Any], where: str) -> Dialect:
    """Know the format that a store was made with: declared by a TOML file, or described by Python code.

    Parameters
    ----------
    declaration
        What the manifest says; data, of which nothing is run.
    where
        The store, for errors.

    Raises
    ------
    UsageError, SchemaError
        It is no format.
    """
    if DESCRIPTION not in declaration:
        return declare(declaration, where)
    new_dialect = described_dialect(declaration, where)
    if new_dialect.trace != new_dialect.name:
        # A store of a converted trace is read as that trace was converted.
        unconverted = [name for name, known in DIALECTS.items() if not known.conversion]
        check_names(f"{where}: DIALECT.trace", [new_dialect.trace], unconverted, "no such trace")
    return DECLARED.setdefault(new_dialect.name, new_dialect)


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
            "dialect",
            "no such trace format",
            expected=", ".join(DIALECTS),
            got=name or "none",
        )
    return DIALECTS[name]


__all__ = [
    "DECLARED",
    "DIALECTS",
    "DIALECT_KINDS",
    "EVENTS_FROM_TIMES",
    "GOOGLE_2011",
    "GOOGLE_2019",
    "KAGGLE_2019",
    "PUBLISHED",
    "Absent",
    "Citation",
    "Codes",
    "Conversion",
    "Dialect",
    "Flattened",
    "PriorityTier",
    "Publication",
    "AnomalyRate",
    "RawField",
    "RawTable",
    "check_dialect",
    "declare",
    "declare_python",
    "declare_stored",
    "dialect",
]
