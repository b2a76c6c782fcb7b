"""Requests, owners and sizes of machines beside usage, in one file and in several: all numbers worked out by hand."""

import pytest

from borgtrace.cli.ingestion import print_outcome
from borgtrace.errors import BorgtraceError
from borgtrace.ingest import IngestOptions, ingest
from tests.ingest.own_data import hashed, ingest_own, rows

pytestmark = pytest.mark.wide

DECLARED = """\
clock = "relative"
step = "300s"
[usage]
task = {usage_task}
time = {{ column = "time", unit = "s" }}
machine = "node"
cpu = {{ column = "cpu", unit = "cores", kind = "average" }}
[tasks]
task = {tasks_task}
app = "app"
cpu_request = {{ column = "cpu_request", unit = "millicores" }}
memory_request = {{ column = "memory_request", unit = "GiB" }}
{more}
"""
POD = '["namespace", "pod"]'
CONTAINER = '["namespace", "pod", "container"]'
AT = 'at = { column = "time", unit = "s" }'
MACHINES = """
[machines]
machine = "node"
cpu = { column = "node_cores", unit = "cores" }
memory = { column = "node_memory", unit = "GiB" }
"""


def declared(usage_task=POD, tasks_task=POD, more=""):
    return DECLARED.format(usage_task=usage_task, tasks_task=tasks_task, more=more)


def requests(store):
    """Return name, app and requests of each task, in cores and GiB of a machine of 8 and 32."""
    query = """
        SELECT c.collection_name, c.collection_logical_name, 8 * t.cpu_request, 32 * t.memory_request
        FROM tasks t
        JOIN (
            SELECT DISTINCT collection_id, collection_name, collection_logical_name
            FROM collection_events
        ) c USING (collection_id)
        ORDER BY ALL
    """
    return [tuple(row.values()) for row in store.sql(query).to_pylist()]


def note(store, beginning):
    """Return the notes of a store that begin so."""
    return [each for each in store.manifest.notes if each.startswith(beginning)]


BESIDE_USAGE = """\
namespace,pod,time,node,cpu,cpu_request,memory_request,app
shop,web,300,n1,2,500,2,front
shop,web,0,n1,1,250,2,front
shop,db,0,n1,4,1000,,
shop,db,300,n1,,,4,store
"""


def test_requests_beside_usage_are_those_of_the_tasks(tmp_path):
    store = ingest_own(
        tmp_path, declared(more=AT), {"own.csv": BESIDE_USAGE}, capacity="8cores,32GiB"
    )
    # The last that is known, by time and not by place: 500 millicores at 300 s.
    assert requests(store) == [("shop/db", "store", 1.0, 4.0), ("shop/web", "front", 0.5, 2.0)]
    # One life each, of two events.
    assert rows(store, "instance_events", "type, count(*)", "true group by type") == [
        ("SCHEDULE", 2),
        ("SUBMIT", 2),
    ]
    assert rows(store, "instance_usage", "start_time / 1e6, 8 * average_cpu") == [
        (600.0, 1.0),
        (600.0, 4.0),
        (900.0, 2.0),
        (900.0, None),
    ]
    assert note(store, "Tasks whose request") == [
        "Tasks whose request changes, stored with the last one: 1."
    ]


def test_a_file_that_is_read_for_two_sections_is_one_file(tmp_path, capsys):
    (tmp_path / "own.toml").write_text(declared(more=AT))
    (tmp_path / "own.csv").write_text(BESIDE_USAGE)
    options = IngestOptions(dialect=str(tmp_path / "own.toml"), capacity="8cores,32GiB")
    result = ingest([tmp_path / "own.csv"], tmp_path / "store", options)
    print_outcome(result, tmp_path / "store", as_json=False)
    # Its four rows are read for [usage] and for [tasks].
    assert capsys.readouterr().out.splitlines()[:2] == [
        "Read 1 file; 0 already in the store",
        "rows in 8 = stored 8 + quarantined 0",
    ]


USAGE = "namespace,pod,time,node,cpu\nshop,web,0,n1,1\nshop,web,300,n1,2\nshop,db,0,n1,4\n"


