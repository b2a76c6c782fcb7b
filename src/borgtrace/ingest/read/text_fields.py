"""How one canonical column is read from text, and what can be wrong with that text, as SQL.

Delimited fields and paths of JSON records become the same thing here: one text per canonical column.  Names, words and
zones may come from a file that declares a format; all of them are quoted.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from borgtrace.engine.embedded import SQL_TYPES
from borgtrace.engine.identifiers import literal, number, quoted
from borgtrace.ingest.files.raw_layout import DEDICATED, MACHINE, Field, RawLayout
from borgtrace.ingest.read.date_texts import date_sql
from borgtrace.ingest.read.expectations import LIST_OF_RECORDS, expected_by, expected_of
from borgtrace.ingest.read.number_texts import plain_number_sql, without_missing_sql
from borgtrace.schema import Column
from borgtrace.schema.checks import ColumnCheck
from borgtrace.schema.reasons import REASONS
from borgtrace.schema.time import AFTER_TRACE

BLANKS = " \t"
_INTEGER = "[+-]?[0-9]+"
_WHOLE_DOUBLE = r"[+-]?[0-9]+(\.0*|(\.[0-9]*)?[eE][+]?[0-9]+)"
"""A whole number as pandas and Spark write it where they hold it as a double: with a point, or an exponent."""
_MOST_EXACT = 2**53
"""Up to which a double holds each whole number."""
_NUMBER = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"
NOT_UTF8 = "�"
"""Mark of a byte that is no UTF-8; no field accepts it."""
NOT_UTF8_SQL = f"chr({ord(NOT_UTF8)})"
"""The mark in a query: the client of DuckDB looks at each character of one that is not ASCII, a tenth of a second."""


class RowTest(NamedTuple):
    """A reason code, the condition under which a row is refused for it, and what would have been right, in words.

    The condition may name the texts, each by its `text_name`, and the columns that their values make.
    """

    reason: str
    condition_sql: str
    expected: str = ""


Tests = tuple[RowTest, ...]
"""Tests in the order in which they are tried."""


class ReadValue(NamedTuple):
    """A value read from text, and the tests that its type implies."""

    value_sql: str
    tests: Tests


@dataclass(frozen=True)
class TextField:
    """One canonical column as SQL over text.

    Parameters
    ----------
    name
        The column.
    text_sql
        Finds the text (NULL where there is none).
    value_sql
        Turns the text, which is then called `text_name`, into the column.
    tests
        Say what refuses the row.
    raw_name
        What the file calls it.
    raw_text_sql
        Finds the text as the file writes it.
    """

    name: str
    text_sql: str
    value_sql: str
    tests: Tests
    raw_name: str
    raw_text_sql: str


def text_name(name: str) -> str:
    """Return the quoted name that the text of a column has in the query.

    Examples
    --------
    >>> text_name("priority")
    '"text_priority"'
    """
    return quoted(f"text_{name}")


def text_field(field: Field, text_sql: str) -> TextField:
    """Return how a field is read from text.

    Parameters
    ----------
    field
        The raw field and its column.
    text_sql
        Yields its text, NULL where there is none.
    """
    column = field.column
    raw_text_sql = text_sql
    for word, word_number in field.raw.words:
        number_sql = literal(str(word_number))
        text_sql = f"CASE WHEN {text_sql} = {literal(word)} THEN {number_sql} ELSE {text_sql} END"
    # Arrow and DuckDB ignore blanks around a number: so must this reader, or the result would depend on the file.
    if column.type != "string" and not field.has_words:
        text_sql = _trimmed_sql(text_sql)
        if field.is_converted:
            text_sql = without_missing_sql(text_sql)
    if field.is_name:
        text_sql = f"nullif({name_sql(text_sql)}, '')"
    if field.raw.spelling:
        text_sql = plain_number_sql(text_sql, field.raw.spelling)
    found_sql = text_name(column.name)
    value_sql, type_tests = _read(field, found_sql)
    tests = tuple(test._replace(expected=expected_of(field, test.reason)) for test in type_tests)
    # A default passes all tests of the column.
    checked_sql = value_sql if field.has_default else quoted(column.name)
    tests = (*tests, *_tests_of_checks(column, checked_sql))
    absent_sql = f"{found_sql} IS NULL"
    if field.none:
        none_sql = _none_sql(field, found_sql)
        if column.nullable:
            # A number that stands for "none" is exempt from all tests: −1 is no negative id.
            value_sql = f"CASE WHEN NOT {none_sql} THEN {value_sql} END"
            tests = _unless(none_sql, tests)
        else:
            absent_sql = f"{absent_sql} OR {none_sql}"
    if field.has_default:
        value_sql = f"coalesce({value_sql}, {_default_sql(field)})"
    # First of all tests: an empty field is missing, not unparsable.  Where a text is NULL the other tests are NULL as
    # well, which CASE takes for false.
    if field.is_mandatory:
        expected = expected_of(field, "null_in_mandatory_field")
        tests = (RowTest("null_in_mandatory_field", absent_sql, expected), *tests)
    raw_name = ", ".join((field.raw.name, *field.raw.joined))
    return TextField(column.name, text_sql, value_sql, tests, raw_name, raw_text_sql)


def _none_sql(field: Field, text_sql: str) -> str:
    if field.column.type == "float64":
        return _is_number_of_sql(text_sql, field.none)
    return _is_integer_of_sql(text_sql, field.none)


def _unless(exempt_sql: str, tests: Tests) -> Tests:
    return tuple(
        test._replace(condition_sql=f"NOT {exempt_sql} AND ({test.condition_sql})")
        for test in tests
    )


def _default_sql(field: Field) -> str:
    if field.column.type == "bool":
        return "false"
    return literal(next(iter(field.codes.values())))


def dedicated_field(layout: RawLayout, machine: TextField) -> TextField:
    """Return how to tell from the machine's number that an instance is on a dedicated machine.

    Parameters
    ----------
    layout
        Knows which number stands for a dedicated machine.
    machine
        How the number of the machine is read.
    """
    dedicated_machine = layout.dialect.dedicated_machine
    assert dedicated_machine is not None
    value_sql = _is_integer_of_sql(text_name(DEDICATED), [dedicated_machine])
    return replace(machine, name=DEDICATED, value_sql=value_sql, tests=())


def list_field(inner: RawLayout, text_sql: str) -> TextField:
    """Return how a list of records is read, whose items become rows of another table.

    Parameters
    ----------
    inner
        What an item of the list holds.
    text_sql
        Yields the list as JSON.
    """
    found_sql = text_name(inner.raw.name)
    type_sql = list_type(inner)
    value_sql = f"TRY_CAST(TRY_CAST({found_sql} AS JSON) AS {type_sql})"
    is_no_list_sql = _is_lost_sql(found_sql, quoted(inner.raw.name))
    tests = [RowTest("unparsable_value", is_no_list_sql, LIST_OF_RECORDS)]
    # As texts: a code that is no number, or too large for one, would be cast to NULL, and NULL means the first code.
    struct_sql = ", ".join(f"{quoted(field.raw.name)} VARCHAR" for field in inner.fields)
    texts_sql = f"TRY_CAST(TRY_CAST({found_sql} AS JSON) AS STRUCT({struct_sql})[])"
    # Mandatory fields first, so that a missing one is named before an unknown code of the same item.
    for field in sorted(inner.fields, key=lambda field: not field.is_mandatory):
        item_sql = quoted("item", field.raw.name)
        if field.is_mandatory:
            missing_sql = f"item IS NULL OR {item_sql} IS NULL"
            expected = f"{field.raw.name} in each item"
            tests.append(
                RowTest("null_in_mandatory_field", _any_sql(texts_sql, missing_sql), expected)
            )
        if field.codes:
            coded = _read_code(field, _trimmed_sql(item_sql))
            for test in coded.tests:
                expected = f"{field.raw.name}: {expected_of(field, test.reason)}"
                condition_sql = _any_sql(texts_sql, test.condition_sql)
                tests.append(RowTest(test.reason, condition_sql, expected))
    return TextField(inner.raw.name, text_sql, value_sql, tuple(tests), inner.raw.name, text_sql)


def cross_tests(layout: RawLayout) -> dict[str, Tests]:
    """Return the tests on two columns of a row, once each column is right, by the column that is compared."""
    raw_names = {field.name: field.raw.name for field in layout.fields}
    tests_of_column: dict[str, Tests] = {}
    for field in layout.fields:
        tests = []
        for check in field.column.checks:
            # A file without starts of windows may have their ends.
            has_both = check.minus in layout.columns
            if has_both and REASONS[check.reason].quarantines:
                difference_sql = _difference_sql(field.column, check.minus)
                condition_sql = _breaks_sql(field.column, check, difference_sql)
                other = raw_names.get(check.minus, check.minus)
                tests.append(
                    RowTest(check.reason, condition_sql, expected_by(field.column, check, other))
                )
        tests_of_column[field.name] = tuple(tests)
    return tests_of_column


def _difference_sql(column: Column, minus: str) -> str:
    value_sql = quoted(column.name)
    if column.unit == "us":
        # A window that ends after the trace has no length.
        value_sql = f"nullif({value_sql}, {AFTER_TRACE})"
    # Wider than the columns, which the difference of two times may exceed.
    type_sql = "DOUBLE" if column.type == "float32" else "HUGEINT"
    return f"CAST({value_sql} AS {type_sql}) - {quoted(minus)}"


def field_type(field: Field) -> str:
    """Return DuckDB's type of the raw value of a field: codes are numbers."""
    if field.is_scaled:
        return "DOUBLE"
    if field.codes and not field.has_words:
        return "INTEGER"
    return SQL_TYPES[field.column.type]


