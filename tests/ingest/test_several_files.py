"""One declaration for several own files: what is guessed of requests, pods and nodes, by hand from the files above."""

import tomllib

import pytest

import borgtrace
from borgtrace.errors import BorgtraceError, SourceError, UsageError
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.ingest.find.joint_drafts import sniff_all
from tests.ingest.own_data import rows
from tests.ingest.shaped_samples import CLUSTER, NODES, USAGE


def written(folder, files):
    paths = []
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        paths.append(path)
    return paths


def draft(folder, files):
    return sniff_all(written(folder, files)).draft


def usage_with(names, values, *, cpu="cpu_cores", amounts=(0.5, 0.25, 0.75, 0.5)):
    """Return usage of web and db at two times, with further columns of one value each."""
    lines = [f"pod,time,{cpu},{names}"]
    for number, amount in enumerate(amounts):
        pod = ("web", "db")[number % 2]
        lines.append(f"{pod},{300 * (number // 2)},{amount},{values}")
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    ("names", "values", "declared"),
    [
        ("cpu_request", "0.5", {"cpu_request": {"column": "cpu_request", "unit": "cores"}}),
        ("requests_cpu", "500m", {"cpu_request": {"column": "requests_cpu", "unit": "quantity"}}),
        ("cpuRequest", "2", {"cpu_request": {"column": "cpuRequest", "unit": "cores"}}),
        (
            "requested_mcpu,req_mem_mib",
            "250,512",
            {
                "cpu_request": {"column": "requested_mcpu", "unit": "millicores"},
                "memory_request": {"column": "req_mem_mib", "unit": "MiB"},
            },
        ),
        (
            "memory_request",
            "536870912",
            {"memory_request": {"column": "memory_request", "unit": "bytes"}},
        ),
        (
            "avg_cpu_request,cpu_request",
            "1,2",
            {"cpu_request": {"column": "cpu_request", "unit": "cores"}},
        ),
        (
            "service,user,priority",
            "front,ann,7",
            {"app": "service", "user": "user", "priority": "priority"},
        ),
        ("deployment,service", "web,front", {"app": "deployment"}),
        # Names of classes have no order; a share of a request is none.
        ("priority,cpu_request_percent", "high,50", {}),
        ("cpu_request_utilization,cpu_usage_request_ratio", "0.5,0.5", {}),
        ("cpu_request", "50%", {}),
    ],
)
def test_requests_and_owners_beside_usage_are_declared(tmp_path, names, values, declared):
    usage = draft(tmp_path, {"own.csv": usage_with(names, values)}).declaration["usage"]
    beside = {role: entry for role, entry in usage.items() if role not in ("task", "time", "cpu")}
    assert beside == declared


@pytest.mark.parametrize(
    ("names", "values", "cpu", "question"),
    [
        (
            "cpu_request",
            "500",
            "cpu_cores",
            (
                "cpu_request",
                "are its numbers, up to 500, cores or millicores",
                'cpu_request = { column = "cpu_request", unit = "millicores" }, or what it is',
            ),
        ),
        (
            "cpu_request",
            "10",
            "cpu_millicores",
            (
                "cpu_request",
                "is it in millicores like the usage, or in cores",
                'cpu_request = { column = "cpu_request", unit = "millicores" }, or what it is',
            ),
        ),
        (
            "memory_request",
            "512",
            "cpu_cores",
            (
                "memory_request",
                "in which unit",
                'memory_request = { column = "memory_request", unit = "MiB" }, or what it is',
            ),
        ),
        (
            "cpu_request,cpu_requested",
            "1,2",
            "cpu_cores",
            (
                "cpu_request",
                "which of cpu_request or cpu_requested is the request of cpu",
                'cpu_request = { column = "…", unit = "…" }',
            ),
        ),
    ],
)
def test_a_request_that_has_two_readings_is_asked_for(tmp_path, names, values, cpu, question):
    questions = draft(tmp_path, {"own.csv": usage_with(names, values, cpu=cpu)}).questions
    assert [tuple(each) for each in questions] == [question]


def test_a_limit_is_declared_where_its_unit_is_known_and_else_named(tmp_path):
    text = usage_with("cpu_limit,memory_limit", "1,2")
    drafted = draft(tmp_path, {"own.csv": text})
    assert drafted.questions == []
    assert drafted.declaration["usage"]["cpu_limit"] == {"column": "cpu_limit", "unit": "cores"}
    assert "memory_limit" not in drafted.declaration["usage"]
    remark = (
        "column memory_limit: limit of memory, not read; to read it, add "
        'memory_limit = { column = "memory_limit", unit = "…" }'
    )
    assert drafted.guesses[-1] == remark
    assert drafted.text().endswith(f"\n# {remark}\n")


