"""Numbers print as C's ``%.4g`` and as exact decimals: checked against Python's own formatting."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from borgtrace.synth.measure.number_text import (
    number_code,
    number_texts,
    put_integer,
    put_number,
    ten_bits,
)


def _written(value: float, is_short: bool) -> str:
    table = number_texts(is_short)
    buffer = np.zeros(64, dtype=np.uint8)
    end = put_number(buffer, 3, table.texts, number_code(value))
    return bytes(buffer[3:end]).decode()


@settings(deadline=None)  # the first example compiles
@given(st.floats(0.0, 1000.0))
def test_a_ten_bit_number_is_written_like_printf(value: float) -> None:
    assert _written(value, is_short=True) == f"{ten_bits(value):.4g}"


@settings(deadline=None)
@given(st.floats(0.0, 500.0))
def test_2019_writes_the_exact_decimal_expansion(value: float) -> None:
    assert Decimal(_written(value, is_short=False)) == Decimal(ten_bits(value))


@settings(deadline=None)
@given(st.floats(1e-6, 1000.0))
def test_rounding_keeps_ten_bits_and_nothing_below_a_millionth(value: float) -> None:
    rounded = ten_bits(value)
    unit = max(2.0 ** (np.floor(np.log2(value)) - 9), 2.0**-20)
    assert abs(rounded - value) <= unit / 2 * (1 + 1e-9)
    assert rounded * 2**20 == int(rounded * 2**20)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.5, "0.5"),
        (1023 / 2048, "0.4995"),
        (3 / 2**20, "2.861e-06"),
        (1 / 64, "0.01562"),
        (0.0, "0"),
        (767 / 1024, "0.749"),
        (1.0, "1"),
        (2.445, "2.445"),
    ],
)
def test_values_seen_in_the_real_files(value: float, text: str) -> None:
    assert _written(value, is_short=True) == text


@settings(deadline=None)
@given(st.integers(-(2**62), 2**62))
def test_integers(value: int) -> None:
    buffer = np.zeros(32, dtype=np.uint8)
    assert bytes(buffer[: put_integer(buffer, 0, value)]).decode() == str(value)


def test_what_a_reader_gets_back_is_the_nearest_float32() -> None:
    table = number_texts(is_short=True)
    code = number_code(0.0123)
    assert table.values[code] == np.float32("0.0123")
