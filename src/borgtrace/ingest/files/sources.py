"""What a raw file is: which generation and table, in which format, and how it is told apart."""

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import takewhile
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
    of delimited text in the order of the file, ``folder`` tells it apart from files of the same name in others.
    ``version`` is what a bucket says of its file, and ``copy`` where that lies on this machine while it is read.
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
    folder: str = ""
    version: str = ""
    copy: Path | None = None

    @property
    def here(self) -> Path:
        """Where it is read; `path` is what it is called."""
        return self.copy or self.path

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
        # Without ending: a part stays the same one after it was unpacked.
        last = self.path.name if number is None else f"part-{number:05d}"
        # The cell belongs to the name: the same file gives other rows for another cell.
        cell = f"#{self.cell}" if self.dialect.flattened else ""
        # Without folder, unless that tells it apart: a part stays the same one after it was moved.
        return "/".join(filter(None, (self.table, self.folder, last + cell)))

    @property
    def folders(self) -> tuple[str, ...]:
        """Folders of its path that may tell it apart: those that are called like its table cannot."""
        return tuple(name for name in self.path.absolute().parent.parts if name != self.table)

    def is_in(self, folder: str) -> bool:
        """Whether its path ends with a folder that tells a source apart; with none, any does."""
        return f"/{'/'.join(self.folders)}".endswith(f"/{folder}" if folder else "")


def tell_apart(sources: Iterable[Source]) -> list[Source]:
    """Name the folders of files that are called alike, where these lie side by side, such as ``day1`` and ``day2``.

    Parameters
    ----------
    sources
        Files of one cell.

    Notes
    -----
    A file in a folder and one of its name in a folder inside that are not told apart: one may be a copy gone astray.
    """
    alike: dict[str, list[Source]] = defaultdict(list)
    for source in sources:
        alike[source.name].append(source)
    paths = [one.folders for group in alike.values() if len(group) > 1 for one in group]
    shared = len(list(takewhile(lambda names: len(set(names)) == 1, zip(*paths, strict=False))))
    for group in alike.values():
        if len(group) > 1 and len({len(one.folders) for one in group}) == 1:
            group[:] = [replace(one, folder="/".join(one.folders[shared:])) for one in group]
    return [one for group in alike.values() for one in group]