def list_type(inner: RawLayout) -> str:
    """Return DuckDB's type of a list of records."""
    struct_sql = ", ".join(
        f"{quoted(field.raw.name)} {field_type(field)}" for field in inner.fields
    )
    return f"STRUCT({struct_sql})[]"


def with_lists(layout: RawLayout, texts_sql: Sequence[str]) -> list[TextField]:
    """Return all fields of a layout, given the SQL text of each field and then of each list.

    Parameters
    ----------
    layout
        The fields and lists of a row.
    texts_sql
        As many as there are fields and lists, in that order.
    """
    n_fields = len(layout.fields)
    fields = []
    for field, text_sql in zip(layout.fields, texts_sql[:n_fields], strict=True):
        read_field = text_field(field, text_sql)
        fields.append(read_field)
        if field.name == MACHINE and layout.derives_dedicated:
            fields.append(dedicated_field(layout, read_field))
    for inner, text_sql in zip(layout.lists, texts_sql[n_fields:], strict=True):
        fields.append(list_field(inner, text_sql))
    return fields


def _tests_of_checks(column: Column, value_sql: str) -> Tests:
    """Return the tests of the declared checks that refuse a row and look at this column alone."""
    tests = []
    for check in column.checks:
        if REASONS[check.reason].quarantines and not check.minus:
            condition_sql = _breaks_sql(column, check, value_sql)
            tests.append(RowTest(check.reason, condition_sql, expected_by(column, check)))
    return tuple(tests)


