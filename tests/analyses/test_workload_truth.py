"""Against what a synthetic trace planted, and against other orders and splits of the same rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from borgtrace.analyses.fidelity.period_measures import SUMS_KEY, sums_of_jobs
from borgtrace.analyses.fidelity.weighted_measures import fetch_sorted
from borgtrace.analyses.shared.attempts import of_jobs
from borgtrace.analyses.shared.windows import regular
from borgtrace.catalog import find
from borgtrace.engine import connect, read_table
from borgtrace.question import EngineTables, Provenance, Tables
from borgtrace.schema import TABLES

pytestmark = pytest.mark.wide

LIFE_CYCLE = (
    "machine_shapes",
    "machine_removals",
    "machine_availability",
    "transitions",
    "submissions",
    "submission_distances",
    "resubmissions",
    "resubmission_gaps",
    "queue_length",
    "moving_averages",
    "load_and_times",
    "scheduling_delay",
    "run_times",
    "job_events",
    "job_arrivals",
    "job_interarrivals",
    "job_durations",
    "tasks_per_job",
    "jobs_per_owner",
    "tails",
    "hazards",
    "crash_loops",
    "eligible_machines",
    "delay_by_eligibility",
)


@pytest.fixture(scope="module", params=["2011", "2019"])
def cell(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    from borgtrace.ingest import IngestOptions, ingest
    from borgtrace.synth import generate

    folder = tmp_path_factory.mktemp(f"truth{request.param}")
    generate(folder / "raw", request.param, 20, 12.0, 7)
    ingest([folder / "raw"], folder / "store", IngestOptions(jobs=1))
    return folder


@pytest.fixture(scope="module")
def tables(cell: Path) -> Tables:
    return EngineTables.of(cell / "store")


@pytest.fixture(scope="module")
def truth(cell: Path) -> dict[str, Any]:
    truth: dict[str, Any] = json.loads((cell / "raw" / "truth.json").read_text())
    return truth


def rows(name: str, tables: Tables) -> list[dict[str, Any]]:
    answer_rows: list[dict[str, Any]] = find(name).run(tables).table.to_pylist()
    return answer_rows


def test_transitions_are_the_planted_ones(tables: Tables, truth: dict[str, Any]) -> None:
    n_by_key = {
        f"{row['from_type'] or 'START'}>{row['to_type']}": row["n"]
        for row in rows("transitions", tables)
    }
    assert n_by_key == truth["transitions"]


def test_ends_are_the_planted_ones(tables: Tables, truth: dict[str, Any]) -> None:
    attempts = tables.instance_attempts
    ends = attempts.filter(attempts.end_type.notnull())
    rows = (
        ends.group_by(["priority", "end_type"]).aggregate(n=ends.count()).to_pyarrow().to_pylist()
    )
    planted = {
        (int(priority), kind): n
        for priority, kinds in truth["instance_events"].items()
        for kind, n in kinds.items()
        if kind in ("EVICT", "FAIL", "FINISH", "KILL", "LOST")
    }
    assert {(row["priority"], row["end_type"]): row["n"] for row in rows} == planted


def test_the_stock_identity_holds_at_the_end(tables: Tables, truth: dict[str, Any]) -> None:
    counts: dict[str, int] = {}
    for kinds in truth["instance_events"].values():
        for kind, n in kinds.items():
            counts[kind] = counts.get(kind, 0) + n
    alive = counts["SUBMIT"] - sum(
        counts.get(kind, 0) for kind in ("EVICT", "FAIL", "FINISH", "KILL", "LOST")
    )
    levels = tables.instance_occupancy.to_pyarrow().to_pylist()
    last: dict[str, dict[str, Any]] = {}
    for row in sorted(levels, key=lambda row: row["time"]):
        last[row["collection_type"]] = row
    assert sum(row["pending"] + row["running"] for row in last.values()) == alive


def test_machines_are_the_planted_ones(tables: Tables, truth: dict[str, Any]) -> None:
    shapes = rows("machine_shapes", tables)
    first_adds = sum(row["n_first"] for row in shapes)
    removed = sum(row["n_removals"] * row["n_machines"] for row in rows("machine_removals", tables))
    assert first_adds == 20
    assert removed == truth["machine_events"].get("REMOVE", 0)


def test_jobs_are_the_planted_ones(tables: Tables, truth: dict[str, Any]) -> None:
    n_events_by_key = {
        row["type"]: row["n_events"] for row in rows("job_events", tables) if row["type"] != "any"
    }
    if tables.generation == "2011":
        assert n_events_by_key == truth["collection_events"]
    else:
        assert all(n <= truth["collection_events"][kind] for kind, n in n_events_by_key.items())


def shuffled(cell: Path, folder: Path, generation: str, parts: int) -> Tables:
    """Write the same rows in another order, split into other files."""
    generator = np.random.Generator(np.random.PCG64(5))
    con = connect(memory="500MB")
    read = {}
    for name, table in TABLES.items():
        files = sorted((cell / "store").glob(f"{name}/*.parquet"))
        paths = []
        if files:
            whole = pa.concat_tables([pq.read_table(path) for path in files])
            whole = whole.take(generator.permutation(whole.num_rows))
            for part, places in enumerate(np.array_split(np.arange(whole.num_rows), parts)):
                path = folder / f"{name}-{part}.parquet"
                pq.write_table(whole.take(places), path)
                paths.append(str(path))
        read[name] = read_table(con, table, paths)
    return EngineTables(read, Provenance(generation=generation))


@pytest.mark.parametrize("turn", [0, pytest.param(1, marks=pytest.mark.scale)])
def test_answers_do_not_depend_on_row_order_or_files(
    turn: int, cell: Path, tables: Tables, tmp_path: Path
) -> None:
    others = shuffled(cell, tmp_path, tables.generation, 3)
    # Every question about one of both generations, by turns; the large suite asks the others.
    first = (turn + ("2011", "2019").index(tables.generation)) % 2
    for name in LIFE_CYCLE[first::2]:
        question = find(name)
        first = question.run(tables)
        other = question.run(others)
        assert first.table.equals(other.table), name
        # Measured on the rows alone: the tables made here have no manifest, so that scopes would differ.
        measured = (
            [claim.judge(result.table) for claim in question.claims] for result in (first, other)
        )
        assert next(measured) == next(measured), name


def test_fidelity_adds_up_usage_alike_in_any_order(
    cell: Path, tables: Tables, tmp_path: Path
) -> None:
    others = shuffled(cell, tmp_path, tables.generation, 3)
    in_two_orders = []
    for ordered in (tables, others):
        usage = regular(of_jobs(ordered.instance_usage)).mutate(period=ibis.literal("start"))
        sums = fetch_sorted(ordered, sums_of_jobs(ordered, usage), "sums", SUMS_KEY)
        in_two_orders.append(sums)
    assert in_two_orders[0].num_rows > 0
    assert in_two_orders[0].equals(in_two_orders[1])
