"""Dates and times as text, and how SQL reads them: ISO 8601 and its likes, spreadsheets, patterns of strptime."""

import zoneinfo
from functools import cache

from borgtrace.engine.identifiers import literal, number
from borgtrace.schema.dialects.units import COMPACT, EXCEL

OFFSETS = {
    "UTC": 0.0,
    "GMT": 0.0,
    "Z": 0.0,
    "WET": 0.0,
    "WEST": 1.0,
    "CET": 1.0,
    "CEST": 2.0,
    "EET": 2.0,
    "EEST": 3.0,
    "MSK": 3.0,
    "JST": 9.0,
    "KST": 9.0,
    "EST": -5.0,
    "EDT": -4.0,
    "CDT": -5.0,
    "MST": -7.0,
    "MDT": -6.0,
    "PST": -8.0,
    "PDT": -7.0,
}
"""Hours east of Greenwich of the abbreviations that mean one zone: CST, IST and BST mean several, and are refused."""

_OFFSET = "(Z|[+-][0-9]{2}(:?[0-9]{2})?)$"
# Not AM or PM, and nothing that is joined to the digits before it.
_NAME = r" ([A-Za-z][A-Za-z]+(?:[/_+-][A-Za-z0-9_+-]+)*)$"
_COMPACT_PATTERNS = {8: "%Y%m%d", 10: "%Y%m%d%H", 12: "%Y%m%d%H%M", 14: "%Y%m%d%H%M%S"}
_EXCEL_EPOCH = 25_569
"""Day of 1970-01-01 in a spreadsheet."""
_EXCEL_DAYS = (20_000, 80_000)
"""Days from 1954 to 2119: other numbers are no dates that a cluster has seen."""


def date_sql(text_sql: str, zone: str, form: str = "") -> str:
    """Return SQL for the µs since 1970 of a date and time as text; NULL where it is none.

    Parameters
    ----------
    text_sql
        Yields the text.
    zone
        Time zone of texts that do not state theirs.
    form
        As `RawField.date_form`.
    """
    if form == EXCEL:
        return _excel_sql(text_sql, zone)
    if form == COMPACT:
        return _compact_sql(text_sql, zone)
    if form:
        return _pattern_sql(text_sql, zone, form)
    return _iso_sql(text_sql, zone)


def _in_zone_sql(local_sql: str, zone: str) -> str:
    return f"epoch_us(timezone({literal(zone)}, {local_sql}))"


def _iso_sql(text_sql: str, zone: str) -> str:
    # An offset stands behind the time; a day has no sign behind a colon.
    has_offset_sql = f"regexp_matches({text_sql}, {literal(_OFFSET)}) AND contains({text_sql}, ':')"
    joined_sql = f"regexp_replace({text_sql}, ' ([+-][0-9])', '\\1')"
    name_sql = f"regexp_extract({text_sql}, {literal(_NAME)}, 1)"
    without_name_sql = f"regexp_replace({text_sql}, {literal(_NAME)}, '')"
    return f"""
        CASE
            WHEN {has_offset_sql} THEN epoch_us(TRY_CAST({joined_sql} AS TIMESTAMPTZ))
            WHEN {name_sql} != '' THEN {_named_zone_sql(without_name_sql, name_sql)}
            ELSE {_in_zone_sql(f"TRY_CAST({text_sql} AS TIMESTAMP)", zone)}
        END
    """


def _named_zone_sql(local_sql: str, name_sql: str) -> str:
    """Write a time whose zone is named behind it; DuckDB itself passes over such a name."""
    # Go writes an offset, and then the name.
    has_offset_sql = f"regexp_matches({local_sql}, {literal(_OFFSET)})"
    joined_sql = f"regexp_replace({local_sql}, ' ([+-][0-9])', '\\1')"
    time_sql = f"TRY_CAST({local_sql} AS TIMESTAMP)"
    offsets_sql = " ".join(
        f"WHEN {literal(name)} THEN {number(hours)}" for name, hours in OFFSETS.items()
    )
    hours_sql = f"CASE upper({name_sql}) {offsets_sql} END"
    # A name has no blanks.  One text, in place of one constant for each zone: those took longer than all else.
    zones_sql = literal(f" {' '.join(_regional_zones())} ")
    is_regional_sql = f"contains({zones_sql}, concat(' ', {name_sql}, ' '))"
    return f"""
        CASE
            WHEN {has_offset_sql} THEN epoch_us(TRY_CAST({joined_sql} AS TIMESTAMPTZ))
            WHEN {is_regional_sql} THEN epoch_us(timezone({name_sql}, {time_sql}))
            ELSE epoch_us({time_sql}) - CAST({hours_sql} * 3600000000 AS BIGINT)
        END
    """


@cache
def _regional_zones() -> tuple[str, ...]:
    """Return the names of zones that are a region and a city, such as Europe/Berlin."""
    return tuple(sorted(name for name in zoneinfo.available_timezones() if "/" in name))


def _excel_sql(text_sql: str, zone: str) -> str:
    days_sql = f"TRY_CAST({text_sql} AS DOUBLE)"
    first, last = _EXCEL_DAYS
    # To the second: a sheet has fifteen digits, of which a file seldom keeps all.
    seconds_sql = f"round(({days_sql} - {number(_EXCEL_EPOCH)}) * 86400)"
    local_sql = f"make_timestamp(CAST({seconds_sql} * 1000000 AS BIGINT))"
    is_date_sql = f"{days_sql} BETWEEN {number(first)} AND {number(last)}"
    return f"CASE WHEN {is_date_sql} THEN {_in_zone_sql(local_sql, zone)} END"


def _compact_sql(text_sql: str, zone: str) -> str:
    # Numbers that went through a double end in .0.
    digits_sql = f"regexp_replace({text_sql}, '\\.0+$', '')"
    cases_sql = " ".join(
        f"WHEN {number(length)} THEN try_strptime({digits_sql}, {literal(pattern)})"
        for length, pattern in _COMPACT_PATTERNS.items()
    )
    local_sql = f"CASE length({digits_sql}) {cases_sql} END"
    return f"CASE WHEN regexp_full_match({digits_sql}, '[0-9]+') THEN {_in_zone_sql(local_sql, zone)} END"


def _pattern_sql(text_sql: str, zone: str, pattern: str) -> str:
    parsed_sql = f"try_strptime({text_sql}, {literal(pattern)})"
    if "%z" in pattern or "%Z" in pattern:
        # With a zone in the text DuckDB gives an instant.
        return f"epoch_us({parsed_sql})"
    return _in_zone_sql(parsed_sql, zone)
