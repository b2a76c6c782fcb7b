"""The layout of one file per job, of google-cluster-data (2017): folders by MD5, columns as in 2011."""

from dataclasses import dataclass
from typing import Annotated, Literal

from borgtrace.engine.identifiers import literal
from borgtrace.errors import UsageError, check_names
from borgtrace.export.jobs.formats import FORMATS
from borgtrace.schema import PERCENTILES, TABLES
from borgtrace.schema.bounds import MD5_DIGITS, check_fields
from borgtrace.schema.dialects import GOOGLE_2011

Key = Literal["job", "task"]

DEFAULT_COLUMNS = ("start_time", "collection_id", "instance_index", "average_cpu")
# Two digits, the default, give the 256 folders of 2017.

_OFFICIAL_TITLES = {field.column: field.name for field in GOOGLE_2011.tables["task_usage"].fields}
"""Names in the official ``schema.csv`` of 2011; every other column has blanks for its underscores."""


@dataclass(frozen=True, slots=True)
class JobsLayout:
    """How files are named and what is in them.

    Parameters
    ----------
    format
        ``"csv"`` (no header, as in 2017) or ``"sqlite"``.
    columns
        Columns of ``instance_usage``, in this order; lists become text, and ``p0`` to ``p100`` are percentiles of 2019.
    granularity
        Leading hex digits of the MD5 that name the folder, 0 to 8.
    key
        ``"job"``: a file per job, MD5 of the job id as text.  ``"task"``: a file ``job-task`` per task,
        MD5 of ``"job,task"``.

    Raises
    ------
    UsageError
        A value makes no sense.

    Examples
    --------
    >>> JobsLayout("sqlite", granularity=1).path_sql
    "left(md5(collection_id::varchar), 1) || '/' || collection_id::varchar || '.sqlite3'"
    """

    format: str = "csv"
    columns: tuple[str, ...] = DEFAULT_COLUMNS
    granularity: Annotated[int, MD5_DIGITS] = 2
    key: Key = "job"

    def __post_init__(self) -> None:
        check_names("--format", (self.format,), FORMATS)
        check_fields(self)
        known_columns = (*TABLES["instance_usage"].names, *PERCENTILES)
        check_names("--columns", self.columns, known_columns, "unknown column")
        has_duplicates = len(set(self.columns)) < len(self.columns)
        if has_duplicates or not self.columns:
            raise UsageError(
                "--columns",
                "a column is missing or given twice",
                got=",".join(self.columns),
            )

    @property
    def titles(self) -> dict[str, str]:
        """Columns, and what they are called in files that name them."""
        return {name: _OFFICIAL_TITLES.get(name, name.replace("_", " ")) for name in self.columns}

    @property
    def path_sql(self) -> str:
        """SQL expression over ``tasks``: the path of a task's file, relative to the export."""
        if self.key == "job":
            stem = "collection_id::varchar"
            digested = "collection_id::varchar"
        else:
            stem = "concat(collection_id, '-', instance_index)"
            digested = "concat(collection_id, ',', instance_index)"
        name = f"{stem} || {literal(FORMATS[self.format].suffix)}"
        if not self.granularity:
            return name
        # MD5 spreads the files over folders; it protects nothing.
        return f"left(md5({digested}), {self.granularity}) || '/' || {name}"