def _breaks_sql(column: Column, check: ColumnCheck, value_sql: str) -> str:
    sign_sql = "<" if check.rule == "at_least" else ">"
    bound_sql = number(check.bound)
    if column.length:
        return _any_sql(value_sql, f"item {sign_sql} {bound_sql}")
    return f"({value_sql}) {sign_sql} {bound_sql}"


def _any_sql(values_sql: str, condition_sql: str) -> str:
    """Write whether a condition is true of any ``item`` of a list."""
    return f"len(list_filter({values_sql}, lambda item: {condition_sql})) > 0"


def name_sql(text_sql: str) -> str:
    """Write a name without the blanks around it, with which programs fill fields up to a width."""
    return _trimmed_sql(text_sql)


def _trimmed_sql(text_sql: str) -> str:
    return f"trim({text_sql}, {literal(BLANKS)})"


def _read(field: Field, text_sql: str) -> ReadValue:
    """Return the SQL of a value, and the tests that its type implies: they name the column of values."""
    if field.is_dated:
        return _read_date(field, text_sql)
    if field.is_scaled:
        return _read_scaled(field, text_sql)
    return _read_type(field, text_sql)


def _read_type(field: Field, text_sql: str) -> ReadValue:
    match field.column.type:
        case "string":
            return _read_text(text_sql)
        case "bool":
            return _read_flag(text_sql)
        case "enum":
            return _read_code(field, text_sql)
        case "float32" | "float64":
            return _read_amount(field, text_sql)
        case "list<float32>" | "list<int64>":
            return _read_list(field, text_sql)
        case _:
            return _read_integer(field, text_sql)


def _unparsable(condition_sql: str) -> RowTest:
    return RowTest("unparsable_value", condition_sql)


def _read_text(text_sql: str) -> ReadValue:
    is_damaged_sql = f"contains({text_sql}, {NOT_UTF8_SQL}) OR contains({text_sql}, chr(0))"
    return ReadValue(text_sql, (_unparsable(is_damaged_sql),))


def _read_flag(text_sql: str) -> ReadValue:
    word_sql = f"lower({text_sql})"
    value_sql = (
        f"CASE WHEN {word_sql} IN ('1', '1.0', 'true') THEN true "
        f"WHEN {word_sql} IN ('0', '0.0', 'false') THEN false END"
    )
    is_no_flag_sql = f"{word_sql} NOT IN ('0', '0.0', '1', '1.0', 'true', 'false')"
    return ReadValue(value_sql, (_unparsable(is_no_flag_sql),))


