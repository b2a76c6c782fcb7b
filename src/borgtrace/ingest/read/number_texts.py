"""Numbers as people and other programs write them, turned into what the readers of numbers take."""

import re

from borgtrace.engine.identifiers import literal, number
from borgtrace.schema.dialects.raw import NumberSpelling

MISSING = (
    "NaN",
    "nan",
    "NAN",
    "NaT",
    "<NA>",
    "NA",
    "N/A",
    "n/a",
    "null",
    "NULL",
    "None",
    "none",
    "#N/A",
    "#NV",
    "undefined",
    "<none>",
    "<nil>",
    "<unknown>",
    "\\N",
    "-",
    "--",
)
"""Words that stand where a number would be if there were one."""


def without_missing_sql(text_sql: str) -> str:
    """Return SQL for a text, NULL where it is one of the words for no number.

    Parameters
    ----------
    text_sql
        Yields the text.
    """
    words_sql = ", ".join(literal(word) for word in MISSING)
    return f"CASE WHEN {text_sql} NOT IN ({words_sql}) THEN {text_sql} END"


def plain_number_sql(text_sql: str, spelling: NumberSpelling) -> str:
    """Return SQL for the text of a number as programs write it; a text that is no number where it is spelled otherwise.

    Parameters
    ----------
    text_sql
        Yields the text.
    spelling
        How the number is written.
    """
    decimal = re.escape(spelling.decimal)
    digits = r"[0-9]+"
    if spelling.thousands:
        # In whole groups only: 1,5 is no 15.
        group = re.escape(spelling.thousands)
        digits = rf"(?:[0-9]{{1,3}}(?:{group}[0-9]{{3}})+|[0-9]+)"
    number_pattern = rf"([+-]?(?:{digits}(?:{decimal}[0-9]*)?|{decimal}[0-9]+)(?:[eE][+-]?[0-9]+)?)"
    suffix_pattern = "|".join(re.escape(suffix) for suffix, _ in _longest_first(spelling))
    limit_pattern = ""
    if spelling.has_limit:
        limit_pattern = rf"\s*/\s*(?:{digits})(?:{decimal}[0-9]*)?\s*(?:{suffix_pattern})"
    shape = literal(rf"^{number_pattern}\s*({suffix_pattern}){limit_pattern}$")
    digits_sql = f"regexp_extract({text_sql}, {shape}, 1)"
    if spelling.thousands:
        digits_sql = f"replace({digits_sql}, {literal(spelling.thousands)}, '')"
    if spelling.decimal != ".":
        digits_sql = f"replace({digits_sql}, {literal(spelling.decimal)}, '.')"
    return f"""
        CASE
            WHEN regexp_matches({text_sql}, {shape})
            THEN {_scaled_sql(digits_sql, f"regexp_extract({text_sql}, {shape}, 2)", spelling)}
            ELSE '?' || {text_sql}
        END
    """


def _longest_first(spelling: NumberSpelling) -> list[tuple[str, float]]:
    return sorted(spelling.suffixes, key=lambda suffix: -len(suffix[0]))


def _scaled_sql(digits_sql: str, suffix_sql: str, spelling: NumberSpelling) -> str:
    if all(factor == 1 for _, factor in spelling.suffixes):
        return digits_sql
    factors_sql = " ".join(
        f"WHEN {literal(suffix)} THEN {number(factor)}" for suffix, factor in spelling.suffixes
    )
    scaled_sql = f"TRY_CAST({digits_sql} AS DOUBLE) * CASE {suffix_sql} {factors_sql} END"
    return f"CAST({scaled_sql} AS VARCHAR)"
