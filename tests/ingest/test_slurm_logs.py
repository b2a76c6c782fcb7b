"""Job logs of Slurm, as ``sacct`` prints them: invented rows, and what they are by hand; and real rows."""

from __future__ import annotations

import csv
import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import borgtrace
from borgtrace.errors import SchemaError, SourceError
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.schema.time import SECOND
from borgtrace.store import Store
from tests.conftest import real_folder
from tests.ingest.job_samples import SACCT, sacct_json
from tests.ingest.own_data import hashed, rows

GIB = 2**30
CAPACITY = "8cores,8GiB"


def store_of(folder: Path, text: str, name: str = "jobs.txt", **options: str) -> Store:
    """Ingest a log and open its store."""
    (folder / name).write_text(text)
    ingest(
        [folder / name],
        folder / "store",
        IngestOptions(jobs=1, **{"capacity": CAPACITY, **options}),
    )
    return borgtrace.open(folder / "store")


def events(store: Store, *more: str) -> list[tuple[Any, ...]]:
    """Return job, instance, second on the store's clock, kind and further columns of all events."""
    columns = ", ".join(("collection_id", "instance_index", "time", "type", *more))
    return [
        (job, instance, time // SECOND - 600, kind, *values)
        for job, instance, time, kind, *values in rows(store, "instance_events", columns)
    ]


def test_jobs_and_steps(tmp_path: Path) -> None:
    store = store_of(tmp_path, SACCT)
    assert store.manifest.generation == "sacct"
    (entry,) = store.manifest.sources
    assert (entry.rows_in, entry.stored, entry.quarantined) == (6, 6, 0)
    array, waiting, het = hashed("124_1"), hashed("124_[3-9%2]"), hashed("125+0")
    # A job on two nodes has an instance on each, with half of its CPUs, memory and GPUs.
    asked = (0.25, 0.25, 1000.0)
    one, two, three = hashed("gpu01"), hashed("gpu02"), hashed("gpu03")
    expected = [
        (123, 0, 0, "SUBMIT", None, *asked),
        (123, 0, 60, "SCHEDULE", one, *asked),
        (123, 0, 660, "FINISH", one, *asked),
        (123, 1, 0, "SUBMIT", None, *asked),
        (123, 1, 60, "SCHEDULE", two, *asked),
        (123, 1, 660, "FINISH", two, *asked),
        (array, 0, 120, "SUBMIT", None, 0.125, 0.125, None),
        (array, 0, 180, "SCHEDULE", three, 0.125, 0.125, None),
        (waiting, 0, 120, "SUBMIT", None, None, None, None),
        # Cancelled while it waited: it never started.
        (het, 0, 180, "SUBMIT", None, None, None, None),
        (het, 0, 240, "KILL", None, None, None, None),
    ]
    columns = ("machine_id", "cpu_request", "memory_request", "gpu_request")
    assert sorted(events(store, *columns), key=str) == sorted(expected, key=str)
    owners = rows(
        store,
        "collection_events",
        "collection_id, user, collection_logical_name",
        "type = 'SUBMIT'",
    )
    assert (123, "ann", "train") in owners
    assert (waiting, "bob", "sweep") in owners


def test_what_a_job_used_is_that_of_its_steps(tmp_path: Path) -> None:
    store = store_of(tmp_path, SACCT)
    # 1,200 s of CPU in 600 s: 2 of 8 cores, half of them on each node. The largest step had 2 GiB of 8.
    usage = rows(
        store,
        "instance_usage",
        "collection_id, instance_index, start_time, end_time, average_cpu, maximum_memory, machine_id",
    )
    # Windows end where slots of 300 s do: what is asked of slots and hours takes a window for one of where it begins.
    windows = [(660, 900), (900, 1200), (1200, 1260)]
    assert usage == [
        (123, instance, start * SECOND, end * SECOND, 0.125, 0.25, hashed(node))
        for instance, node in ((0, "gpu01"), (1, "gpu02"))
        for start, end in windows
    ]
    assert (
        "Use is known of whole jobs: it is stored as even over their run, and peaks within it are not known."
        in store.manifest.notes
    )


def test_the_cpu_time_of_steps_counts_where_the_job_has_none(tmp_path: Path) -> None:
    text = (
        "JobID|State|Start|End|TotalCPU|MaxRSS\n"
        "7|COMPLETED|2026-11-01T00:00:00|2026-11-01T00:10:00|00:00:00|\n"
        "7.batch|COMPLETED|2026-11-01T00:00:00|2026-11-01T00:10:00|05:00.000|512M\n"
        "7.0|COMPLETED|2026-11-01T00:00:00|2026-11-01T00:05:00|05:00.000|0\n"
        "8.batch|COMPLETED|2026-11-01T00:00:00|2026-11-01T00:10:00|05:00.000|512M\n"
    )
    store = store_of(tmp_path, text)
    used = rows(store, "instance_usage", "distinct collection_id, average_cpu, maximum_memory")
    assert used == [(7, 0.125, 0.0625)]
    assert "Steps without a row of their job, left out: 1." in store.manifest.notes


def test_attempts_of_a_job_have_their_own_steps(tmp_path: Path) -> None:
    """``sacct --duplicates``: a job that was requeued has a row for each run."""
    text = (
        "JobID|State|Submit|Start|End|TotalCPU\n"
        "9|NODE_FAIL|2026-11-01T00:00:00|2026-11-01T00:01:00|2026-11-01T00:02:00|00:00:00\n"
        "9.0|NODE_FAIL|2026-11-01T00:01:00|2026-11-01T00:01:00|2026-11-01T00:02:00|00:30.000\n"
        "9|COMPLETED|2026-11-01T00:02:00|2026-11-01T00:05:00|2026-11-01T00:15:00|00:00:00\n"
        "9.0|COMPLETED|2026-11-01T00:05:00|2026-11-01T00:05:00|2026-11-01T00:15:00|20:00.000\n"
    )
    store = store_of(tmp_path, text)
    assert [(time, kind) for _, _, time, kind in events(store)] == [
        (0, "SUBMIT"),
        (60, "SCHEDULE"),
        (120, "EVICT"),
        (120, "SUBMIT"),
        (300, "SCHEDULE"),
        (900, "FINISH"),
    ]
    assert rows(store, "instance_usage", "start_time, end_time, average_cpu") == [
        (660 * SECOND, 720 * SECOND, 0.5 / 8),
        (900 * SECOND, 1200 * SECOND, 2 / 8),
        (1200 * SECOND, 1500 * SECOND, 2 / 8),
    ]


@pytest.mark.parametrize(
    ("state", "kind"),
    [
        ("COMPLETED", "FINISH"),
        ("FAILED", "FAIL"),
        ("OUT_OF_MEMORY", "FAIL"),
        ("OUT_OF_ME+", "FAIL"),
        ("CANCELLED by 1000", "KILL"),
        ("CANCELLED+", "KILL"),
        ("TIMEOUT", "KILL"),
        ("DEADLINE", "KILL"),
        ("PREEMPTED", "EVICT"),
        ("NODE_FAIL", "EVICT"),
        ("BOOT_FAIL", "EVICT"),
        ("REQUEUED", "EVICT"),
    ],
)
def test_how_a_job_ended(tmp_path: Path, state: str, kind: str) -> None:
    text = f"JobID|State|Start|Elapsed\n1|{state}|2026-11-01T00:00:00|1-00:00:01\n"
    store = store_of(tmp_path, text)
    assert events(store)[-1] == (1, 0, 86_401, kind)


@pytest.mark.parametrize(
    ("asked", "alloc", "n_bytes"),
    [
        ("3G", "cpu=4,node=2", 3 * GIB),
        ("1Gn", "cpu=4,node=2", 2 * GIB),
        ("1024Mc", "cpu=4,node=2", 4 * GIB),
        ("0n", "cpu=4,mem=6G,node=2", 6 * GIB),
        ("0", "cpu=4,mem=6144M,node=2", 6 * GIB),
        ("", "cpu=4,mem=1.50G,node=2", 1.5 * GIB),
        ("0n", "cpu=4,node=2", None),
    ],
)
def test_the_memory_that_a_job_asked_for(
    tmp_path: Path, asked: str, alloc: str, n_bytes: float | None
) -> None:
    times = "2026-11-01T00:00:00|2026-11-01T00:01:00"
    text = f"JobID|State|Start|End|ReqMem|AllocTRES\n1|COMPLETED|{times}|{asked}|{alloc}\n"
    ((request,),) = rows(store_of(tmp_path, text), "tasks", "memory_request")
    assert request == (None if n_bytes is None else n_bytes / (8 * GIB))


def test_gpus_of_several_kinds_are_added_where_there_is_no_sum(tmp_path: Path) -> None:
    text = (
        "JobID|State|Start|End|AllocTRES\n"
        "1|COMPLETED|2026-11-01T00:00:00|2026-11-01T00:01:00|cpu=1,gres/gpu:a100=4,gres/gpu:v100=1\n"
        "2|COMPLETED|2026-11-01T00:00:00|2026-11-01T00:01:00|cpu=1,gres/gpu=4,gres/gpu:a100=4\n"
    )
    assert rows(store_of(tmp_path, text), "tasks", "collection_id, gpu_request") == [
        (1, 5000),
        (2, 4000),
    ]


FORMS = {
    "parsable": lambda text: "".join(line + "|\n" for line in text.splitlines()),
    "semicolons": lambda text: text.replace("|", ";"),
    "tabs": lambda text: text.replace("|", "\t"),
    "lower case": lambda text: (
        text.splitlines()[0].lower() + "\n" + "\n".join(text.splitlines()[1:]) + "\n"
    ),
    "headers again": lambda text: text + text.splitlines()[0] + "\n",
    "carriage returns": lambda text: text.replace("\n", "\r\n"),
    "fixed width": lambda text: _fixed_width(text),
    "other order": lambda text: "".join(
        "|".join(reversed(line.split("|"))) + "\n" for line in text.splitlines()
    ),
}


def _fixed_width(text: str) -> str:
    table = [line.split("|") for line in text.splitlines()]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = [
        " ".join(field.rjust(width) for field, width in zip(row, widths, strict=True))
        for row in table
    ]
    lines.insert(1, " ".join("-" * width for width in widths))
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("form", FORMS)
def test_forms_of_one_log(tmp_path: Path, form: str) -> None:
    for name in ("plain", "form"):
        (tmp_path / name).mkdir()
    plain = store_of(tmp_path / "plain", SACCT)
    other = store_of(tmp_path / "form", FORMS[form](SACCT))
    assert other.manifest.tables == plain.manifest.tables
    assert events(other, "cpu_request", "memory_request") == events(
        plain, "cpu_request", "memory_request"
    )


def test_local_times_are_of_the_zone_that_is_said(tmp_path: Path) -> None:
    text = "JobID|State|Submit|Start|End\n1|COMPLETED|2026-07-01T00:10:00|2026-07-01T00:10:00|2026-07-01T00:20:00\n"
    store = store_of(tmp_path, text, time_zone="Europe/Berlin")
    assert store.manifest.time_zone == "Europe/Berlin"
    # Midnight in Berlin is 22:00 the day before in UTC.
    assert store.manifest.basis["zero"] == 1_782_857_400 * SECOND
    assert str(store.manifest.dialect.wall_clock(600 * SECOND)) == "2026-07-01 00:10:00+02:00"
    assert not any("time zone" in note for note in store.manifest.notes)


def test_a_delimiter_in_the_name_of_a_job(tmp_path: Path) -> None:
    text = (
        "JobID|JobName|State|Start|End\n"
        "1|a|b|c|COMPLETED|2026-11-01T00:00:00|2026-11-01T00:01:00\n"
        "2|a|COMPLETED|2026-11-01T00:00:00\n"
        "web|a|COMPLETED|2026-11-01T00:00:00|2026-11-01T00:01:00\n"
        "3|a|SLEEPING|2026-11-01T00:00:00|2026-11-01T00:01:00\n"
        "4|a|COMPLETED|yesterday|2026-11-01T00:01:00\n"
    )
    store = store_of(tmp_path, text)
    assert rows(store, "collection_events", "collection_logical_name", "type = 'SUBMIT'") == [
        ("a|b|c",)
    ]
    (entry,) = store.manifest.sources
    assert (entry.rows_in, entry.stored) == (5, 1)
    assert entry.counters == {"unparsable_value": 3, "unknown_enum_code": 1}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "JobID|JobName|State|ExitCode|Elapsed\n1|a|COMPLETED|0:0|00:01:00\n",
            "jobs without times: expected a column Submit or Start, got JobID, JobName, State, ExitCode, Elapsed; "
            "ask for them: sacct --allusers --parsable2 --format=JobID,User,State,Submit,Start,End,"
            "AllocTRES,ReqMem,TotalCPU,MaxRSS,NodeList",
        ),
        (
            "1|COMPLETED|2026-11-01T00:00:00|x\n2|FAILED|2026-11-01T00:00:00|x\n",
            "a log of sacct without a header: expected a first line with the names of the columns, "
            "got 1|COMPLETED|2026-11-01T00:00:00|x; "
            "ask again without --noheader, or write the names above: sed -i '1i JobID|State|Submit|…'",
        ),
        (
            "JobID|State|Start|State\n1|COMPLETED|2026-11-01T00:00:00|FAILED\n",
            "two columns have one name: got State; remove one of them",
        ),
    ],
)
def test_logs_that_cannot_be_read(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(SourceError) as refused:
        store_of(tmp_path, text)
    assert str(refused.value) == f"{tmp_path / 'jobs.txt'}: {message}"


def test_ends_before_their_start(tmp_path: Path) -> None:
    """The clock was put back while a job ran: its length counts, and an end without one is left out and said."""
    text = (
        "JobID|State|Start|End|Elapsed\n"
        "1|COMPLETED|2026-10-25T02:50:00|2026-10-25T02:10:00|00:20:00\n"
        "2|COMPLETED|2026-10-25T02:50:00|2026-10-25T02:10:00|\n"
    )
    store = store_of(tmp_path, text)
    ends = [event for event in events(store) if event[3] == "FINISH"]
    assert ends == [(1, 0, 1200, "FINISH")]
    assert "Ends before their start, left out: 1." in store.manifest.notes


def test_jobs_without_any_time_are_counted(tmp_path: Path) -> None:
    text = "JobID|State|Submit|Start\n1|PENDING|Unknown|Unknown\n2|PENDING|2026-11-01T00:00:00|Unknown\n"
    store = store_of(tmp_path, text)
    assert events(store) == [(2, 0, 0, "SUBMIT")]
    assert "Jobs of which no time is known, left out: 1." in store.manifest.notes


@pytest.mark.parametrize("end", ["2026-11-01T00:10:00", " 2026-11-01T00:10:00 "])
def test_blanks_around_a_time_do_not_count(tmp_path: Path, end: str) -> None:
    text = f"JobID|State|Start|End\n1|COMPLETED|2026-11-01T00:00:00|{end}\n"
    assert events(store_of(tmp_path, text))[-1] == (1, 0, 600, "FINISH")


def test_a_time_that_is_as_long_as_one_and_is_none_is_refused(tmp_path: Path) -> None:
    text = "JobID|State|Start|End\n1|COMPLETED|2026-11-01T00:00:00|2026-11-01T00:99:00\n"
    with pytest.raises(SchemaError, match="got '2026-11-01T00:99:00'"):
        store_of(tmp_path, text)


def test_rows_that_another_program_wrote_again_in_quotes(tmp_path: Path) -> None:
    text = (
        '"JobID","JobName","State","Start","End"\n'
        '"1","a, b","COMPLETED","2026-11-01T00:00:00","2026-11-01T00:10:00"\n'
        '2,"c, d",COMPLETED,2026-11-01T00:00:00,2026-11-01T00:10:00\n'
    )
    store = store_of(tmp_path, text, "jobs.csv")
    names = rows(store, "collection_events", "collection_logical_name", "type = 'SUBMIT'")
    assert names == [("a, b",), ("c, d",)]


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (
            {"meta": {"Slurm": {}}, "jobs": []},
            "a log of Slurm without jobs; ask for another time: sacct --json --starttime 2026-10-01",
        ),
        (
            {
                "meta": {"Slurm": {}},
                "jobs": [{"job_id": 1, "job_state": "RUNNING", "submit_time": 5}],
            },
            "jobs as squeue and scontrol print them: expected those of sacct; "
            "ask for them: sacct --json --starttime 2026-10-01",
        ),
    ],
)
def test_json_of_other_programs(tmp_path: Path, document: Any, message: str) -> None:
    with pytest.raises(SourceError) as refused:
        store_of(tmp_path, json.dumps(document), "jobs.json")
    assert str(refused.value) == f"{tmp_path / 'jobs.json'}: {message}"


