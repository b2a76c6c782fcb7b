"""Orders of examples: each number once, by the published numbers of SplitMix64."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
from borgtrace.learning.shuffling import shuffled  # noqa: E402 (PyTorch may be missing)

CPU = torch.device("cpu")
PUBLISHED = [
    6457827717110365317,
    3203168211198807973,
    9817491932198370423,
    4593380528125082431,
    16408922859458223821,
]
"""The first numbers of SplitMix64 for the seed 1234567, as its reference implementation prints them."""


def signed(number: int) -> int:
    return number - (1 << 64) if number >> 63 else number


def test_the_order_is_that_of_published_hashes() -> None:
    ascending = sorted(range(5), key=lambda place: signed(PUBLISHED[place]))
    assert shuffled(5, 1234567, CPU).tolist() == ascending


@pytest.mark.parametrize("n", [0, 1, 2, 100_000])
def test_each_number_comes_once(n: int) -> None:
    order = shuffled(n, 7, CPU)
    assert order.dtype == torch.int64
    assert order.sort().values.tolist() == list(range(n))


def test_orders_of_two_keys_have_little_in_common() -> None:
    # A random order keeps one number in its place on average, and follows another one as little.
    first, second = shuffled(100_000, 0, CPU), shuffled(100_000, 1, CPU)
    assert int((first == torch.arange(100_000)).sum()) < 10
    assert int((first == second).sum()) < 10
    correlation = torch.corrcoef(torch.stack([first.double(), second.double()]))[0, 1]
    # Five standard errors.
    assert abs(float(correlation)) < 5 / 100_000**0.5
