"""What formats whose rows are converted have in common."""

from datetime import UTC, datetime, timedelta
from typing import Any

from borgtrace.schema.dialects.trace_format import Codes, Dialect

RELATIVE_ORIGIN = datetime(1970, 1, 1, tzinfo=UTC)
"""What 600 s on the clock of a trace is whose times are not those of a calendar."""
STEPS: Codes = {"SUBMIT": "SUBMIT", "SCHEDULE": "SCHEDULE"}
"""Events that come from times, not from a word of the format."""


def converted_dialect(name: str, **said: Any) -> Dialect:
    """Make a format without priorities, cells or a bucket of its own.

    Parameters
    ----------
    name
        Its name, and that of its trace.
    said
        What else a `Dialect` is: its title, tables, codes and conversion, and what differs from other such formats.
    """
    facts: dict[str, Any] = {
        "trace": name,
        "formats": ("csv",),
        "tie_order": "life_cycle",
        "shards": "hash",
        "tiers": (("all", 0, 2**31 - 1),),
        "origin": RELATIVE_ORIGIN,
        "span": timedelta(0),
        "time_zones": {"": "UTC"},
        "anomalies": {},
        "publication": None,
    }
    return Dialect(name=name, **facts | said)
