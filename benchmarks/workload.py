"""Life-cycle questions against the same questions as hand-written DuckDB SQL, at two sizes.

The SQL is the text in ``benchmarks/workload_sql``: one file per shared table and per question.  Both sides share
attempts, transitions and occupancy in the same way (computed once, kept as Parquet), run in the same process on
the same events with the same memory limit and threads, in turn question by question.

The events are a synthetic cell of 2011; the large size is the same cell several times over, each copy with
collections of its own and times moved by some microseconds.

    python benchmarks/workload.py --hours 240 --machines 1000 --copies 1 8
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import duckdb

from borgtrace.catalog import find
from borgtrace.engine import connect, read_table
from borgtrace.engine.embedded import raw_connection
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.lifecycle import Cache
from borgtrace.question import EngineTables, Tables
from borgtrace.schema import TABLES
from borgtrace.store.kept_folders import Keeper
from borgtrace.synth import generate

SHARED = ("instance_attempts", "instance_transitions", "instance_occupancy")
QUESTIONS = (
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
    "tasks_per_job",
    "hazards",
    "crash_loops",
)
SQL = Path(__file__).parent / "workload_sql"
MEMORY, THREADS = "4GB", 2
REAL_EVENTS = 144_648_288
REPETITIONS = 2


def synthetic_events(folder: Path, machines: int, hours: float) -> Path:
    """Return the sorted events of one synthetic cell as a Parquet file."""
    generate(
        folder / "raw",
        "2011",
        machines,
        hours,
        1,
        tables=("task_events", "job_events", "machine_events"),
    )
    ingest([folder / "raw"], folder / "store", IngestOptions(jobs=2))
    shutil.rmtree(folder / "raw")
    return folder / "store" / "instance_events"


def copies_of(events: Path, n: int, target: Path) -> int:
    """Write `n` copies of the events, sorted as a store sorts them, and return the number of rows."""
    con = raw_connection(MEMORY, THREADS, preserve_insertion_order=False)
    con.execute(
        f"""COPY (
            SELECT * REPLACE (collection_id + k * 10000000000 AS collection_id,
                              CASE WHEN time > 0 THEN time + k ELSE 0 END AS time)
            FROM read_parquet('{events}/*.parquet'), range({n}) copies(k)
            ORDER BY collection_id, instance_index, time, source_part, source_row
        ) TO '{target}' (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 1000000)"""
    )
    (rows,) = con.execute(f"SELECT count(*) FROM read_parquet('{target}')").fetchone()  # type: ignore[misc]
    return int(rows)


def timed(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def both_seconds(events: Path, folder: Path) -> dict[str, tuple[float, float]]:
    """Time our expressions and the hand-written SQL in turn: shared tables once, questions best of two."""
    tables, sql = our_tables(events, folder), their_connection(events)
    seconds = {}
    for name in SHARED:
        theirs = timed(lambda name=name: keep(sql, name, folder))  # type: ignore[misc]
        seconds[name] = timed(lambda name=name: tables[name]), theirs  # type: ignore[misc]
    for name in QUESTIONS:
        question, query = find(name), (SQL / f"{name}.sql").read_text()
        pairs = [
            (timed(lambda: question.run(tables)), timed(lambda: sql.sql(query).to_arrow_table()))  # noqa: B023
            for _ in range(REPETITIONS)
        ]
        seconds[name] = min(ours for ours, _ in pairs), min(theirs for _, theirs in pairs)
    return seconds


def our_tables(events: Path, folder: Path) -> Tables:
    """Open the events as a store would, with an empty cache."""
    con = connect(memory=MEMORY, threads=THREADS)
    table = read_table(con, TABLES["instance_events"], [str(events)])
    cache = Cache(Keeper((folder / "cache",), "0" * 64))
    return EngineTables({"instance_events": table}, cache=cache, n_rows={"instance_events": 1})


def their_connection(events: Path) -> duckdb.DuckDBPyConnection:
    """Open the events for the hand-written SQL."""
    con = raw_connection(MEMORY, THREADS)
    con.execute(f"CREATE VIEW instance_events AS SELECT * FROM read_parquet('{events}')")
    return con


def keep(con: duckdb.DuckDBPyConnection, name: str, folder: Path) -> None:
    """Compute a shared table, keep it as Parquet, and read it from there."""
    path = folder / f"{name}.sql.parquet"
    con.execute(
        f"COPY ({(SQL / f'{name}.sql').read_text()}) TO '{path}' (FORMAT parquet, COMPRESSION zstd)"
    )
    con.execute(f"CREATE VIEW {name} AS SELECT * FROM read_parquet('{path}')")


def same_answers(folder: Path) -> None:
    """Refuse to compare what is not the same: counts of transitions, attempts and levels must agree."""
    con = raw_connection(MEMORY, THREADS)
    for name in SHARED:
        (kept_folder,) = (folder / "cache").glob(f"{name}-*")
        ours = kept_folder / "*.parquet"
        theirs = folder / f"{name}.sql.parquet"
        columns = con.sql(f"SELECT * FROM read_parquet('{ours}') LIMIT 0").columns
        listed = ", ".join(f'"{c}"' for c in columns)
        digest = f"SELECT count(*), bit_xor(hash({listed})) FROM read_parquet('{{}}')"
        if (
            con.execute(digest.format(ours)).fetchone()
            != con.execute(digest.format(theirs)).fetchone()
        ):
            raise SystemExit(f"{name}: the two sides do not agree")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--machines", type=int, default=1000)
    parser.add_argument("--hours", type=float, default=240.0)
    parser.add_argument("--copies", type=int, nargs="+", default=[1, 8])
    parser.add_argument(
        "--work", type=Path, default=None, help="folder for the events, kept and reused"
    )
    options = parser.parse_args()
    work = options.work or Path(tempfile.mkdtemp(prefix="workload-"))
    work.mkdir(parents=True, exist_ok=True)
    source = work / "store" / "instance_events"
    if not source.exists():
        synthetic_events(work, options.machines, options.hours)
    totals: list[tuple[int, float]] = []
    for n in options.copies:
        folder = work / f"copies{n}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        rows = copies_of(source, n, folder / "events.parquet")
        seconds = both_seconds(folder / "events.parquet", folder)
        same_answers(folder)
        report(rows, seconds)
        totals.append((rows, sum(ours for ours, _ in seconds.values())))
    (small, first), (large, last) = totals[0], totals[-1]
    print(
        f"\nseconds per million events: {first / small * 1e6:.2f} at {small:,}, {last / large * 1e6:.2f} at {large:,}"
    )
    print(f"extrapolated to {REAL_EVENTS:,} events: {last / large * REAL_EVENTS / 60:.1f} min")
    if options.work is None:
        shutil.rmtree(work)


def report(rows: int, seconds: dict[str, tuple[float, float]]) -> None:
    print(f"\n{rows:,} events, {MEMORY}, {THREADS} threads\n")
    print("| question | ratio | borgtrace s | SQL s |\n|---|--:|--:|--:|")
    for name, (ours, theirs) in seconds.items():
        print(f"| {name} | {ours / theirs:.2f} | {ours:.2f} | {theirs:.2f} |")
    ours, theirs = (sum(side) for side in zip(*seconds.values(), strict=True))
    print(f"| **all** | **{ours / theirs:.2f}** | {ours:.1f} | {theirs:.1f} |", flush=True)


if __name__ == "__main__":
    main()
