"""What a build reads: the store as it is, and the sources staged beside it; and what memory that takes."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from borgtrace.engine.memory import parse_memory
from borgtrace.ingest.build.conservation import rows_of_table
from borgtrace.ingest.build.identity import Identity
from borgtrace.ingest.build.sorting_limits import MOST_WRITERS
from borgtrace.ingest.build.staged import StagedPaths
from borgtrace.ingest.build.staged_relation import moved_parts, number_parts
from borgtrace.schema.records import MACHINE_ROWS, USAGE_ROWS
from borgtrace.store.manifest import Manifest, SourceEntry

LEAST_MEMORY = 400_000_000
"""Bytes that a build of series may take, however small their files are."""
MEMORY_OF_WRITER = 150_000_000
MEMORY_OF_ROW = 90
"""Bytes that a build of other converted rows may take: of 3.2 M rows it takes 41 s with 300 MB as with 4 GB."""


@dataclass(frozen=True)
class BuildInputs:
    """Inputs of a build: the store as it is, and the sources staged beside it."""

    identity: Identity
    present: Manifest | None
    staged: tuple[SourceEntry, ...]

    @property
    def present_sources(self) -> tuple[SourceEntry, ...]:
        """Sources whose rows the store has."""
        return self.present.sources if self.present else ()

    @property
    def replaced(self) -> set[str]:
        """Names of sources whose rows, if the store has any, are not kept."""
        return {entry.name for entry in self.staged}

    @property
    def entries(self) -> tuple[SourceEntry, ...]:
        """Sources of the next version, by name."""
        kept = [entry for entry in self.present_sources if entry.name not in self.replaced]
        return tuple(sorted((*kept, *self.staged), key=lambda entry: entry.name))

    def moved_parts_of(self, name: str) -> dict[int, int | None]:
        """Return what the source_part of each present row of a table becomes; None where its source is replaced."""
        numbers = number_parts(self.entries)
        for replaced in self.replaced:
            numbers.pop(replaced, None)
        return moved_parts(name, self.present_sources, numbers)

    def staged_parts(self, name: str, staging: Path, *, is_in_bucket: bool) -> dict[Path, int]:
        """Return the staged files of a table, with the source_part that their rows get.

        Parameters
        ----------
        name
            The table.
        staging
            Where all staged files are.
        is_in_bucket
            Whether that is in a bucket.
        """
        numbers = number_parts(self.entries)
        parts = {}
        for entry in self.staged:
            paths = StagedPaths.of(staging, entry.name)
            path = paths.table(name)
            # In a bucket the ledger decides: a request for each part is slow, and a killed run may have left others.
            has_rows = bool(rows_of_table(name, entry)) if is_in_bucket else path.exists()
            if has_rows:
                parts[path] = numbers[entry.name]
            elif not is_in_bucket and paths.coded(name).exists():
                parts[paths.coded(name)] = numbers[entry.name]
        return parts


def memory_of_build(entries: Sequence[SourceEntry], most: str, threads: int) -> str:
    """Return what DuckDB may hold: no more than makes the build of so few rows faster, where they are converted.

    Parameters
    ----------
    entries
        The staged sources.
    most
        What the user allows, such as ``"4GB"``.
    threads
        Of DuckDB.
    """
    tables = {entry.table for entry in entries}
    # A row about a whole task becomes several, which are joined: what these take hangs on more than their number.
    if not tables or not tables <= {"samples", USAGE_ROWS.name, MACHINE_ROWS.name}:
        return most
    if tables == {"samples"}:
        # The text of series takes several times what their rows do.
        n_bytes = max(LEAST_MEMORY, sum(entry.size for entry in entries))
    else:
        n_writers = min(threads, MOST_WRITERS)
        least = max(2, n_writers) * MEMORY_OF_WRITER
        n_bytes = max(least, sum(entry.stored for entry in entries) * MEMORY_OF_ROW)
    return most if n_bytes > parse_memory(most) else f"{n_bytes}B"
