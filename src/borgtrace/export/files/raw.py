"""Write a store as raw files of its own trace, the reverse of reading them."""

from collections.abc import Sequence

from borgtrace.engine.identifiers import literal, quoted
from borgtrace.errors import UsageError
from borgtrace.export.files.queries import ExportQuery, FileName, MachineSize
from borgtrace.schema import TABLES, Dialect, RawTable
from borgtrace.schema.dialects import Publication
from borgtrace.store import Store

_PLACE = ("source_part", "source_row")
"""Columns that say where in its files a row stands."""


def raw_queries(store: Store, size: MachineSize) -> list[ExportQuery]:
    """Return the query of each raw table of a store, its rows file by file.

    Files are the parts that the store was made of, so that an ingest gives the rows their places again.  Those of a
    cell are in a folder named like its bucket, which is where an ingest finds the cell.

    Parameters
    ----------
    store
        Of a trace that Google published.
    size
        Not needed: resources stay fractions of the largest machine.

    Raises
    ------
    UsageError
        The trace is another one.
    """
    dialect = store.manifest.dialect
    published = dialect.publication
    if not published:
        raise UsageError(
            "--layout raw",
            "raw files are those of Google's traces",
            expected="a store of 2011 or 2019",
            got=dialect.title,
            way_out="--layout jobs writes files of any store",
        )
    return [
        ExportQuery(
            sql=_rows_by_part(dialect, raw),
            file_name=_file_name(published, dialect, raw, store.manifest.cell),
            n_files=0,
        )
        for raw in dialect.tables.values()
    ]


def _file_name(
    published: Publication,
    dialect: Dialect,
    raw: RawTable,
    cell: str,
) -> FileName:
    folder = published.bucket.format(cell=cell) + "/" if cell else ""

    def name_of(part: int) -> str:
        return folder + published.path.format(
            table=raw.name,
            part=part,
            parts=raw.parts,
            format=dialect.formats[0],
        )

    return name_of


def _rows_by_part(dialect: Dialect, raw: RawTable) -> str:
    """Return the query of a raw table."""
    line = _csv_line(dialect, raw) if raw.is_positional else _json_record(dialect, raw)
    # One query for all parts: filtering by part would read the whole table each time, which is in another order.
    return f"""
        SELECT source_part AS part, {line} || chr(10) AS line
        FROM {quoted(raw.table)}
        ORDER BY source_part, source_row
    """


def _csv_line(dialect: Dialect, raw: RawTable) -> str:
    """Return an expression for a line of comma-separated fields."""
    texts = []
    for field in raw.fields:
        value = _value(dialect, raw, field.column)
        if TABLES[raw.table].column(field.column).type == "bool":
            value = f"CAST({value} AS INTEGER)"
        texts.append(f"coalesce(CAST({value} AS VARCHAR), '')")
    return f"concat_ws(',', {', '.join(texts)})"


def _value(
    dialect: Dialect,
    raw: RawTable,
    column: str,
) -> str:
    """Return an expression for the value of a field: the code of a name, and the constants of the trace."""
    table = TABLES[raw.table]
    name = quoted(column)
    enum = table.column(column).enum
    if enum:
        codes = dialect.codes[enum].items()
        cases = " ".join(f"WHEN {literal(word)} THEN {code}" for code, word in codes)
        return f"CASE {name} {cases} END"
    may_be_dedicated = column == "machine_id" and "is_on_dedicated_machine" in table.names
    if may_be_dedicated and dialect.dedicated_machine:
        machine = dialect.dedicated_machine
        return f"CASE WHEN is_on_dedicated_machine THEN {machine} ELSE {name} END"
    return name


def _json_record(dialect: Dialect, raw: RawTable) -> str:
    """Return an expression for a line of JSON as BigQuery exports it: integers and codes are text, NULLs left out."""
    members: list[str] = []
    nested: dict[str, list[str]] = {}
    for field in raw.fields:
        if not field.column:
            continue
        *records, name = field.path
        member = _member(name, _json_value(dialect, raw, field.column))
        if records:
            nested.setdefault(records[0], []).append(member)
        else:
            members.append(member)
    for record, inner_members in nested.items():
        # A record without members is left out.
        members.append(_member(record, f"nullif({_object(inner_members)}, '{{}}')"))
    for inner in raw.lists:
        members.append(_member(inner.name, _json_list(dialect, raw, inner)))
    return _object(members)


def _json_list(
    dialect: Dialect,
    raw: RawTable,
    inner: RawTable,
) -> str:
    """Return an expression for the list of records inside a row, which have its place in the files."""
    record = _json_record(dialect, inner)
    same_places = [f"item.{place} = {quoted(raw.table, place)}" for place in _PLACE]
    return f"""'[' || (
        SELECT string_agg({record}, ',' ORDER BY position)
        FROM {quoted(inner.table)} AS item
        WHERE {" AND ".join(same_places)}
    ) || ']'"""


def _member(name: str, value: str) -> str:
    """Return an expression for a member of an object: NULL where its value is."""
    start = literal(f'"{name}":')
    return f"{start} || {value}"


def _object(members: Sequence[str]) -> str:
    """Return an expression for an object of the members that are not NULL."""
    # concat_ws skips NULLs.
    return f"'{{' || concat_ws(',', {', '.join(members)}) || '}}'"


def _json_value(
    dialect: Dialect,
    raw: RawTable,
    column: str,
) -> str:
    """Return an expression for a value in JSON."""
    kind = TABLES[raw.table].column(column).type
    value = _value(dialect, raw, column)
    # As text a float has the fewest digits that read back as the same.
    text_type = "VARCHAR[]" if kind.startswith("list") else "VARCHAR"
    text = f"CAST(to_json(CAST({value} AS {text_type})) AS VARCHAR)"
    is_number = "float" in kind or kind == "bool"
    return f"replace({text}, '\"', '')" if is_number else text
