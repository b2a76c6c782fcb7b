"""What a kernel's options mean, and the numbers that all draws come from."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from borgtrace.kernels import compiled as compiled_module
from borgtrace.kernels.compiled import compiled
from borgtrace.kernels.hashing import hashed, task_keys


def _inverse(x: float) -> float:
    return 1.0 / x


def _twice(x: Any) -> Any:
    return x + x


def test_a_division_by_zero_is_an_error_unless_it_is_asked_for() -> None:
    with pytest.raises(ZeroDivisionError):
        compiled(cached=False)(_inverse)(0.0)
    assert compiled(cached=False, divides_by_zero=True)(_inverse)(0.0) == float("inf")


def test_what_numba_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    cached: list[object] = []
    monkeypatch.setattr(compiled_module, "cache_on_disk", cached.append)
    plain: Any = compiled()(_twice)
    other: Any = compiled(
        parallel=True,
        inline=True,
        makes_arrays=False,
        cached=False,
    )(_twice)
    assert plain.targetoptions.items() >= {
        ("nogil", True),
        ("parallel", False),
        ("inline", "never"),
        ("_nrt", True),
    }
    assert other.targetoptions.items() >= {
        ("nogil", True),
        ("parallel", True),
        ("inline", "always"),
        ("_nrt", False),
    }
    # Cached on disk unless that is not wanted; compiled when it is called.
    assert cached == [plain]
    assert plain.signatures == []


def test_a_signature_is_compiled_at_once_and_is_the_only_one() -> None:
    twice: Any = compiled("int64(int64)", cached=False)(_twice)
    assert len(twice.signatures) == 1
    assert twice(21) == 42
    with pytest.raises(TypeError):
        twice("ab")
    anything: Any = compiled(cached=False)(_twice)
    assert (anything("ab"), anything(21)) == ("abab", 42)


def _split_mix(state: int) -> int:
    """The next number of SplitMix64 after a state, as Steele, Lea and Flood write it down."""
    z = (state + 0x9E3779B97F4A7C15) % 2**64
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    z = (z ^ z >> 27) * 0x94D049BB133111EB % 2**64
    return z ^ z >> 31


def test_draws_are_those_of_split_mix() -> None:
    # The published first three numbers of the seed 0.
    expected = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
    assert [int(hashed(np.uint64(0), np.uint64(n))) for n in (1, 2, 3)] == expected
    assert _split_mix(0) == expected[0]


@pytest.mark.parametrize(
    "seed",
    [
        0,
        1,
        128,
        2**64 - 1,
        2**64 + 5,
        -1,
    ],
)
def test_the_key_of_a_task_follows_from_seed_and_identity(seed: int) -> None:
    keys = task_keys(seed, np.array([7, 8, 7]), np.array([8, 7, 8]))
    assert keys.dtype == np.uint64
    start = _split_mix(seed % 2**64)
    of_7_8 = _split_mix(_split_mix(start ^ 7) ^ 8)
    of_8_7 = _split_mix(_split_mix(start ^ 8) ^ 7)
    assert keys.tolist() == [of_7_8, of_8_7, of_7_8]
    assert of_7_8 != of_8_7
