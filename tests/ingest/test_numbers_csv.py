"""The parser of plain numbers against Arrow's, text by text."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from borgtrace.ingest.read.number_parser import DECIMAL, INTEGER, PARSED, UNKNOWN, parse_numbers


def parse(lines, kinds, *, padding=0):
    """Parse lines; `padding` more lines after them let the quick way look ahead."""
    text = "".join(f"{line}\n" for line in lines) + ("0" + ",0" * (len(kinds) - 1) + "\n") * padding
    rows = len(lines)
    size = -(-max(rows, 1) // 8) * 8
    slots = [kinds[:i].count(kind) for i, kind in enumerate(kinds)]
    integers = np.zeros((len(kinds), size), np.int64)
    decimals = np.zeros((len(kinds), size), np.float32)
    valid = np.full((len(kinds), size // 8), 0xFF, np.uint8)
    doubtful = np.zeros((4096, 4), np.int64)
    status, done, _consumed, doubts = parse_numbers(
        np.frombuffer(text.encode("latin1"), np.uint8),
        np.array(kinds, np.uint8),
        np.array(slots, np.uint8),
        0,
        rows,
        integers,
        decimals,
        valid,
        doubtful,
    )
    for field, row, low, high in doubtful[:doubts].tolist():
        decimals[slots[field], row] = exact([text[low:high]])[0]
    is_there = np.unpackbits(valid, axis=1, bitorder="little")[:, :rows].astype(bool)
    return status, done, integers[:, :rows], decimals[:, :rows], is_there


def exact(texts):
    return pc.cast(pa.array(texts), pa.float32()).to_numpy(zero_copy_only=False)


def decimals_of_all_shapes(number, seed=1):
    random = np.random.default_rng(seed)
    values = np.exp(random.normal(-4, 6, number))
    shapes = ("%.4g", "%.10g", "%.17g", "%.3f", "%.0f", "%.7f", "%.15f", "%e")
    return [shapes[i % len(shapes)] % value for i, value in enumerate(values)]


@pytest.mark.parametrize("padding", [0, 40])
def test_decimals_are_exact(padding):
    texts = [text for text in decimals_of_all_shapes(4000) if len(text.replace(".", "")) < 16]
    texts += [
        "0",
        "0.",
        "1.",
        "007",
        "0.0",
        "12345678",
        "123456789",
        "1234567.5",
        "12345678.5",
        "0.12345678",
        "0.123456789",
        "1e5",
        "1.5E-3",
        "2e+2",
        "16777217",
        "0.00000011920929",
    ]
    status, done, _, found, is_there = parse(texts, [DECIMAL], padding=padding)
    assert (status, done) == (PARSED, len(texts))
    assert is_there.all()
    np.testing.assert_array_equal(found[0], exact(texts))


@pytest.mark.parametrize("padding", [0, 40])
def test_integers_of_every_length(padding):
    numbers = [10**k - 1 for k in range(19)] + [10**k for k in range(19)] + [2**63 - 1, 6486641236]
    status, _, found, _, _ = parse([str(number) for number in numbers], [INTEGER], padding=padding)
    assert status == PARSED
    assert found[0].tolist() == numbers


@pytest.mark.parametrize("padding", [0, 40])
def test_empty_fields_are_missing(padding):
    status, done, integers, found, is_there = parse(
        ["1,,3", ",0.5,", ",,"],
        [INTEGER, DECIMAL, INTEGER],
        padding=padding,
    )
    assert (status, done) == (PARSED, 3)
    assert is_there.tolist() == [
        [True, False, False],
        [False, True, False],
        [True, False, False],
    ]
    assert (integers[0, 0], integers[1, 0], found[0, 1]) == (1, 3, 0.5)


@pytest.mark.parametrize("padding", [0, 40])
@pytest.mark.parametrize(
    "line",
    [
        "-1,2",
        "+1,2",
        "1",
        "1,2,3",
        "1;2",
        "a,2",
        "1,x",
        "1.5,2",
        "1,1.2.3",
        "1,e5",
        "1,1e",
        "1,1e-",
        "1, 2",
        '"1",2',
        "9223372036854775808,2",
        "99999999999999999999,2",
        "1,.",
        "1,nan",
        "1,inf",
        "1,2\r",
        "12345678\xff,2",
    ],
)
def test_anything_else_is_strange(line, padding):
    assert parse(["7,8", line], [INTEGER, DECIMAL], padding=padding)[:2] == (UNKNOWN, 1)


def test_a_line_without_its_end_is_left_alone():
    text = np.frombuffer(b"1,2\n3,4", np.uint8)
    integers, decimals = np.zeros((2, 8), np.int64), np.zeros((2, 8), np.float32)
    found = parse_numbers(
        text,
        np.array([0, 0], np.uint8),
        np.array([0, 1], np.uint8),
        0,
        8,
        integers,
        decimals,
        np.full((2, 1), 255, np.uint8),
        np.zeros((1, 4), np.int64),
    )
    assert found == (PARSED, 1, 4, 0)
