"""What a raw file is: its generation and table, its format, and its name among others."""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Literal, NamedTuple

from borgtrace.ingest.files.raw_file import RawFile
from borgtrace.ingest.files.separators import DOUBLE_QUOTE
from borgtrace.schema import Dialect

Format = Literal["csv", "json", "parquet", "table", "kaggle", "swf", "prometheus", "log"]
"""How a file is read; ``"table"`` is any kind of file that `borgtrace.ingest.read.tables` knows."""

SERIES = "series"
"""What stands for a raw table where a file holds series of any metrics."""

# 2011: part-00001-of-00500; 2019: instance_usage-000000000001, also without the hyphen.
_PART = re.compile(r"part-(\d+)-of-(\d+)|-(\d{6,})(?=\.)|(?<=usage)(\d{12})(?=\.)")


class MachineGroup(NamedTuple):
    """Equal machines that a log counts without naming them."""

    n_machines: int
    cores: float


@dataclass(frozen=True, slots=True)
class Source(RawFile):
    """One raw file, and what it holds.

    Parameters
    ----------
    dialect
        Its trace format.
    table
        Name of the raw table (``task_usage``, ``instance_usage``, ``kaggle``).
    format
        Its container.
    kind
        Which kind of file with tables it is, where its format is ``"table"``.
    inner
        Name of the table in it, where it holds several.
    delimiter
        What separates the fields of delimited text.
    quote
        What stands around those of its fields that hold what separates them.
    cell
        Its cell, where that is known.
    order
        Fields of delimited text in the order of the file.
    has_header
        Whether its first line names the fields.
    folder
        Tells it apart from files of the same name in other folders.
    unread
        Columns that its table does not have, where all of a file have names.
    epoch
        The second since 1970 from which its times count, where they do not count from there.
    time_zone
        Of its local times: what the file says, or the user.
    machines
        Machines that it counts in its header.
    """

    dialect: Dialect
    table: str
    format: Format
    _: KW_ONLY
    kind: str = ""
    inner: str = ""
    delimiter: str = ","
    quote: str = DOUBLE_QUOTE
    cell: str = ""
    order: tuple[str, ...] = ()
    has_header: bool = False
    folder: str = ""
    unread: tuple[str, ...] = ()
    epoch: int = 0
    time_zone: str = ""
    machines: tuple[MachineGroup, ...] = ()

    @property
    def has_local_times(self) -> bool:
        """Whether its times name no zone, so that somebody has to say it."""
        conversion = self.dialect.conversion
        if conversion is None:
            return False
        fields = self.dialect.tables[self.table].fields
        return conversion.is_local or any(field.zone for field in fields)

    @property
    def is_of_one_task(self) -> bool:
        """Whether its name says which task its rows are about: then a file of equal content may be another task's."""
        raw = self.dialect.tables.get(self.table)
        return raw is not None and raw.task_file is not None

    @property
    def generation(self) -> str:
        """The trace, as the manifest names it."""
        return self.dialect.trace

    @property
    def part(self) -> int | None:
        """Number of the part, from the file's name."""
        # One file for all cells: a number in its name means nothing.
        if self.dialect.flattened:
            return None
        match = _PART.search(self.file_name)
        if match is None:
            return None
        number = match[1] or match[3] or match[4]
        return int(number)

    @property
    def parts(self) -> int | None:
        """How many parts the table has, as the file's name says."""
        match = _PART.search(self.file_name)
        if match is None or match[2] is None:
            return None
        return int(match[2])

    @property
    def name(self) -> str:
        """Identity of the file within its table: same name, other content = a changed source."""
        part = self.part
        # Without ending: a part stays the same one after it was unpacked.
        file = self.file_name if part is None else f"part-{part:05d}"
        if self.dialect.flattened:
            # The cell belongs to the name: the same file gives other rows for another cell.
            file += f"#{self.cell}"
        if self.inner:
            # A file with several tables is one source for each.
            file += f"#{self.inner}"
        # Without folder, unless names clash: a part stays the same one after it was moved.
        if not self.folder:
            return f"{self.table}/{file}"
        return f"{self.table}/{self.folder}/{file}"

    @property
    def folders(self) -> tuple[str, ...]:
        """Folders of its path that may tell it apart: those that are called like its table cannot."""
        outside = self.path.absolute().parent.parts
        inside = self.member.split("/")[:-1]
        return tuple(name for name in (*outside, *inside) if name != self.table)

    def is_in(self, folder: str) -> bool:
        """Whether its path ends with `folder`; every path does if that is empty."""
        if not folder:
            return True
        path = "/" + "/".join(self.folders)
        return path.endswith(f"/{folder}")


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
    sources_of_name: dict[str, list[Source]] = defaultdict(list)
    for source in sources:
        sources_of_name[source.name].append(source)
    paths = []
    for alike in sources_of_name.values():
        if len(alike) > 1:
            paths += [source.folders for source in alike]
    n_shared = _count_shared_folders(paths)
    named: list[Source] = []
    for alike in sources_of_name.values():
        depths = {len(source.folders) for source in alike}
        if len(alike) > 1 and len(depths) == 1:
            for source in alike:
                folder = "/".join(source.folders[n_shared:])
                named.append(replace(source, folder=folder))
        else:
            named += alike
    return named


def _count_shared_folders(paths: Sequence[tuple[str, ...]]) -> int:
    """Return how many folders from the root all paths share."""
    n_shared = 0
    for names in zip(*paths, strict=False):
        if len(set(names)) > 1:
            break
        n_shared += 1
    return n_shared