@pytest.mark.parametrize("release", ["old", "new"])
def test_json_says_what_columns_say(tmp_path: Path, release: str) -> None:
    for name in ("text", "json"):
        (tmp_path / name).mkdir()
    of_text = store_of(tmp_path / "text", "\n".join(SACCT.splitlines()[:4]) + "\n")
    of_json = store_of(tmp_path / "json", sacct_json(release), "jobs.json")
    (entry,) = of_json.manifest.sources
    assert (entry.rows_in, entry.quarantined) == (4, 0)
    columns = ("machine_id", "user", "cpu_request", "memory_request", "gpu_request")
    jobs = [event for event in events(of_json, *columns) if event[0] == 123]
    assert jobs == events(of_text, *columns)
    usage = "collection_id, instance_index, start_time, end_time, average_cpu, maximum_memory"
    assert rows(of_json, "instance_usage", usage) == rows(of_text, "instance_usage", usage)
    waiting = hashed("124_[3-9]")
    assert [event[:4] for event in events(of_json) if event[0] == waiting] == [
        (waiting, 0, 60, "SUBMIT")
    ]


def test_json_that_ends_early_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="not a whole log: expected a whole value at character"):
        store_of(tmp_path, sacct_json("new")[:-400], "jobs.json")


def test_real_rows(trace: Path, tmp_path: Path) -> None:
    """878 lines of a Slurm test cluster, counted by hand: 483 jobs, 395 steps (FORMATS: 527 rows OUT_OF_MEMORY)."""
    path = real_folder(trace, "sacct") / "sacct-output-v1.txt.gz"
    with gzip.open(path, "rt") as file:
        lines = list(csv.reader(file, delimiter="|"))
    jobs = [line for line in lines if "." not in line[1]]
    assert (len(lines), len(jobs), len(lines) - len(jobs)) == (878, 483, 395)
    states = Counter(line[0] for line in lines)
    assert states["OUT_OF_MEMORY"] == 527
    ingest([path], tmp_path / "store", IngestOptions(jobs=1))
    store = borgtrace.open(tmp_path / "store")
    (entry,) = store.manifest.sources
    assert (entry.rows_in, entry.stored, entry.quarantined) == (878, 878, 0)
    assert store.manifest.tables["tasks"] == 483
    ends = {"OUT_OF_MEMORY": "FAIL", "FAILED": "FAIL", "COMPLETED": "FINISH"}
    expected = Counter(ends.get(line[0], "KILL") for line in jobs)
    found = dict(
        rows(
            store,
            "instance_events",
            "type, count(*)",
            "type not in ('SUBMIT', 'SCHEDULE') group by type",
        )
    )
    assert found == expected
    # The largest MaxRSS of all steps in the file, in K: as a fraction of the most memory that any row has.
    largest = max(
        float(line[19].removesuffix("K") or 0) for line in lines if line[19].endswith("K")
    )
    ((stored,),) = rows(store, "instance_usage", "max(maximum_memory)")
    assert stored * store.manifest.basis["bytes"] == pytest.approx(largest * 1024)
    # Lines begin at 2022-02-18T17:32:41 and end at 2022-03-02T21:08:05.
    first, last = store.manifest.time_range["instance_events"]
    clock = store.manifest.dialect.wall_clock
    assert str(clock(first)) == "2022-02-18 17:32:41+00:00"
    assert str(clock(last)) == "2022-03-02 21:08:05+00:00"
