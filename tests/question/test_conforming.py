from __future__ import annotations

import pyarrow as pa
import pytest

from borgtrace.errors import SchemaError
from borgtrace.question.conforming import conform
from borgtrace.schema import Column, Table

DECLARED = Table(
    "answer",
    "thing",
    ("name",),
    (
        Column("name", "string", "id", "A name.", nullable=False),
        Column("n", "int64", "count", "A number.", nullable=False),
        Column("share", "float32", "1", "A share."),
    ),
)


def test_a_result_is_cast_put_into_order_and_sorted() -> None:
    found = conform(
        pa.table(
            {
                "share": [0.5, None],
                "n": pa.array([2, 1], pa.int8()),
                "name": ["b", "a"],
            }
        ),
        DECLARED,
    )
    assert found.schema.names == ["name", "n", "share"]
    assert found.schema.types == [
        pa.string(),
        pa.int64(),
        pa.float32(),
    ]
    assert found.to_pylist() == [
        {
            "name": "a",
            "n": 1,
            "share": None,
        },
        {
            "name": "b",
            "n": 2,
            "share": 0.5,
        },
    ]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (
            {"name": ["a"], "m": [1.0]},
            "column n is missing; column share is missing; column m is not declared",
        ),
        (
            {
                "name": ["a"],
                "n": [1.0],
                "share": ["x"],
            },
            "column n is double, declared int64; column share is string, declared float",
        ),
        (
            {
                "name": ["a", "a"],
                "n": [1, None],
                "share": [1.0, 2.0],
            },
            "column n holds 1 NULLs; 1 rows repeat the key (name)",
        ),
    ],
)
def test_every_failure_is_told_at_once(columns: dict[str, list[object]], message: str) -> None:
    with pytest.raises(SchemaError) as caught:
        conform(pa.table(columns), DECLARED)
    assert str(caught.value) == f"answer: the answer is not what its question declares: {message}"


def test_a_float_loses_digits_where_it_is_declared_narrower() -> None:
    shares = Table("shares", "thing", (), (Column("share", "float32", "1", "A share."),))
    # 2⁻²⁴ beside 1 is the first digit that float32 has no room for.
    assert conform(pa.table({"share": [1 + 2.0**-24, None]}), shares)["share"].to_pylist() == [
        1.0,
        None,
    ]


def test_an_integer_that_does_not_fit_is_named() -> None:
    counts = Table(
        "counts", "thing", ("n",), (Column("n", "int32", "count", "A number.", nullable=False),)
    )
    with pytest.raises(
        SchemaError, match=r"^n: a value does not fit int32: Integer value 2147483648 not in range"
    ):
        conform(pa.table({"n": [2**31]}), counts)
