"""Small inputs of strangers that once came out wrong: each is right now, or refused with its true cause.

The expected amounts are worked out by hand from the few rows of each file, as its README says.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

import borgtrace
from borgtrace.errors import BorgtraceError
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.store import Store

CASES = Path(__file__).parents[3] / "shared" / "cases"
SIZE = "8cores,32GiB"


class Case(NamedTuple):
    """A case: its folder, what is ingested and how, and the query of what has to come out, or what is refused."""

    folder: str
    sources: Sequence[str]
    query: str = ""
    rows: Sequence[tuple[object, ...]] = ()
    refusal: str = ""
    capacity: str = SIZE
    dialect: str = ""

    @property
    def id(self) -> str:
        return self.folder.split("/")[1]


CORES = "SELECT DISTINCT round(CAST(8 * average_cpu AS DOUBLE), 4) AS cores FROM instance_usage ORDER BY ALL"
STEPS = "SELECT DISTINCT end_time - start_time AS step FROM instance_usage"
COUNTED = "SELECT count(*) AS n, count(DISTINCT collection_id) AS tasks FROM instance_usage"
NAMED = """
    SELECT DISTINCT collection_name, round(CAST(8 * average_cpu AS DOUBLE), 4) AS cores
    FROM instance_usage JOIN collection_events USING (collection_id)
    WHERE type = 'SUBMIT' ORDER BY ALL
