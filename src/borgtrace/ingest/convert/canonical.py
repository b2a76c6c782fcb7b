"""One chunk of typed raw columns: checked as a whole, and given canonical values.

A chunk in which anything must be refused raises `NeedsValidation`; its file is then read by the validating reader.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from borgtrace.engine.guard import open_values
from borgtrace.ingest.convert.column_checks import breaks_a_rule
from borgtrace.ingest.convert.outer_blanks import has_outer_blanks
from borgtrace.ingest.files.raw_layout import DEDICATED, MACHINE, Field, NeedsValidation, RawLayout
from borgtrace.ingest.read.date_texts import date_sql
from borgtrace.ingest.read.number_reader import UNSIGNED
from borgtrace.ingest.read.text_fields import BLANKS
from borgtrace.schema.arrow import arrow_field
from borgtrace.schema.time import AFTER_TRACE, SECOND

_LAST_TIME = pa.scalar(AFTER_TRACE, pa.uint64())
_LENGTH_OF_SECOND = len("2026-11-01T00:05:00")
_AFTER_TRACE_UNSIGNED = pa.scalar(2**64 - 1, pa.uint64())


def canonical_chunk(layout: RawLayout, chunk: pa.Table) -> pa.Table:
    """Check a chunk and return its canonical columns; lists that become rows elsewhere are kept as they are.

    Parameters
    ----------
    layout
        What the file holds.
    chunk
        Columns named as the canonical ones, typed as the readers of numbers and of records type them.

    Raises
    ------
    NeedsValidation
        When any row of the chunk would be refused, or is not understood.
    """
    is_unsigned = UNSIGNED in (chunk.schema.metadata or {})
    columns: dict[str, pa.ChunkedArray] = {}
    for field in layout.fields:
        columns[field.name] = _canonical_column(field, chunk.column(field.name), is_unsigned)
        # From the raw number, before −1 becomes NULL like any other "none".
        if field.name == MACHINE and layout.derives_dedicated:
            is_dedicated = pc.equal(chunk.column(MACHINE), layout.dialect.dedicated_machine)
            columns[DEDICATED] = pc.fill_null(is_dedicated, False)
    table = pa.table(columns)
    if breaks_a_rule(layout.table, table, is_unsigned=is_unsigned):
        raise NeedsValidation
    for inner in layout.lists:
        table = table.append_column(inner.raw.name, chunk.column(inner.raw.name))
    return table


def _canonical_column(field: Field, values: pa.ChunkedArray, is_unsigned: bool) -> pa.ChunkedArray:
    if field.raw.words:
        values = _parse_words(field, values)
    if field.is_mandatory and values.null_count:
        raise NeedsValidation
    # The number parser made these: finite and not negative already, and checking each value is a pass over memory.
    if is_unsigned and field.column.type == "float32" and not field.is_scaled:
        return values
    match field.column.type:
        case "string":
            return _canonical_texts(field, values)
        case "bool":
            return pc.fill_null(values, False) if field.has_default else values
        case _:
            return _canonical_numbers(field, values)


def _canonical_numbers(field: Field, values: pa.ChunkedArray) -> pa.ChunkedArray:
    if field.is_dated:
        return _parse_dates(field, values)
    if field.is_scaled:
        return _scale(field, values)
    if pa.types.is_uint64(values.type):
        return _canonical_times(values)
    return _canonical_values(field, values)


def _canonical_values(field: Field, values: pa.ChunkedArray) -> pa.ChunkedArray:
    match field.column.type:
        case "enum":
            return _name_codes(field, values)
        case "float32":
            return _require_finite(values)
        case "float64":
            return _require_finite(_without_none(field, values))
        case "list<float32>":
            return _canonical_lists(field, values)
        case _:
            return _without_none(field, values)


def _canonical_texts(field: Field, values: pa.ChunkedArray) -> pa.ChunkedArray:
    missing = pa.scalar(None, pa.string())
    for code in field.none:
        is_none = pc.equal(values, str(code))
        values = pc.if_else(is_none, missing, values)
    if field.is_name:
        values = _names_without_blanks(field, values)
    return pc.fill_null(values, "") if field.raw.keeps_empty else values


def _names_without_blanks(field: Field, values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return names as the validating reader reads them: one of blanks alone is none."""
    is_plain = pa.types.is_string(values.type)
    if is_plain and not any(has_outer_blanks(chunk) for chunk in values.chunks):
        return values
    names = pc.utf8_trim(values, BLANKS)
    # Mostly none is empty, and to choose between all names and NULL copies them once more.
    if pc.min(pc.binary_length(names)).as_py() == 0:
        names = pc.if_else(pc.equal(names, ""), pa.scalar(None, pa.string()), names)
    if field.is_mandatory and names.null_count:
        raise NeedsValidation
    return names


