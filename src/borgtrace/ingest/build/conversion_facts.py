"""What the manifest of converted files says of their amounts and times."""

from dataclasses import asdict
from typing import Any

from borgtrace.ingest.build.converted_build import ConvertedTables
from borgtrace.ingest.build.identity import Identity
from borgtrace.schema import Dialect
from borgtrace.schema.time import DAY

_FIRST_LOGS = 10 * 365 * DAY
"""µs since 1970: no log is older."""


def basis_of(converted: ConvertedTables, identity: Identity) -> dict[str, Any]:
    """Return what the amounts and times of converted rows count from, as the manifest says it."""
    basis = {
        **asdict(converted.basis),
        "said_cores": identity.capacity.cores,
        "said_bytes": identity.capacity.bytes,
        "said_megahertz": identity.capacity.megahertz,
        "has_time_zone": True if identity.time_zone else None,
        "unknown_sizes": list(converted.unknown_sizes) or None,
    }
    return {name: value for name, value in basis.items() if value is not None}


def notes_on_time(trace: Dialect, identity: Identity, zero: int) -> list[str]:
    """Return sentences about dates and hours that no file says.

    Parameters
    ----------
    trace
        The format.
    identity
        What the files and the user said.
    zero
        The first instant in the files, in µs since 1970.
    """
    if trace.conversion is None or not trace.conversion.is_local:
        return []
    if zero < _FIRST_LOGS:
        return ["No file says when it began: its times count from 1970-01-01."]
    if not identity.time_zone:
        return ["No file says its time zone: times are taken as UTC; --time-zone says another."]
    return []
