"""Arrays and index of usage from its rows while they are written: to read them again would take as long."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from borgtrace.ingest.build.usage_index import UsageIndex
from borgtrace.storage import INCOMPLETE
from borgtrace.store.columns import DEFAULT_COLUMNS, values_of, write_header
from borgtrace.store.layout import Layout


@dataclass(frozen=True)
class WrittenUsage:
    """What is made of the rows of a new store while they are written.

    Parameters
    ----------
    folder
        The store that is made.
    n_rows
        Its rows of usage.
    """

    folder: Path
    n_rows: int
    _suspects: dict[Path, npt.NDArray[np.int64]] = field(default_factory=dict, repr=False)

    def begin(self) -> None:
        """Make the arrays, yet without values."""
        Layout(self.folder).traces.mkdir(parents=True)
        self._index_folder.mkdir()
        for column in DEFAULT_COLUMNS:
            with Layout(self.folder).array(column).open("wb") as file:
                write_header(file, column, self.n_rows)

    @contextmanager
    def watch(self, path: Path, first: int) -> Iterator[Callable[[pa.RecordBatch], None]]:
        """Yield a function that takes the rows of a file, in order and with all columns; several threads may have one.

        Parameters
        ----------
        path
            The file.
        first
            Number of its first row in the whole table.
        """
        index = UsageIndex(first)
        with ExitStack() as opened:
            arrays = {}
            for column in DEFAULT_COLUMNS:
                file = opened.enter_context(Layout(self.folder).array(column).open("r+b"))
                # Behind the header, all values have four bytes.
                np.lib.format.read_magic(file)
                np.lib.format.read_array_header_1_0(file)
                file.seek(4 * first, 1)
                arrays[column] = file

            def take(batch: pa.RecordBatch) -> None:
                for column, file in arrays.items():
                    file.write(np.ascontiguousarray(values_of(batch, column)).data)
                index.add(batch)

            yield take
        tasks, suspects = index.finish()
        # On disk: those of a month do not fit into memory.
        with pa.OSFile(str(self._index_of(path)), "wb") as target:
            options = pa.ipc.IpcWriteOptions(compression="lz4")
            with pa.ipc.new_file(target, tasks.schema, options=options) as writer:
                writer.write_table(tasks)
        self._suspects[path] = suspects

    def take_index(self, path: Path) -> tuple[pa.Table, npt.NDArray[np.int64]]:
        """Return the index of a file that was written, as `index_usage` does, and remove it."""
        with pa.OSFile(str(self._index_of(path))) as source:
            tasks = pa.ipc.open_file(source).read_all()
        self._index_of(path).unlink()
        return tasks, self._suspects.pop(path)

    def end(self) -> None:
        """Remove what the store does not hold, once all is taken."""
        self._index_folder.rmdir()

    @property
    def _index_folder(self) -> Path:
        return self.folder / f"index{INCOMPLETE}"

    def _index_of(self, path: Path) -> Path:
        return self._index_folder / f"{path.stem}.arrow"
