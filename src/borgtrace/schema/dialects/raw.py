"""Raw tables: their fields, and the column of the store that each field fills."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass

from borgtrace.schema.types import RecordName, TableName

# Patterns of fields by which a file without a header is told from others with as many fields.
NUMBER = r"\d+"
HASH = r"[A-Za-z0-9+/]{43}="
"""Base64 of a SHA-256."""
ENCRYPTED = r"[A-Za-z0-9+/=]{24,}"
"""Base64 of the 48 bytes of one of Azure's encrypted ids."""
HEXADECIMAL = r"[0-9a-f]{12,64}"
"""A hash, cut to different lengths for different things."""
LETTERED = r"[a-z]_\d+"
"""A letter for the kind of thing, and its number: m_12, c_7, j_190."""
BRACED = r"\{[^{} ]*\}"
"""A list in braces: {1241,1241}."""


@dataclass(frozen=True, slots=True)
class Absent:
    """A column that a trace format does not publish, and why."""

    reason: str


Source = str | Absent
"""``"task_usage.6"`` (raw table and 1-based field) or ``"instance_usage.average_usage.cpus"`` (raw table and path),
or the reason why there is none."""


@dataclass(frozen=True, slots=True)
class NumberSpelling:
    """How people write a number, where that is not how programs do.

    Parameters
    ----------
    decimal
        The mark before the fraction.
    thousands
        The mark between groups of three digits; empty where there is none.
    suffixes
        What may stand behind the number, blanks before it aside, each with the factor that it stands for; the empty one
        among them where the number may stand alone.
    has_limit
        Whether each number is followed by ``/`` and its limit, which is not read.
    """

    decimal: str = "."
    thousands: str = ""
    suffixes: tuple[tuple[str, float], ...] = (("", 1.0),)
    has_limit: bool = False

    @property
    def allows_plain_numbers(self) -> bool:
        """Whether a number that programs would write as it stands means the same in this spelling."""
        is_plain = self.decimal == "." and not self.thousands and not self.has_limit
        return is_plain and ("", 1.0) in self.suffixes


@dataclass(frozen=True, slots=True)
class RawField:
    """One field of a raw table.

    Parameters
    ----------
    name
        Its published name; a path such as ``average_usage.cpus`` for a field of a nested record.
    is_whole
        Whether dots belong to the name, as in files of one's own, rather than lead into a nested record.
    column
        The column it fills; empty where it fills none.
    is_mandatory
        Whether a row without it is refused.
    format
        The publisher's own word for its type, where files of the trace say it.
    keeps_empty
        Whether empty text is a value of its own rather than NULL.
    pattern
        Regular expression of its text, where the number of fields alone does not identify the table.
    scale, offset
        A raw number is multiplied by `scale`, then `offset` is added, which gives the unit of the column: seconds from
        0 become µs from `TRACE_START` with 1_000_000 and 600_000_000.
    words
        Words that stand for numbers, each with its number: the last bucket of a histogram is such a word.
    zone
        For dates and times as text: the time zone of those that do not name one; empty where the field is a number.
    date_form
        How these are written: empty for ISO 8601, ``"excel"`` for days since 1900, ``"compact"`` for digits alone, else
        a pattern of strptime.
    spelling
        How its numbers are written, where people wrote them.
    joined
        Further fields whose texts belong to its own, such as a namespace, a pod and a container, joined by ``/``.
    least
        A lower number is taken for this one, as what began before the trace is there at its start; none where None.
    thousandths_from
        Numbers from this one on are thousandths of the unit: publishers changed from s to ms. None are where None.
    """

    name: str
    column: str = ""
    _: KW_ONLY
    is_mandatory: bool = False
    format: str = ""
    keeps_empty: bool = False
    pattern: str = ""
    scale: float = 1
    offset: int = 0
    zone: str = ""
    date_form: str = ""
    spelling: NumberSpelling | None = None
    joined: tuple[str, ...] = ()
    words: tuple[tuple[str, float], ...] = ()
    is_whole: bool = False
    least: float | None = None
    thousandths_from: float | None = None

    @property
    def path(self) -> tuple[str, ...]:
        """Names from the record's root to the value."""
        return (self.name,) if self.is_whole else tuple(self.name.split("."))


