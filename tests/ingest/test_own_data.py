"""Own data in the store: every expected number is worked out by hand from the few rows above it."""

from __future__ import annotations

import io
from contextlib import suppress

import pyarrow as pa
import pyarrow.feather
import pyarrow.orc
import pyarrow.parquet as pq
import pytest

import borgtrace
from borgtrace.errors import BorgtraceError, StoreError, UsageError
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.ingest.find.sniffing import sniff
from borgtrace.notation import find_job, find_machine
from borgtrace.schema.time import SECOND
from borgtrace.store import Store
from borgtrace.store.verify import verify
from tests.ingest.own_data import AVERAGES, hashed, ingest_own, rows
from tests.ingest.packed_samples import CONTAINERS, THREE_COLUMNS, parquet_file

# 600 s is time zero.  The second window of web ends where the third begins; 8 cores are 1.
AVERAGED = [
    (7, 600 * SECOND, 900 * SECOND, 0.125),
    (hashed("web"), 600 * SECOND, 900 * SECOND, 0.5),
    (hashed("web"), 900 * SECOND, 1150 * SECOND, 0.25),
    (hashed("web"), 1150 * SECOND, 1450 * SECOND, 1.0),
]
USAGE = "collection_id, start_time, end_time, average_cpu"


@pytest.mark.parametrize(("name", "content"), CONTAINERS.items(), ids=CONTAINERS)
def test_every_container_gives_the_same_windows(tmp_path, name, content):
    assert (
        rows(ingest_own(tmp_path, AVERAGES, {name: content}), "instance_usage", USAGE) == AVERAGED
    )


@pytest.mark.parametrize("column", ["record", "rows", "Record_"])
@pytest.mark.parametrize("write", [pq.write_table, pyarrow.feather.write_feather])
def test_a_column_may_be_called_like_what_our_queries_name(tmp_path, write, column):
    buffer = io.BytesIO()
    table = pq.read_table(io.BytesIO(parquet_file()))
    # A text that is no number sends the file to the reader that takes its rows apart as JSON.
    amounts = pa.array(["2", "x", "1", "8"])
    write(table.set_column(2, "cpu", amounts).append_column(column, amounts), buffer)
    store = ingest_own(tmp_path, AVERAGES, {"own.parquet": buffer.getvalue()})
    assert rows(store, "instance_usage", "average_cpu") == [(0.125,), (0.25,), (1.0,)]


@pytest.mark.parametrize("name", ["own.csv", "own.parquet", "own.json"])
def test_a_folder_may_have_an_apostrophe(tmp_path, name):
    (tmp_path / "it's").mkdir()
    store = ingest_own(tmp_path / "it's", AVERAGES, {name: CONTAINERS[name]})
    assert rows(store, "instance_usage", USAGE) == AVERAGED


def test_what_no_file_told_is_derived_and_marked(tmp_path):
    store = ingest_own(tmp_path, AVERAGES, {"own.csv": THREE_COLUMNS})
    assert rows(store, "instance_events", "collection_id, type, time, missing_type") == [
        (7, "SCHEDULE", 600 * SECOND, "EXISTS_BUT_NO_CREATION"),
        (7, "SUBMIT", 600 * SECOND, "EXISTS_BUT_NO_CREATION"),
        (hashed("web"), "SCHEDULE", 600 * SECOND, "EXISTS_BUT_NO_CREATION"),
        (hashed("web"), "SUBMIT", 600 * SECOND, "EXISTS_BUT_NO_CREATION"),
    ]
    assert rows(
        store,
        "collection_events",
        "collection_id, collection_name",
        "type = 'SUBMIT'",
    ) == [
        (7, "7"),
        (hashed("web"), "web"),
    ]
    assert store.manifest.notes == (
        "Events are derived: each task is submitted and scheduled where its usage begins, and has no end.",
    )
    assert rows(store, "machine_events", "*") == []
    assert (find_job(store, "web"), find_job(store, "7")) == (hashed("web"), 7)
    with pytest.raises(UsageError) as error:
        find_machine(store, "m1")
    assert (
        str(error.value)
        == "machine: nothing has this name: expected an id, a name, or how one begins, got m1"
    )
    assert (store.manifest.basis["cores"], store.manifest.sources[0].also["instance_events"]) == (
        8,
        4,
    )


