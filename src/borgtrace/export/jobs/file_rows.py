"""Which rows of ``instance_usage`` a file holds: those of a job, or of a task, lie next to each other."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FileRows:
    """A file of an export: its path, relative to the export, and its rows ``first`` to ``last`` (exclusive).

    Examples
    --------
    >>> FileRows("c2/12.csv", 8, 20).within(10, 5)
    (0, 5)
    """

    path: str
    first: int
    last: int

    def within(
        self,
        start: int,
        count: int,
    ) -> tuple[int, int]:
        """Return which of `count` rows from row `start` on are this file's: from, until."""
        return max(self.first - start, 0), min(self.last - start, count)

    def overlaps(self, start: int, count: int) -> bool:
        """Return whether any of `count` rows from row `start` on is this file's."""
        return self.first < start + count and self.last > start
