"""What long work tells while it runs; the command line draws it, libraries may ignore it."""


class Progress:
    """Receiver of progress: one line per label, with a total and a unit.  This one tells nobody."""

    def begin(self, label: str, total: int, unit: str) -> None:
        """Start a line: `total` of `unit` will be done."""

    def advance(self, label: str, amount: int) -> None:
        """Say that `amount` more has been done."""