def _read_amount(field: Field, text_sql: str) -> ReadValue:
    value_sql = f"TRY_CAST({text_sql} AS {SQL_TYPES[field.column.type]})"
    is_no_number_sql = _is_no_number_sql(text_sql, quoted(field.column.name))
    return ReadValue(value_sql, (_unparsable(is_no_number_sql),))


def _read_scaled(field: Field, text_sql: str) -> ReadValue:
    number_sql = f"TRY_CAST({text_sql} AS DOUBLE)"
    plain_sql = _bounded_sql(field, number_sql)
    scaled_sql = f"{plain_sql} * {number(field.raw.scale)} + {number(field.raw.offset)}"
    type_sql = SQL_TYPES[field.column.type]
    if field.column.type in ("float32", "float64"):
        value_sql = f"TRY_CAST({scaled_sql} AS {type_sql})"
        too_large = "unparsable_value"
    else:
        value_sql = f"TRY_CAST(round({scaled_sql}) AS {type_sql})"
        too_large = "integer_out_of_range"
    return ReadValue(
        value_sql,
        (
            _unparsable(_is_no_number_sql(text_sql, number_sql)),
            # Once the number itself is right, NULL means that it is too large for the column.
            RowTest(too_large, _is_lost_sql(text_sql, quoted(field.column.name))),
        ),
    )


def _bounded_sql(field: Field, number_sql: str) -> str:
    """Write a raw number in the unit of its field, at least the least that it can be."""
    raw = field.raw
    if raw.thousandths_from is not None:
        bound_sql = number(raw.thousandths_from)
        number_sql = (
            f"CASE WHEN {number_sql} >= {bound_sql} THEN {number_sql} / 1000 ELSE {number_sql} END"
        )
    if raw.least is not None:
        least_sql = number(raw.least)
        number_sql = (
            f"CASE WHEN ({number_sql}) < {least_sql} THEN {least_sql} ELSE {number_sql} END"
        )
    return f"({number_sql})"


def _read_date(field: Field, text_sql: str) -> ReadValue:
    value_sql = date_sql(text_sql, field.raw.zone, field.raw.date_form)
    is_no_date_sql = _is_lost_sql(text_sql, quoted(field.column.name))
    return ReadValue(value_sql, (_unparsable(is_no_date_sql),))


def _read_code(field: Field, text_sql: str) -> ReadValue:
    tests: list[RowTest] = []
    if field.has_words:
        code_sql = text_sql
    else:
        code_sql = integer_sql(text_sql, "BIGINT")
        tests.append(_unparsable(_is_no_integer_sql(text_sql)))
    cases_sql = " ".join(
        f"WHEN {_constant_sql(code)} THEN {literal(name)}" for code, name in field.codes.items()
    )
    known_sql = ", ".join(_constant_sql(code) for code in (*field.codes, *field.null_codes))
    is_unknown_sql = f"{text_sql} IS NOT NULL AND coalesce({code_sql} NOT IN ({known_sql}), true)"
    tests.append(RowTest("unknown_enum_code", is_unknown_sql))
    return ReadValue(f"CASE {code_sql} {cases_sql} END", tuple(tests))


def _constant_sql(value: str | int) -> str:
    return literal(value) if isinstance(value, str) else number(value)


def _read_integer(field: Field, text_sql: str) -> ReadValue:
    column = field.column
    value_sql = integer_sql(text_sql, SQL_TYPES[column.type])
    if column.unit == "us":
        # Real files hold 2⁶⁴−1 where the format document says 2⁶³−1.
        is_after_sql = _is_integer_of_sql(text_sql, [2**64 - 1])
        value_sql = f"CASE WHEN {is_after_sql} THEN {AFTER_TRACE} ELSE {value_sql} END"
    # Two reasons, distinguished by the shape of the text: a cast alone gives NULL for both.
    return ReadValue(
        value_sql,
        (
            _unparsable(_is_no_integer_sql(text_sql)),
            RowTest("integer_out_of_range", _is_lost_sql(text_sql, quoted(column.name))),
        ),
    )


