"""Progress of long work: the command line draws it, and other callers may ignore it."""


class Progress:
    """Receives progress: one line per label, with a total and a unit.  This class ignores it; subclass to show it."""

    def begin(self, label: str, total: int, unit: str) -> None:
        """Start a line: `total` of `unit` will be done."""

    def advance(self, label: str, amount: int) -> None:
        """Report that `amount` more has been done."""
