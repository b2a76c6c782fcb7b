"""Which power domain feeds each machine."""

from borgtrace.schema.tables.shared_columns import MACHINE_ID, POWER_DOMAIN, PROVENANCE
from borgtrace.schema.types import Table

MACHINE_POWER_DOMAINS = Table(
    name="machine_power_domains",
    grain="machine that a power domain feeds",
    key=("machine_id", "cell", "pdu", "source_part", "source_row"),
    columns=(
        MACHINE_ID,
        *POWER_DOMAIN,
        *PROVENANCE,
    ),
)
