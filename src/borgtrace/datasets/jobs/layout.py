"""The layout of one file per job, of google-cluster-data (2017): folders by MD5, columns as in 2011."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from borgtrace.datasets._md5 import job_prefixes, task_prefixes
from borgtrace.errors import UsageError
from borgtrace.schema import TABLES

FileFormat = Literal["csv", "sqlite"]
Key = Literal["job", "task"]

SUFFIXES = {"csv": ".csv", "sqlite": ".sqlite3"}
DEFAULT_COLUMNS = ("start_time", "collection_id", "instance_index", "average_cpu")
MOST_DIGITS = 8

NAMES_2011 = {
    "start_time": "start time",
    "end_time": "end time",
    "collection_id": "job ID",
    "instance_index": "task index",
    "machine_id": "machine ID",
    "average_cpu": "CPU rate",
    "average_memory": "canonical memory usage",
    "assigned_memory": "assigned memory usage",
    "unmapped_page_cache_memory": "unmapped page cache",
    "page_cache_memory": "total page cache",
    "maximum_memory": "maximum memory usage",
    "mean_disk_io_time": "disk I/O time",
    "mean_disk_space": "local disk space usage",
    "maximum_cpu": "maximum CPU rate",
    "maximum_disk_io_time": "maximum disk IO time",
    "sampled_cpu": "sampled CPU usage",
}
"""Names in the official ``schema.csv``; every other column has blanks for its underscores."""

_EXPORTED = ("int64", "int32", "float32", "bool")


@dataclass(frozen=True, slots=True)
class JobsLayout:
    """How files are named and what is in them.

    Parameters
    ----------
    format
        ``"csv"`` (no header, as in 2017) or ``"sqlite"``.
    columns
        Columns of ``instance_usage``, in this order.
    granularity
        Leading hex digits of the MD5 that name the folder, 0 to 8.
    key
        ``"job"``: a file per job, MD5 of the job id as text.  ``"task"``: a file ``job-task`` per task,
        MD5 of ``"job,task"``.

    Examples
    --------
    >>> JobsLayout("sqlite").paths(np.array([12]), np.array([0]))
    ['c2/12.sqlite3']
    """

    format: FileFormat = "csv"
    columns: tuple[str, ...] = DEFAULT_COLUMNS
    granularity: int = 2
    key: Key = "job"

    def __post_init__(self) -> None:
        for option, value, allowed in (
            ("--format", self.format, get_args(FileFormat)),
            ("--key", self.key, get_args(Key)),
        ):
            if value not in allowed:
                raise UsageError(option, "unknown name", expected=" or ".join(allowed), got=value)
        if not 0 <= self.granularity <= MOST_DIGITS:
            raise UsageError(
                "--granularity", "not a number of hex digits", expected=f"0 to {MOST_DIGITS}", got=str(self.granularity)
            )
        known = [column.name for column in TABLES["instance_usage"].columns if column.type in _EXPORTED]
        for name in self.columns:
            if name not in known:
                raise UsageError("--columns", "unknown column", expected=", ".join(known), got=name)
        if not self.columns or len(set(self.columns)) < len(self.columns):
            raise UsageError("--columns", "a column is missing or given twice", got=",".join(self.columns))

    @property
    def suffix(self) -> str:
        """Ending of the files."""
        return SUFFIXES[self.format]

    @property
    def titles(self) -> tuple[str, ...]:
        """Names of the columns in SQLite."""
        return tuple(NAMES_2011.get(name, name.replace("_", " ")) for name in self.columns)

    def paths(self, jobs: NDArray[np.int64], tasks: NDArray[np.int64]) -> list[str]:
        """Return the path of each task's file, relative to the export."""
        prefixes = np.empty(len(jobs), np.uint32)
        if self.key == "task":
            task_prefixes(jobs, tasks, prefixes)
            stems = [f"{job}-{task}" for job, task in zip(jobs.tolist(), tasks.tolist(), strict=True)]
        else:
            job_prefixes(jobs, prefixes)
            stems = [str(job) for job in jobs.tolist()]
        if not self.granularity:
            return [f"{stem}{self.suffix}" for stem in stems]
        digits = self.granularity
        return [
            f"{prefix:08x}"[:digits] + f"/{stem}{self.suffix}"
            for prefix, stem in zip(prefixes.tolist(), stems, strict=True)
        ]
