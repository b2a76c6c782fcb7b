"""Options of an ingest."""

from dataclasses import dataclass
from typing import Annotated

from borgtrace.engine import SparkTasks, tasks_on
from borgtrace.schema.bounds import PROCESSES, check_fields
from borgtrace.schema.dialects import Dialect


@dataclass(
    frozen=True,
    slots=True,
    kw_only=True,
)
class IngestOptions:
    """Options of an ingest; ``borgtrace ingest`` has the same ones, under the same names.

    Parameters
    ----------
    jobs
        Worker processes that stage files; each is single-threaded.  None: one per core.  Spark has its own.
    memory
        What DuckDB may hold before it spills while it clusters.
    cell
        Cell of 2019 to take: files whose path says another are left out; 1 … 8 of the flattened sample.
    strict
        Fail when any row is refused or anything of severity data_loss or error is counted.
    replace
        Take the new content of a source that has changed.
    stage_only
        Stop after staging; a later ingest clusters what has accumulated.
    rebuild
        Throw away a store of another format version first.
    whole
        The store then holds all of its trace: declared where the number of files of a table is not published.
    dialect
        A trace format, its name, or path of a file that says one (TOML, or Python that is run); the files tell where it
        is empty.
    capacity
        Size of the largest machine, such as ``8cores,32GiB``, for converted formats without a table of machines.
    time_zone
        Zone of local times in files that do not name one, such as ``Europe/Berlin``; UTC where nobody says it.
    engine
        Where files are staged and sorted: on this machine, or by tasks of Spark, whose workers must see the files and
        the store under the same names.
    """

    jobs: Annotated[int, PROCESSES] | None = None
    memory: str = "4GB"
    cell: str = ""
    strict: bool = False
    replace: bool = False
    stage_only: bool = False
    rebuild: bool = False
    whole: bool = False
    dialect: str | Dialect = ""
    capacity: str = ""
    time_zone: str = ""
    engine: str = "duckdb"

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def spark(self) -> SparkTasks | None:
        """The engine as a place of work; None on this machine."""
        return tasks_on(self.engine, self.memory)
