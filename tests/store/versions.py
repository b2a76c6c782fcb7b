"""Versions of a store whose every value tells which jobs it was made of, and what reads one.

Job 100 + n has 1 + n % 3 windows, and every measured value of them is n / 64. So a row of another job, or a row more
or less, shows.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pyarrow as pa

from borgtrace.ingest import IngestOptions, ingest
from borgtrace.ingest.merge import merge
from borgtrace.question import EngineTables
from borgtrace.store import Store
from tests.ingest.raw import HASH, write_part

Numbers = Collection[int]
QUERY = "SELECT collection_id, average_cpu, maximum_cpu FROM instance_usage ORDER BY ALL"
LAZY = "maximum_memory"


def job(n: int) -> int:
    """Id of the n-th job."""
    return 100 + n


def values(n: int) -> list[float]:
    """What is measured of it, window by window."""
    return [n / 64] * (1 + n % 3)


def write_job(folder: Path, n: int) -> Path:
    """Write raw files of the n-th job."""
    share = n / 64
    rows = []
    for window in range(len(values(n))):
        start = 600 + 300 * window
        times = f"{start}000000,{start + 300}000000"
        measured = f"{share},{share},{share},,,{share},,,{share},,,,,0,{share}"
        rows.append(f"{times},{job(n)},0,5,{measured}")
    events = [
        f"600000000,,{job(n)},0,,0,{HASH},2,9,0.25,0.125,0.001,0",
        f"610000000,,{job(n)},0,5,1,{HASH},2,9,0.25,0.125,0.001,0",
    ]
    write_part(folder, "task_usage", rows, n)
    write_part(folder, "task_events", events, n)
    return folder


class Versions:
    """A store that is ingested into, built again and merged."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.store = folder / "store"

    def raw(self, numbers: Iterable[int]) -> list[Path]:
        """Return the raw files of jobs."""
        folders = []
        for n in numbers:
            raw = self.folder / "raw" / str(n)
            folders.append(raw if raw.exists() else write_job(raw, n))
        return folders

    def ingest(self, numbers: Numbers, *, rebuild: bool = False, store: Path | None = None) -> Path:
        """Ingest jobs, into what is there or in its place."""
        target = store or self.store
        ingest(self.raw(numbers), target, IngestOptions(jobs=1, memory="1GB", rebuild=rebuild))
        return target

    def merge(self, numbers: Numbers) -> None:
        """Put a store that is merged from two in the place of the present one."""
        first, *others = sorted(numbers)
        parts = [self.folder / "first", self.folder / "others"]
        for part in (*parts, self.folder / "merged"):
            shutil.rmtree(part, ignore_errors=True)
        self.ingest([first], store=parts[0])
        self.ingest(others, store=parts[1])
        merge(parts, self.folder / "merged")
        # The manifest first, as whoever replaces a store by hand is told to.
        (self.store / "manifest.json").unlink()
        shutil.rmtree(self.store)
        (self.folder / "merged").rename(self.store)


def jobs_of(store: Store) -> list[int]:
    """Return the jobs of which the manifest of an open store speaks."""
    return sorted({entry.part for entry in store.manifest.sources if entry.part is not None})


def rows_of(numbers: Iterable[int]) -> list[tuple[int, float]]:
    """Return all usage rows of jobs."""
    return [(job(n), value) for n in sorted(numbers) for value in values(n)]


def pairs(table: pa.Table) -> list[tuple[int, float]]:
    """Return job and value of each row, and check that the values of a row agree."""
    assert table["average_cpu"].to_pylist() == table["maximum_cpu"].to_pylist()
    found = zip(table["collection_id"].to_pylist(), table["average_cpu"].to_pylist(), strict=True)
    return sorted(found)


def check_trace(store: Store, numbers: Numbers) -> None:
    for n in numbers:
        for array in list(store.trace(job(n), 0).values())[2:]:
            assert array.tolist() == values(n)


