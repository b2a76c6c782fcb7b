"""A raw file before its content is known: where its bytes are, and how they are packed and encoded."""

from dataclasses import KW_ONLY, dataclass
from pathlib import Path

from borgtrace.ingest.files.encodings import Encoding
from borgtrace.ingest.files.packing import Packing


@dataclass(frozen=True, slots=True)
class RawFile:
    """One raw file, or one file of an archive.

    Parameters
    ----------
    path
        The file, or the archive that it is in, here or in a bucket.
    member
        Its name in the archive; empty for a file of its own.
    packing
        How it is compressed, by its first bytes and not by its name: the bucket's ``.gz`` is not always gzip.
    encoding
        The encoding of its text.
    size
        Bytes, as they lie on the disk.
    version
        The version that a bucket gives it.
    copy
        Where a file of a bucket lies on this machine while it is read.
    skipped_bytes, skipped_lines
        What stands above the header of a text, in UTF-8: comments, and what separates its fields.
    remark
        What its reader should know of it; empty for most.

    Examples
    --------
    >>> RawFile(Path("week.zip"), member="day1/usage.csv").label, RawFile(Path("usage.csv")).label
    ('week.zip: day1/usage.csv', 'usage.csv')
    """

    path: Path
    _: KW_ONLY
    member: str = ""
    packing: Packing = ""
    encoding: Encoding = "utf-8"
    size: int = 0
    version: str = ""
    copy: Path | None = None
    skipped_bytes: int = 0
    skipped_lines: int = 0
    remark: str = ""

    @property
    def here(self) -> Path:
        """Where the file is read; `path` is its name."""
        return self.copy or self.path

    @property
    def label(self) -> str:
        """What messages call it."""
        return f"{self.path}: {self.member}" if self.member else str(self.path)

    @property
    def place(self) -> str:
        """Its path: in its archive, where it is in one."""
        return self.member or str(self.path.absolute())

    @property
    def file_name(self) -> str:
        """Its own name without folders, in the archive where it is in one."""
        return self.member.rsplit("/", 1)[-1] if self.member else self.path.name

    @property
    def is_plain(self) -> bool:
        """Whether its bytes on the disk are those that readers see, but for a byte order mark."""
        is_other_text = self.encoding != "utf-8" or self.skipped_bytes
        return not (self.packing or self.member or is_other_text)
