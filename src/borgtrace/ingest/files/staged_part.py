"""A staged file: what conversion and the build of a store both read."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class StagedPart:
    """One staged file of a table and the source_part that its rows get."""

    path: Path
    part: int