COUNTER = """\
clock = "relative"
step = "60s"
[usage]
task = "task"
machine = "node"
time = { column = "time", unit = "s" }
cpu = { column = "cpu_seconds", unit = "s", kind = "counter" }
memory = { column = "memory", unit = "MiB", kind = "instant" }
"""


def test_a_counter_becomes_increases_a_reset_starts_at_its_value_and_a_gap_is_no_window(tmp_path):
    text = "task,node,time,cpu_seconds,memory\n7,a,0,100,1\n7,a,60,160,2\n7,a,120,10,3\n7,a,1000,20,4\n7,a,1060,80,5\n"
    store = ingest_own(tmp_path, COUNTER, {"own.csv": text}, "2cores,8MiB")
    # 60 s of CPU in 60 s are 1 of 2 cores; after the reset 10 s in 60 s; 880 s are more than five steps of 60 s.
    third = 10 / 60 / 2
    assert rows(
        store,
        "instance_usage",
        "start_time, end_time, average_cpu, average_memory, sampled_cpu",
    ) == [
        (600 * SECOND, 660 * SECOND, 0.5, 0.25, None),
        (660 * SECOND, 720 * SECOND, pytest.approx(third), 0.375, None),
        (1600 * SECOND, 1660 * SECOND, 0.5, 0.625, None),
    ]
    assert rows(
        store,
        "machine_events",
        "time, machine_id, type, cpu_capacity, memory_capacity",
    ) == [(0, hashed("a"), "ADD", 1.0, 1.0)]
    assert rows(store, "machine_attributes", "machine_id, name, value") == [
        (hashed("a"), "name", "a")
    ]


def test_samples_are_merged_into_slots_where_the_format_says_so(tmp_path):
    declared = (
        AVERAGES.replace("300s", "60s")
        .replace('"average"', '"instant"')
        .replace("[usage]", 'window="5m"\n[usage]')
    )
    text = "task,time,cpu\n7,0,1\n7,60,3\n7,120,2\n7,300,4\n"
    columns = "start_time, end_time, average_cpu, maximum_cpu, sampled_cpu"
    assert rows(ingest_own(tmp_path, declared, {"own.csv": text}), "instance_usage", columns) == [
        (600 * SECOND, 780 * SECOND, 0.25, 0.375, 0.25),
        (900 * SECOND, 960 * SECOND, 0.5, 0.5, 0.5),
    ]


THREE_TABLES = """\
clock = "relative"
step = "300s"
[usage]
task = "pod"
time = { column = "ts", unit = "ms" }
machine = "node"
cpu = { column = "cpu", unit = "percent_of_request", kind = "average" }
memory = { column = "memory", unit = "percent_of_machine", kind = "average" }
[tasks]
task = "pod"
app = "deployment"
submit = { column = "created", unit = "s" }
start = { column = "started", unit = "s" }
end = { column = "deleted", unit = "s", missing = [-1] }
status = { column = "phase", codes = { Succeeded = "FINISH", Failed = "FAIL", Running = "KILL" } }
machine = "node"
cpu_request = { column = "request", unit = "millicores" }
[machines]
machine = "node"
cpu = { column = "cores", unit = "cores" }
memory = { column = "ram", unit = "GiB" }
"""
FILES = {
    "load.csv": "pod,ts,node,cpu,memory\na,0,m1,50,25\nb,0,m2,100,50\nc,0,m2,10,1\n",
    "pods.csv": "pod,deployment,created,started,deleted,phase,node,request\n"
    "a,shop,0,10,500,Succeeded,m1,2000\nb,shop,5,5,-1,Running,m2,4000\n",
    "nodes.csv": "node,cores,ram\nm1,4,8\nm2,8,16\n",
}


def test_shares_of_a_request_and_of_a_machine_become_fractions_of_the_largest_machine(tmp_path):
    store = ingest_own(
        tmp_path,
        THREE_TABLES,
        FILES,
        capacity="",
    )
    # a: half of 2 of 8 cores, a quarter of 8 of 16 GiB.  b: 4 of 8 cores, half of all.  c: no request is known.
    by_name = {
        hashed("a"): (0.125, 0.125),
        hashed("b"): (0.5, 0.5),
        hashed("c"): (None, pytest.approx(0.01)),
    }
    found = rows(store, "instance_usage", "collection_id, average_cpu, average_memory")
    assert {task: shares for task, *shares in found} == {
        task: list(shares) for task, shares in by_name.items()
    }
    assert rows(
        store,
        "machine_events",
        "machine_id, cpu_capacity, memory_capacity, time",
    ) == sorted([(hashed("m1"), 0.5, 0.5, 0), (hashed("m2"), 1.0, 1.0, 0)])
    assert store.manifest.notes == (
        "Unknown cpu in 1 of 3 rows: it is a share of what their task requests, which no row of tasks says.",
    )


