"""How one canonical column is read from text, and what can be wrong with that text: SQL pieces.

Delimited fields and paths of JSON records become the same thing here: one text per canonical column.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from borgtrace.engine.embedded import SQL_TYPES
from borgtrace.ingest.files.raw_layout import DEDICATED, MACHINE, Field, RawLayout
from borgtrace.schema import Column
from borgtrace.schema.checks import Check
from borgtrace.schema.reasons import REASONS
from borgtrace.schema.time import AFTER_TRACE

Tests = tuple[tuple[str, str], ...]
"""(reason code, SQL that is true where the row must be refused), in the order in which they are tried."""


@dataclass(frozen=True)
class TextField:
    """One canonical column as SQL over text.

    ``text`` finds the text (NULL where there is none), ``value`` turns it into the column, ``tests`` say what
    refuses the row.
    """

    name: str
    text: str
    value: str
    tests: Tests


def text_field(field: Field, text: str) -> TextField:
    """Return how a field is read from the SQL text `text`.

    Parameters
    ----------
    field
        The raw field and its column.
    text
        SQL of its text, NULL where there is none.
    """
    column = field.column
    for word, number in field.raw.words:
        text = f"CASE WHEN {text} = '{word}' THEN '{number}' ELSE {text} END"
    # Arrow and DuckDB pass over blanks around a number: so must this reader, or a row would fare by the file it is in.
    if column.type != "string" and not field.has_words:
        text = f"trim({text}, ' \t')"
    found = f'"text_{column.name}"'
    value, tests = _read(field, found)
    tests = (*tests, *_checked(column, value))
    absent = f"{found} IS NULL"
    none = (_is_number_of if column.type == "float64" else _is_one_of)(found, field.none)
    if field.none and not column.nullable:
        absent = f"{absent} OR {none}"
    # A number that stands for "none" is exempt from all tests: −1 is no negative id.
    elif field.none:
        value = f"CASE WHEN NOT {none} THEN {value} END"
        tests = tuple((reason, f"NOT {none} AND ({test})") for reason, test in tests)
    if field.has_default:
        default = "false" if column.type == "bool" else f"'{next(iter(field.codes.values()))}'"
        value = f"coalesce({value}, {default})"
    # First of all tests: an empty field is missing, not unparsable.  Where a text is NULL the other tests are NULL as
    # well, which CASE takes for false.
    if field.is_mandatory:
        tests = (("null_in_mandatory_field", absent), *tests)
    return TextField(column.name, text, value, tests)


def dedicated_field(layout: RawLayout, machine: TextField) -> TextField:
    """Return how the number of the machine tells that the instance is on a dedicated one.

    Parameters
    ----------
    layout
        Says which number stands for a dedicated machine.
    machine
        How the number of the machine is read.
    """
    value = _is_one_of(f'"text_{DEDICATED}"', (layout.dialect.dedicated_machine,))
    return TextField(DEDICATED, machine.text, value, ())


def list_field(inner: RawLayout, text: str) -> TextField:
    """Return how a list of records is read, whose items become rows of another table.

    Parameters
    ----------
    inner
        What an item of the list holds.
    text
        SQL of the list as JSON.
    """
    found = f'"text_{inner.raw.name}"'
    value = f"TRY_CAST(TRY_CAST({found} AS JSON) AS {list_type(inner)})"
    tests: list[tuple[str, str]] = [
        ("unparsable_value", f"{found} IS NOT NULL AND {value} IS NULL")
    ]
    # As texts: a code that is no number, or too large for one, would be cast to NULL, and NULL means the first code.
    parts = ", ".join(f'"{field.raw.name}" VARCHAR' for field in inner.fields)
    texts = f"TRY_CAST(TRY_CAST({found} AS JSON) AS STRUCT({parts})[])"
    # Mandatory fields first, so that a missing one is named before an unknown code of the same item.
    for field in sorted(inner.fields, key=lambda field: not field.is_mandatory):
        item = f"c.{field.raw.name}"
        if field.is_mandatory:
            tests.append(
                ("null_in_mandatory_field", _any(texts, "c", f"c IS NULL OR {item} IS NULL"))
            )
        if field.codes:
            _, coded = _code(field, f"trim({item}, ' \t')")
            tests += [(reason, _any(texts, "c", test)) for reason, test in coded]
    return TextField(inner.raw.name, text, value, tuple(tests))


def cross_tests(layout: RawLayout) -> Tests:
    """Return the tests on two columns of a row, once each column is right."""
    return tuple(
        (check.reason, _breaks(field.column, check, _difference(field.column, check.minus)))
        for field in layout.fields
        for check in field.column.checks
        if check.minus and REASONS[check.reason].quarantines
    )


def _difference(column: Column, minus: str) -> str:
    found = f'"{column.name}"'
    # A window that ends after the trace has no length.
    value = f"nullif({found}, {AFTER_TRACE})" if column.unit == "us" else found
    # Wider than the columns, which the difference of two times may exceed.
    return f'CAST({value} AS {"DOUBLE" if column.type == "float32" else "HUGEINT"}) - "{minus}"'


def field_type(field: Field) -> str:
    """Return DuckDB's type of the raw value of a field: codes are numbers."""
    if field.is_scaled:
        return "DOUBLE"
    return "INTEGER" if field.codes and not field.has_words else SQL_TYPES[field.column.type]


