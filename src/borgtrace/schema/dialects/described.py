"""Formats that Python code of others describes: as a store keeps them, and as they are made again of that."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from borgtrace.errors import SchemaError, UsageError
from borgtrace.schema.dialects.contract import check_dialect
from borgtrace.schema.dialects.dialect_data import data_of, dialect_from
from borgtrace.schema.dialects.trace_format import Dialect

DESCRIPTION = "dialect"
"""The entry of a description that holds the format; a TOML file declares columns and has none of this name."""


def describe(dialect: Dialect, source: Mapping[str, str]) -> dict[str, Any]:
    """Return what a store keeps of a format: data alone, and which code it came from.

    Parameters
    ----------
    dialect
        The format, of the class `Dialect` itself: what another class would compute cannot be kept.
    source
        ``source`` and ``sha256`` of the code, where it came from a file or a package.

    Raises
    ------
    UsageError
        Something in it is no data.
    """
    if type(dialect) is not Dialect:
        raise UsageError(
            "DIALECT",
            "a store keeps data, not methods",
            expected="an object of the class Dialect itself",
            got=f"one of {type(dialect).__name__}",
        )
    return {DESCRIPTION: data_of(dialect), **source}


def described_dialect(description: Mapping[str, Any], where: str) -> Dialect:
    """Make a format of what `describe` returned, under a name with a digest: two that differ never pass for one.

    Parameters
    ----------
    description
        As JSON has it.
    where
        The file or the store, for errors.

    Raises
    ------
    UsageError
        Part of it is not what a format has there.
    SchemaError
        The format does not fit the tables of a store.
    """
    data = description[DESCRIPTION]
    written = dialect_from(data, f"{where}: DIALECT")
    try:
        check_dialect(written)
    except SchemaError as error:
        raise SchemaError(
            f"{where}: {written.name}", error.what, got=error.got, way_out=error.way_out
        ) from None
    digest = hashlib.sha256(json.dumps(data_of(written), sort_keys=True).encode()).hexdigest()
    name = f"{written.name}-{digest[:6]}"
    # Rows of a known trace stay rows of that trace.
    trace = name if written.trace == written.name else written.trace
    return replace(written, name=name, trace=trace)
