"""What makes a claim true: each criterion at its limits, and what is printed as published."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from borgtrace.question.criteria import (
    Criterion,
    above,
    at_least,
    at_most,
    below,
    between,
    equals,
    near,
)


@pytest.mark.parametrize(
    ("make", "accepted", "refused"),
    [
        (lambda: near(0.5, 0.25), (0.25, 0.75), (0.2, 0.8)),
        (lambda: near(8.0, relative=0.5), (4.0, 12.0), (3.9, 12.1)),
        (lambda: between(1, 2, "1.5"), (1, 2), (0.9, 2.1)),
        (lambda: above(1), (1.5,), (1, 0.5)),
        (lambda: below(1), (0.5,), (1, 1.5)),
        (lambda: at_least(1), (1, 2), (0.5,)),
        (lambda: at_most(1), (1, 0), (1.5,)),
        (lambda: equals("a"), ("a",), ("b",)),
    ],
)
def test_a_criterion_at_its_limits(
    make: Callable[[], Criterion], accepted: tuple[object], refused: tuple[object]
) -> None:
    criterion = make()
    assert [criterion.test(value) for value in accepted] == [True] * len(accepted)
    assert [criterion.test(value) for value in refused] == [False] * len(refused)


def test_what_is_published_is_the_number_or_the_text_given() -> None:
    assert [c.published for c in (near(0.4, 0.1), near(0.4, 0.1, published="≈ 0.4"))] == [
        0.4,
        "≈ 0.4",
    ]
    assert [
        c.published for c in (near(2, relative=0.1), near(2, relative=0.1, published="2 s"))
    ] == [2, "2 s"]
    assert [c.published for c in (below(1), below(1, 0.5), equals(0, published="never"))] == [
        "< 1",
        0.5,
        "never",
    ]
    assert near(2, relative=0.001).tolerance == "± 0.1%"
    assert (near(2, relative=0.1).tolerance, near(0.4, 0.1).tolerance, at_most(2).tolerance) == (
        "± 10%",
        "± 0.1",
        "≤ 2",
    )
