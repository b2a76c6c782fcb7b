"""What a number of parts has in reach: the hours they cover, and the claims that need no more."""

from __future__ import annotations

import pyarrow as pa
import pytest

from borgtrace.catalog import find
from borgtrace.question import Answer, Claim, Column, Question, Scope
from borgtrace.question.criteria import equals
from borgtrace.question.reach import Reach, reaches, tables_read
from borgtrace.schema.dialects import dialect

HOUR = 3_600_000_000
ANSWER = Answer(grain="row", key=[Column("n", "int64", "count", "Rows.")])


def question(*scopes, reads=("instance_events",)):
    claims = tuple(
        Claim(
            f"X-{i}",
            statement="holds",
            criterion=equals(1),
            measure=lambda _: 1,
            scope=scope,
        )
        for i, scope in enumerate(scopes)
    )
    return Question(
        name="counted",
        doc="How many?",
        answer=ANSWER,
        compute=lambda tables: pa.table({"n": [1]}),
        chart=lambda answer: None,
        claims=claims,
        reads=reads,
    )


def test_a_day_needs_eighteen_parts_and_the_month_all():
    """500 parts are 29 days: 17 are 23.66 h and 18 are 25.06 h; a day may lack its last window."""
    asked = [question(Scope(is_whole=False), Scope())]
    found = reaches(asked, dialect("2011"), {"task_events": 500}, 500)
    assert [(one.parts, one.claims) for one in found] == [
        (1, 0),
        (10, 0),
        (18, 1),
        (100, 1),
        (500, 2),
    ]
    assert [round(one.span / HOUR, 2) for one in found] == [1.39, 13.92, 25.06, 139.2, 696]


def test_the_shortest_table_decides_the_span():
    parts = {"task_events": 500, "machine_events": 1}
    asked = [question(Scope(is_whole=False)), question(Scope(), reads=())]
    found = reaches(asked, dialect("2011"), parts, 20)
    # The second reads all tables, of which some are not there at all.
    assert [(one.parts, round(one.span / HOUR, 2), one.claims) for one in found] == [
        (1, 1.39, 0),
        (10, 13.92, 0),
        (18, 25.06, 1),
        (20, 27.84, 1),
    ]


def test_machines_come_whole_with_the_first_part():
    found = reaches([find("machine_shapes")], dialect("2011"), {"machine_events": 1}, 1)
    assert found == [Reach(1, 696 * HOUR, 5)]


def test_nothing_is_said_beyond_the_most_that_was_asked_about():
    # The eighteenth part would bring a claim.
    found = reaches([question(Scope(is_whole=False))], dialect("2011"), {"task_events": 500}, 17)
    assert [(one.parts, one.claims) for one in found] == [
        (1, 0),
        (10, 0),
        (17, 0),
    ]


def test_parts_of_no_table_cover_no_time():
    assert reaches([question(Scope())], dialect("2011"), {}, 1) == [Reach(1, 0, 0)]


@pytest.mark.parametrize(("parts", "claims"), [(None, 0), (3, 1)])
def test_shards_of_2019_cover_the_month_but_hold_no_whole_task(parts, claims):
    asked = [question(Scope(is_whole=False))]
    found = reaches(asked, dialect("2019"), {"instance_events": parts}, 3)
    assert (found[0].span, found[0].claims) == (31 * 24 * HOUR, 0)
    assert found[-1].claims == claims


@pytest.mark.parametrize(
    ("names", "tables"),
    [
        (["queue_length"], ("instance_events",)),
        (["task_totals", "machine_shapes"], ("instance_events", "machine_events")),
        (["utilization"], ("instance_usage", "instance_events", "machine_events")),
        (["queue_length", "data_quality"], ()),
    ],
)
def test_the_tables_that_questions_read(names, tables):
    assert tables_read([find(name) for name in names]) == tables
