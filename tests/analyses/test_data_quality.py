"""Expected – found, by hand, on a trace with one of everything."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from borgtrace.analyses.quality import data_quality
from borgtrace.analyses.quality.anomalies import is_as_documented, tolerance
from borgtrace.schema.dialects import GOOGLE_2011, AnomalyRate
from borgtrace.schema.time import HOUR
from borgtrace.store.coverage import Coverage
from tests.analyses.tiny import answer, at, tiny, window
from tests.rows import chosen_columns

EVENTS = [
    {
        "collection_id": 1,
        "time": 0,
        "type": "SUBMIT",
        "machine_id": 4,
        "cpu_request": 0.5,
    },
    {
        "collection_id": 1,
        "time": 0,
        "type": "SCHEDULE",
        "machine_id": 4,
        "cpu_request": 0.0,
    },
    {
        "collection_id": 1,
        "time": at(600),
        "type": "FINISH",
        "machine_id": 4,
    },
    {
        "collection_id": 2,
        "time": 0,
        "type": "SUBMIT",
        "missing_type": "EXISTS_BUT_NO_CREATION",
    },
    {
        "collection_id": 2,
        "time": at(10),
        "type": "SCHEDULE",
        "cpu_request": 0.5,
    },
    {
        "collection_id": 2,
        "time": at(20),
        "type": "UPDATE_RUNNING",
        "missing_type": "SNAPSHOT_BUT_NO_TRANSITION",
    },
    {
        "collection_id": 2,
        "time": at(310),
        "type": "KILL",
    },
    {
        "collection_id": 3,
        "time": at(5),
        "type": "SUBMIT",
    },
    {
        "collection_id": 3,
        "time": at(7),
        "type": "FINISH",
        "machine_id": 4,
    },
]
TABLES: dict[str, list[dict[str, Any]]] = {
    "instance_events": EVENTS,
    "collection_events": [
        {
            "collection_id": 1,
            "time": 0,
            "type": "SUBMIT",
        },
        {
            "collection_id": 9,
            "time": at(1),
            "type": "SUBMIT",
        },
        {
            "collection_id": 9,
            "time": at(2),
            "type": "FAIL",
        },
        {
            "collection_id": 9,
            "time": at(3),
            "type": "SUBMIT",
            "missing_type": "SNAPSHOT_BUT_NO_TRANSITION",
        },
    ],
    "machine_events": [
        {
            "time": 0,
            "machine_id": 4,
            "type": "ADD",
        },
        {
            "time": 0,
            "machine_id": 5,
            "type": "ADD",
            "cpu_capacity": 0.5,
            "memory_capacity": 0.5,
        },
        {
            "time": 0,
            "machine_id": 5,
            "type": "UPDATE",
            "cpu_capacity": 0.5,
            "memory_capacity": 0.5,
        },
    ],
    "instance_usage": [
        window(
            1,
            0,
            0.5,
            maximum_cpu=0.25,
            sampled_cpu=0.375,
            cycles_per_instruction=2.0,
        ),
        window(
            1,
            301,
            1.5,
            length=299,
            cycles_per_instruction=99.0,
            mean_disk_io_time=0.0,
        ),
        window(
            2,
            100,
            0.5,
            length=300,
            maximum_cpu=0.25,
            aggregation_type=True,
        ),
        window(2, 15 * 86400, 0.5, mean_disk_io_time=0.5, memory_accesses_per_instruction=2.0),
    ],
}


def counts_by_anomaly(
    generation: str = "2011", **tables: list[dict[str, Any]]
) -> dict[str, tuple[int, int, str]]:
    rows = answer(data_quality.QUESTION, tiny(generation, **tables))
    return {row["anomaly"]: (row["n"], row["of"], row["verdict"]) for row in rows}


def test_one_of_everything() -> None:
    rows = counts_by_anomaly(**TABLES)
    assert rows == {
        "missing_info_instances": (2, 9, "differs"),
        "missing_info_is_update": (1, 1, "as documented"),
        "missing_creation_no_request": (1, 1, "as documented"),
        "machine_missing": (1, 4, "differs"),
        "machine_on_kill": (0, 1, "as documented"),
        "machine_on_submit": (0, 1, "as documented"),
        "machine_on_first_submit": (1, 2, "as documented"),
        "cpu_request_zero": (1, 3, "reported"),
        "after_trace": (0, 9, "reported"),
        "schedule_missing": (1, 2, "differs"),
        "fail_days": (0, 0, "nothing to measure"),
        "missing_info_collections": (1, 4, "as documented"),
        "jobs_without_tasks": (1, 2, "as documented"),
        "job_id_reused": (1, 2, "as documented"),
        "capacity_missing": (1, 2, "as documented"),
        "machine_events_doubled": (1, 3, "differs"),
        # Ran 600 s and 300 s, up to the last window; covered 300 + 299 + 300 + 300 s.
        "usage_missing": (0, 900, "as documented"),
        "window_over_300s": (0, 4, "as documented"),
        "window_off_grid": (1, 4, "differs"),
        "cpu_over_1": (1, 4, "differs"),
        "sampled_cpu_over_1": (0, 1, "as documented"),
        "mean_over_maximum": (1, 1, "reported"),
        "sample_over_maximum": (1, 1, "reported"),
        "disk_io_late": (1, 1, "differs"),
        "disk_io_null": (2, 3, "differs"),
        "cpi_null": (2, 4, "as documented"),
        "cpi_impossible": (1, 2, "differs"),
        "mai_impossible": (1, 1, "differs"),
        "mixed_requests": (0, 0, "nothing to measure"),
        "mixed_requests_at_start": (0, 0, "nothing to measure"),
        # Task 2 is killed after 310 s: its window of 100 … 400 s and that of day 15 lie beyond.
        "usage_after_end": (2, 4, "reported"),
        "zero_usage": (0, 0, "nothing to measure"),
        "sample_portion_high": (0, 0, "nothing to measure"),
        "late_windows": (0, 4, "reported"),
    }


def test_2019_has_its_own_anomalies() -> None:
    rows = counts_by_anomaly(
        "2019",
        instance_usage=[
            window(7, 0, 0.5, collection_type="ALLOC_SET", assigned_memory=0.0),
            window(
                1,
                0,
                0.25,
                alloc_collection_id=7,
                assigned_memory=0.5,
                is_on_dedicated_machine=True,
            ),
        ],
    )
    expected = {
        "alloc_holds_tasks": (75, 150, "as documented"),
        "assigned_memory_zero": (1, 2, "as documented"),
        "dedicated_usage": (1, 2, "differs"),
        "percentiles_empty": (2, 2, "reported"),
    }
    assert chosen_columns(rows, expected) == expected
    assert rows["window_full"][:2] == (2, 2)
    assert "disk_io_late" not in rows


@pytest.mark.parametrize(
    ("code", "n", "of", "expected"),
    [
        ("missing_info_instances", 130, 1_000_000, "as documented"),
        ("missing_info_instances", 162, 1_000_000, "as documented"),  # 130 and a quarter: 162.5
        ("missing_info_instances", 163, 1_000_000, "differs"),
        (
            "machine_on_kill",
            523_750,
            1_000_000,
            "as documented",
        ),  # a quarter of the 38.1 % without a machine
        ("machine_on_kill", 523_749, 1_000_000, "differs"),
        ("cpi_impossible", 0, 1_000_000, "differs"),  # documented are some
        ("cpi_impossible", 1, 1_000_000, "as documented"),
        ("job_id_reused", 0, 672_074, "differs"),
        ("missing_info_instances", 0, 1000, "as documented"),  # 0.13 expected
        ("usage_missing", 10_000, 1_000_000, "as documented"),
        ("usage_missing", 10_001, 1_000_000, "differs"),
        ("fail_days", 2, 29, "as documented"),
        ("fail_days", 5, 29, "differs"),
    ],
)
def test_verdicts(code: str, n: int, of: int, expected: str) -> None:
    is_expected = is_as_documented(GOOGLE_2011.anomalies[code], n, of)
    assert is_expected == (expected == "as documented")


def test_claims_say_what_was_found() -> None:
    findings = {
        finding.id: finding for finding in data_quality.QUESTION.run(tiny(**TABLES)).findings
    }
    assert findings["QUALITY-machine_missing"].measured == "25.0000% (1 of 4)"
    assert findings["QUALITY-machine_missing"].verdict == "does not hold"
    assert findings["QUALITY-fail_days"].reason == "the trace has events on fewer than 14 days"
    assert findings["QUALITY-disk_io_late"].verdict == "does not hold"


def test_table_and_claims_judge_part_of_a_trace_alike() -> None:
    # Of a trace whose first parts are here, a rate is shown; what never occurs has been seen, and that is a verdict.
    tables = tiny(**TABLES)
    part = Coverage(10, parts=(0, 1), of=500, span=HOUR)
    tables.coverage = replace(
        tables.coverage, tables=dict.fromkeys(tables.coverage.tables, part), n_tasks=3
    )
    result = data_quality.QUESTION.run(tables)
    rows = {row["anomaly"]: row for row in result.table.to_pylist()}
    findings = {finding.id: finding for finding in result.findings}
    lacks = "needs all 500 parts of instance_usage, has 2 (60 min)"
    assert (rows["cpi_null"]["verdict"], rows["cpi_null"]["reason"]) == ("not judged", lacks)
    cpi_null = findings["QUALITY-cpi_null-2011"]
    assert (cpi_null.measured, cpi_null.outcome) == ("50.0000% (2 of 4)", f"not judged: {lacks}")
    assert rows["machine_missing"]["verdict"] == "differs"
    assert findings["QUALITY-machine_missing"].outcome == "does not hold"
    # None seen in a part proves no rule.
    assert rows["sampled_cpu_over_1"]["verdict"] == "not judged"
    # Each row says what the claim about it says.
    words = {"as documented": "holds", "differs": "does not hold"}
    for anomaly, row in rows.items():
        finding = findings.get(f"QUALITY-{anomaly}") or findings.get(f"QUALITY-{anomaly}-2011")
        if finding is not None and row["of"]:
            assert finding.verdict == words.get(row["verdict"], row["verdict"]), anomaly


def test_a_trace_is_judged_by_its_own_rates() -> None:
    # 29 % of the windows of 2019 have no CPI, 14 to 53 % of those of 2011: of 100 windows none has one.
    usage = [window(1, 300 * n, 0.5) for n in range(100)]
    old, new = (
        {f.id: f for f in data_quality.QUESTION.run(tiny(trace, instance_usage=usage)).findings}
        for trace in ("2011", "2019")
    )
    assert old["QUALITY-cpi_null-2011"].verdict == "does not hold"
    assert old["QUALITY-cpi_null-2019"].reason == "is about 2019, the store holds 2011"
    assert new["QUALITY-cpi_null-2019"].published == "29 %"
    assert new["QUALITY-cpi_null-2019"].tolerance == "0.29 ± 0.072, or two standard deviations"
    # Of 66 %, all is too much.
    assert new["QUALITY-window_full"].measured == "100.0000% (100 of 100)"
    # What is documented of 2011 alone is no claim about 2019, but counted.
    assert new["QUALITY-usage_missing"].reason == "is about 2011, the store holds 2019"


def test_nothing_at_all() -> None:
    assert (
        data_quality.QUESTION.run(tiny()).not_applicable == "the store holds no events and no usage"
    )


def test_caveats_of_windows_and_machines() -> None:
    end = 31 * 86400
    rows = counts_by_anomaly(
        "2019",
        instance_usage=[
            window(1, 0, 0.0, 0.0, sample_rate=0.89),
            window(1, 300, 0.0, 0.25, sample_rate=0.9),
            window(1, end - 300, 0.25, 0.0, sample_rate=1.0),
            window(1, end - 299, 0.25, None),
        ],
        machine_events=[
            {
                "time": 0,
                "machine_id": 4,
                "type": "ADD",
                "missing_data_reason": "SNAPSHOT_BUT_NO_TRANSITION",
            },
            {
                "time": 0,
                "machine_id": 5,
                "type": "ADD",
            },
        ],
    )
    assert rows["zero_usage"] == (1, 3, "reported")
    assert rows["sample_rate_low"] == (1, 3, "reported")
    # The last window ends a second after the 31 days.
    assert rows["late_windows"] == (1, 4, "reported")
    assert rows["missing_data_reason"] == (1, 2, "reported")
    assert counts_by_anomaly(
        instance_usage=[window(1, 0, 0.5, sample_portion=p) for p in (1.0, 1.01)]
    )["sample_portion_high"] == (
        *(1, 2),
        "reported",
    )


def test_windows_at_the_borders_of_what_is_documented() -> None:
    def usage_window(
        start: float, length: float, cpu: float | None, second: float | None, most: float | None
    ) -> dict[str, Any]:
        return {
            **window(1, start, cpu, length=length),
            "sampled_cpu": second,
            "maximum_cpu": most,
        }

    late = 14 * 86_400
    rows = counts_by_anomaly(
        instance_usage=[
            # Two microseconds across a border of the grid, and one up to it.
            usage_window(299.999999, 0.000002, 1.0, 1.0, 1.0),
            usage_window(299.999999, 0.000001, 1.5, 1.5, 1.0),
            # 300 s, and a microsecond more.
            usage_window(600, 300, 0.5, 0.5, 1.0),
            usage_window(600, 300.000001, 0.5, 1.0, 0.5),
            # From day 14 on disk times are void.
            {**usage_window(late - 1, 1, None, None, None), "mean_disk_io_time": 0.5},
            {**usage_window(late, 300, None, None, None), "mean_disk_io_time": 0.5},
        ]
    )
    assert {
        name: rows[name][:2] for name in rows if rows[name][1] > 0 and not name.startswith("cpi")
    } == {
        "window_over_300s": (1, 6),
        "window_off_grid": (1, 5),
        "cpu_over_1": (1, 4),
        "sampled_cpu_over_1": (1, 4),
        "mean_over_maximum": (1, 4),
        "sample_over_maximum": (2, 4),
        "disk_io_late": (1, 1),
        "disk_io_null": (4, 5),
        "late_windows": (0, 6),
    }


def submit(
    job: int, index: int, cpu: float | None, memory: float, kind: str = "SUBMIT"
) -> dict[str, Any]:
    row = {
        "collection_id": job,
        "instance_index": index,
        "time": at(job),
        "type": kind,
    }
    return {
        **row,
        "cpu_request": cpu,
        "memory_request": memory,
    }


def test_jobs_whose_tasks_ask_for_different_amounts() -> None:
    events = [
        *(submit(1, 0, 0.5, 0.25), submit(1, 1, 0.5, 0.25)),
        *(submit(2, 0, 0.5, 0.25), submit(2, 1, 0.5, 0.125)),
        *(submit(3, 0, 0.5, 0.25), submit(3, 1, None, 0.25)),
        # One task that asks for another amount later; and one that runs with another than it was submitted with.
        *(submit(4, 0, 0.5, 0.25), submit(4, 0, 0.25, 0.25)),
        *(
            submit(5, 0, 0.5, 0.25),
            submit(5, 1, 0.5, 0.25),
            submit(5, 1, 0.25, 0.25, "SCHEDULE"),
        ),
        # It ran when the trace began, one task with less: its SUBMITs do not count, nor what starts later.
        *(submit(6, index, 0.5, 0.25) | {"time": 0} for index in (0, 1)),
        submit(6, 0, 0.5, 0.25, "SCHEDULE") | {"time": 0},
        submit(6, 1, 0.25, 0.25, "SCHEDULE") | {"time": 0},
        submit(6, 2, 0.75, 0.25, "SCHEDULE"),
    ]
    counts = counts_by_anomaly(instance_events=events)
    assert counts["mixed_requests"] == (3, 4, "reported")
    assert counts["mixed_requests_at_start"] == (1, 1, "reported")


def test_pending_tasks_whose_constraints_are_updated() -> None:
    key = [
        {
            "collection_id": 1,
            "instance_index": 0,
            "time": at(second),
        }
        for second in (1, 2, 3)
    ]
    events = [
        {**key[0], "type": "SUBMIT"},
        *({**row, "type": "UPDATE_PENDING"} for row in key[1:]),
    ]
    constraint = {
        "name": "disk",
        "relation": "EQUAL",
        "value": "1",
    }
    rows = counts_by_anomaly(
        instance_events=events, instance_constraints=[{**row, **constraint} for row in key[:2]]
    )
    assert rows["pending_updates"] == (1, 2, "reported")


@pytest.mark.parametrize(("days", "expected"), [(14, (1, 14)), (13, (0, 0))])
def test_a_day_stands_out_of_two_weeks_and_of_no_less(days: int, expected: tuple[int, int]) -> None:
    """A failure a day; three on the sixth are more than twice the median, which is one."""
    times = [*(at(86_400 * day + 1) for day in range(days)), at(5 * 86_400 + 2), at(5 * 86_400 + 3)]
    events = [
        {
            "collection_id": n,
            "time": time,
            "type": "FAIL",
        }
        for n, time in enumerate(times, 1)
    ]
    assert data_quality.count_fail_days(tiny(instance_events=events)) == expected


def test_a_claim_knows_its_tables_and_its_kind() -> None:
    claims = {claim.id: claim for claim in data_quality.QUESTION.claims}
    windows = claims["QUALITY-window_off_grid"]
    assert windows.kind == "published"
    assert windows.scope.tables == ("instance_usage",)
    # Counted over the real files, not published.
    jobs = claims["QUALITY-missing_info_collections"]
    assert jobs.kind == "criterion"
    assert jobs.scope.tables == ("collection_events",)
    assert claims["QUALITY-usage_missing"].scope.tables == ("instance_usage", "instance_events")


def test_an_undocumented_rate_may_be_any_share() -> None:
    assert tolerance(AnomalyRate("", "", None)) == "0 … 1"