def _read_list(field: Field, text_sql: str) -> ReadValue:
    column = field.column
    # Through JSON, so that text that is none gives NULL rather than an error; and as texts, each of which is tested.
    texts_sql = f"TRY_CAST(TRY_CAST({text_sql} AS JSON) AS VARCHAR[])"
    item_sql = _trimmed_sql("item")
    item_type_sql = SQL_TYPES[column.type].removesuffix("[]")
    number_sql = f"TRY_CAST({item_sql} AS {item_type_sql})"
    if column.type == "list<int64>":
        number_sql = integer_sql(item_sql, item_type_sql)
    value_sql = f"list_transform({texts_sql}, lambda item: {number_sql})"
    if column.type == "list<float32>":
        is_no_item_sql = _is_no_number_sql(item_sql, number_sql)
    else:
        is_no_item_sql = _is_no_integer_sql(item_sql)
    has_fault_sql = _any_sql(texts_sql, f"item IS NULL OR {is_no_item_sql} OR {number_sql} IS NULL")
    is_no_list_sql = f"{text_sql} IS NOT NULL AND ({texts_sql} IS NULL OR {has_fault_sql})"
    tests = [_unparsable(is_no_list_sql)]
    if column.length:
        is_other_length_sql = f"len({quoted(column.name)}) NOT IN (0, {number(column.length)})"
        tests.append(RowTest("wrong_list_length", is_other_length_sql))
    return ReadValue(value_sql, tuple(tests))


def _is_lost_sql(text_sql: str, value_sql: str) -> str:
    return f"{text_sql} IS NOT NULL AND ({value_sql}) IS NULL"


def _is_no_integer_sql(text_sql: str) -> str:
    is_integer_sql = f"regexp_full_match({text_sql}, {literal(_INTEGER)})"
    return f"NOT ({is_integer_sql} OR {_is_whole_double_sql(text_sql)})"


def _is_whole_double_sql(text_sql: str) -> str:
    """Write whether a text with a point or an exponent is a whole number, and one that no double has rounded."""
    number_sql = f"TRY_CAST({text_sql} AS DOUBLE)"
    return (
        f"(regexp_full_match({text_sql}, {literal(_WHOLE_DOUBLE)}) "
        f"AND coalesce(trunc({number_sql}) = {number_sql} "
        f"AND abs({number_sql}) <= {number(_MOST_EXACT)}, false))"
    )


def integer_sql(text_sql: str, type_sql: str) -> str:
    """Return SQL for the whole number that a text is: 5, 5.0 and 5E0 are 5; NULL where it is none.

    Parameters
    ----------
    text_sql
        Yields the text.
    type_sql
        DuckDB's type of the number.

    Notes
    -----
    A cast alone makes 10 of 9.5.

    Examples
    --------
    >>> import duckdb
    >>> texts = "(VALUES ('5'), ('5.0'), ('1.5E1'), ('9.5'), ('1.5E0')) t(x)"
    >>> [n for n, in duckdb.sql(f"SELECT {integer_sql('x', 'BIGINT')} FROM {texts}").fetchall()]
    [5, 5, 15, None, None]
    """
    is_plain_sql = f"regexp_full_match({text_sql}, {literal(_INTEGER)})"
    return (
        f"CASE WHEN {is_plain_sql} THEN TRY_CAST({text_sql} AS {type_sql}) "
        f"WHEN {_is_whole_double_sql(text_sql)} "
        f"THEN TRY_CAST(TRY_CAST({text_sql} AS DOUBLE) AS {type_sql}) END"
    )


def is_plain_number_sql(text_sql: str, data_type: str) -> str:
    """Return SQL for whether a cast reads a text as `integer_sql` and the tests of numbers do.

    Parameters
    ----------
    text_sql
        Yields the text.
    data_type
        Type of the column that it fills.
    """
    pattern = _NUMBER if data_type.startswith("float") else _INTEGER
    return f"regexp_full_match({text_sql}, {literal(pattern)})"


def _is_no_number_sql(text_sql: str, value_sql: str) -> str:
    # By its shape too: TRY_CAST takes 1_000 for a number, and "inf" and "nan", which no measurement is.
    is_infinite_sql = f"{text_sql} IS NOT NULL AND NOT isfinite({value_sql})"
    return (
        f"NOT regexp_full_match({text_sql}, {literal(_NUMBER)}) "
        f"OR coalesce({is_infinite_sql}, true)"
    )


def _is_number_of_sql(text_sql: str, numbers: Iterable[float]) -> str:
    """Write whether a text is one of some numbers, however it is spelled (-1.0 is -1); false where it is NULL."""
    numbers_sql = ", ".join(number(value) for value in numbers) or "NULL"
    return f"coalesce(TRY_CAST({text_sql} AS DOUBLE) IN ({numbers_sql}), false)"


def _is_integer_of_sql(text_sql: str, numbers: Iterable[int]) -> str:
    """Write whether a text is one of some integers, however it is spelled (0.0 is 0); false where it is NULL."""
    numbers_sql = ", ".join(number(value) for value in numbers) or "NULL"
    whole_sql = integer_sql(text_sql, "HUGEINT")
    return f"coalesce(({whole_sql}) IN ({numbers_sql}), false)"
