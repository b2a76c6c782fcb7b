"""One grammar for numbers, one for times: what each text means, and what is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from borgtrace.errors import UsageError
from borgtrace.schema.ranges import list_numbers, parse_numbers
from borgtrace.schema.time import AFTER_TRACE, parse_span, parse_time, write_time

HOUR = 3_600_000_000


@pytest.mark.parametrize(
    ("text", "ranges"),
    [
        ("7", ((7, 7),)),
        ("9-11", ((9, 11),)),
        ("0-9,12", ((0, 9), (12, 12))),
        (" 12 , 0-9 ", ((0, 9), (12, 12))),
        ("0-4,5-9", ((0, 9),)),
        ("0-4,2-3", ((0, 4),)),
        ("0-4,6", ((0, 4), (6, 6))),
        ("500-", ((500, None),)),
        ("3-,7,1", ((1, 1), (3, None))),
        ("all", ((0, None),)),
        ("6251812952-6251812953", ((6251812952, 6251812953),)),
        ("9007199254740993", ((9007199254740993, 9007199254740993),)),
    ],
)
def test_numbers(text, ranges):
    assert parse_numbers(text).ranges == ranges


@pytest.mark.parametrize("text", ["", "a", "3-1", "1,,2", "-1", "--", "0x3", "1..2", "1.5"])
def test_what_is_no_list_of_numbers_is_refused(text):
    with pytest.raises(UsageError) as caught:
        parse_numbers(text, "--parts")
    assert str(caught.value) == (
        "--parts: not a list of numbers: expected numbers and ranges such as 5, 0-9,12 or 500-, or all, "
        f"got {text or 'nothing'}"
    )


@pytest.mark.parametrize("text", ["1-", "all", "1-9999999999"])
def test_a_list_has_an_end(text):
    with pytest.raises(UsageError) as caught:
        list_numbers(text, "--jobs")
    assert str(caught.value) == (
        f"--jobs: the range is too long: expected ranges of at most 1,000,000 numbers, got {text}"
    )


def test_a_list_is_sorted_and_says_each_number_once():
    assert list_numbers("9-11,0,10") == (0, 9, 10, 11)
    assert list_numbers(" ") == ()


NUMBERS = st.integers(0, 40)


@given(st.lists(st.tuples(NUMBERS, NUMBERS).map(sorted), min_size=1, max_size=6))
def test_numbers_are_the_union_of_their_ranges(ranges):
    texts = []
    union = set()
    for low, high in ranges:
        texts.append(f"{low}-{high}" if low != high else str(low))
        union.update(range(low, high + 1))
    numbers = list(parse_numbers(",".join(texts)).numbers(30))
    assert numbers == sorted(number for number in union if number < 30)


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("0", 0),
        ("600000000", 600_000_000),
        ("600s", 600_000_000),
        ("250us", 250),
        ("250µs", 250),
        ("5ms", 5_000),
        ("1m", 60_000_000),
        ("1min", 60_000_000),
        ("1.5h", 5_400_000_000),
        ("1h30m", 5_400_000_000),
        (" 2d 3h ", 51 * HOUR),
    ],
)
def test_times(text, time):
    assert parse_time(text) == time


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("1h30m..2h", (5_400_000_000, 7_200_000_000)),
        ("600s..", (600_000_000, AFTER_TRACE)),
        ("..2d", (0, 48 * HOUR)),
        ("..", (0, AFTER_TRACE)),
        ("0..1", (0, 1)),
        (" 24h .. 48h ", (24 * HOUR, 48 * HOUR)),
    ],
)
def test_time_ranges(text, span):
    assert parse_span(text) == span


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("5h", "not a time range: expected A..B, such as 1h30m..24h, 2h.. or ..2d, got '5h'"),
        ("", "not a time range: expected A..B, such as 1h30m..24h, 2h.. or ..2d, got ''"),
        ("1w..", "not a time: expected µs, or amounts such as 600s, 1h30m or 2d, got '1w'"),
        ("1h..x", "not a time: expected µs, or amounts such as 600s, 1h30m or 2d, got 'x'"),
        ("-1h..2h", "not a time: expected µs, or amounts such as 600s, 1h30m or 2d, got '-1h'"),
        ("2h..1h", "the end is not after the start: expected A..B with A < B, got '2h..1h'"),
        ("1h..60m", "the end is not after the start: expected A..B with A < B, got '1h..60m'"),
    ],
)
def test_what_is_no_time_range_is_refused(text, message):
    with pytest.raises(UsageError) as caught:
        parse_span(text, "--time")
    assert str(caught.value) == f"--time: {message}"


def test_a_list_has_at_most_a_million_numbers():
    assert len(list_numbers("5-1000004")) == 1_000_000
    with pytest.raises(UsageError):
        list_numbers("5-1000005")


def test_one_open_range_among_others_has_no_end():
    with pytest.raises(UsageError, match="the range is too long"):
        list_numbers("1,5-")


def test_amounts_of_time_are_exact_and_read_back() -> None:
    assert parse_time("8.2s") == 8_200_000
    for time in (1, 999, 1_000, 59_999_999, 90 * 60_000_000, 25 * 3_600_000_000 + 1):
        assert parse_time(write_time(time)) == time
    assert write_time(86_400_000_000) == "1d"


def test_an_open_range_ends_where_it_is_asked_to() -> None:
    assert list(parse_numbers("1-2,5-").numbers(7)) == [1, 2, 5, 6]
    assert list(parse_numbers("1-9").numbers(3)) == [1, 2]
    assert list(parse_numbers("0-1").numbers(9)) == [0, 1]
