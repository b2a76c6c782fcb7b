"""Reason codes: what can be wrong with a row, how bad that is, and what happens to the row."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

from borgtrace.schema.data_files import read_rows

Severity = Literal["info", "notice", "data_loss", "error"]
SEVERITIES: tuple[Severity, ...] = ("info", "notice", "data_loss", "error")


@dataclass(frozen=True, slots=True)
class Reason:
    """One reason code."""

    code: str
    severity: Severity
    sentence: str

    @property
    def quarantines(self) -> bool:
        """Whether the row is refused (and kept, as text, in the store's quarantine), or stored and only counted."""
        return self.severity == "data_loss"


REASONS: dict[str, Reason] = {
    row["code"]: Reason(row["code"], cast(Severity, row["severity"]), row["sentence"])
    for row in read_rows(Path(__file__).with_name("reasons.csv"))
}
"""All reasons, by code."""