def test_lives_become_events_and_one_without_an_end_has_none(tmp_path):
    store = ingest_own(
        tmp_path,
        THREE_TABLES,
        FILES,
        capacity="",
    )
    columns = "time, type, collection_id, machine_id, cpu_request"
    assert rows(store, "instance_events", columns) == [
        (600 * SECOND, "SUBMIT", hashed("a"), None, 0.25),
        (605 * SECOND, "SCHEDULE", hashed("b"), hashed("m2"), 0.5),
        (605 * SECOND, "SUBMIT", hashed("b"), None, 0.5),
        (610 * SECOND, "SCHEDULE", hashed("a"), hashed("m1"), 0.25),
        (1100 * SECOND, "FINISH", hashed("a"), hashed("m1"), 0.25),
    ]
    assert rows(
        store,
        "collection_events",
        "time, type, collection_name, collection_logical_name",
    ) == [
        (600 * SECOND, "SUBMIT", "a", "shop"),
        (605 * SECOND, "SCHEDULE", "b", "shop"),
        (605 * SECOND, "SUBMIT", "b", "shop"),
        (610 * SECOND, "SCHEDULE", "a", "shop"),
        (1100 * SECOND, "FINISH", "a", "shop"),
    ]
    # c has usage and no row of its own.
    assert store.manifest.counters["instance_usage"] == {"orphan_instance": 1}


def test_requests_without_times_join_the_derived_events(tmp_path):
    declared = (
        AVERAGES
        + '[tasks]\ntask = "task"\napp = "app"\ncpu_request = { column = "request", unit = "cores" }\n'
    )
    files = {"own.csv": THREE_COLUMNS, "tasks.csv": "task,app,request\nweb,shop,6\n"}
    columns = "type, cpu_request, missing_type"
    store = ingest_own(tmp_path, declared, files)
    assert rows(store, "instance_events", columns, "collection_id != 7") == [
        ("SCHEDULE", 0.75, "EXISTS_BUT_NO_CREATION"),
        ("SUBMIT", 0.75, "EXISTS_BUT_NO_CREATION"),
    ]
    assert rows(store, "tasks", "cpu_request, collection_logical_name") == [
        (0.75, "shop"),
        (None, None),
    ]
    assert store.manifest.notes[0].startswith("Events are derived")


def test_dates_of_any_zone_are_one_clock(tmp_path):
    declared = AVERAGES.replace('"relative"', '"epoch"').replace(
        'unit = "s"',
        'unit = "iso", zone = "Europe/Berlin"',
    )
    text = "task,time,cpu\n1,2026-11-01T01:05:00+01:00,1\n2,2026-11-01 01:05:00,1\n3,2026-11-01T00:07:30Z,1\n"
    store = ingest_own(tmp_path, declared, {"own.csv": text})
    # Berlin is an hour ahead in November; 00:05 UTC is a multiple of 5 minutes, and so 600 s.
    assert rows(store, "instance_usage", "collection_id, start_time") == [
        (1, 600 * SECOND),
        (2, 600 * SECOND),
        (3, 750 * SECOND),
    ]
    assert (
        store.manifest.dialect.wall_clock(600 * SECOND).isoformat() == "2026-11-01T00:05:00+00:00"
    )


REFUSED = {
    "cores and no capacity": (
        AVERAGES,
        "",
        "--capacity: cpu is in cores, and no table of machines says how much the largest machine has; "
        "add --capacity 8cores, with the size of yours",
    ),
    "a unit that cannot be": (
        AVERAGES,
        "1cores",
        "cpu usage: the median of all rows is above the largest machine: expected at most 1 cores, got 3; is its unit "
        "not cores? write the format down (borgtrace dialect sniff FILE > own.toml), correct the unit there and add "
        "--dialect own.toml; or say another --capacity",
    ),
    "no capacity at all": (
        AVERAGES,
        "8apples",
        "--capacity: not the size of a machine: expected such as 8cores,32GiB, "
        "at most 1,000,000 cores and 1 EiB, got 8apples",
    ),
}


