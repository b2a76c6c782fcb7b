"""The digest of what machine code is compiled from follows every change, and nothing else."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from numba import typeof

from borgtrace.kernels import hashing
from borgtrace.kernels.digests import digest_of, text_of_types
from borgtrace.kernels.hashing import finalized, hashed


def test_digests_follow_constants_and_closures() -> None:
    def adding(number: object):  # type: ignore[no-untyped-def]
        return lambda x: x + number

    assert digest_of(adding(1)) == digest_of(adding(1))
    assert digest_of(adding(1)) != digest_of(adding(2))
    assert digest_of(adding(np.arange(3))) == digest_of(adding(np.arange(3)))
    assert digest_of(adding(np.arange(3))) != digest_of(adding(np.arange(4)))
    assert digest_of(hashed) != digest_of(finalized)


def _made(code: str, **names: object) -> Any:
    """Return the function that some code defines, with other names around it."""
    exec(code, names)
    return names["f"]


@pytest.mark.parametrize(
    "code",
    [
        "def f(x): return x + FACTOR",
        "def f(x): return [y + FACTOR for y in x]",  # named by an inner function only
        "def f(x, y=FACTOR): return x + y",
        "def g(x): return x + FACTOR\ndef f(x): return g(x)",
        "def g(x): return f(x) + FACTOR\ndef f(x): return g(x)",  # in a circle
    ],
)
def test_digests_follow_what_a_function_names(code: str) -> None:
    digest = digest_of(_made(code, FACTOR=1))
    assert digest_of(_made(code, FACTOR=1)) == digest
    assert digest_of(_made(code, FACTOR=2)) != digest


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((1, 2), (1, 3)),
        ((1, 2), [1, 2]),
        ({1, 2}, {1, 3}),
        (1, 1.0),
        (len, max),
        (np.float32, np.float64),
        (np.zeros(2), np.zeros(2, np.float32)),
        (np.zeros((2, 1)), np.zeros((1, 2))),
    ],
)
def test_digests_follow_values_of_every_kind(one: object, other: object) -> None:
    code = "def f(): return VALUE"
    digest = digest_of(_made(code, VALUE=one))
    assert digest_of(_made(code, VALUE=one)) == digest
    assert digest_of(_made(code, VALUE=other)) != digest


def test_the_order_of_a_set_and_words_about_a_function_are_not_part_of_a_digest() -> None:
    code = "def f(): return VALUE"
    # 8 and 0 fall into one place of a small table: the set is walked in the order in which they came.
    first = {0, 8}
    second = {8, 0}
    assert list(first) != list(second)
    assert digest_of(_made(code, VALUE=first)) == digest_of(_made(code, VALUE=second))
    with_words = _made("def f():\n  'Words.'\n  return 1")
    with_others = _made("def f():\n  'Others.'\n  return 1")
    assert digest_of(with_words) == digest_of(with_others)


def test_a_module_of_ours_is_refused_since_an_edit_of_it_would_not_be_seen() -> None:
    with pytest.raises(TypeError) as caught:
        digest_of(_made("def f(): return hashing.GOLDEN", hashing=hashing))
    assert str(caught.value) == "f uses the module hashing: import the names that it needs"
    assert digest_of(_made("def f(): return np.pi", np=np))


class Span(NamedTuple):
    start: int
    end: int


class Turned(NamedTuple):
    end: int
    start: int


# Machine code takes the first field from the first place: it is wrong for a class whose fields were exchanged.
Turned.__name__ = Turned.__qualname__ = "Span"


def test_types_of_arguments_are_told_apart_by_the_names_of_fields() -> None:
    assert str(typeof(Span(1, 2))) != str(typeof((1, 2)))
    texts = {text_of_types((typeof(value),)) for value in (Span(1, 2), Turned(1, 2), (1, 2))}
    assert len(texts) == 3
    assert text_of_types((typeof((Span(1, 2), 3)),)) == (
        "(tests.kernels.test_digests.Span ('start', 'end') (int64; int64); int64)"
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (np.zeros(2), np.zeros(2, np.float32)),
        (np.zeros(2), np.zeros((1, 2))),
        (np.zeros(2), np.broadcast_to(0.0, 2)),
        (np.zeros(2, [("a", "i8"), ("b", "i8")]), np.zeros(2, [("b", "i8"), ("a", "i8")])),
    ],
)
def test_types_of_arrays_are_told_apart(one: Any, other: Any) -> None:
    assert text_of_types((typeof(one),)) != text_of_types((typeof(other),))
    assert text_of_types((typeof((one, 1)),)) != text_of_types((typeof((other, 1)),))
