"""Eight bytes at a time, against Python's own reading of the same text."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from borgtrace.kernels.compiled import compiled
from borgtrace.kernels.words import (
    are_same_bytes,
    count_digits,
    count_plain,
    load_word,
    read_digits,
    store_word,
)


# Not kept on disk: what these tests see is compiled from the source of today.
@compiled(cached=False)
def _word(text: npt.NDArray[np.uint8], at: int) -> np.uint64:
    return load_word(text, at)


@compiled(cached=False)
def _digits(text: npt.NDArray[np.uint8], at: int) -> tuple[int, np.uint64]:
    word = load_word(text, at)
    digits = count_digits(word)
    return digits, read_digits(word, max(1, digits))


@compiled(cached=False)
def _plain(text: npt.NDArray[np.uint8]) -> int:
    return count_plain(load_word(text, 0))


@compiled(cached=False)
def _are_same(text: npt.NDArray[np.uint8], first: int, second: int, size: int) -> bool:
    return are_same_bytes(text, first, second, size)


@compiled(cached=False)
def _copy_word(text: npt.NDArray[np.uint8], at: int, copy: npt.NDArray[np.uint8], to: int) -> None:
    store_word(copy, to, load_word(text, at))


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


@pytest.mark.parametrize("special", [*range(32), ord('"'), ord("\\")])
def test_what_ends_a_text_is_found_at_any_place_and_whatever_is_around(special: int) -> None:
    for place in range(8):
        for around in (b" ", b"!", b"#", b"[", b"]", b"\x7f", b"\x80", b"\xa2", b"\xff"):
            text = around * place + bytes([special]) + around * (7 - place)
            assert _plain(_bytes(text)) == place
            # Another one behind it changes nothing.
            assert _plain(_bytes(text[: place + 1] + b'"\n\\"\n\\"'[: 7 - place])) == place


def test_all_other_bytes_are_those_of_a_text() -> None:
    for byte in range(256):
        if byte >= 32 and byte not in b'"\\':
            assert _plain(_bytes(bytes([byte]) * 8)) == 8


@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 15, 16, 17])
def test_pieces_are_the_same_where_all_of_their_bytes_are_and_what_follows_is_not_compared(
    size: int,
) -> None:
    piece = bytes(range(100, 100 + size))
    text = b"x" + piece + b"abcdefgh" + piece + b"ijklmnop"
    second = 1 + size + 8
    assert _are_same(_bytes(text), 1, second, size)
    for place in range(size):
        changed = bytearray(text)
        changed[second + place] ^= 0x80
        assert not _are_same(_bytes(bytes(changed)), 1, second, size)


def test_a_word_is_stored_where_it_is_said_to_be_and_nowhere_else() -> None:
    copy = np.zeros(19, np.uint8)
    _copy_word(_bytes(b"abcdefghijkl"), 3, copy, 5)
    assert copy.tobytes() == bytes(5) + b"defghijk" + bytes(6)