@pytest.mark.parametrize(("declared", "capacity", "message"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_right_is_asked_about(
    tmp_path,
    declared,
    capacity,
    message,
):
    with pytest.raises(UsageError) as error:
        ingest_own(tmp_path, declared, {"own.csv": THREE_COLUMNS}, capacity)
    assert str(error.value) == message
    assert not list(tmp_path.glob("store/*"))


def test_a_second_ingest_changes_nothing_and_no_file_is_added_alone(tmp_path):
    first = ingest_own(tmp_path, AVERAGES, {"own.csv": THREE_COLUMNS}).manifest
    assert ingest_own(tmp_path, AVERAGES, {"own.csv": THREE_COLUMNS}).manifest == first
    with pytest.raises(StoreError) as error:
        ingest_own(tmp_path, AVERAGES, {"more.csv": "task,time,cpu\nlater,900,1\nlater,1200,2\n"})
    assert str(error.value) == (
        f"{tmp_path / 'store'}: files are added to a store of a converted format only together with those that it was "
        "made of: expected its 1 file as well, such as own.csv, got 0 of them; name all files, old and new, in one "
        "command; the store is then made again of all"
    )
    assert borgtrace.open(tmp_path / "store").manifest == first


def test_a_store_is_made_again_of_old_and_new_files(tmp_path):
    files = {"own.csv": THREE_COLUMNS, "more.csv": "task,time,cpu\nlater,900,1\nlater,1200,2\n"}
    (tmp_path / "other").mkdir()
    ingest_own(tmp_path, AVERAGES, {"own.csv": THREE_COLUMNS})
    again = ingest_own(tmp_path, AVERAGES, files).manifest
    at_once = ingest_own(tmp_path / "other", AVERAGES, files).manifest
    assert (again.digest, again.tables) == (at_once.digest, at_once.tables)
    assert [check.name for check in verify(tmp_path / "store") if not check.holds] == []
    # The same once more changes nothing.
    assert ingest_own(tmp_path, AVERAGES, files).manifest == again


def test_a_format_is_guessed_and_says_so(tmp_path):
    (tmp_path / "own.csv").write_text(
        "pod,timestamp,cpu\nweb,1793491200,2\nweb,1793491500,1\nweb,1793491800,2\n"
    )
    result = ingest(
        [tmp_path / "own.csv"],
        tmp_path / "store",
        IngestOptions(jobs=1, capacity="8cores"),
    )
    assert result.manifest.notes[1:] == (
        "column timestamp: guessed from its size to be s since 1970",
        "step 5m: guessed, the most common time between two rows of a task",
        "label start: guessed, a row is about the step that begins at its time",
        "column cpu: guessed to be the mean over each step in cores",
    )


LEFT_OPEN = {
    "percent of what": (
        "task,time,cpu_percent\na,0,2\na,300,1\n",
        "column cpu_percent: percent of what; borgtrace dialect sniff {path} > own.toml, "
        'add unit = "percent_of_core" or "percent_of_machine" or "percent_of_request", and --dialect own.toml',
    ),
    "no second row": (
        "task,time,cpu\na,0,2\nb,0,1\n",
        'no end of a window; borgtrace dialect sniff {path} > own.toml, add step = "300s", how long the window of a '
        "row is, and --dialect own.toml",
    ),
    "no task": (
        "a,b\n1,2\n",
        "no column is called like a task: got a, b; "
        "write a file with [usage] and task = its column, and add --dialect FILE.toml",
    ),
}


@pytest.mark.parametrize(("text", "message"), LEFT_OPEN.values(), ids=LEFT_OPEN)
def test_what_cannot_be_guessed_is_asked_for(tmp_path, text, message):
    path = tmp_path / "own.csv"
    path.write_text(text)
    with pytest.raises(BorgtraceError) as error:
        ingest([path], tmp_path / "store", IngestOptions(jobs=1, capacity="8cores"))
    assert str(error.value) == f"{path}: {message.format(path=path)}"


def test_windows_that_are_longer_than_a_slot_are_cut(tmp_path):
    """At each five minutes of the clock; each part has the mean of the whole."""
    text = "task,start,end,cpu\nweb,0,300,1\nweb,300,601,2\nweb,700,1301,4\n"
    declaration = AVERAGES.replace('step = "300s"\n', "") + 'end = { column = "end", unit = "s" }\n'
    store = ingest_own(
        tmp_path,
        declaration.replace('"time", unit', '"start", unit'),
        {"own.csv": text},
    )
    seconds = f"start_time / {SECOND} - 600, end_time / {SECOND} - 600, average_cpu"
    assert rows(store, "instance_usage", f"{seconds}, source_row") == [
        (0, 300, 0.125, 0),
        (300, 600, 0.25, 1),
        (600, 601, 0.25, 1),
        (700, 900, 0.5, 2),
        (900, 1200, 0.5, 2),
        (1200, 1301, 0.5, 2),
    ]
    assert store.manifest.notes[0] == (
        "2 windows are longer than 5 minutes: each is cut at every 5 minutes of the clock, and each part has the mean "
        "of the whole."
    )
    assert not any(store.manifest.quality.values())


GPUS = """\
clock = "relative"
[tasks]
task = "task"
start = { column = "start", unit = "s" }
gpus = "gpus"
gpu_share = "share"
"""


def test_gpus_are_thousandths_of_all_devices_and_nothing_is_asked_where_nothing_says_so(tmp_path):
    asked = {
        ("2", ""): 2000,
        ("2", "500"): 1000,
        ("", "300"): 300,
        ("0.5", ""): 500,
        ("0", ""): 0,
        ("", ""): None,
    }
    lines = [f"t{number},0,{gpus},{share}\n" for number, (gpus, share) in enumerate(asked)]
    store = ingest_own(tmp_path, GPUS, {"tasks.csv": "task,start,gpus,share\n" + "".join(lines)})
    found = dict(rows(store, "tasks", "collection_id, gpu_request"))
    assert [found[hashed(f"t{number}")] for number in range(len(asked))] == list(asked.values())
    (tmp_path / "without").mkdir()
    silent = ingest_own(
        tmp_path / "without",
        THREE_TABLES,
        FILES,
        capacity="",
    )
    assert rows(silent, "tasks", "gpu_request") == [(None,)] * 3


def test_numbers_alone_are_not_taken_for_machines_of_google(tmp_path):
    """Five columns of numbers are as many as those of attributes of machines in 2011."""
    path = tmp_path / "own.csv"
    windows = range(1_767_225_600, 1_767_225_600 + 3 * 300, 300)
    lines = [f"{task},{start},{2 + task},1000000000,7" for start in windows for task in (1, 2)]
    path.write_text("task,time,cpu,memory,machine\n" + "\n".join(lines) + "\n")
    options = IngestOptions(jobs=1, capacity="8cores,16GiB")
    result = ingest([path], tmp_path / "store", options)
    assert [(entry.stored, entry.quarantined) for entry in result.staged] == [(6, 0)]
    assert result.manifest.generation != "2011"
    averages = rows(Store.open(tmp_path / "store"), "instance_usage", "average_cpu")
    assert averages == [(3 / 8,)] * 3 + [(4 / 8,)] * 3


@pytest.mark.parametrize("name", ["own.csv", "own.parquet", "own.json"])
def test_one_field_may_fill_two_columns(tmp_path, name):
    """A job that starts when it is submitted, in all that files are read by; the third field fills none."""
    declared = """\
clock = "relative"
[tasks]
task = "task"
submit = { column = "time", unit = "s" }
start = { column = "time", unit = "s" }
"""
    store = ingest_own(tmp_path, declared, {name: CONTAINERS[name]})
    assert rows(store, "instance_events", "time, type", "collection_id = 7") == [
        (600 * SECOND, "SCHEDULE"),
        (600 * SECOND, "SUBMIT"),
    ]


def test_a_damaged_orc_file_is_refused(tmp_path):
    content = CONTAINERS["own.orc"]
    for place in range(3, len(content), 7):
        path = tmp_path / "own.orc"
        path.write_bytes(content[:place] + b"\xde" + content[place + 1 :])
        with suppress(BorgtraceError):
            sniff(path)
    path.write_bytes(content[:-20])
    with pytest.raises(BorgtraceError) as error:
        sniff(path)
    assert str(error.value).startswith(f"{path}: damaged ORC file (")
