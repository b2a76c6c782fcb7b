"""Answers of Prometheus in the store: invented series in the documented form, worked out by hand."""

from __future__ import annotations

import json

import pytest

import borgtrace
from borgtrace.errors import SourceError
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.schema.time import SECOND
from tests.ingest.own_data import hashed, rows

# A multiple of 300 s since 1970, so that it is 600 s in the store.
START = 1_793_491_200
WEB = {
    "namespace": "shop",
    "pod": "web-1",
    "container": "app",
    "node": "n1",
}
GIB = 2**30


def _answer(name, *series):
    found = [
        {
            "metric": {"__name__": name, **labels},
            "values": [[START + after, value] for after, value in values],
        }
        for labels, values in series
    ]
    return json.dumps({"status": "success", "data": {"resultType": "matrix", "result": found}})


CPU, MEMORY = "container_cpu_usage_seconds_total", "container_memory_working_set_bytes"
REQUESTS = "kube_pod_container_resource_requests"
FILES = {
    # A range query ends at 11,000 points: two files whose ends overlap.  The pod as a whole and its pause are left out.
    "cpu-1.json": _answer(
        CPU,
        (WEB, [(0, "100"), (60, "160")]),
        (WEB | {"container": ""}, [(0, "500"), (60, "900")]),
        (WEB | {"container": "POD"}, [(0, "0"), (60, "1")]),
    ),
    "cpu-2.json": _answer(
        CPU,
        (
            WEB,
            [
                (60, "160"),
                (120, "10"),
                (1000, "20"),
                (1060, "NaN"),
            ],
        ),
    ),
    "memory.json": _answer(
        MEMORY,
        (
            WEB,
            [
                (0, str(GIB)),
                (60, str(2 * GIB)),
                (120, str(4 * GIB)),
            ],
        ),
    ),
    "requests.json": _answer(
        REQUESTS,
        (WEB | {"resource": "cpu"}, [(0, "1"), (60, "2")]),
        (WEB | {"resource": "memory"}, [(0, str(4 * GIB))]),
    ),
    "owner.json": _answer(
        "kube_pod_owner",
        (
            {
                "namespace": "shop",
                "pod": "web-1",
                "owner_name": "web",
            },
            [(0, "1")],
        ),
    ),
    "nodes.json": _answer(
        "kube_node_status_capacity",
        ({"node": "n1", "resource": "cpu"}, [(0, "4")]),
        ({"node": "n1", "resource": "memory"}, [(0, str(8 * GIB))]),
        ({"node": "n1", "resource": "pods"}, [(0, "110")]),
    ),
}


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("prometheus")
    for name, text in FILES.items():
        (folder / name).write_text(text)
    ingest([folder / name for name in FILES], folder / "store", IngestOptions(jobs=1))
    return borgtrace.open(folder / "store")


def test_counters_of_several_files_are_one_and_memory_joins_them(store):
    # 60 s in 60 s on 4 cores; a reset to 10 s in 60 s; 880 s are more than five steps, and NaN is refused.
    assert rows(
        store,
        "instance_usage",
        "collection_id, start_time, end_time, average_cpu, average_memory",
    ) == [
        (hashed("shop/web-1/app"), 600 * SECOND, 660 * SECOND, 0.25, 0.25),
        (hashed("shop/web-1/app"), 660 * SECOND, 720 * SECOND, pytest.approx(10 / 60 / 4), 0.5),
    ]
    assert {
        entry.file: entry.quarantined for entry in store.manifest.sources if entry.quarantined
    } == {"cpu-2.json": 1}
    (first,) = (entry for entry in store.manifest.sources if entry.file == "cpu-1.json")
    assert (first.rows_in, first.stored, first.skipped) == (6, 4, 2)
    assert store.manifest.counters == {
        "instance_usage": {"pod_total": 1},
        "samples": {"null_in_mandatory_field": 1, "pause_container": 1, "resource_not_read": 1},
    }


def test_requests_owners_and_nodes_say_what_is_known_of_tasks_and_machines(store):
    assert rows(store, "collection_events", "type, collection_name, collection_logical_name") == [
        ("SCHEDULE", "shop/web-1/app", "web"),
        ("SUBMIT", "shop/web-1/app", "web"),
    ]
    assert rows(store, "tasks", "cpu_request, memory_request, n_windows") == [(0.5, 0.5, 2)]
    assert rows(store, "machine_events", "machine_id, cpu_capacity, memory_capacity") == [
        (hashed("n1"), 1.0, 1.0)
    ]
    assert rows(store, "instance_events", "machine_id", "type = 'SCHEDULE'") == [(hashed("n1"),)]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (
            '{"status":"error","errorType":"bad_data","error":"exceeded maximum resolution of 11,000 points"}',
            "Prometheus answered with an error: got exceeded maximum resolution of 11,000 points; query again",
        ),
        (
            _answer("up", ({}, [(0, "1")])),
            "no series that can be used: expected container_cpu_usage_seconds_total, "
            "container_memory_working_set_bytes or metrics of kube-state-metrics, with the labels namespace, pod and "
            "container, got 1 × unknown_metric: The series is of a metric that is not read: up{}; "
            "query these metrics by their names",
        ),
        (
            _answer(CPU, (WEB, [(0, "1")]))[:-4],
            "not an answer to a range query: expected a whole value at character 67, "
            'got \'{"metric": {"__name_\'; query again, and keep the whole answer',
        ),
        (
            _answer(CPU, (WEB, [(0, "1")])).replace("matrix", "a"),
            'not an answer to a range query: expected resultType matrix, got "a"; '
            "ask /api/v1/query_range, with start, end and step",
        ),
        (
            '{"status":"success","data":["container_cpu_usage_seconds_total"]}',
            "not an answer to a range query: expected a list called result inside data; "
            "query again, and keep the whole answer",
        ),
    ],
)
def test_an_answer_that_is_none_says_why(tmp_path, answer, message):
    (tmp_path / "answer.json").write_text(answer)
    with pytest.raises(SourceError) as error:
        ingest([tmp_path / "answer.json"], tmp_path / "store", IngestOptions(jobs=1))
    assert str(error.value) == f"{tmp_path / 'answer.json'}: {message}"


def _at(region, *samples):
    return _answer(CPU, (WEB | {"region": region}, samples))


def test_answers_that_came_later_make_the_store_again(tmp_path):
    texts = {
        "first.json": _at("a", (0, "10"), (60, "40")),
        "later.json": _at("a", (60, "40"), (120, "100")),
        "other.json": _at("b", (0, "5"), (60, "6"), (120, "7")),
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    first, later, other = (tmp_path / name for name in texts)
    options = IngestOptions(jobs=1, capacity="4cores")
    ingest([first], tmp_path / "store", options)
    again = ingest([first, later], tmp_path / "store", options)
    at_once = ingest([first, later], tmp_path / "at-once", options)
    assert (again.is_rebuilt, at_once.is_rebuilt) == (True, False)
    assert again.manifest.digest == at_once.manifest.digest
    # 30 s in a minute on 4 cores, then 60 s.
    used = rows(borgtrace.open(tmp_path / "store"), "instance_usage", "average_cpu")
    assert used == [(0.125,), (0.25,)]
    # A version that cannot be made leaves the store as it was.
    with pytest.raises(SourceError, match="two series at one time"):
        ingest([first, later, other], tmp_path / "store", options)
    assert borgtrace.open(tmp_path / "store").manifest == again.manifest
    assert ingest([first, later], tmp_path / "store", options).manifest == again.manifest