@dataclass(frozen=True, slots=True)
class TaskFile:
    """How a file that is about one task names it, and says when its rows begin.

    Parameters
    ----------
    folders
        Folders whose names are part of the task's, as files in others may be called alike.
    day
        How the folder of a file names the day of its first row, such as ``%Y%m%d``; rows then follow each other in the
        steps of the format. Empty where rows say their times.
    n_rows
        How many rows each file has, where that is fixed.
    """

    folders: tuple[str, ...] = ()
    day: str = ""
    n_rows: int | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of converted rows that it fills."""
        return ("task", "time") if self.day else ("task",)


@dataclass(frozen=True, eq=False)
class RawTable:
    """One raw table, and the table that its rows go to.

    Parameters
    ----------
    name
        Name of its files or folder.
    table
        A table of the store, or a kind of rows that are converted (:mod:`borgtrace.schema.records`).
    fields
        In published order.
    is_positional
        Whether fields are known by their place (delimited text without a header) or by name.
    optional
        How many of the last fields older versions lack.
    parts
        How many files are published, where that is fixed.
    lists
        Lists of records inside a row that become rows of another table; they inherit the row's own columns.
    spellings
        Other spellings of names, each with the name.
    task_file
        Where each file is about one task: how it says which.
    marks
        Names of which a file has at least one, where another table may have its mandatory fields; none are needed
        where it is empty.

    Examples
    --------
    >>> fields = (RawField("ts", "time", is_mandatory=True), RawField("cpu", "cpu_capacity", scale=0.01))
    >>> table = RawTable("nodes", "machine_events", fields)
    >>> table.source("machine_events", "cpu_capacity"), table.mandatory
    ('nodes.cpu', ('ts',))
    """

    name: str
    table: TableName | RecordName
    fields: tuple[RawField, ...]
    _: KW_ONLY
    is_positional: bool = False
    optional: int = 0
    parts: int | None = None
    lists: tuple[RawTable, ...] = ()
    spellings: tuple[tuple[str, str], ...] = ()
    task_file: TaskFile | None = None
    marks: tuple[str, ...] = ()

    def spelled(self, name: str) -> str:
        """Return the name that a file means with a spelling of it; any other name as it is."""
        return dict(self.spellings).get(name, name)

    @property
    def field_counts(self) -> tuple[int, ...]:
        """Numbers of fields that a row may have."""
        n_fields = len(self.fields)
        return (n_fields - self.optional, n_fields) if self.optional else (n_fields,)

    @property
    def mandatory(self) -> tuple[str, ...]:
        """Names of the fields without which a row is refused."""
        return tuple(field.name for field in self.fields if field.is_mandatory)

    @property
    def names(self) -> tuple[str, ...]:
        """Names at the root of a record, those of lists among them."""
        names = [field.path[0] for field in self.fields]
        names += [inner.name for inner in self.lists]
        # Each name once, in order: the fields of one record share its name.
        return tuple(dict.fromkeys(names))

    def source(self, table: str, column: str) -> str | None:
        """Return where this raw table publishes a column of a table, or None.

        Parameters
        ----------
        table
            The table of the store, or the kind of converted rows.
        column
            One of its columns.
        """
        for inner in self.lists:
            if inner.table == table:
                source = inner.source(table, column)
                # What an item lacks (ids, time) it has from the row around it.
                return f"{self.name}.{source}" if source else self.source(self.table, column)
        if self.table != table:
            return None
        for number, field in enumerate(self.fields, 1):
            if field.column == column:
                return f"{self.name}.{number if self.is_positional else field.name}"
        if self.task_file and column in self.task_file.columns:
            return f"{self.name} (the name of the file)"
        return None


@dataclass(
    frozen=True,
    slots=True,
    kw_only=True,
)
class Flattened:
    """A delimited file with a header, each row of which joins one record of each of several tables.

    Parameters
    ----------
    header
        Columns by which such a file is known.
    cell
        The column that names the cell of a row.
    table
        The table of the store whose rows the ledger counts.
    renamed
        Columns that carry another name than the field they hold: (raw table, field) → column.
    literals
        Fields that are printed as Python literals: records and lists.
    """

    header: frozenset[str]
    cell: str
    table: TableName
    renamed: Mapping[tuple[str, str], str]
    literals: frozenset[str]