def test_usage_pods_and_nodes_are_one_declaration(tmp_path):
    drafted = draft(tmp_path, CLUSTER)
    assert drafted.questions == []
    assert drafted.declaration == {
        "name": "own",
        "clock": "relative",
        "step": "5m",
        "label": "start",
        "usage": {
            "task": ["namespace", "pod", "container"],
            "time": {"column": "time", "unit": "s"},
            "machine": "node",
            "cpu": {"column": "cpu_cores", "unit": "cores", "kind": "average"},
            "namespace": "namespace",
            "pod": "pod",
            "container": "container",
        },
        "tasks": {
            "task": ["namespace", "pod"],
            "cpu_request": {"column": "cpu_request", "unit": "quantity"},
            "cpu_limit": {"column": "cpu_limit", "unit": "cores"},
            "memory_request": {"column": "memory_request", "unit": "quantity"},
            "app": "owner_name",
            "namespace": "namespace",
            "pod": "pod",
        },
        "machines": {
            "machine": "name",
            "cpu": {"column": "cpu", "unit": "cores"},
            "memory": {"column": "memory", "unit": "quantity"},
            "platform": "instance_type",
        },
    }
    assert tomllib.loads(drafted.text()) == drafted.declaration
    assert drafted.remarks["tasks.task"] == (
        "pods.csv has no container: what it says of a task goes to each of those in usage.csv, "
        "its request only where there is one"
    )
    assert "column cpu_limit: guessed to be the limit in cores" in drafted.guesses


def test_usage_pods_and_nodes_are_one_store_without_a_capacity(tmp_path):
    paths = written(tmp_path, CLUSTER)
    ingest(paths, tmp_path / "store", IngestOptions(jobs=1))
    store = borgtrace.open(tmp_path / "store")
    # The largest machine has 8 cores and 16 GiB.
    assert rows(
        store,
        "tasks",
        "8 * cpu_request, 16 * memory_request, 8 * cpu_limit, collection_logical_name, pod, container",
    ) == [
        (0.5, 1.0, 1.0, "web", "web-0", "app"),
        (2.0, 4.0, 4.0, "web", "web-1", "app"),
    ]
    assert rows(store, "machine_events", "8 * cpu_capacity, 16 * memory_capacity, platform_id") == [
        (4.0, 8.0, "small"),
        (8.0, 16.0, "large"),
    ]
    assert rows(store, "instance_usage", "8 * average_cpu") == [(0.25,), (0.5,), (1.0,), (2.0,)]


def test_moments_in_files_of_their_own_are_one_table_in_parts(tmp_path):
    parts = {
        f"{minute:02}.csv": f"pod,time,cpu_cores\nweb,{60 * minute},{minute % 2 + 1}\n"
        for minute in range(4)
    }
    drafted = draft(tmp_path, parts)
    # A minute between two files, which none of them alone can tell.
    assert drafted.declaration["step"] == "1m"
    ingest(
        list(tmp_path.glob("*.csv")), tmp_path / "store", IngestOptions(jobs=1, capacity="8cores")
    )
    assert rows(
        borgtrace.open(tmp_path / "store"), "instance_usage", "start_time, 8 * average_cpu"
    ) == [
        (600_000_000, 1.0),
        (660_000_000, 2.0),
        (720_000_000, 1.0),
        (780_000_000, 2.0),
    ]


SMALL = "pod,time,cpu_cores\nweb,0,1\nweb,300,2\n"