def check_further_column(store: Store, numbers: Numbers) -> None:
    for n in numbers:
        assert store.trace(job(n), 0, (LAZY,))[LAZY].tolist() == values(n)


def check_traces(store: Store, numbers: Numbers) -> None:
    traces = store.traces(f"collection_id <= {job(max(numbers))}")
    assert len(traces) == len(numbers)
    for place, n in enumerate(sorted(numbers)):
        assert traces[place]["average_memory"].tolist() == values(n)


def check_array(store: Store, numbers: Numbers) -> None:
    expected = [value for _, value in rows_of(numbers)]
    assert store.array("average_cpu").tolist() == expected
    assert store.array("maximum_cpu").tolist() == expected


def check_index(store: Store, numbers: Numbers) -> None:
    ids = np.array([(job(n), 0) for n in sorted(numbers)])
    rows = store.task_rows(ids)
    assert rows.tolist() == list(range(len(numbers)))
    assert store.task_ids(rows)[0].tolist() == ids[:, 0].tolist()
    assert store.offsets[-1] == len(rows_of(numbers))
    for place, n in enumerate(sorted(numbers)):
        assert store.rows_of_collection(job(n)) == (place, place + 1)


def check_columns(store: Store, numbers: Numbers) -> None:
    ids = store.task_columns(["collection_id"])["collection_id"].to_pylist()
    assert ids == [job(n) for n in sorted(numbers)]


def check_sql(store: Store, numbers: Numbers) -> None:
    assert pairs(store.sql(QUERY)) == rows_of(numbers)


def check_stream(store: Store, numbers: Numbers) -> None:
    assert pairs(store.stream(QUERY).read_all()) == rows_of(numbers)


def check_tables(store: Store, numbers: Numbers) -> None:
    usage = store.tables.instance_usage
    assert pairs(usage.to_pyarrow()) == rows_of(numbers)
    assert pairs(usage.to_pyarrow_batches().read_all()) == rows_of(numbers)
    assert usage.count().execute() == len(rows_of(numbers))


def check_tasks(store: Store, numbers: Numbers) -> None:
    counts = store.tasks.aggregate(n=ibis._.n_windows.sum(), most=ibis._.max_average_cpu.max())
    expected = {"n": [len(rows_of(numbers))], "most": [max(numbers) / 64]}
    assert counts.to_pyarrow().to_pydict() == expected


def check_usage_rows(store: Store, numbers: Numbers) -> None:
    assert store.usage_rows() == len(rows_of(numbers))


def check_question_tables(store: Store, numbers: Numbers) -> None:
    tables = EngineTables.of(store)
    assert pairs(tables.fetch(tables.instance_usage)) == rows_of(numbers)
    attempts = tables.fetch(tables.instance_attempts)
    assert sorted(attempts["collection_id"].to_pylist()) == [job(n) for n in sorted(numbers)]
    assert tables.provenance({}, 0.0).digest == store.digest


Reader = Callable[[Store, Numbers], Any]
READERS: dict[str, tuple[Reader, set[str]]] = {
    "trace": (check_trace, {"trace"}),
    "a further column": (check_further_column, set()),
    "traces": (check_traces, {"traces", "select_tasks"}),
    "arrays": (check_array, {"array"}),
    "index": (check_index, {"task_rows", "task_ids", "offsets", "rows_of_collection"}),
    "columns": (check_columns, {"task_columns"}),
    "sql": (check_sql, {"sql"}),
    "stream": (check_stream, {"stream"}),
    "tables": (check_tables, {"tables"}),
    "tasks": (check_tasks, {"tasks"}),
    "usage rows": (check_usage_rows, {"usage_rows"}),
    "questions": (check_question_tables, set()),
}
"""What reads a store, with the members of `Store` that it uses; each raises AssertionError for a wrong answer."""
READ_NOTHING = {"attach_sql", "open", "digest", "keeper", "bucket_keeper", "expect_current"}
"""Members of `Store` that read no file of an open store."""