"""
OWN = "01-own-csv-taken-for-google-2011"
MERGED = "02-prometheus-series-merged"
METRICS = "03-prometheus-two-metrics-in-one-answer"
DROPPED = "04-prometheus-series-dropped-without-a-word"
TASKS = "05-own-tasks-merged"
GUESS = "06-guess-takes-the-wrong-column-or-unit"
TIMES = "07-times-of-another-kind"
CAUSE = "15-refusal-with-the-wrong-cause"
LISTED = [
    Case(f"{OWN}/five-numeric-columns-stored", ["usage.csv"], CORES, [(0.5,)]),
    Case(f"{OWN}/headerless-own", ["usage.csv"], refusal="no line names the columns"),
    Case(f"{OWN}/six-columns", ["usage.csv"], COUNTED, [(12, 2)]),
    Case(f"{MERGED}/one-series-per-cpu", ["cpu.json"], CORES, [(0.3,)]),
    Case(
        f"{MERGED}/replica-with-gap",
        ["cpu.json"],
        # Each replica counts 0.01 s a minute.
        "SELECT max(abs(8 * average_cpu * 6000 - 1)) < 0.01 AS is_even FROM instance_usage",
        [(True,)],
    ),
    Case(f"{METRICS}/cpu-and-memory", ["both.json"], CORES, [(0.5,)]),
    Case(
        f"{METRICS}/requests-and-limits",
        ["cpu.json", "rl.json"],
        "SELECT 8 * cpu_request AS cores FROM tasks",
        [(1.0,)],
    ),
    Case(f"{DROPPED}/labels-before-1.16", ["cpu.json"], NAMED, [("shop/web-0/app", 0.5)]),
    Case(f"{DROPPED}/no-container-label", ["cpu.json"], NAMED, [("shop/web-0", 0.5)]),
    Case(
        f"{TASKS}/namespace-pod-container",
        ["usage.csv"],
        NAMED,
        [("bank/web-0/app", 2.0), ("shop/web-0/app", 0.5), ("shop/web-0/sidecar", 0.1)],
        capacity="8cores",
    ),
    Case(
        f"{GUESS}/cpu-m",
        ["usage.csv"],
        "SELECT round(8000 * max(average_cpu)) AS m FROM instance_usage",
        [(7.0,)],
    ),
    Case(
        f"{GUESS}/cpu_cores-before-cpu_usage",
        ["usage.csv"],
        refusal="column cpu_usage_mhz: a clock rate says no cores by itself",
    ),
    Case(
        f"{TIMES}/excel-serial",
        ["usage.csv"],
        "SELECT DISTINCT end_time - start_time AS step FROM instance_usage",
        [(300_000_000,)],
    ),
    Case(
        f"{TIMES}/yyyymmddhhmm",
        ["usage.csv"],
        "SELECT DISTINCT end_time - start_time AS step FROM instance_usage",
        [(300_000_000,)],
    ),
    Case("08-zone-names-dropped/pst", ["usage.csv"], COUNTED, [(36, 3)]),
    Case(
        "09-quotes-kept-as-text/users",
        ["task_events.csv"],
        """SELECT count(*) AS n FROM instance_events WHERE "user" LIKE '%"%'""",
        [(0,)],
        capacity="",
    ),
    Case("10-traceback/instant-query", ["cpu.json"], refusal="query_range"),
    Case(
        "10-traceback/time-of-day-csv",
        ["usage.csv"],
        refusal="column time: times of day without a date",
    ),
    Case(
        "11-all-or-most-rows-refused-and-exit-0/250m",
        ["usage.csv"],
        "SELECT min(8 * average_cpu) >= 0.2 AS is_read FROM instance_usage",
        [(True,)],
    ),
    Case(
        "11-all-or-most-rows-refused-and-exit-0/pandas-integers-with-point",
        ["task_events.csv"],
        "SELECT count(*) AS n FROM instance_events",
        [(20,)],
        capacity="",
    ),
    Case(
        "12-one-NaN-in-a-double-refuses-the-whole-file/machine-nan",
        ["instance_events-000000000000.parquet"],
        "SELECT count(*) AS n, count(machine_id) AS placed FROM instance_events",
        [(6, 5)],
        capacity="",
    ),
    Case(
        "13-rows-that-need-another-table-vanish/opendc-fragments-alone",
        ["fragments.parquet"],
        refusal="tasks",
        capacity="64cores,256GiB",
    ),
    Case(
        "14-flattened-records-lose-their-amounts/instance_usage",
        ["instance_usage.parquet"],
        "SELECT count(*) AS n, count(average_cpu) AS cpu, count(maximum_memory) AS memory FROM instance_usage",
        [(10, 10, 10)],
        capacity="",
    ),
    Case(f"{CAUSE}/named-txt", ["usage.txt"], COUNTED, [(36, 3)]),
    Case(f"{CAUSE}/prometheus-array", ["cpu.json"], COUNTED, [(10, 1)]),
    Case(f"{CAUSE}/semicolons", ["usage.csv"], COUNTED, [(36, 3)]),
    Case(f"{CAUSE}/spark-folder", ["own.parquet"], COUNTED, [(36, 3)]),
    Case(
        f"{CAUSE}/us-dates",
        ["usage.csv"],
        refusal="column time: '11/01/2026 00:00' may begin with the month",
    ),
    Case(f"{CAUSE}/zip", ["usage.zip"], COUNTED, [(36, 3)]),
    Case(
        "16-small-valid-parquet-refused/machines-223",
        ["machines.parquet"],
        "SELECT count(*) AS n FROM machine_events",
        [(6,)],
        capacity="",
        dialect="own.toml",
    ),
    Case("17-taken-for-another-format/semicolon-index-is-swf", ["usage.csv"], COUNTED, [(5, 1)]),
    Case(
        "20-toml-with-a-mark/utf-8-bom",
        ["usage.csv"],
        COUNTED,
        [(36, 3)],
        capacity="8cores",
        dialect="own.toml",
    ),
]


def _ingest(case: Case, folder: Path) -> Store:
    if not (CASES / case.folder).is_dir():
        pytest.skip("no small cases beside the project (../shared/cases)")
    shutil.copytree(CASES / case.folder, folder / "case")
    options = IngestOptions(
        jobs=1,
        capacity=case.capacity,
        dialect=str(folder / "case" / case.dialect) if case.dialect else "",
    )
    sources = [folder / "case" / name for name in case.sources]
    result = ingest(sources, folder / "store", options)
    assert not result.faults
    return borgtrace.open(folder / "store")


@pytest.mark.parametrize("case", LISTED, ids=[case.id for case in LISTED])
def test_an_input_is_right_or_refused_with_its_cause(tmp_path: Path, case: Case) -> None:
    if case.refusal:
        with pytest.raises(BorgtraceError) as error:
            _ingest(case, tmp_path)
        assert case.refusal in str(error.value)
        assert not (tmp_path / "store").exists()
        return
    store = _ingest(case, tmp_path)
    assert [tuple(row.values()) for row in store.sql(case.query).to_pylist()] == list(case.rows)
    assert sum(entry.quarantined for entry in store.manifest.sources) == 0


def test_two_rows_at_one_time_are_said(tmp_path: Path) -> None:
    store = _ingest(Case(f"{TASKS}/two-rows-at-one-time", ["usage.csv"]), tmp_path)
    assert any("36" in note and "another row" in note for note in store.manifest.notes)


def test_the_clock_of_a_log_is_that_of_its_header(tmp_path: Path) -> None:
    case = Case("19-swf-dates/header-says-2002", ["log.swf"], capacity="64cores")
    store = _ingest(case, tmp_path)
    ((first,),) = [
        row.values()
        for row in store.sql("SELECT min(time) AS t FROM collection_events").to_pylist()
    ]
    # UnixStartTime 1027839845 is 07:04:05 in Greenwich; in summer Stockholm is two hours ahead.
    assert store.manifest.dialect.wall_clock(first).isoformat() == "2002-07-28T09:04:05+02:00"
