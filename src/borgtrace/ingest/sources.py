"""What a raw file is: which generation and table, in which format, and how it is told apart."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from borgtrace.schema import Dialect

Format = Literal["csv", "json", "parquet", "kaggle", "swf", "prometheus"]

# 2011: part-00001-of-00500; 2019: instance_usage-000000000001, also without the hyphen.
_PART = re.compile(r"part-(\d+)-of-(\d+)|-(\d{6,})(?=\.)|(?<=usage)(\d{12})(?=\.)")


@dataclass(frozen=True, slots=True)
class Source:
    """One raw file.

    ``table`` is the raw table's name (``task_usage``, ``instance_usage``, ``kaggle``), ``part`` the
    number in the file's name where there is one, ``parts`` how many the name says there are; ``order`` names the fields
    of delimited text in the order of the file.
    """

    path: Path
    dialect: Dialect
    table: str
    format: Format
    is_gzip: bool = False
    is_zstd: bool = False
    size: int = 0
    cell: str = ""
    order: tuple[str, ...] = ()
    has_header: bool = False

    @property
    def generation(self) -> str:
        """What the manifest says the trace is."""
        return self.dialect.trace

    @property
    def part(self) -> int | None:
        """Number of the part, from the file's name."""
        # One file for all cells: a number in its name means nothing.
        if self.dialect.flattened:
            return None
        found = _PART.search(self.path.name)
        return int(next(group for group in found.group(1, 3, 4) if group)) if found else None

    @property
    def parts(self) -> int | None:
        """How many parts the table has, as the file's name says."""
        found = _PART.search(self.path.name)
        return int(found.group(2)) if found and found.group(2) else None

    @property
    def name(self) -> str:
        """Identity of the file within its table: same name, other content = a changed source."""
        number = self.part
        # The cell belongs to the name: the same file gives other rows for another cell.
        if self.dialect.flattened:
            return f"{self.table}/{self.path.name}#{self.cell}"
        # Without folder and ending: a part stays the same one after it was moved or unpacked.
        return f"{self.table}/{self.path.name if number is None else f'part-{number:05d}'}"
