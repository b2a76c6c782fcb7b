"""The SQL that the life-cycle questions are measured against: it runs, and makes the same shared tables."""

from __future__ import annotations

import runpy
from pathlib import Path

import pyarrow.parquet as pq

from borgtrace.schema.time import AFTER_TRACE
from tests.analyses.tiny import arrow
from tests.lifecycle.lives import life

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "workload.py"
LIVES = (
    "SUBMIT 5 SCHEDULE 7 FINISH 19",
    "SUBMIT 0 SCHEDULE 0 UPDATE_RUNNING 3 EVICT 300000004 SUBMIT 300000009 SCHEDULE 900000011",
    "SUBMIT 5 SCHEDULE 6 FAIL 600000007 SUBMIT 600000008 SCHEDULE 600000010 FAIL 600000700 SUBMIT 600000800",
    f"SUBMIT 600000001 UPDATE_PENDING 600000002 SCHEDULE 700000003 KILL {AFTER_TRACE}",
    "SUBMIT 5 SUBMIT 8 SCHEDULE 9 LOST 10",
)


def test_hand_written_sql_makes_the_same_tables(tmp_path: Path) -> None:
    workload = runpy.run_path(str(BENCHMARK))
    rows = [
        event | {"priority": 2}
        for number, text in enumerate(LIVES)
        for event in life(text, number + 1)
    ]
    # What was asked for and what was given; and a start that was made up, whose time is no more than a bound.
    rows[0] |= {"priority": 9}
    rows[1] |= {"missing_type": "SNAPSHOT_BUT_NO_TRANSITION"}
    pq.write_table(arrow("instance_events", rows), tmp_path / "events.parquet")
    ours = workload["our_tables"](tmp_path / "events.parquet", tmp_path)
    theirs = workload["their_connection"](tmp_path / "events.parquet")
    for name in workload["SHARED"]:
        workload["keep"](theirs, name, tmp_path)
        assert ours[name] is not None
    workload["same_answers"](tmp_path)
    for name in workload["QUESTIONS"]:
        assert theirs.sql((workload["SQL"] / f"{name}.sql").read_text()).columns