def list_type(inner: RawLayout) -> str:
    """Return DuckDB's type of a list of records."""
    parts = ", ".join(f'"{field.raw.name}" {field_type(field)}' for field in inner.fields)
    return f"STRUCT({parts})[]"


def with_lists(layout: RawLayout, texts: list[str]) -> list[TextField]:
    """Return all fields of a layout, given the SQL text of each field and then of each list.

    Parameters
    ----------
    layout
        The fields and lists of a row.
    texts
        As many as there are fields and lists, in that order.
    """
    # strict=False: the texts of the lists follow those of the fields.
    plain = [text_field(field, text) for field, text in zip(layout.fields, texts, strict=False)]
    if layout.derives_dedicated:
        place = next(i for i, field in enumerate(plain) if field.name == MACHINE)
        plain.insert(place + 1, dedicated_field(layout, plain[place]))
    lists = zip(layout.lists, texts[len(layout.fields) :], strict=True)
    return plain + [list_field(inner, text) for inner, text in lists]


def _checked(column: Column, value: str) -> Tests:
    """Return the tests of the declared checks that refuse a row and look at this column alone."""
    alone = [
        check for check in column.checks if REASONS[check.reason].quarantines and not check.minus
    ]
    return tuple((check.reason, _breaks(column, check, value)) for check in alone)


def _breaks(column: Column, check: Check, value: str) -> str:
    sign = "<" if check.rule == "at_least" else ">"
    return (
        _any(value, "x", f"x {sign} {check.bound}")
        if column.length
        else f"({value}) {sign} {check.bound}"
    )


def _any(values: str, item: str, test: str) -> str:
    return f"len(list_filter({values}, lambda {item}: {test})) > 0"


def _read(field: Field, text: str) -> tuple[str, Tests]:
    """Return the SQL of a value, and the tests that its type implies."""
    amounts = {"float32": _amount, "float64": _amount}
    read = {"string": _text, "bool": _flag, "enum": _code, **amounts}.get(
        field.column.type, _whole_number
    )
    if field.column.type.startswith("list<"):
        read = _list
    return (_date if field.is_dated else _scaled if field.is_scaled else read)(field, text)


def _text(_: Field, text: str) -> tuple[str, Tests]:
    return text, (("unparsable_value", f"contains({text}, '�') OR contains({text}, chr(0))"),)


def _flag(_: Field, text: str) -> tuple[str, Tests]:
    value = (
        f"CASE WHEN {text} IN ('1', 'true') THEN true WHEN {text} IN ('0', 'false') THEN false END"
    )
    return value, (("unparsable_value", f"{text} NOT IN ('0', '1', 'true', 'false')"),)


def _amount(field: Field, text: str) -> tuple[str, Tests]:
    value = f"TRY_CAST({text} AS {SQL_TYPES[field.column.type]})"
    return value, (("unparsable_value", _is_no_number(text, value)),)


def _scaled(field: Field, text: str) -> tuple[str, Tests]:
    number = f"TRY_CAST({text} AS DOUBLE)"
    scaled = f"{number} * {field.raw.scale} + {field.raw.offset}"
    is_amount = field.column.type in ("float32", "float64")
    value = (
        f"TRY_CAST({scaled if is_amount else f'round({scaled})'} AS {SQL_TYPES[field.column.type]})"
    )
    # Once the number itself is right, NULL means that it is too large for the column.
    return value, (
        ("unparsable_value", _is_no_number(text, number)),
        (
            "unparsable_value" if is_amount else "integer_out_of_range",
            f"{text} IS NOT NULL AND ({value}) IS NULL",
        ),
    )


