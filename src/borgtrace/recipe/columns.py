"""Columns of results, tersely: mandatory unless told otherwise."""

from borgtrace.schema.types import Column, Table


def declare(name: str, grain: str, key: tuple[str, ...], *columns: Column) -> Table:
    """Declare the result of a recipe: one row per `grain`, identified by `key`.

    Parameters
    ----------
    name
        Name of the question.
    grain
        What a row stands for, after "one row per".
    key
        Columns that identify a row, in the order of sorting.
    columns
        Columns, the key among them.

    Examples
    --------
    >>> declare("sizes", "number of tasks", ("n_tasks",), count("n_tasks", "Tasks of a job.")).names
    ('n_tasks',)
    """
    return Table(name, grain, key, columns)


def label(name: str, doc: str) -> Column:
    """A name: a tier, a resource, a kind."""
    return Column(name, "string", "id", doc, nullable=False)


def count(name: str, doc: str) -> Column:
    """How many."""
    return whole(name, "count", doc)


def whole(name: str, unit: str, doc: str) -> Column:
    """A whole number with a unit: hours, days, percent.

    Parameters
    ----------
    name
        Name of the column.
    unit
        ``"h"``, ``"d"``, ``"us"``, ``"%"`` …; axes name it.
    doc
        A sentence; its first clause titles the axis.
    """
    return Column(name, "int64", unit, doc, nullable=False)


def number(name: str, unit: str, doc: str, *, nullable: bool = False) -> Column:
    """A number with a unit.

    Parameters
    ----------
    name
        Name of the column.
    unit
        ``"s"``, ``"fraction"``, ``"1/h"``, ``"1"`` for a pure number.
    doc
        A sentence; its first clause titles the axis.
    nullable
        Whether a row may have none; the doc says when.
    """
    return Column(name, "float64", unit, doc, nullable=nullable)


def seconds(name: str, doc: str, *, nullable: bool = False) -> Column:
    """A time in seconds."""
    return number(name, "s", doc, nullable=nullable)


def share(name: str, doc: str, *, nullable: bool = False) -> Column:
    """A share of a whole, or a resource in largest machines."""
    return number(name, "fraction", doc, nullable=nullable)


def flag(name: str, doc: str) -> Column:
    """Yes or no."""
    return Column(name, "bool", "1", doc, nullable=False)
