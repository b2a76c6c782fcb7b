"""What long work tells while it runs; the command line draws it, libraries may ignore it."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Receiver of progress: one line per label, with a total and a unit."""

    def begin(self, label: str, total: int, unit: str) -> None:
        """Start a line: `total` of `unit` will be done."""

    def advance(self, label: str, amount: int) -> None:
        """Say that `amount` more has been done."""


class Silence:
    """Tells nobody."""

    def begin(self, label: str, total: int, unit: str) -> None:
        """Ignore."""

    def advance(self, label: str, amount: int) -> None:
        """Ignore."""