def _date(field: Field, text: str) -> tuple[str, Tests]:
    value = date_sql(text, field.raw.zone)
    return value, (("unparsable_value", f"{text} IS NOT NULL AND ({value}) IS NULL"),)


def date_sql(text: str, zone: str) -> str:
    """Return SQL for the µs since 1970 of a date and time as text; NULL where it is none.

    Parameters
    ----------
    text
        SQL of the text.
    zone
        Time zone of texts that do not say theirs.
    """
    # A zone is Z or an offset behind the time; a day has no sign behind a colon.
    has_zone = (
        f"regexp_matches({text}, '(Z|[+-][0-9]{{2}}(:?[0-9]{{2}})?)$') AND contains({text}, ':')"
    )
    there = f"timezone('{zone}', TRY_CAST({text} AS TIMESTAMP))"
    return f"epoch_us(CASE WHEN {has_zone} THEN TRY_CAST({text} AS TIMESTAMPTZ) ELSE {there} END)"


def _code(field: Field, text: str) -> tuple[str, Tests]:
    tests: Tests = () if field.has_words else (("unparsable_value", _is_no_integer(text)),)
    code = text if field.has_words else f"TRY_CAST({text} AS BIGINT)"
    # A Python literal of a word or a number is one of SQL too.
    cases = " ".join(f"WHEN {each!r} THEN '{name}'" for each, name in field.codes.items())
    known = ", ".join(map(repr, (*field.codes, *field.null_codes)))
    unknown = f"{text} IS NOT NULL AND coalesce({code} NOT IN ({known}), true)"
    return f"CASE {code} {cases} END", (*tests, ("unknown_enum_code", unknown))


def _whole_number(field: Field, text: str) -> tuple[str, Tests]:
    column = field.column
    value = f"TRY_CAST({text} AS {SQL_TYPES[column.type]})"
    # Real files hold 2⁶⁴−1 where the format document says 2⁶³−1.
    if column.unit == "us":
        value = f"CASE WHEN {_is_one_of(text, (2**64 - 1,))} THEN {AFTER_TRACE} ELSE {value} END"
    # Two reasons, told apart by the shape of the text: TRY_CAST alone gives NULL for both, and rounds 1.5.
    return value, (
        ("unparsable_value", _is_no_integer(text)),
        ("integer_out_of_range", f"{text} IS NOT NULL AND ({value}) IS NULL"),
    )


def _list(field: Field, text: str) -> tuple[str, Tests]:
    column = field.column
    # Through JSON, so that text that is none gives NULL rather than an error; and as texts, each of which is tested.
    texts = f"TRY_CAST(TRY_CAST({text} AS JSON) AS VARCHAR[])"
    item = "trim(x, ' \t')"
    number = f"TRY_CAST({item} AS {SQL_TYPES[column.type].removesuffix('[]')})"
    value = f"list_transform({texts}, lambda x: {number})"
    is_none = (
        _is_no_number(item, number) if column.type == "list<float32>" else _is_no_integer(item)
    )
    faulty = _any(texts, "x", f"x IS NULL OR {is_none} OR {number} IS NULL")
    tests = (("unparsable_value", f"{text} IS NOT NULL AND ({texts} IS NULL OR {faulty})"),)
    if not column.length:
        return value, tests
    return value, (*tests, ("wrong_list_length", f"len({value}) NOT IN (0, {column.length})"))


def _is_no_integer(text: str) -> str:
    return f"NOT regexp_full_match({text}, '[+-]?[0-9]+')"


def _is_no_number(text: str, value: str) -> str:
    # By its shape too: TRY_CAST takes 1_000 for a number, and "inf" and "nan", which no measurement is.
    shape = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"
    return f"NOT regexp_full_match({text}, '{shape}') OR coalesce({text} IS NOT NULL AND NOT isfinite({value}), true)"


def _is_number_of(text: str, numbers: Iterable[object]) -> str:
    """SQL that is true where a text is one of some numbers, however it is spelled (-1.0 is -1), and else false."""
    return (
        f"coalesce(TRY_CAST({text} AS DOUBLE) IN ({', '.join(map(str, numbers)) or 'NULL'}), false)"
    )


def _is_one_of(text: str, numbers: Iterable[object]) -> str:
    """SQL that is true where a text is one of some integers, however it is spelled (00 is 0), and else false."""
    listed = ", ".join(map(str, numbers)) or "NULL"
    number = f"CASE WHEN NOT {_is_no_integer(text)} THEN TRY_CAST({text} AS HUGEINT) END"
    return f"coalesce(({number}) IN ({listed}), false)"
