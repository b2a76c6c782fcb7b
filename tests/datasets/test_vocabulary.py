"""Words are found among the known ones, and only there."""

from __future__ import annotations

import numpy as np

from borgtrace.datasets._vocabulary import find_words, table_of


def _packed(words: list[bytes]) -> tuple[np.ndarray, np.ndarray]:
    return np.frombuffer(b"".join(words), np.uint8), np.cumsum([0, *map(len, words)])


def test_words_by_hand() -> None:
    words, ends = _packed([b"free", b"", b"production", b"fre"])
    text = np.frombuffer(b"?production free", np.uint8)
    position, size = np.array([1, 12, 12, 5, 1, 0, 0]), np.array([10, 4, 3, 4, 9, 0, -1])
    numbers = np.empty(7, np.int64)
    find_words(text, position, size, words, ends, table_of(words, ends), numbers)
    assert numbers.tolist() == [2, 0, 3, -1, -1, 1, -1]


def test_no_word_is_known() -> None:
    words, ends = _packed([])
    numbers = np.empty(2, np.int64)
    find_words(
        np.frombuffer(b"ab", np.uint8), np.array([0, 1]), np.array([1, -1]), words, ends, table_of(words, ends), numbers
    )
    assert numbers.tolist() == [-1, -1]


def test_many_words_are_told_apart() -> None:
    known = [f"name-{k}".encode() for k in range(5_000)]
    words, ends = _packed(known)
    table = table_of(words, ends)
    assert sorted(table[table >= 0].tolist()) == list(range(5_000))
    order = np.random.default_rng(0).permutation(5_000)
    text, starts = _packed([known[k] for k in order])
    numbers = np.empty(5_000, np.int64)
    find_words(text, starts[:-1], np.diff(starts), words, ends, table, numbers)
    assert (numbers == order).all()
