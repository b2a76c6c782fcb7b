"""Read the files of one set of a dataset."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from borgtrace.datasets.formats import FORMATS, tfrecord
from borgtrace.datasets.formats.arrays import BufferedTraces, TraceArrays, buffered, concatenated
from borgtrace.datasets.metadata import DatasetFile, Metadata
from borgtrace.storage import OpenedFile


@dataclass(frozen=True)
class TraceFiles:
    """Files of one set.

    Attributes
    ----------
    path
        Their folder.
    metadata
        What is known of the dataset.
    files
        The files, in order.
    """

    path: Path
    metadata: Metadata
    files: tuple[DatasetFile, ...]

    def __len__(self) -> int:
        return sum(file.records for file in self.files)

    @property
    def paths(self) -> tuple[Path, ...]:
        """Paths of the files that hold traces."""
        return tuple(self.path / file.name for file in self.files if file.records)

    @property
    def width(self) -> int:
        """Number of series features."""
        return len(self.metadata.names.series)

    def open_ahead(self, path: Path, *, was_regular: bool) -> OpenedFile | None:
        """Open a file that :meth:`buffered` will read in another thread; None where it opens the file itself."""
        if self.metadata.format != "tfrecord":
            return None
        return tfrecord.open_ahead(path, was_regular=was_regular)

    def buffered(
        self,
        path: Path,
        *,
        is_verified: bool = True,
        opened: OpenedFile | None = None,
    ) -> BufferedTraces:
        """Read one file for batches; what it returns is valid until this thread reads its next file."""
        # Records are copied into batches from where they are in the file.
        if self.metadata.format == "tfrecord":
            return tfrecord.read_buffered(
                path,
                self.metadata.names,
                is_verified=is_verified,
                opened=opened,
            )
        # Other formats hold values as arrays already.
        return buffered(self.arrays(path, is_verified=is_verified))

    def arrays(self, path: Path, *, is_verified: bool = True) -> TraceArrays:
        """Read (or map) one file."""
        file_format = FORMATS[self.metadata.format]
        return file_format.read(
            path,
            self.metadata.names,
            is_verified=is_verified,
        )

    @cached_property
    def loaded(self) -> TraceArrays:
        """All traces of the set, read once; they stay in memory."""
        return self.load()

    def load(self) -> TraceArrays:
        """Read all files: flat values and offsets."""
        return concatenated([self.arrays(path) for path in self.paths], self.metadata.names)
