"""Files about one task each: what the name of the file says of all of its rows."""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import PurePosixPath

import pyarrow as pa
import pyarrow.compute as pc

from borgtrace.ingest.files.sources import Source
from borgtrace.schema import Dialect
from borgtrace.schema.dialects.raw import TaskFile

_PACKED = (".gz", ".zst", ".bz2", ".xz", ".lz4")


@dataclass(frozen=True, slots=True)
class TaskOfFile:
    """What the name of a file says of its rows.

    Parameters
    ----------
    task
        The task.
    first
        When the first row was measured, in µs since 1970, and the time from row to row; None where rows say it.
    """

    task: str
    first: int | None = None
    step: int = 0

    def added_to(self, rows: pa.Table) -> pa.Table:
        """Return numbered rows with the columns that the name of their file fills."""
        names = pa.DictionaryArray.from_arrays(
            pa.repeat(pa.scalar(0, pa.int8()), len(rows)), [self.task]
        )
        rows = rows.append_column("task", names.cast(pa.string()))
        if self.first is None:
            return rows
        times = pc.add(pc.multiply(rows.column("source_row"), self.step), self.first)
        return rows.append_column("time", times.cast(pa.int64()))


def task_of_file(source: Source) -> TaskOfFile | None:
    """Return what the name of a file says of its rows; None where rows say it themselves."""
    task_file = source.dialect.tables[source.table].task_file
    if task_file is None:
        return None
    return named_task(task_file, source.place, source.dialect)


def named_task(task_file: TaskFile, place: str, dialect: Dialect) -> TaskOfFile:
    """Return what a path says of the rows of a file.

    Parameters
    ----------
    task_file
        How files of its table are called.
    place
        The path, in its archive where it is in one.
    dialect
        The format.

    Examples
    --------
    >>> from borgtrace.schema.dialects import dialect
    >>> bitbrains = dialect("bitbrains")
    >>> vms = bitbrains.tables["vm"].task_file
    >>> named_task(vms, "/data/fastStorage/2013-8/7.csv.gz", bitbrains).task
    '7'
    >>> named_task(vms, "/data/rnd/2013-9/7.csv", bitbrains).task
    'rnd/7'
    """
    path = PurePosixPath(place)
    name = path.name
    for ending in _PACKED:
        name = name.removesuffix(ending)
    name = name.removesuffix(".csv").removesuffix(".txt")
    folders = [folder for folder in path.parent.parts if folder in task_file.folders]
    task = "/".join([*folders, name])
    if not task_file.day:
        return TaskOfFile(task)
    conversion = dialect.conversion
    assert conversion
    assert conversion.step
    day = day_of(task_file, place)
    first = 0 if day is None else int(day.timestamp()) * 1_000_000
    return TaskOfFile(task, first, conversion.step)


def day_of(task_file: TaskFile, place: str) -> datetime | None:
    """Return the day that the folder of a file names; None where it names none."""
    folder = PurePosixPath(place).parent.name
    try:
        return datetime.strptime(folder, task_file.day).replace(tzinfo=UTC)
    except ValueError:
        return None
