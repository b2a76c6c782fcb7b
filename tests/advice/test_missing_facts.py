"""Stores that lack what an advice needs: one plain sentence each, and no number that nobody knows."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import borgtrace
from borgtrace.advice import Advice, AdviceOptions, advise
from borgtrace.advice.files import write_advice
from borgtrace.cli.advice_text import screen_of
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.ingest.subset import subset
from borgtrace.schema.time import HOUR, TRACE_START
from borgtrace.store.criteria import Criteria

QUICK = AdviceOptions(policies=("borg:phi=0.9",), recommender="vpa")
COLUMNS = ("task", "machine", "time", "cpu", "memory_gib", "cpu_request", "memory_request_gib")
BEGIN = datetime(2026, 11, 1, tzinfo=UTC)
TWO_HOURS = 24
"""Slots."""
Adviser = Callable[..., Advice]


@pytest.fixture
def advised(tmp_path: Path) -> Adviser:
    """Return what advises about a cell of four tasks on two machines, each with half of its request in use."""

    def adviser(
        *missing: str,
        slots: int = TWO_HOURS,
        names: Sequence[str] = ("web-0", "web-1", "db-0", "db-1"),
    ) -> Advice:
        rows = []
        for place, name in enumerate(names):
            for slot in range(slots):
                time = BEGIN + timedelta(minutes=5 * slot)
                values = (name, f"n{place % 2}", time, 0.5, 1.0, 1.0, 2.0)
                rows.append(dict(zip(COLUMNS, values, strict=True)))
        table = pa.Table.from_pylist(rows).drop_columns([*missing])
        pq.write_table(table, tmp_path / "cell.parquet")
        options = IngestOptions(jobs=1, capacity="8cores,32GiB")
        ingest([tmp_path / "cell.parquet"], tmp_path / "cell", options)
        return advise(borgtrace.open(tmp_path / "cell"), QUICK)

    return adviser


def test_without_requests_no_node_is_counted(advised: Adviser) -> None:
    summary = advised("cpu_request", "memory_request_gib").sentences
    assert summary.value == []
    assert summary.machines == [
        "Machines: not applicable: no task that runs at the busiest moment has a request, so that nobody knows what it "
        "needs."
    ]
    # Two tasks of web and of db: four of them.
    cpu, memory = summary.workloads
    assert cpu.startswith("CPU of 2 of 2 workloads: requests of 2")
    assert cpu.endswith(" cores where there are none today, by vpa.")
    assert memory.startswith("Memory of 2 of 2 workloads: requests of ")
    assert (
        "4 of 4 tasks (100 %) have no request of CPU; 4 of 4 tasks (100 %) have no request of memory: "
        "what they use is in no promise, comes on top of it, and machines are packed as if it were nothing."
    ) in summary.unknown


def test_without_memory_it_is_said_that_it_was_not_judged(advised: Adviser) -> None:
    summary = advised("memory_gib", "memory_request_gib").sentences
    assert len(summary.value) == 1
    assert summary.workloads[-1] == "Memory: nothing is recommended (no usage)."
    assert (
        "Of memory no policy was judged: no task on a machine has both usage and a request of it."
        in summary.unknown
    )


def test_without_machines_workloads_are_advised_all_the_same(advised: Adviser) -> None:
    summary = advised("machine").sentences
    assert summary.value == []
    n_windows = 4 * TWO_HOURS
    assert summary.judged == (
        f"No policy could be judged: no usage can be replayed: {n_windows} windows without a machine (column "
        "machine_id) or inside an alloc set."
    )
    assert summary.machines == [
        "Machines: not applicable: the store holds no rows of machine_events; ingest files that have some."
    ]
    assert summary.workloads[0].startswith("CPU of 2 of 2 workloads: requests of 4 become 2")


def test_ten_minutes_promise_and_recommend_nothing(advised: Adviser) -> None:
    """Many tasks make many samples, but no more time."""
    advice = advised(slots=2, names=[f"web-{number}" for number in range(20)])
    summary = advice.sentences
    assert summary.workloads == [
        "CPU: nothing is recommended (seen for 10 min only, 40 samples).",
        "Memory: nothing is recommended (seen for 10 min only, 40 samples).",
    ]
    # Nothing was promised: nodes hold what is requested, 20 cores where 16 are there.
    assert summary.machines[0] == (
        "Machines of today's shapes for the 20 tasks that run at the busiest moment (2026-11-01 00:00 UTC): "
        "3 as requested, more than the 2 that are there, since what runs requests 125 % of their CPU."
    )


@pytest.mark.wide
def test_the_end_of_a_trace_is_judged_by_what_was_measured(
    advised: Adviser, tmp_path: Path
) -> None:
    """Two of twelve hours are left: a quarter of them, and an hour, have been seen."""
    whole = advised(slots=144)
    end = TRACE_START + 12 * HOUR
    subset(whole.store.path, tmp_path / "cut", Criteria(time=(end - 2 * HOUR, end)))
    rows = advise(borgtrace.open(tmp_path / "cut"), QUICK).workloads.table.to_pylist()
    assert [row["cpu_skip"] for row in rows] == ["", ""]


def test_jobs_without_usage_are_said_to_have_none(tmp_path: Path) -> None:
    """A log of jobs, as the Standard Workload Format has them: three jobs of two processors."""
    jobs = "".join(
        f"{job} {60 * job} 0 600 2 -1 -1 2 600 -1 1 1 1 1 1 -1 -1 -1\n" for job in range(1, 4)
    )
    (tmp_path / "log.swf").write_text(f"; MaxProcs: 8\n{jobs}")
    ingest([tmp_path / "log.swf"], tmp_path / "log", IngestOptions(jobs=1))
    summary = advise(borgtrace.open(tmp_path / "log"), QUICK).sentences
    assert summary.value == []
    assert summary.unknown[0] == (
        "No task has measured usage: nothing could be judged or recommended."
    )
    assert not any("recommended as if" in sentence for sentence in summary.unknown)


class Tags(HTMLParser):
    """The tags of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        """Take one."""
        self.names.add(tag)


def test_hostile_names_stay_texts(advised: Adviser, tmp_path: Path) -> None:
    names = (
        "<script>alert(1)</script>",
        "</title><img src=x onerror=alert(1)>",
        "line\nfeed",
        "=HYPERLINK(1)",
        "!!python/object:os.system",
        "\u202egnp.exe",
        "w" * 300,
        "{{ 7 * 7 }}",
    )
    advice = advised(names=names)
    page = advice.to_html()
    tags = Tags()
    tags.feed(page)
    assert "script" not in tags.names
    assert "onerror=alert(1)>" not in page
    assert "{{ 7 * 7 }}" in page
    files = write_advice(advice, tmp_path / "advice.html")
    lines = screen_of(advice, files)
    assert not any("\n" in line for line in lines)
    with (files.folder / "advice_workloads.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(names)
    assert not any(row["workload"].startswith("=") for row in rows)
    # No owner of Kubernetes: nothing to patch.
    assert not (files.folder / "resources.yaml").exists()
