"""Numbers as people read them: four significant digits, and commas between thousands."""

import math
import re
from typing import Any

NOTHING = "–"
"""Stands for what is not known."""
DIGITS = 4
"""Significant digits of a number, unless somebody asks for others."""
SMALLEST = 1e-6
"""What is smaller is written with a power of ten."""


def integer(value: int) -> str:
    """Write a whole number with commas between thousands.

    Examples
    --------
    >>> integer(144648288), integer(-950)
    ('144,648,288', '-950')
    """
    return f"{value:,}"


def with_commas(text: str) -> str:
    """Write the whole numbers within a text with commas between thousands; years stay as they are.

    Examples
    --------
    >>> with_commas("12500 (± 500)"), with_commas("6732/3863 in 2011"), with_commas("0.123456")
    ('12,500 (± 500)', '6732/3863 in 2011', '0.123456')
    """
    return re.sub(r"(?<![\w.])\d{5,}(?![\w.])", lambda match: f"{int(match[0]):,}", text)


def number(value: float | None, digits: int = DIGITS) -> str:
    """Write a number with so many significant digits, whole digits always; zeros at its end are left out.

    Parameters
    ----------
    value
        Any number; None and NaN are not known.
    digits
        Significant digits.

    Examples
    --------
    >>> number(0.123456), number(12.0), number(123456.7), number(None)
    ('0.1235', '12', '123,457', '–')
    >>> number(12.3456, digits=3), number(0.00000012346)
    ('12.3', '1.235e-07')
    """
    if value is None or math.isnan(value):
        return NOTHING
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if value == 0:
        return "0"
    if abs(value) < SMALLEST:
        return f"{value:.{digits - 1}e}"
    exponent = math.floor(math.log10(abs(value)))
    decimals = max(digits - 1 - exponent, 0)
    text = f"{value:,.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def percent(share: float | None, digits: int = 3) -> str:
    """Write a share in percent.

    Examples
    --------
    >>> percent(0.4567), percent(0.0012), percent(1.25), percent(None)
    ('45.7 %', '0.12 %', '125 %', '–')
    """
    if share is None or math.isnan(share):
        return NOTHING
    return f"{number(share * 100, digits)} %"


def value_text(value: Any) -> str:
    """Write a value of a row: numbers as above, texts as they are.

    Examples
    --------
    >>> value_text(1234567), value_text(0.123456), value_text("web-7"), value_text(None), value_text(True)
    ('1,234,567', '0.1235', 'web-7', '–', 'yes')
    """
    if value is None:
        return NOTHING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return integer(value)
    if isinstance(value, float):
        return number(value)
    return str(value)
