"""Eight bytes at a time, against Python's own reading of the same text."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from borgtrace.kernels.compiled import compiled
from borgtrace.kernels.words import count_digits, load_word, read_digits


# Not kept on disk: what these tests see is compiled from the source of today.
@compiled(cached=False)
def _word(text: npt.NDArray[np.uint8], at: int) -> np.uint64:
    return load_word(text, at)


@compiled(cached=False)
def _digits(text: npt.NDArray[np.uint8], at: int) -> tuple[int, np.uint64]:
    word = load_word(text, at)
    digits = count_digits(word)
    return digits, read_digits(word, max(1, digits))


def _bytes(text: bytes) -> npt.NDArray[np.uint8]:
    return np.frombuffer(text, np.uint8)


def test_a_word_begins_at_any_byte_and_its_first_byte_is_lowest() -> None:
    text = b"abcdefghijklmnop"
    for at in range(9):
        assert int(_word(_bytes(text), at)) == int.from_bytes(text[at : at + 8], "little")


@pytest.mark.parametrize(
    ("text", "digits", "number"),
    [
        (b"12345678", 8, 12345678),
        (b"1234567,", 7, 1234567),
        (b"123456\n8", 6, 123456),
        (b"00042x99", 5, 42),
        (b"9/234567", 1, 9),  # the characters beside the digits
        (b"9:234567", 1, 9),
        (b"99\xb1\xb2\xb3\xb4\xb5\xb6", 2, 99),  # digits with the top bit set
        (b"10000000", 8, 10_000_000),
        (b"99999999", 8, 99_999_999),
    ],
)
def test_the_digits_that_a_word_begins_with(text: bytes, digits: int, number: int) -> None:
    assert _digits(_bytes(b"," + text), 1) == (digits, number)


@pytest.mark.parametrize(
    "text",
    [
        b",1234567",
        b"-1234567",
        b"........",
        bytes(8),
        b"\xff" * 8,
    ],
)
def test_a_word_that_begins_with_no_digit(text: bytes) -> None:
    assert _digits(_bytes(text), 0)[0] == 0
