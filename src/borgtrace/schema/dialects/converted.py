"""What formats whose rows are converted have in common."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from borgtrace.schema.dialects.raw import RawTable
from borgtrace.schema.dialects.trace_format import Codes, Conversion, Dialect

RELATIVE_ORIGIN = datetime(1970, 1, 1, tzinfo=UTC)
"""What 600 s on the clock of a trace is whose times are not those of a calendar."""
STEPS: Codes = {"SUBMIT": "SUBMIT", "SCHEDULE": "SCHEDULE"}
"""Events that come from times, not from a word of the format."""


def converted_dialect(
    name: str, title: str, tables: Mapping[str, RawTable], conversion: Conversion, codes: Codes, **more: Any
) -> Dialect:
    """Make a format without priorities, cells or a bucket of its own.

    Parameters
    ----------
    name, title, tables, conversion
        As for `Dialect`.
    codes
        What the words of a status mean.
    more
        What else it says of itself.
    """
    facts: dict[str, Any] = {"formats": ("csv",), "span": timedelta(0)}
    return Dialect(
        name=name,
        trace=name,
        title=title,
        tables=tables,
        codes={"event_type": codes},
        tie_order="life_cycle",
        shards="hash",
        tiers=(("all", 0, 2**31 - 1),),
        origin=RELATIVE_ORIGIN,
        time_zones={"": "UTC"},
        anomalies={},
        publication=None,
        conversion=conversion,
        **(facts | more),
    )
