"""SQL: what the guard and the canonical views cost beside plain DuckDB on the same Parquet files.

Twenty million usage rows, the same memory and threads, warm; each question is asked of both in turn.

    python benchmarks/sql.py [--rows 20000000] [--repeats 7] [--dir DIR]
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
import time
from pathlib import Path

import duckdb

from borgtrace.engine.guard import open_store, query
from borgtrace.schema import TABLES

USAGE = TABLES["instance_usage"]
SQL_TYPES = {
    "int64": "BIGINT",
    "int32": "INTEGER",
    "float32": "FLOAT",
    "string": "VARCHAR",
    "bool": "BOOLEAN",
    "enum": "VARCHAR",
    "list<float32>": "FLOAT[]",
}
QUESTIONS = {
    "count and mean": "select count(*), avg(average_cpu) from {usage}",
    "by machine": "select machine_id, sum(average_cpu) s from {usage} group by 1 order by s desc, 1 limit 10",
    "one task": "select * from {usage} where collection_id = 77777 and instance_index = 3 order by start_time",
    "percentiles": "select quantile_disc(maximum_cpu, [0.5, 0.9, 0.99]) from {usage} where average_memory > 0.05",
}
MEASURED = (
    "average_cpu",
    "maximum_cpu",
    "sampled_cpu",
    "average_memory",
    "maximum_memory",
    "assigned_memory",
)


def make_usage(folder, rows):
    """Write usage rows sorted by task, 100 windows each, as ingest does."""
    given = {
        "collection_id": "i // 1000",
        "instance_index": "(i // 100) % 10",
        "source_part": "i // 4000000",
        "source_row": "i",
        "start_time": "600000000 + i % 100 * 300000000",
        "end_time": "900000000 + i % 100 * 300000000",
        "machine_id": "hash(i // 100) % 12000",
        "is_on_dedicated_machine": "false",
        "collection_type": "'JOB'",
        **{name: f"(hash(i, {k}) % 1000) / 4096.0" for k, name in enumerate(MEASURED)},
    }
    values = ", ".join(
        f"({given.get(column.name, 'NULL')})::{SQL_TYPES[column.type]} AS {column.name}"
        for column in USAGE.columns
    )
    path = folder / "instance_usage" / "part-00000.parquet"
    path.parent.mkdir(parents=True)
    con = duckdb.connect(config={"memory_limit": "3GB"})
    con.execute(
        f"COPY (SELECT {values} FROM range({rows}) t(i)) TO '{path}' (COMPRESSION zstd, ROW_GROUP_SIZE 500000)"
    )
    return path


def seconds(work):
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--dir", type=Path, default=None)
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(dir=options.dir))
    try:
        path = make_usage(folder, options.rows)
        guarded = open_store(folder, {USAGE: [str(path)]}, memory="4GB", threads=2)
        plain = duckdb.connect(config={"memory_limit": "4GB", "threads": 2})
        print("| question | × plain DuckDB | ours ms | plain ms |\n|---|--:|--:|--:|")
        for name, text in QUESTIONS.items():
            ours = text.format(usage="instance_usage")
            theirs = text.format(usage=f"read_parquet('{path}')")

            def guarded_answer(text=ours):
                return query(guarded, text)

            def plain_answer(text=theirs):
                return plain.sql(text).to_arrow_table().combine_chunks()

            assert guarded_answer().equals(plain_answer())
            pairs = [
                (seconds(guarded_answer), seconds(plain_answer)) for _ in range(options.repeats)
            ]
            a, b = (statistics.median(column) * 1000 for column in zip(*pairs, strict=True))
            print(f"| {name} | {a / b:.2f} | {a:.1f} | {b:.1f} |")
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
