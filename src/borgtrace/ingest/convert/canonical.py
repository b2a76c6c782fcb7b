"""One chunk of typed raw columns: checked as a whole, and given canonical values.

A chunk in which anything must be refused raises `NeedsValidation`; its file is then read by the validating reader.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from borgtrace.engine.guard import open_values
from borgtrace.ingest.convert.column_checks import breaks_a_rule
from borgtrace.ingest.files.raw_layout import DEDICATED, MACHINE, Field, NeedsValidation, RawLayout
from borgtrace.ingest.read.number_reader import UNSIGNED
from borgtrace.ingest.read.text_fields import date_sql
from borgtrace.schema.arrow import arrow_field
from borgtrace.schema.time import AFTER_TRACE

_LAST, _AFTER = pa.scalar(AFTER_TRACE, pa.uint64()), pa.scalar(2**64 - 1, pa.uint64())


def canonical_chunk(layout: RawLayout, chunk: pa.Table) -> pa.Table:
    """Check a chunk and return its canonical columns; lists that become rows elsewhere are kept as they are.

    Parameters
    ----------
    layout
        What the file holds.
    chunk
        Columns named as the canonical ones, typed as `number_types` or the reader's SQL says.

    Raises
    ------
    NeedsValidation
        When any row of the chunk would be refused, or is not understood.
    """
    is_unsigned = UNSIGNED in (chunk.schema.metadata or {})
    columns: dict[str, pa.ChunkedArray] = {}
    for field in layout.fields:
        columns[field.name] = _canonical(field, chunk.column(field.name), is_unsigned)
        # From the raw number, before −1 becomes NULL like any other "none".
        if field.name == MACHINE and layout.derives_dedicated:
            dedicated = pc.equal(chunk.column(MACHINE), layout.dialect.dedicated_machine)
            columns[DEDICATED] = pc.fill_null(dedicated, False)
    table = pa.table(columns)
    if breaks_a_rule(layout.table, table, is_unsigned=is_unsigned):
        raise NeedsValidation
    for inner in layout.lists:
        table = table.append_column(inner.raw.name, chunk.column(inner.raw.name))
    return table


def _canonical(field: Field, values: pa.ChunkedArray, is_unsigned: bool) -> pa.ChunkedArray:
    kind = field.column.type
    if field.raw.words:
        values = _numbers_of_words(field, values)
    if field.is_mandatory and values.null_count:
        raise NeedsValidation
    # The number parser made these: finite and not negative already, and a look at each value is a pass over memory.
    if is_unsigned and kind == "float32" and not field.is_scaled:
        return values
    if kind == "string":
        for code in field.none:
            values = pc.if_else(pc.equal(values, str(code)), pa.scalar(None, pa.string()), values)
        return pc.fill_null(values, "") if field.raw.keeps_empty else values
    if kind == "bool":
        return pc.fill_null(values, False) if field.has_default else values
    if field.is_scaled or field.is_dated:
        return (_dates if field.is_dated else _scaled)(field, values)
    if pa.types.is_uint64(values.type):
        return _times(values)
    read = {
        "enum": _names,
        "float32": _finite,
        "float64": _decimal,
        "list<float32>": _percentiles,
    }.get(kind, _without_none)
    return read(field, values)


def _numbers_of_words(field: Field, values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Turn texts, some of which are words for numbers, into numbers."""
    for word, number in field.raw.words:
        values = pc.if_else(pc.equal(values, word), str(number), values)
    try:
        return pc.cast(pc.utf8_trim(values, " \t"), pa.float64())
    except pa.ArrowInvalid as error:
        raise NeedsValidation from error


def _names(field: Field, values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Turn codes into dictionary-encoded names; codes that mean nothing become NULL."""
    codes = list(field.codes)
    if field.has_default:
        values = pc.fill_null(values, codes[0])
    # On the distinct codes, of which there are a dozen, not on each row.
    if not set(pc.unique(values).to_pylist()) - {None} <= {*codes, *field.null_codes}:
        raise NeedsValidation
    names = pa.array(list(field.codes.values()))
    # int8, since no enumeration has more than 127 names; NULL codes are not found, and so become NULL.
    indices = pc.cast(pc.index_in(values, pa.array(codes, values.type)), pa.int8())
    chunks = [pa.DictionaryArray.from_arrays(chunk, names) for chunk in indices.chunks]
    return pa.chunked_array(chunks, pa.dictionary(pa.int8(), pa.string()))


def _scaled(field: Field, values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Turn numbers of another unit into the column's."""
    values = _without_none(field, values)
    values = pc.add(pc.multiply(_finite(field, values), field.raw.scale), field.raw.offset)
    kind = arrow_field(field.column).type
    if pa.types.is_floating(kind):
        # What is finite as a double may be infinite in the column.
        return _finite(field, pc.cast(values, kind, safe=False))
    try:
        return pc.cast(pc.round(values), kind)
    except pa.ArrowInvalid as error:
        raise NeedsValidation from error


def _decimal(field: Field, values: pa.ChunkedArray) -> pa.ChunkedArray:
    return _finite(field, _without_none(field, values))


def _dates(field: Field, values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Turn dates and times as text into µs since 1970."""
    # The distinct ones: tasks are measured at the same moments.
    coded = values.combine_chunks().dictionary_encode()
    numbers = np.arange(len(coded.dictionary))
    time_sql = date_sql("text", field.raw.zone)
    with open_values() as connection:
        connection.register("texts", pa.table({"number": numbers, "text": coded.dictionary}))
        query_sql = f"SELECT {time_sql} AS time FROM texts ORDER BY number"
        times = connection.sql(query_sql).to_arrow_table().column("time")
    if times.null_count:
        raise NeedsValidation
    return pa.chunked_array([times.combine_chunks().take(coded.indices)])


def _finite(_: Field, values: pa.ChunkedArray) -> pa.ChunkedArray:
    # One pass: a sum is finite only where all of its terms are, and float32 values cannot overflow its float64.
    if not np.isfinite(pc.sum(values).as_py() or 0.0):
        raise NeedsValidation
    return values


def _percentiles(field: Field, values: pa.ChunkedArray) -> pa.ChunkedArray:
    lengths = set(pc.unique(pc.list_value_length(values)).to_pylist())
    flat = pc.list_flatten(values)
    # An empty list is published for windows without percentiles: it is counted, not refused.
    if not lengths <= {None, 0, field.column.length} or flat.null_count:
        raise NeedsValidation
    _finite(field, flat)
    return values


def _without_none(field: Field, values: pa.ChunkedArray) -> pa.ChunkedArray:
    # "None" is 0 or −1, the lowest value there is: where nothing is as low, the column stays untouched.
    lowest = pc.min(values).as_py() if field.none else None
    for code in field.none:
        if lowest is None or lowest > code:
            continue
        values = pc.if_else(pc.equal(values, code), pa.scalar(None, values.type), values)
    # A machine event of no machine: refused, since NULL cannot be part of a key.
    if field.none and not field.column.nullable and values.null_count:
        raise NeedsValidation
    return values


def _times(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Turn 2⁶⁴−1 into 2⁶³−1; anything else beyond 2⁶³−1 is no time."""
    if (pc.max(values).as_py() or 0) > AFTER_TRACE:
        is_time = pc.or_(pc.less_equal(values, _LAST), pc.equal(values, _AFTER))
        if not pc.all(is_time).as_py():
            raise NeedsValidation
        values = pc.min_element_wise(values, _LAST, skip_nulls=False)
    # The same bits, so no copy: all times are below 2⁶³ now.
    return pa.chunked_array([chunk.view(pa.int64()) for chunk in values.chunks], pa.int64())