def test_usage_and_pods_in_two_files(tmp_path):
    pods = "namespace,pod,cpu_request,memory_request,app\nshop,web,500,2,front\nshop,db,1000,4,\nold,x,1,1,\n"
    store = ingest_own(
        tmp_path, declared(), {"usage.csv": USAGE, "pods.csv": pods}, capacity="8cores,32GiB"
    )
    assert requests(store) == [("shop/db", None, 1.0, 4.0), ("shop/web", "front", 0.5, 2.0)]
    assert note(store, "Tasks that have neither") == [
        "Tasks that have neither usage nor a time, left out: 1."
    ]


def test_lives_of_some_pods_beside_requests_of_all(tmp_path):
    pods = "namespace,pod,begun,stop\nshop,web,100,700\n"
    more = 'start = { column = "begun", unit = "s" }\nend = { column = "stop", unit = "s" }\n' + AT
    store = ingest_own(
        tmp_path,
        declared(more=more),
        {"own.csv": BESIDE_USAGE, "pods.csv": pods},
        capacity="8cores,32GiB",
    )
    assert requests(store) == [("shop/db", "store", 1.0, 4.0), ("shop/web", "front", 0.5, 2.0)]
    # The life of web is told, and that of db derived from its usage.
    assert rows(store, "instance_events", "time / 1e6, type, missing_type, 8 * cpu_request") == [
        (600.0, "SCHEDULE", "EXISTS_BUT_NO_CREATION", 1.0),
        (600.0, "SUBMIT", "EXISTS_BUT_NO_CREATION", 1.0),
        (700.0, "SCHEDULE", None, 0.5),
        (700.0, "SUBMIT", None, 0.5),
        (1300.0, "FINISH", None, 0.5),
    ]


def test_a_pod_that_runs_for_weeks_does_not_stretch_the_trace(tmp_path):
    declared_in_dates = (
        declared(
            more='start = { column = "begun", unit = "s" }\nend = { column = "stop", unit = "s" }'
        )
    ).replace("relative", "epoch")
    usage = USAGE.replace(",300,", ",1800000300,").replace(",0,", ",1800000000,")
    pods = (
        "namespace,pod,begun,stop\n"
        "shop,web,1700000000,\n"  # three years before the usage, and still there
        "shop,db,1799999100,1800000600\n"
        "shop,new,1800000300,\n"
    )
    store = ingest_own(
        tmp_path, declared_in_dates, {"usage.csv": usage, "pods.csv": pods}, "8cores,32GiB"
    )
    name = "collection_id, time / 1000000, type"
    # The trace begins with the life of db that is whole, 900 s before the usage.
    assert rows(store, "instance_events", name) == sorted(
        [
            (hashed("shop/web"), 0.0, "SCHEDULE"),
            (hashed("shop/web"), 0.0, "SUBMIT"),
            (hashed("shop/db"), 600.0, "SCHEDULE"),
            (hashed("shop/db"), 600.0, "SUBMIT"),
            (hashed("shop/db"), 2100.0, "FINISH"),
            (hashed("shop/new"), 1800.0, "SCHEDULE"),
            (hashed("shop/new"), 1800.0, "SUBMIT"),
        ]
    )
    assert rows(store, "instance_usage", "min(start_time) / 1000000") == [(1500.0,)]


def test_a_task_that_is_measured_has_started(tmp_path):
    pods = "namespace,pod,created\nshop,web,0\nshop,db,100\nshop,idle,50\n"
    more = 'submit = { column = "created", unit = "s" }'
    usage = "namespace,pod,time,node,cpu\nshop,web,300,n1,1\nshop,db,0,n1,4\n"
    store = ingest_own(
        tmp_path, declared(more=more), {"usage.csv": usage, "pods.csv": pods}, "8cores,32GiB"
    )
    # The usage of db begins before it was submitted: a pod of its name was there before.
    assert rows(store, "instance_events", "collection_id, time / 1000000, type") == sorted(
        [
            (hashed("shop/web"), 600.0, "SUBMIT"),
            (hashed("shop/web"), 900.0, "SCHEDULE"),
            (hashed("shop/db"), 700.0, "SCHEDULE"),
            (hashed("shop/db"), 700.0, "SUBMIT"),
            (hashed("shop/idle"), 650.0, "SUBMIT"),
        ]
    )
    assert note(store, "Tasks without a start") == [
        "Tasks without a start, scheduled where their usage begins: 2."
    ]


