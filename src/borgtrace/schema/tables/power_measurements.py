"""Power of each power domain, every five minutes."""

from borgtrace.schema.checks import (
    AMOUNT_NOT_NEGATIVE,
    INTEGER_NOT_NEGATIVE,
    NOT_AFTER_TRACE,
    amount_at_most,
)
from borgtrace.schema.tables.shared_columns import POWER_DOMAIN, PROVENANCE
from borgtrace.schema.types import Column, Table

SHARE_OF_SUPPLY = (AMOUNT_NOT_NEGATIVE, amount_at_most(10**6))
"""Rules of a share: far more than any domain draws, and far less than what a damaged file may say."""

POWER_MEASUREMENTS = Table(
    name="power_measurements",
    grain="five minutes of a power domain",
    key=("cell", "pdu", "time", "source_part", "source_row"),
    columns=(
        *POWER_DOMAIN,
        Column(
            "time",
            "int64",
            "us",
            "Start of the five minutes, on the trace's clock.",
            nullable=False,
            checks=(INTEGER_NOT_NEGATIVE, NOT_AFTER_TRACE),
        ),
        Column(
            "measured_power_util",
            "float64",
            "fraction",
            "Power drawn, cooling included, as a share of what the domain can supply.",
            checks=SHARE_OF_SUPPLY,
        ),
        Column(
            "production_power_util",
            "float64",
            "fraction",
            "Estimated power of production, as a share of what the domain can supply.",
            checks=SHARE_OF_SUPPLY,
        ),
        # Official names. The document says that false means low confidence. But Google's notebook keeps the rows
        # where it is false, and of 508,896 published rows 24 have the first true: true means bad.
        Column(
            "bad_measurement_data",
            "bool",
            "1",
            "Whether the measured power is not to be relied on.",
        ),
        Column(
            "bad_production_power_data",
            "bool",
            "1",
            "Whether the estimate for production is not to be relied on.",
        ),
        *PROVENANCE,
    ),
)
