"""What the real parts hold: 100 parts of job_events, 9 of task_events, all machine_events of 2011."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from borgtrace.catalog import find
from borgtrace.question import EngineTables, Finding, Tables
from borgtrace.scheduling.workload import read_tasks
from borgtrace.schema.time import HOUR, TRACE_START
from tests.rows import chosen_columns


@pytest.fixture(scope="module")
def tables(real_store: Path) -> Tables:
    return EngineTables.of(real_store)


def rows(name: str, tables: Tables, **parameters: Any) -> list[dict[str, Any]]:
    answer_rows: list[dict[str, Any]] = find(name).run(tables, **parameters).table.to_pylist()
    return answer_rows


def judged(name: str, tables: Tables) -> dict[str, Finding]:
    """Return the findings on the parts at hand, whatever the scope of a claim."""
    result = find(name).run(tables)
    return {claim.id: claim.judge(result.table) for claim in result.question.claims}


def test_the_machine_table_exactly(tables: Tables) -> None:
    value_by_key = {
        (row["platform_id"][0], round(row["cpu_capacity"], 4), round(row["memory_capacity"], 5)): (
            row["n_at_start"],
            row["n_first"],
            row["n_last"],
        )
        for row in rows("machine_shapes", tables)
    }
    assert value_by_key == {
        ("H", 0.5, 0.4995): (6672, 6728, 6732),
        ("H", 0.5, 0.2493): (3835, 3864, 3863),
        ("H", 0.5, 0.749): (992, 1003, 1001),
        ("G", 1.0, 1.0): (788, 795, 795),
        ("7", 0.25, 0.2498): (123, 126, 126),
        ("H", 0.5, 0.1241): (54, 54, 52),
        ("H", 0.5, 0.03085): (5, 5, 5),
        ("H", 0.5, 0.9678): (4, 4, 5),
        ("G", 1.0, 0.5): (3, 3, 3),
        ("H", 0.5, 0.06158): (1, 1, 1),
    }


def test_the_machine_claim_holds(tables: Tables) -> None:
    # The one table of which every row is here: its claims are judged, and those of other traces are not.
    findings = find("machine_shapes").run(tables).findings
    assert {finding.id: finding.verdict for finding in findings} == {
        "R12-table1": "holds",
        "G11-machines": "holds",
        "G11-machines-old": "does not hold",
        "ME-machines": "holds",
        "ME-machines-at-start": "holds",
    } | dict.fromkeys(("ALI18-machines", "OPENB-gpus", "OPENB-nodes"), "not judged")


def test_removals(tables: Tables) -> None:
    n_machines_by_key = {
        row["n_removals"]: row["n_machines"] for row in rows("machine_removals", tables)
    }
    assert [n_machines_by_key[n] for n in range(1, 8)] == [3397, 1100, 366, 117, 68, 23, 17]
    assert max(n_machines_by_key) == 165
    assert sum(n_machines_by_key.values()) - n_machines_by_key[0] == 5141
    assert sum(row["n_gone"] for row in rows("machine_removals", tables)) == 97


def test_absences(tables: Tables) -> None:
    seconds_by_key = {row["percent"]: row["seconds"] for row in rows("machine_downtime", tables)}
    expected = {
        5: 42,
        10: 98,
        25: 398,
        50: 998,
        75: 7138,
        90: 31161,
        95: 94522,
        99: 328656,
        100: 1044366,
    }
    for percent, seconds in expected.items():
        assert seconds_by_key[percent] == pytest.approx(seconds, rel=0.01)


def test_capacity_at_the_start_and_what_absences_cost(tables: Tables) -> None:
    hours = rows("machine_availability", tables)
    expected = {
        "cpu": 6603.25,
        "memory": 5862.75,
    }
    assert chosen_columns(hours[0], expected) == pytest.approx(expected, rel=0.001)
    lost = 1 - sum(row["cpu"] for row in hours) / sum(row["cpu_seen"] for row in hours)
    assert lost == pytest.approx(0.0069, abs=0.0002)
    assert sum(row["n_remove"] for row in hours) == 8957


def test_job_events(tables: Tables) -> None:
    n_events_by_key = {row["type"]: row["n_events"] for row in rows("job_events", tables)}
    assert n_events_by_key == {
        "SUBMIT": 132_651,
        "SCHEDULE": 132_646,
        "EVICT": 11,
        "FAIL": 1_699,
        "FINISH": 75_459,
        "KILL": 51_521,
        "LOST": 6,
        "any": 393_993,
    }
    assert {row["type"]: row["n_jobs"] for row in rows("job_events", tables)}["any"] == 132_650


def test_job_durations(tables: Tables) -> None:
    row_by_key = {
        row["percent"]: row for row in rows("job_durations", tables) if row["end_type"] == "all"
    }
    assert row_by_key[50]["n"] == 127_685
    assert round(row_by_key[50]["seconds"], 2) == 182.99
    assert round(row_by_key[90]["seconds"], 2) == 1791.95


TRANSITIONS = {
    (None, "SUBMIT"): 414_594,
    ("SUBMIT", "SCHEDULE"): 556_803,
    ("SCHEDULE", "FINISH"): 194_992,
    ("EVICT", "SUBMIT"): 107_100,
    ("SCHEDULE", "EVICT"): 106_984,
    ("SCHEDULE", "KILL"): 100_058,
    ("KILL", "SUBMIT"): 47_062,
    ("SUBMIT", "EVICT"): 123,
}


def test_transitions(tables: Tables) -> None:
    row_by_key = {(row["from_type"], row["to_type"]): row for row in rows("transitions", tables)}
    for pair, n in TRANSITIONS.items():
        assert row_by_key[pair]["n"] == n
    assert ("SUBMIT", "SUBMIT") not in row_by_key
    assert sum(row["n"] for row in row_by_key.values()) == 1_561_991
    evicted = row_by_key["SUBMIT", "EVICT"]
    assert [name for name in evicted if name.startswith("is_legal") and evicted[name]] == [
        "is_legal_zhu"
    ]


def test_the_state_machine_claims_hold(tables: Tables) -> None:
    findings = judged("transitions", tables).values()
    assert [(finding.measured, finding.verdict) for finding in findings] == [
        ("123", "holds"),
        ("0", "holds"),
    ]


def test_job_transitions_know_no_double_submit(tables: Tables) -> None:
    n_by_key = {
        (row["from_type"], row["to_type"]): row["n"]
        for row in rows("transitions", tables, of="collections")
    }
    assert n_by_key[None, "SUBMIT"] == 132_650
    assert n_by_key["FAIL", "SUBMIT"] == 1
    assert n_by_key["SUBMIT", "SCHEDULE"] == 132_646


def test_stock_at_the_start(tables: Tables) -> None:
    first = rows("queue_length", tables)[0]
    expected = {
        "pending": 11_357,
        "running": 132_982,
        "pending_published": 11_357,
        "running_published": 132_982,
    }
    assert chosen_columns(first, expected) == expected


def test_the_published_formula_drifts_by_the_evictions_while_pending(tables: Tables) -> None:
    last = rows("queue_length", tables)[-1]
    assert last["pending_published"] - last["pending"] == 123
    assert last["running"] - last["running_published"] == 123
    assert last["pending"] + last["running"] == 1_561_991 - sum(
        # submissions minus ends: every other event changes no stock
        row["n"] * (1 if row["to_type"] in ("SCHEDULE", "UPDATE_RUNNING", "UPDATE_PENDING") else 2)
        for row in rows("transitions", tables)
        if row["to_type"] != "SUBMIT"
    )


def test_running_tasks_at_the_start_by_class(tables: Tables) -> None:
    attempts = tables.instance_attempts
    running = attempts.filter((attempts.attempt == 1) & (attempts.schedule_time == 0))
    rows = (
        running.group_by("scheduling_class").aggregate(n=running.count()).to_pyarrow().to_pylist()
    )
    assert {row["scheduling_class"]: row["n"] for row in rows} == {
        0: 42279,
        1: 25238,
        2: 37557,
        3: 27908,
    }


@pytest.mark.parametrize(
    ("low", "high", "cpu", "memory"),
    [
        (9, 11, 0.732, 0.585),
        (0, 1, 0.219, 0.164),
        (2, 8, 0.184, 0.184),
    ],
)
def test_requests_at_the_start(
    tables: Tables, low: int, high: int, cpu: float, memory: float
) -> None:
    attempts = tables.instance_attempts
    running = attempts.filter(
        (attempts.attempt == 1)
        & (attempts.schedule_time == 0)
        & attempts.priority.between(low, high)
    )
    sums = running.aggregate(
        cpu=running.cpu_request.sum(), memory=running.memory_request.sum()
    ).to_pyarrow()
    assert sums["cpu"][0].as_py() / 6603.25 == pytest.approx(cpu, abs=0.0006)
    assert sums["memory"][0].as_py() / 5862.75 == pytest.approx(memory, abs=0.0006)


def test_no_finished_task_is_short(tables: Tables) -> None:
    row_by_key = {
        row["seconds"]: row for row in rows("run_times", tables) if row["grouping"] == "all"
    }
    # Killed tasks are: the paper speaks of finished ones, of which the shortest here runs for 12.8 s.
    assert row_by_key[8]["finished"] == 0.0
    assert round(row_by_key[8]["shortest"], 1) == 12.8
    assert row_by_key[8]["ended"] > 0.002
    assert judged("run_times", tables)["S4-8s"].verdict == "holds"


def test_evictions_are_followed_at_once(tables: Tables) -> None:
    values = [row for row in rows("resubmission_gaps", tables) if row["end_type"] == "EVICT"]
    assert sum(row["n"] for row in values) == 107_107
    assert sum(row["n_again"] for row in values) == 107_100
    assert all(row["gap_p50"] < 1e-5 for row in values)


@pytest.mark.parametrize(
    ("name", "id_", "measured"),
    [
        ("machine_removals", "ME-gone", "0.01887"),  # 97 of 5,141
        ("machine_downtime", "ME-away-median", "998"),
        ("machine_downtime", "ME-away-day", "94522"),
        ("machine_availability", "ME-cpu-lost", "0.0069"),
        ("resubmission_gaps", "DOC-evict-again", "1"),  # 107,100 of 107,107 evictions
        ("job_events", "JE-finish", "0.5689"),  # 75,459 of 132,650
        ("job_events", "JE-kill", "0.3884"),  # 51,521 of 132,650
    ],
)
def test_counts_over_the_files_are_claims_that_hold(
    tables: Tables, name: str, id_: str, measured: str
) -> None:
    finding = judged(name, tables)[id_]
    assert finding.verdict == "holds"
    assert float(finding.measured.replace(",", "")) == pytest.approx(float(measured), rel=0.01)


def test_no_start_breaks_the_flag_that_is_in_force(tables: Tables) -> None:
    # 34,632 SCHEDULE rows at time 0 and 76,434 later ones carry the flag; 36,191 stale SUBMITs do, too.
    (row,) = rows("placement_limits", tables)
    assert row["kind"] == "different_machine"
    assert (row["n_starts"], row["n_broken"]) == (34_632 + 76_434, 0)


def test_tasks_with_anti_affinity_after_an_hour(tables: Tables) -> None:
    tasks = read_tasks(tables, at=TRACE_START + HOUR)
    assert int(tasks.is_apart.sum()) == 36_534


def test_the_weighted_curves_end_where_the_claims_are_measured(tables: Tables) -> None:
    before, *_, end = rows("submissions", tables)
    assert (before["new"], before["scheduled"], before["pending"]) == (144_339, 132_982, 11_357)
    # 581,726 submissions, 556,805 schedulings and 194,992 completions of 414,594 tasks.
    weights = [round(end[name] / end["new"], 4) for name in ("submitted", "scheduled", "completed")]
    assert weights == [1.4031, 1.343, 0.4703]
    measured = {id_: finding.measured for id_, finding in judged("task_totals", tables).items()}
    expected = {
        "S4-weight-submitted": "1.403",
        "S4-weight-scheduled": "1.343",
        "S4-weight-completed": "0.4703",
    }
    assert chosen_columns(measured, expected) == expected