@pytest.mark.parametrize(
    ("files", "usage_task", "tasks_task"),
    [
        ({"u.csv": SMALL, "p.csv": "namespace,pod,cpu_request\na,web,1\n"}, "pod", "pod"),
        (
            {"u.csv": USAGE, "p.csv": "pod,cpu_request\nweb-0,1\n"},
            ["pod", "container"],
            "pod",
        ),
        (
            {"u.csv": SMALL, "p.csv": "pod,container,cpu_request\nweb,app,1\n"},
            "pod",
            ["pod", "container"],
        ),
    ],
)
def test_tasks_are_named_by_the_columns_in_common(tmp_path, files, usage_task, tasks_task):
    declared = draft(tmp_path, files).declaration
    assert declared["usage"]["task"] == usage_task
    assert declared["tasks"]["task"] == tasks_task


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (
            {"u.csv": SMALL, "p.csv": "namespace,pod,cpu_request\na,web,1\nb,web,2\n"},
            "{folder}/u.csv: has no namespace, by which p.csv tells tasks apart: "
            "expected a column namespace, got web in 2 of them; add namespace to it",
        ),
        (
            {
                "u.csv": "container,time,cpu_cores\napp,0,1\napp,300,2\n",
                "p.csv": "pod,cpu_request\nweb,1\n",
            },
            "{folder}/p.csv: its tasks cannot be found in the usage: "
            "expected columns such as container, as in u.csv, got pod; "
            "add a column to one of the two, so that one names all that the other does",
        ),
        (
            {
                "u.csv": "pod;time;cpu_cores\nweb;0;1,5\nweb;300;0,25\n",
                "p.csv": "pod,cpu_request\nweb,0.5\n",
            },
            "{folder}/p.csv: numbers are written in two ways: "
            'expected as in u.csv: decimal = ",", got decimal = "."; write both in one way',
        ),
        (
            {"u.csv": SMALL, "p.csv": "pod,start_time\nweb,2026-11-01T00:00:00Z\n"},
            "{folder}/p.csv: times count from two starts: "
            'expected as in u.csv: clock = "relative", got clock = "epoch"; write both in one way',
        ),
        (
            {"c.csv": SMALL, "m.csv": "pod_name,time,memory_bytes\nweb,0,1\nweb,300,2\n"},
            "{folder}/m.csv: a second table of usage with other columns: "
            "expected the columns of c.csv: pod, time, cpu_cores, got pod_name, time, memory_bytes; "
            "join the two by their task and time, rename its columns, or leave one out",
        ),
        (
            {"p.csv": "pod,cpu_request\nweb,1\n", "nodes.csv": NODES},
            "p.csv, nodes.csv: no usage of tasks, and no times of their lives: "
            "expected a file with a task, a time, and CPU or memory, got p.csv: tasks, nodes.csv: machines; "
            "name the file of usage too",
        ),
    ],
)
def test_files_that_do_not_fit_together_are_refused(tmp_path, files, message):
    with pytest.raises(BorgtraceError) as caught:
        draft(tmp_path, files)
    assert str(caught.value) == message.format(folder=tmp_path)


def test_a_file_that_is_for_no_section_is_refused_by_name_and_the_others_are_read(tmp_path):
    files = {"u.csv": SMALL, "disks.csv": "disk,size\na,1\n"}
    result = ingest(written(tmp_path, files), tmp_path / "store", IngestOptions(capacity="8cores"))
    assert [str(fault) for fault in result.faults] == [
        f"{tmp_path}/disks.csv: no column is called like a task: got disk, size; "
        "write a file with [usage] and task = its column, and add --dialect FILE.toml"
    ]
    assert len(result.staged) == 1


def test_lives_of_tasks_alone_are_read(tmp_path):
    jobs = (
        "pod,cpu_request,created_at,started_at,finished_at,phase\n"
        "a,1,0,60,600,Succeeded\nb,2,0,120,300,Failed\n"
    )
    ingest(written(tmp_path, {"j.csv": jobs}), tmp_path / "s", IngestOptions(capacity="8cores"))
    store = borgtrace.open(tmp_path / "s")
    assert rows(store, "instance_events", "time / 1000000, type, 8 * cpu_request") == [
        (600.0, "SUBMIT", 1.0),
        (600.0, "SUBMIT", 2.0),
        (660.0, "SCHEDULE", 1.0),
        (720.0, "SCHEDULE", 2.0),
        (900.0, "FAIL", 2.0),
        (1200.0, "FINISH", 1.0),
    ]


def test_usage_of_nodes_is_not_their_size(tmp_path):
    files = {"u.csv": SMALL, "nodes.csv": "node,cpu_usage,memory_usage_bytes\nn1,3,4000000\n"}
    joint = sniff_all(written(tmp_path, files))
    assert "machines" not in joint.draft.declaration
    assert list(joint.faults) == [tmp_path / "nodes.csv"]


def test_usage_without_a_time_is_not_taken_for_requests(tmp_path):
    top = "namespace,pod,cpu,memory\nshop,web-0,250m,128Mi\n"
    with pytest.raises(SourceError, match="usage without times, as kubectl top prints it"):
        draft(tmp_path, {"top.csv": top})


def test_questions_of_several_files_name_the_file(tmp_path):
    files = {"u.csv": SMALL, "p.csv": "pod,cpu_request\nweb,500\n"}
    with pytest.raises(UsageError) as caught:
        ingest(written(tmp_path, files), tmp_path / "store", IngestOptions(capacity="8cores"))
    both = f"{tmp_path}/u.csv {tmp_path}/p.csv"
    assert str(caught.value) == (
        f"{both}: column cpu_request of p.csv: are its numbers, up to 500, cores or millicores; "
        f'borgtrace dialect sniff {both} > own.toml, add cpu_request = {{ column = "cpu_request", '
        'unit = "millicores" }, or what it is, and --dialect own.toml'
    )
