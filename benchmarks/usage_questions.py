"""Questions about usage windows at two sizes, two of them beside the same question as hand-written SQL.

Both sides read the same Parquet files, in one process, with the same memory limit and threads.  The hand-written
SQL adds floats; the questions add integers in fixed point, so that every engine and every order of rows gives the
same bytes.

    python benchmarks/usage_questions.py --machines 60 240 --hours 48
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from borgtrace.catalog import find
from borgtrace.engine.embedded import raw_connection
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.question import EngineTables
from borgtrace.synth import generate

MEMORY, THREADS = "4GB", 2
REAL_WINDOWS = 1_233_000_000
QUESTIONS = (
    "utilization",
    "machine_utilization",
    "peak_to_request",
    "window_change",
    "hourly_change",
    "change_sketch",
    "reservation",
    "sampling_period",
    "interference",
    "over_request",
    "data_quality",
)
SQL = {
    "peak_to_request": """
        WITH peaks AS (
            SELECT collection_id, instance_index, max(maximum_cpu) AS c, max(maximum_memory) AS m
            FROM usage GROUP BY ALL),
        ratios AS (
            SELECT c / nullif(cpu_request, 0) AS c, m / nullif(memory_request, 0) AS m
            FROM peaks JOIN tasks USING (collection_id, instance_index))
        SELECT 'cpu' AS resource, least(floor(c * 20), 40) AS bin, count(*),
               count(*) FILTER (c <= 1 AND m <= 1)
        FROM ratios WHERE c IS NOT NULL GROUP BY ALL
        UNION ALL
        SELECT 'memory', least(floor(m * 20), 40) AS bin, count(*), count(*) FILTER (c <= 1 AND m <= 1)
        FROM ratios WHERE m IS NOT NULL GROUP BY ALL""",
    "hourly_change": """
        WITH means AS (
            SELECT collection_id, instance_index, (start_time - 600000000) // 3600000000 AS hour,
                   sum((end_time - start_time) / 1e6) AS s,
                   sum(average_cpu * (end_time - start_time)) / sum(end_time - start_time) AS cpu,
                   sum(average_memory * (end_time - start_time)) / sum(end_time - start_time) AS memory
            FROM usage WHERE start_time >= 600000000 GROUP BY ALL),
        pairs AS (
            SELECT *, hour - lag(hour) OVER w AS gap, s + lag(s) OVER w AS both_s,
                   lag(cpu) OVER w AS cpu0, lag(memory) OVER w AS memory0
            FROM means WINDOW w AS (PARTITION BY collection_id, instance_index ORDER BY hour)),
        changes AS (
            SELECT priority, both_s, unnest(['cpu', 'memory']) AS resource,
                   unnest([abs(cpu - cpu0) / nullif(cpu0, 0), abs(memory - memory0) / nullif(memory0, 0)]) AS c
            FROM pairs JOIN tasks USING (collection_id, instance_index) WHERE gap = 1)
        SELECT CASE WHEN priority < 2 THEN 'free' WHEN priority < 9 THEN 'other' ELSE 'production' END AS tier,
               resource, least(ceil(c * 100), 201) AS percent, count(*), sum(both_s)
        FROM changes GROUP BY ALL""",
}


def cell(folder: Path, machines: int, hours: float) -> Path:
    """Generate and store a synthetic cell of 2011."""
    folder.mkdir()
    generate(folder / "raw", "2011", machines, hours, 1)
    ingest([folder / "raw"], folder / "store", IngestOptions(jobs=2))
    return folder / "store"


def clock(work: Callable[[], object], repetitions: int = 2) -> float:
    """Return the best time of a few runs, s."""
    best = float("inf")
    for _ in range(repetitions):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best


def by_hand(store: Path) -> Callable[[str], float]:
    """Return how long the hand-written SQL takes on a store."""
    con = raw_connection(MEMORY, THREADS)
    con.execute(f"CREATE VIEW usage AS SELECT * FROM '{store}/instance_usage/*.parquet'")
    con.execute(f"CREATE VIEW tasks AS SELECT * FROM '{store}/tasks/*.parquet'")
    return lambda name: clock(lambda: con.sql(SQL[name]).to_arrow_table())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--machines", type=int, nargs=2, default=(60, 240))
    parser.add_argument("--hours", type=float, default=48.0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        stores = [cell(Path(folder) / str(n), n, options.hours) for n in options.machines]
        small, large = (EngineTables.of(store, memory=MEMORY, threads=THREADS) for store in stores)
        rows = [tables.n_rows("instance_usage") for tables in (small, large)]
        for tables in (small, large):
            assert (
                tables.instance_attempts is not None
            )  # shared by several questions, computed once
        peer = by_hand(stores[1])
        print(f"{rows[0]:,} and {rows[1]:,} windows (× {rows[1] / rows[0]:.2f})")
        print(
            "| question | × hand-written | growth | s | million windows/s | real trace, extrapolated, min |"
        )
        print("|---|--:|--:|--:|--:|--:|")
        for name in QUESTIONS:
            question = find(name)
            first, second = (clock(lambda t=t: question.run(t)) for t in (small, large))  # noqa: B023
            ratio = f"{second / peer(name):.2f}" if name in SQL else "–"
            print(
                f"| {name} | {ratio} | {second / first:.2f} | {second:.2f} | {rows[1] / second / 1e6:.2f} "
                f"| {second / rows[1] * REAL_WINDOWS / 60:.0f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
