"""What a field should hold, in words, for people whose rows are refused."""

from borgtrace.ingest.files.raw_layout import Field
from borgtrace.schema import Column
from borgtrace.schema.checks import ColumnCheck
from borgtrace.schema.dialects.units import COMPACT, EXCEL

LIST_OF_RECORDS = "a list of records"
_MOST_NAMES = 12
"""Codes that are named one by one."""
_RANGES = {
    "int64": "from -9223372036854775808 to 9223372036854775807",
    "int32": "from -2147483648 to 2147483647",
    "uint32": "from 0 to 4294967295",
}

_TYPES = {
    "string": "text in UTF-8",
    "bool": "true, false, 1 or 0",
    "list<float32>": "a list of numbers such as [0.25, 0.5]",
    "list<int64>": "a list of whole numbers such as [1, 2]",
}
_WITH_SUFFIX = {"m": "250m", "Gi": "1Gi", "%": "25%"}
"""Amounts that name their unit, by what stands behind their numbers."""
_UNITS_OF_BOUNDS = {"cores": "cores", "bytes": "bytes", "us": "µs"}


def expected_of(field: Field, reason: str) -> str:
    """Return what a field should hold, where its text fails a test that its type implies.

    Parameters
    ----------
    field
        The field.
    reason
        Code of the reason why the row is refused.

    Examples
    --------
    >>> from borgtrace.ingest.files.raw_layout import raw_layout
    >>> from borgtrace.schema.dialects import GOOGLE_2011
    >>> machine_events = raw_layout(GOOGLE_2011, "machine_events")
    >>> [expected_of(field, "unparsable_value") for field in machine_events.fields[:3]]
    ['a whole number', 'a whole number', 'one of 0, 1, 2']
    """
    match reason:
        case "null_in_mandatory_field":
            return "a value"
        case "integer_out_of_range":
            return f"a whole number {_RANGES[field.column.type]}"
        case "wrong_list_length":
            return f"{field.column.length} numbers, or none"
    if field.is_dated:
        return _expected_date(field.raw.date_form)
    return _expected_type(field)


def _expected_date(form: str) -> str:
    match form:
        case "":
            return "a date and time such as 2026-11-01T00:05:00Z"
        case _ if form == EXCEL:
            return "days since 1900 such as 46327.5"
        case _ if form == COMPACT:
            return "a date as digits such as 20261101000500"
    return f"a date written as {form}"


def _expected_type(field: Field) -> str:
    match field.column.type:
        case "enum":
            return _expected_code(field)
        case "float32" | "float64":
            return _expected_amount(field)
        case "int64" | "int32" | "uint32":
            return "a number" if field.is_scaled else "a whole number"
    return _TYPES[field.column.type]


def _expected_code(field: Field) -> str:
    names = [str(code) for code in (*field.codes, *field.null_codes)]
    more = ", …" if len(names) > _MOST_NAMES else ""
    return f"one of {', '.join(names[:_MOST_NAMES])}{more}"


def _expected_amount(field: Field) -> str:
    spelling = field.raw.spelling
    if spelling is None:
        return "a number such as 0.25"
    example = f"a number such as 0{spelling.decimal}25"
    suffixes = [suffix for suffix, _ in spelling.suffixes]
    with_suffix = [text for suffix, text in _WITH_SUFFIX.items() if suffix in suffixes]
    if spelling.has_limit:
        return "an amount and its limit such as 100MiB / 1GiB"
    plain = [example] if "" in suffixes else []
    return " or ".join((*plain, *with_suffix)) or example


def expected_by(column: Column, check: ColumnCheck, other: str = "") -> str:
    """Return what a declared check expects of a column.

    Parameters
    ----------
    column, check
        The column, and the check that a row breaks.
    other
        What the file calls the column that is subtracted first; empty for rules on one column.

    Examples
    --------
    >>> from borgtrace.schema.tables import INSTANCE_USAGE
    >>> cpu = INSTANCE_USAGE.column("average_cpu")
    >>> expected_by(cpu, cpu.checks[0])
    'at least 0'
    """
    words = "at least" if check.rule == "at_least" else "at most"
    if other:
        return f"{words} that of column {other}"
    bound = f"{check.bound:,}"
    unit = _UNITS_OF_BOUNDS.get(column.unit, "")
    return f"{words} {bound} {unit}" if check.bound and unit else f"{words} {bound}"
