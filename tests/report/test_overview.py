"""The first screen: each value by hand, or why it is unknown."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from borgtrace import report
from borgtrace.catalog import find
from borgtrace.errors import EngineError
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.question import Finding, Provenance, Result
from borgtrace.report.overview import LEVEL_NAMES, Fact, facts, levels, surprises
from borgtrace.report.page import render, report_html
from borgtrace.report.sections import PageSection, refused
from borgtrace.store import Store
from borgtrace.store.coverage import DERIVED_EVENTS
from tests.rows import chosen_columns

from .conftest import HOUR, manifest

START = 600_000_000
WHOLE = replace(
    manifest().sources[0],
    name="own",
    file="own",
    part=0,
    parts=1,
)
EVENTS, USAGE = (
    replace(WHOLE, table=table, raw_table=raw)
    for table, raw in (("instance_events", "task_events"), ("instance_usage", "task_usage"))
)
SPAN = [START, START + 3 * HOUR]
HELD: dict[str, Any] = {
    "sources": (EVENTS, USAGE),
    "tables": {"instance_events": 9, "instance_usage": 9},
    "time_range": {"instance_events": SPAN, "instance_usage": SPAN},
    "synthetic": {"parts": {"task_events": 1, "task_usage": 1}},
}


def answered(
    name: str, rows: list[dict[str, Any]], findings: tuple[Finding, ...] = ()
) -> PageSection:
    """A section with an answer written by hand."""
    question = find(name)
    result = Result(question, pa.Table.from_pylist(rows), Provenance(), findings)
    return PageSection(question, "", result)


def not_applicable(name: str, reason: str) -> PageSection:
    """A section whose question the store cannot answer."""
    question = find(name)
    result = Result(question, pa.table({}), Provenance(), not_applicable=reason)
    return PageSection(question, "", result)


def line(name: str, sections: list[PageSection], **changes: Any) -> Fact:
    return {fact.name: fact for fact in facts(manifest(**{**HELD, **changes}), sections)}[name]


def exact(fact: Fact) -> Mapping[str, Any]:
    return {value.id: value.exact for value in fact.values}


def hour(
    tier: str,
    number: int,
    used: float,
    allocated: float,
    capacity: float | None = 10.0,
) -> dict[str, Any]:
    """A row of *utilization*; memory is half of the CPU, of the same capacity."""
    columns = {
        "used": (used, used / 2),
        "allocated": (allocated, allocated / 2),
        "capacity": (capacity, capacity),
    }
    cells = {
        f"{name}_{what}": pair[i]
        for what, pair in columns.items()
        for i, name in enumerate(("cpu", "memory"))
    }
    return {
        "tier": tier,
        "hour": number,
        **cells,
    }


UTILIZATION = answered(
    "utilization",
    [
        hour("free", 0, 1.0, 2.0),
        hour("free", 1, 1.0, 2.0),
        hour("free", 2, 0.0, 2.0),
        hour("production", 0, 1.0, 4.0),
        hour("production", 1, 4.0, 6.0),
        hour("production", 2, 2.0, 5.0),
    ],
)


def test_mean_and_peak_of_what_is_used_and_requested() -> None:
    # Used: 2, 5 and 2 of 10 in three hours; requested: 6, 8 and 7.
    used = exact(line("used", [UTILIZATION]))
    expected = {
        "cpu-used-mean": 0.3,
        "cpu-used-peak": 0.5,
        "memory-used-mean": 0.15,
        "memory-used-peak": 0.25,
    }
    assert chosen_columns(used, expected) == pytest.approx(expected)
    requested = exact(line("requested", [UTILIZATION]))
    expected = {
        "cpu-allocated-mean": 0.7,
        "cpu-allocated-peak": 0.8,
        "memory-allocated-mean": 0.35,
        "memory-allocated-peak": 0.4,
    }
    assert chosen_columns(requested, expected) == pytest.approx(expected)


def test_mean_and_peak_by_tier_are_shares_of_the_cell() -> None:
    used = exact(line("used", [UTILIZATION]))
    # Free: 1, 1 and 0 of 10; production: 1, 4 and 2.
    expected = {
        "cpu-used-mean-free": 2 / 30,
        "cpu-used-peak-free": 0.1,
        "cpu-used-mean-production": 7 / 30,
        "cpu-used-peak-production": 0.4,
    }
    assert chosen_columns(used, expected) == pytest.approx(expected)
    requested = exact(line("requested", [UTILIZATION]))
    assert requested["memory-allocated-mean-production"] == pytest.approx(7.5 / 30)


def test_the_table_of_the_first_screen_has_the_highest_tier_first() -> None:
    lines = facts(manifest(**HELD), [UTILIZATION])
    values = {
        "facts": lines,
        "levels": levels(lines),
        "level_names": LEVEL_NAMES,
        "surprises": [],
        "sections": [],
    }
    html = render("numbers.html.j2", **values)
    table = html.partition('<table class="levels">')[2].partition("</table>")[0]
    rows = [" ".join(re.sub(r"<[^>]+>", " ", row).split()) for row in table.split("<tr>")[1:]]
    assert rows == [
        "Tier CPU used CPU requested memory used memory requested",
        "all 30 ( 50 ) 70 ( 80 ) 15 ( 25 ) 35 ( 40 )",
        "production 23 ( 40 ) 50 ( 60 ) 12 ( 20 ) 25 ( 30 )",
        "free 6.7 ( 10 ) 20 ( 20 ) 3.3 ( 5.0 ) 10 ( 10 )",
    ]


def test_the_table_leaves_out_what_is_unknown() -> None:
    table = levels(
        facts(
            manifest(
                **{
                    **HELD,
                    **usage_of(),
                    "notes": ("subset of x",),
                }
            ),
            [UTILIZATION],
        )
    )
    assert table == []
    some = {
        **usage_of(),
        "time_range": {"instance_events": SPAN, "instance_usage": [START, START + HOUR // 2]},
    }
    [(tier, cells), *_] = levels(facts(manifest(**{**HELD, **some}), [UTILIZATION]))
    assert (tier, [cell is None for cell in cells]) == ("all", [True, False, True, False])


def test_tiers_come_by_their_share_of_the_requests() -> None:
    # 15 of 21 are of production.
    shares = exact(line("tiers", [UTILIZATION]))
    assert list(shares) == ["tier-production", "tier-free"]
    assert shares == pytest.approx({"tier-production": 15 / 21, "tier-free": 6 / 21})
    assert [value.text for value in line("tiers", [UTILIZATION]).values] == ["71.4 %", "28.6 %"]


def test_the_busiest_hour_is_one_of_the_cells_clock() -> None:
    [value] = line("busiest", [UTILIZATION]).values
    assert (value.exact, value.text) == (1, "1 May 2011 20:00 EDT")


def test_hours_that_a_part_covers_partly_do_not_count() -> None:
    # Usage from the middle of hour 0 to the middle of hour 2: hour 1 alone is whole.
    changes = {
        "synthetic": {"parts": {"task_events": 1, "task_usage": 500}},
        "time_range": {
            "instance_events": SPAN,
            "instance_usage": [START + HOUR // 2, START + 5 * HOUR // 2],
        },
    }
    assert exact(line("used", [UTILIZATION], **changes))["cpu-used-mean"] == pytest.approx(0.5)
    assert exact(line("requested", [UTILIZATION], **changes))[
        "cpu-allocated-mean"
    ] == pytest.approx(0.7)


def test_hours_without_machines_do_not_count() -> None:
    rows = [
        hour("free", 0, 1.0, 2.0),
        hour("free", 1, 9.0, 9.0, None),
    ]
    for name in ("cpu_capacity", "memory_capacity"):
        lacking = [rows[0], {**hour("free", 1, 9.0, 9.0), name: 0.0}]
        for known in (rows, lacking):
            assert exact(line("used", [answered("utilization", known)]))[
                "cpu-used-peak"
            ] == pytest.approx(0.1)
    fact = line("used", [answered("utilization", rows[1:])])
    assert (fact.unknown, fact.reason) == ("unknown", "no machine has a capacity")


def usage_of(**changes: Any) -> dict[str, Any]:
    return {
        "sources": (EVENTS, replace(USAGE, **changes)),
        "synthetic": {"parts": {"task_events": 1, "task_usage": 5}},
    }


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        (
            {
                **usage_of(),
                "time_range": {
                    "instance_events": SPAN,
                    "instance_usage": [START, START + HOUR // 2],
                },
            },
            "the store has usage of no whole hour",
        ),
        (
            {**usage_of(), "sources": (EVENTS, USAGE, replace(USAGE, part=2))},
            "parts of the usage are missing before the last one",
        ),
        (
            {
                **usage_of(),
                "generation": "2019",
                "cell": "a",
            },
            "each part is a sample of all usage: all are needed",
        ),
        ({**usage_of(), "notes": ("subset of x",)}, "the store is a subset of another"),
    ],
)
def test_usage_of_a_part_of_the_cell_is_no_utilization(
    changes: dict[str, Any], reason: str
) -> None:
    fact = line("used", [UTILIZATION], **changes)
    assert (fact.values, fact.unknown, fact.reason) == ((), "unknown: needs usage", reason)


def test_what_runs_is_known_from_the_first_part_of_the_events_on() -> None:
    late = {
        "sources": (replace(EVENTS, part=1), USAGE),
        "synthetic": {"parts": {"task_events": 5, "task_usage": 1}},
    }
    steps = answered(
        "queue_length",
        [
            {
                "time": 3 * 300_000_000,
                "pending": 1,
                "pending_max": 2,
            }
        ],
    )
    for name in ("requested", "tiers", "queue"):
        fact = line(name, [UTILIZATION, steps], **late)
        assert fact.unknown == "unknown: needs task events"
        assert fact.reason == "parts of the task events are missing before the last one"


def test_the_queue_leaves_out_what_was_there_before_the_trace() -> None:
    steps = [
        (1, 900, 900),
        (2, 900, 900),
        (3, 4, 8),
        (4, 7, 9),
        (5, 5, 30),
    ]
    rows = [
        {
            "time": k * 300_000_000,
            "pending": n,
            "pending_max": most,
        }
        for k, n, most in steps
    ]
    assert exact(line("queue", [answered("queue_length", rows)])) == {
        "pending-median": 5,
        "pending-peak": 30,
    }
    fact = line("queue", [answered("queue_length", rows[:2])])
    assert (fact.unknown, fact.reason) == ("unknown", "no step lies inside the trace")
    fact = line("queue", [answered("queue_length", rows)], notes=(DERIVED_EVENTS,))
    assert fact.reason == "events are derived from usage: nobody waits"


def test_the_advice_names_the_factor_and_the_way_of_packing() -> None:
    def way(
        estimator: str,
        parameter: float,
        *,
        factor: bool = False,
        advised: bool = False,
    ) -> dict[str, Any]:
        return {
            "estimator": estimator,
            "parameter": parameter,
            "is_factor": factor,
            "is_advised": advised,
        }

    rows = [
        way("request", 1.0),
        way("request", 1.35, factor=True),
        way("gpa", 0.001, advised=True),
    ]
    texts = [
        f"{value.text} {value.of}"
        for value in line("advice", [answered("packing_advice", rows)]).values
    ]
    assert texts == ["1.35 × the capacity may be requested", "gpa 0.001 packs best"]
    [none] = line("advice", [answered("packing_advice", rows[:1])]).values
    assert f"{none.text} {none.of}" == "none of the factors is known to keep the target"


def test_a_question_that_is_not_answered_says_why() -> None:
    reason = "no long task is left of 7"
    some = {**usage_of(), "tables": {"instance_events": 9, "instance_usage": 0}}
    fact = line("advice", [not_applicable("packing_advice", reason)], **some)
    assert (fact.anchor, fact.unknown, fact.reason) == (
        "packing-advice",
        "unknown: needs usage",
        reason,
    )
    # All of the usage is there: more of it is no way out.
    assert line("advice", [not_applicable("packing_advice", reason)]).unknown == "unknown"
    fact = line("queue", [refused(find("queue_length"), EngineError("query", "memory exhausted"))])
    assert (fact.unknown, fact.reason) == ("unknown", "Not answered: query: memory exhausted")
    fact = line("queue", [])
    assert (fact.anchor, fact.unknown, fact.reason) == (
        "",
        "unknown",
        "queue_length is not on this page",
    )


def test_what_is_missing_is_said_in_parts() -> None:
    [value] = line("missing", [], synthetic=None).values
    assert value.text == (
        "machine events: none; machine attributes: none; job events: none; "
        "task events: 1 of 500 parts; task constraints: none; task usage: 1 of 500 parts"
    )
    assert exact(line("span", [])) == {"span-instance-events": 3.0, "span-instance-usage": 3.0}
    usage = line("span", [], tables={"instance_events": 9}).values[1]
    assert (usage.exact, usage.text) == (0, "0 s")


def test_published_claims_that_fail_here_come_first() -> None:
    def finding(
        id_: str,
        kind: Any,
        verdict: Any = "does not hold",
        note: str = "",
    ) -> Finding:
        return Finding(id_, id_, "1", "2", verdict, kind=kind, note=note)

    first = (
        finding("criterion", "criterion"),
        finding("other trace", "published", note="published of 2011, measured on 2019"),
        finding("good", "published", "holds"),
    )
    second = (finding("derived", "derived"), finding("published", "published"))
    sections = [answered("task_totals", [], first), answered("queue_length", [], second)]
    assert [(item.anchor, each.id) for item, each in surprises(sections)] == [
        ("queue-length", "published"),
        ("task-totals", "other trace"),
        ("queue-length", "derived"),
    ]


def test_no_more_than_three_surprises() -> None:
    failed = tuple(
        Finding(
            str(i),
            str(i),
            "1",
            "2",
            "does not hold",
        )
        for i in range(4)
    )
    failures = surprises([answered("task_totals", [], failed)])
    assert [finding.id for _, finding in failures] == ["0", "1", "2"]


def test_the_capacity_is_the_mean_over_time_and_machines_are_those_of_the_end() -> None:
    rows = [{"cpu": 1.0, "memory": 2.0}, {"cpu": 2.0, "memory": 5.0}]
    assert exact(line("capacity", [answered("machine_availability", rows)])) == {
        "capacity-cpu": 1.5,
        "capacity-memory": 3.5,
    }
    [machines] = line(
        "machines", [answered("machine_shapes", [{"n_last": 9_999}, {"n_last": 1}])]
    ).values
    assert (machines.exact, machines.text, machines.of) == (10_000, "10,000", "of 2 shapes")


@pytest.mark.parametrize(
    ("pending", "text"),
    [
        (3.0, "3"),
        (12.345, "12.3"),
        (99.6, "99.6"),
        (100.4, "100"),
        (12_345.6, "12,346"),
    ],
)
def test_a_median_has_three_digits(pending: float, text: str) -> None:
    rows = [
        {
            "time": 3 * 300_000_000,
            "pending": pending,
            "pending_max": 1,
        }
    ]
    assert line("queue", [answered("queue_length", rows)]).values[0].text == text


def test_hours_that_begin_and_end_with_a_part_count() -> None:
    # Usage of hours 0 and 1, to the microsecond: 2 and 5 of 10.
    changes = {
        "synthetic": {"parts": {"task_events": 1, "task_usage": 500}},
        "time_range": {"instance_events": SPAN, "instance_usage": [START, START + 2 * HOUR]},
    }
    assert exact(line("used", [UTILIZATION], **changes))["cpu-used-mean"] == pytest.approx(0.35)
    # A microsecond less at either end leaves one of them.
    changes["time_range"]["instance_usage"] = [START + 1, START + 2 * HOUR]
    assert exact(line("used", [UTILIZATION], **changes))["cpu-used-mean"] == pytest.approx(0.5)
    changes["time_range"]["instance_usage"] = [START, START + 2 * HOUR - 1]
    assert exact(line("used", [UTILIZATION], **changes))["cpu-used-mean"] == pytest.approx(0.2)


def test_equal_tiers_come_by_name_and_a_cell_without_requests_has_none() -> None:
    rows = [hour("mid", 0, 0.0, 2.0), hour("free", 0, 0.0, 2.0)]
    assert list(exact(line("tiers", [answered("utilization", rows)]))) == ["tier-free", "tier-mid"]
    fact = line("tiers", [answered("utilization", [hour("free", 0, 1.0, 0.0)])])
    assert (fact.unknown, fact.reason) == ("unknown", "no task requests CPU")


QUESTIONS = ("machine_shapes", "machine_availability", "task_totals", "utilization", "queue_length")


def test_the_page_of_a_store_has_the_values_that_its_rows_imply(
    tiny_store: Store, tmp_path: Path
) -> None:
    html = report.write(tiny_store, tmp_path / "report.html", QUESTIONS).path.read_text("utf-8")
    values = dict(re.findall(r'<data id="cell-([^"]+)" value="([^"]+)">', html))
    missing = "job events: 1 of 500 parts; task events: 1 of 500 parts; task constraints: none; "
    assert (
        values.pop("missing-parts")
        == f"machine attributes: none; {missing}task usage: 1 of 500 parts"
    )
    assert {name: float(value) for name, value in values.items()} == pytest.approx(
        {
            "machines": 2,
            "capacity-cpu": 1.5,
            "capacity-memory": 1.25,
            "tasks": 2,
            "jobs": 1,
            # In the one whole hour, which begins at 600 s, task 0 runs its last 600 s, with a quarter of a machine.
            "cpu-allocated-mean": 0.25 / 6 / 1.5,
            "cpu-allocated-peak": 0.25 / 6 / 1.5,
            "memory-allocated-mean": 0.125 / 6 / 1.25,
            "memory-allocated-peak": 0.125 / 6 / 1.25,
            # All of it by one tier.
            "cpu-allocated-mean-production": 0.25 / 6 / 1.5,
            "cpu-allocated-peak-production": 0.25 / 6 / 1.5,
            "memory-allocated-mean-production": 0.125 / 6 / 1.25,
            "memory-allocated-peak-production": 0.125 / 6 / 1.25,
            "tier-production": 1,
            # Both wait until 3600 s, ten steps; then task 1 alone, thirteen steps.
            "pending-median": 1,
            "pending-peak": 2,
            "span-instance-events": 6600 / 3600,
            "span-instance-usage": 1200 / 3600,
        }
    )
    text = " ".join(
        re.sub(r"<[^>]+>", " ", html.partition('id="fact-used"')[2].partition("</div>")[0]).split()
    )
    assert text.endswith("Used, mean unknown: needs usage the store has usage of no whole hour")


def test_reasons_are_escaped() -> None:
    section = not_applicable("queue_length", "the <queue> & its length")
    html = report_html(manifest(), "store", [section])
    assert "<small>the &lt;queue&gt; &amp; its length</small>" in html
    assert "<queue>" not in html


def test_usage_alone_of_an_own_cluster_opens_with_what_it_lacks(tmp_path: Path) -> None:
    rows = [
        f"web-{task},{1_700_000_000 + 300 * step},0.5" for task in range(3) for step in range(12)
    ]
    (tmp_path / "own.csv").write_text("\n".join(["task,time,cpu", *rows]))
    ingest([tmp_path / "own.csv"], tmp_path / "store", IngestOptions(jobs=1, capacity="8cores"))
    report.write(
        Store.open(tmp_path / "store"), tmp_path / "report.html", ["task_totals", "machine_shapes"]
    )
    page = (tmp_path / "report.html").read_text("utf-8")
    shown = dict(re.findall(r'<data id="cell-([^"]+)" value="([^"]*)"', page))
    assert (shown["tasks"], shown["missing-parts"]) == ("3", "machine events: none")
    assert (
        "unknown: needs machine events"
        in page.partition('id="fact-machines"')[2].partition("</div>")[0]
    )