CONTAINERS = """\
namespace,pod,container,time,node,cpu
shop,web,app,0,n1,1
shop,web,log,0,n1,1
shop,db,main,0,n1,4
"""


def test_what_is_said_of_pods_goes_to_their_containers(tmp_path):
    pods = (
        "namespace,pod,cpu_request,memory_request,app\nshop,web,500,2,front\nshop,db,1000,4,store\n"
    )
    store = ingest_own(
        tmp_path,
        declared(usage_task=CONTAINER),
        {"usage.csv": CONTAINERS, "pods.csv": pods},
        capacity="8cores,32GiB",
    )
    # The request of a pod is that of its only container; of two nobody knows whose part is whose.
    assert requests(store) == [
        ("shop/db/main", "store", 1.0, 4.0),
        ("shop/web/app", "front", None, None),
        ("shop/web/log", "front", None, None),
    ]
    assert note(store, "Tasks of several") == [
        "Tasks of several measured parts, whose request is not known of each and left out: 1."
    ]


def test_requests_of_containers_add_up_to_those_of_a_measured_pod(tmp_path):
    containers = (
        "namespace,pod,container,cpu_request,memory_request,app\n"
        "shop,web,app,500,2,front\nshop,web,log,250,1,front\nshop,db,main,1000,,store\n"
    )
    store = ingest_own(
        tmp_path,
        declared(tasks_task=CONTAINER),
        {"usage.csv": USAGE, "pods.csv": containers},
        capacity="8cores,32GiB",
    )
    assert requests(store) == [("shop/db", "store", 1.0, None), ("shop/web", "front", 0.75, 3.0)]


def test_sizes_of_machines_beside_usage_need_no_capacity(tmp_path):
    usage = (
        "namespace,pod,time,node,cpu,node_cores,node_memory\n"
        "shop,web,0,n1,1,8,32\nshop,web,300,n1,2,8,32\nshop,db,0,n2,4,4,16\n"
    )
    store = ingest_own(tmp_path, declared(more=MACHINES), {"own.csv": usage}, capacity="")
    assert rows(store, "machine_events", "type, time, cpu_capacity, memory_capacity") == [
        ("ADD", 0, 0.5, 0.5),
        ("ADD", 0, 1.0, 1.0),
    ]
    assert rows(store, "instance_usage", "8 * average_cpu") == [(1.0,), (2.0,), (4.0,)]


def test_usage_is_not_the_size_of_a_machine_where_both_are_called_alike(tmp_path):
    machines = MACHINES.replace("node_cores", "cpu").replace("node_memory", "memory")
    files = {"usage.csv": USAGE, "nodes.csv": "node,cpu,memory\nn1,16,64\n"}
    store = ingest_own(tmp_path, declared(more=machines), files, capacity="")
    assert rows(store, "machine_events", "type, cpu_capacity") == [("ADD", 1.0)]
    assert rows(store, "instance_usage", "16 * average_cpu") == [(1.0,), (2.0,), (4.0,)]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (
            {"usage.csv": USAGE, "pods.csv": "namespace,pod,cpu_request\nx,web,1\n"},
            "rows of tasks: no task of them has usage: expected names such as shop/db, got such as x/web; "
            "make task in [tasks] and in [usage] the same columns: "
            "borgtrace dialect sniff FILE FILE > own.toml, correct it, and --dialect own.toml",
        ),
        (
            {"pods.csv": "namespace,pod,cpu_request\nx,web,1\n"},
            "rows of tasks: neither a time nor usage: expected when tasks started or were submitted, "
            "or a file of their usage, got x/web without either; name the file of usage too",
        ),
    ],
)
def test_rows_of_tasks_that_say_nothing_of_the_store_are_refused(tmp_path, files, message):
    with pytest.raises(BorgtraceError) as caught:
        ingest_own(tmp_path, declared(), files, capacity="8cores,32GiB")
    assert str(caught.value) == message