def _parse_words(field: Field, values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Turn texts, some of which are words for numbers, into numbers."""
    for word, number in field.raw.words:
        values = pc.if_else(pc.equal(values, word), str(number), values)
    return _cast(pc.utf8_trim(values, BLANKS), pa.float64())


def _cast(values: pa.ChunkedArray, data_type: pa.DataType) -> pa.ChunkedArray:
    try:
        return pc.cast(values, data_type)
    except pa.ArrowInvalid as error:
        raise NeedsValidation from error


def _name_codes(field: Field, values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Turn codes into dictionary-encoded names; codes that mean nothing become NULL."""
    codes = list(field.codes)
    if field.has_default:
        values = pc.fill_null(values, codes[0])
    # On the distinct codes, of which there are a dozen, not on each row.
    distinct = set(pc.unique(values).to_pylist())
    if not distinct <= {*codes, *field.null_codes, None}:
        raise NeedsValidation
    names = pa.array(list(field.codes.values()))
    # int8, since no enumeration has more than 127 names; NULL codes are not found, and so become NULL.
    indices = pc.cast(pc.index_in(values, pa.array(codes, values.type)), pa.int8())
    chunks = [pa.DictionaryArray.from_arrays(chunk, names) for chunk in indices.chunks]
    return pa.chunked_array(chunks, pa.dictionary(pa.int8(), pa.string()))


def _scale(field: Field, values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Turn numbers of another unit into the column's."""
    numbers = _bounded(field, _require_finite(_without_none(field, values)))
    scaled = pc.add(pc.multiply(numbers, field.raw.scale), field.raw.offset)
    column_type = arrow_field(field.column).type
    if pa.types.is_floating(column_type):
        # A finite double may be infinite in the column.
        return _require_finite(pc.cast(scaled, column_type, safe=False))
    return _cast(pc.round(scaled), column_type)


def _bounded(field: Field, values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return raw numbers in the unit of their field, at least the least that they can be."""
    raw = field.raw
    if raw.thousandths_from is not None:
        is_thousandth = pc.greater_equal(values, raw.thousandths_from)
        values = pc.if_else(is_thousandth, pc.divide(values, 1000), values)
    if raw.least is not None:
        is_less = pc.less(values, raw.least)
        values = pc.if_else(is_less, pa.scalar(raw.least, values.type), values)
    return values


def _parse_dates(field: Field, values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Turn dates and times as text into µs since 1970."""
    times = _plain_dates(field, values)
    if times is not None:
        return times
    # The distinct ones: tasks are measured at the same moments.
    coded = values.combine_chunks().dictionary_encode()
    numbers = np.arange(len(coded.dictionary))
    time_sql = date_sql("text", field.raw.zone, field.raw.date_form)
    with open_values() as connection:
        connection.register("texts", pa.table({"number": numbers, "text": coded.dictionary}))
        query_sql = f"SELECT {time_sql} AS time FROM texts ORDER BY number"
        times = connection.sql(query_sql).to_arrow_table().column("time")
    if times.null_count:
        raise NeedsValidation
    return pa.chunked_array([times.combine_chunks().take(coded.indices)])


def _plain_dates(field: Field, values: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """Return the times of dates to the second in UTC; None where there is any other text.

    All are ``2026-11-01T00:05:00``, or all ``2026-11-01T00:05:00Z``.
    """
    lengths = pc.min_max(pc.binary_length(values)).as_py()
    is_even = lengths["min"] == lengths["max"]
    is_plain = is_even and lengths["max"] == _LENGTH_OF_SECOND
    has_zone = is_even and lengths["max"] == _LENGTH_OF_SECOND + len("Z")
    if field.raw.zone != "UTC" or field.raw.date_form or not (is_plain or has_zone):
        return None
    try:
        seconds = pc.cast(values, pa.timestamp("s", "UTC" if has_zone else None))
    except pa.ArrowInvalid:
        return None
    return pc.multiply(pc.cast(seconds, pa.int64()), SECOND)


def _require_finite(values: pa.ChunkedArray) -> pa.ChunkedArray:
    # One pass: a sum is finite only where all of its terms are, and float32 values cannot overflow its float64.
    total = pc.sum(values).as_py() or 0.0
    if not np.isfinite(total):
        raise NeedsValidation
    return values


def _canonical_lists(field: Field, values: pa.ChunkedArray) -> pa.ChunkedArray:
    lengths = set(pc.unique(pc.list_value_length(values)).to_pylist())
    items = pc.list_flatten(values)
    # An empty list is published for windows without percentiles: it is counted, not refused.
    if not lengths <= {None, 0, field.column.length} or items.null_count:
        raise NeedsValidation
    _require_finite(items)
    return values


def _without_none(field: Field, values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Turn the numbers that stand for "none" into NULL."""
    if not field.none:
        return values
    # "None" is 0 or −1, the lowest value there is: where nothing is as low, the column stays untouched.
    lowest = pc.min(values).as_py()
    missing = pa.scalar(None, values.type)
    for code in field.none:
        if lowest is not None and lowest <= code:
            values = pc.if_else(pc.equal(values, code), missing, values)
    # A machine event of no machine: refused, since NULL cannot be part of a key.
    if not field.column.nullable and values.null_count:
        raise NeedsValidation
    return values


def _canonical_times(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Turn 2⁶⁴−1 into 2⁶³−1; anything else beyond 2⁶³−1 is no time."""
    if (pc.max(values).as_py() or 0) > AFTER_TRACE:
        is_within = pc.less_equal(values, _LAST_TIME)
        is_after = pc.equal(values, _AFTER_TRACE_UNSIGNED)
        if not pc.all(pc.or_(is_within, is_after)).as_py():
            raise NeedsValidation
        values = pc.min_element_wise(values, _LAST_TIME, skip_nulls=False)
    # The same bits, so no copy: all times are below 2⁶³ now.
    return pa.chunked_array([chunk.view(pa.int64()) for chunk in values.chunks], pa.int64())
