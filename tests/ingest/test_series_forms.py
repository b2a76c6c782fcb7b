"""The forms in which people keep series: each is read like an answer of the HTTP API, or refused with its cause."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from borgtrace.errors import BorgtraceError, SourceError
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.store import Store
from tests.ingest.prometheus_files import (
    ALLOCATABLE,
    APP,
    CAPACITY,
    CPU,
    GIB,
    LIMITS,
    MEMORY,
    OWNER,
    REQUESTS,
    START,
    TERMINATED,
    answer,
    core_seconds,
    cores,
    left_out,
    level,
    series,
    steady,
    store_of,
)

HALF = series(CPU, APP, steady(0.5))
LABELS = 'container="app",namespace="shop",node="n1",pod="web-0"'
USED = {"shop/web-0/app": 300}


def exported(found: dict[str, Any]) -> str:
    """Return a series as VictoriaMetrics exports it: numbers, and times in ms."""
    times = [time * 1000 for time, _ in found["values"]]
    values = [float(value) for _, value in found["values"]]
    return json.dumps({"metric": found["metric"], "values": values, "timestamps": times})


def text_lines(pattern: str) -> str:
    """Return the samples of `HALF` as lines of text."""
    lines = []
    for time, value in HALF["values"]:
        line = pattern.replace("VALUE", value).replace("MS", str(time * 1000))
        lines.append(line.replace("SECONDS", str(time)))
    return "\n".join(lines) + "\n"


READ = {
    "answer": answer(HALF),
    "pretty": json.dumps(json.loads(answer(HALF)), indent=2),
    "keys-in-another-order": json.dumps(
        {"data": {"result": [HALF], "resultType": "matrix"}, "status": "success"}
    ),
    "series-in-another-order": json.dumps([{"values": HALF["values"], "metric": HALF["metric"]}]),
    "victoriametrics-answer": json.dumps(
        {
            "status": "success",
            "isPartial": False,
            "data": {"resultType": "matrix", "result": [HALF]},
            "stats": {"seriesFetched": "1", "executionTimeMsec": 2},
        }
    ),
    "data-alone": json.dumps({"resultType": "matrix", "result": [HALF]}),
    "result-alone": json.dumps({"result": [HALF]}),
    "list": json.dumps([HALF]),
    "answers-in-lines": "\n".join([answer(HALF), answer(), ""]),
    "list-of-answers": f"[{answer(HALF)}, {answer()}]",
    "answers-by-name": f'{{"cpu": {answer(HALF)}, "memory": {answer()}}}',
    "export": exported(HALF) + "\n",
    "text-of-promtool": f"{CPU}{{{LABELS}}} =>\n" + text_lines("VALUE @[SECONDS]"),
    "text-of-older-promtool": f"{CPU}{{{LABELS}}} =>\n" + text_lines("VALUE @[SECONDS.000]"),
    "openmetrics": "# HELP x\n# TYPE x counter\n"
    + text_lines(f"{CPU}{{{LABELS}}} VALUE SECONDS")
    + "# EOF\n",
    "openmetrics-float-times": "# TYPE x counter\n"
    + text_lines(f"{CPU}{{{LABELS}}} VALUE SECONDS.000"),
    "prometheus-text": text_lines(f"{CPU}{{{LABELS}}} VALUE MS"),
    "tsdb-dump": text_lines(f'{{__name__="{CPU}", {LABELS}}} VALUE MS'),
    "names-in-quotes": text_lines(f'{{"{CPU}", {LABELS}}} VALUE SECONDS'),
    "comma-behind-the-last-label": text_lines(f"{CPU}{{{LABELS},}} VALUE SECONDS"),
}


@pytest.mark.parametrize("form", READ)
def test_a_form_is_read_like_an_answer(tmp_path: Path, form: str) -> None:
    store = store_of(tmp_path, READ[form])
    assert core_seconds(store) == USED
    assert cores(store) == [0.5] * 10


def test_a_packed_answer_is_read(tmp_path: Path) -> None:
    path = tmp_path / "cpu.json.gz"
    path.write_bytes(gzip.compress(answer(HALF).encode()))
    ingest([path], tmp_path / "store", IngestOptions(jobs=1, capacity="8cores"))


SCALAR = '{"status":"success","data":{"resultType":"%s","result":[1793491200,"1"]}}'
RANGE = "ask /api/v1/query_range, with start, end and step"
INSTANT = (
    f"an instant query or another snapshot: one sample of each series of {CPU}: expected samples over time; "
    f"{RANGE}"
)
REFUSED = {
    "instant": (
        answer({"metric": HALF["metric"], "value": [START, "12"]}, kind="vector"),
        INSTANT,
    ),
    "text-without-times": (f"# TYPE x counter\n{CPU}{{{LABELS}}} 12\n", INSTANT),
    "instant-of-promtool": (f"{CPU}{{{LABELS}}} => 12 @[{START}]\n", INSTANT),
    "scalar": (
        SCALAR % "scalar",
        'one number without labels: expected resultType matrix, got "scalar"; ask for a metric by its name, such as '
        f"query={CPU}",
    ),
    "string": (
        SCALAR % "string",
        'one text without labels: expected resultType matrix, got "string"; ask for a metric by its name, such as '
        f"query={CPU}",
    ),
    "logs": (
        '{"status":"success","data":{"resultType":"streams","result":[]}}',
        f'lines of logs, not series: expected resultType matrix, got "streams"; ask Prometheus for {CPU}',
    ),
    "error": (
        '{"status":"error","errorType":"execution","error":"query timed out"}',
        "Prometheus answered with an error: got query timed out; query again",
    ),
    "error-of-a-proxy": (
        '{"status":"error","message":"no org id"}',
        "Prometheus answered with an error: got no org id; query again",
    ),
    "labels": (
        '{"status":"success","data":["container","pod"]}',
        "not an answer to a range query: expected a list called result inside data; query again, and keep the whole "
        "answer",
    ),
    "cut": (
        answer(HALF)[:-40],
        None,
    ),
    "two-documents-in-one-line": (answer(HALF) + "x", None),
}


@pytest.mark.parametrize("form", REFUSED)
def test_a_form_that_cannot_be_read_is_refused(tmp_path: Path, form: str) -> None:
    text, message = REFUSED[form]
    with pytest.raises(SourceError) as caught:
        store_of(tmp_path, text)
    place = str(tmp_path / "answer-0.json")
    if message is None:
        assert str(caught.value).startswith(f"{place}: not an answer to a range query: expected ")
        assert str(caught.value).endswith("; query again, and keep the whole answer")
    else:
        assert str(caught.value) == f"{place}: {message}"
    assert not (tmp_path / "store").exists()


WITHOUT_USAGE = (
    "series: requests, limits and owners without usage: expected samples of container_cpu_usage_seconds_total or "
    "container_memory_working_set_bytes, got none; query these as well, and ingest all files at once"
)
NOTHING = {
    "empty": (
        [answer()],
        "answer-0.json: no rows: expected at least one row; name files with rows; nothing was stored",
    ),
    "null": (
        ['{"status":"success","data":{"resultType":"matrix","result":null}}'],
        "answer-0.json: no rows: expected at least one row; name files with rows; nothing was stored",
    ),
    "limits-alone": (
        [answer(series(LIMITS, APP | {"resource": "cpu"}, [(0, "1")]))],
        WITHOUT_USAGE,
    ),
    "requests-alone": (
        [answer(series(REQUESTS, APP | {"resource": "cpu"}, [(0, "1")]))],
        WITHOUT_USAGE,
    ),
    "one-sample": (
        [answer(series(CPU, APP, [(0, "1")]))],
        "series of usage: no two samples of a series near each other: expected samples over time, got one of each; "
        "query a longer time, or with a smaller step",
    ),
}


@pytest.mark.parametrize("case", NOTHING)
def test_series_that_make_no_row_are_refused(tmp_path: Path, case: str) -> None:
    texts, message = NOTHING[case]
    with pytest.raises(BorgtraceError) as caught:
        store_of(tmp_path, *texts)
    assert str(caught.value) == message
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize(
    "odd", ["NaN", "+Inf", "-Inf", "-1", "", "x", None, True, [], "1e400", "9" * 40]
)
def test_an_odd_value_is_refused_alone(tmp_path: Path, odd: Any) -> None:
    """The counter goes on from the sample before: twice as long a window."""
    samples = steady(0.5)
    samples[5] = (300, odd)
    store = store_of(tmp_path, answer(series(CPU, APP, samples)))
    assert core_seconds(store) == USED
    assert cores(store) == [0.5] * 9
    assert sum(entry.quarantined for entry in store.manifest.sources) == 1


@pytest.mark.parametrize("odd", ["NaN", None, -5, "x", 10**17])
def test_an_odd_time_is_refused_alone(tmp_path: Path, odd: Any) -> None:
    found = json.loads(answer(HALF))
    found["data"]["result"][0]["values"][5][0] = odd
    store = store_of(tmp_path, json.dumps(found))
    assert cores(store) == [0.5] * 9


def test_what_an_export_does_not_know_is_null(tmp_path: Path) -> None:
    text = exported(HALF).replace("150.0", "null")
    store = store_of(tmp_path, text)
    assert cores(store) == [0.5] * 9


def test_histograms_and_warnings_are_counted(tmp_path: Path) -> None:
    found = json.loads(answer(HALF, {"metric": {"__name__": "h"}, "histograms": [[1, {}]]}))
    found["warnings"] = ["a store did not answer"]
    store = store_of(tmp_path, json.dumps(found))
    assert left_out(store) == {"histogram_series": 1, "warned_answer": 1}


def test_an_instant_answer_about_states_is_read(tmp_path: Path) -> None:
    """What a pod asks for and who owns it holds as long as it is there."""
    states = [
        {"metric": {"__name__": REQUESTS, **APP, "resource": "cpu"}, "value": [START, "2"]},
        {"metric": {"__name__": OWNER, **APP, "owner_name": "web"}, "value": [START, "1"]},
    ]
    store = store_of(tmp_path, answer(HALF), answer(*states, kind="vector"))
    rows = store.sql(
        "select cpu_request * 8 as cpu, collection_logical_name as app from tasks"
    ).to_pylist()
    assert rows == [{"cpu": 2.0, "app": "web"}]


def test_the_last_request_known_is_taken(tmp_path: Path) -> None:
    samples = [(0, "1"), (60, "2"), (120, "NaN")]
    later = series(REQUESTS, APP | {"resource": "cpu"}, samples)
    earlier = series(REQUESTS, APP | {"resource": "cpu", "uid": "old"}, [(0, "7")])
    store = store_of(tmp_path, answer(HALF, later, earlier))
    assert store.sql("select cpu_request * 8 as cpu from tasks").to_pylist() == [{"cpu": 2.0}]


OLDER_NAMES = [
    series("kube_pod_container_resource_requests_cpu_cores", APP, [(0, "2")]),
    series("kube_pod_container_resource_requests_memory_bytes", APP, [(0, str(4 * GIB))]),
    series("kube_pod_container_resource_limits_cpu_cores", APP, [(0, "4")]),
]


def test_older_names_of_requests_and_limits_are_read(tmp_path: Path) -> None:
    store = store_of(tmp_path, answer(HALF, *OLDER_NAMES))
    rows = store.sql("""
        select cpu_request * 8 as cpu, memory_request * 32 as gib, cpu_limit * 8 as most
        from tasks
    """)
    assert rows.to_pylist() == [{"cpu": 2.0, "gib": 4.0, "most": 4.0}]
    assert left_out(store) == {}


@pytest.mark.parametrize(
    ("found", "app"),
    [
        ([series(OWNER, APP, [(0, "1")])], None),
        ([series("kube_pod_labels", APP | {"label_app": "web"}, [(0, "1")])], "web"),
        (
            [
                series("kube_pod_labels", APP | {"label_app": "web"}, [(0, "1")]),
                series(OWNER, APP | {"owner_name": "web-7d4b"}, [(0, "1")]),
            ],
            "web-7d4b",
        ),
        (
            [
                series(
                    "kube_pod_labels", APP | {"label_app_kubernetes_io_name": "shop"}, [(0, "1")]
                ),
                series(OWNER, APP | {"owner_kind": "Node", "owner_name": "n1"}, [(0, "1")]),
            ],
            "shop",
        ),
    ],
)
def test_owners_and_labels_of_pods_name_the_application(
    tmp_path: Path, found: list[dict[str, Any]], app: str | None
) -> None:
    store = store_of(tmp_path, answer(HALF, *found))
    assert store.sql("select collection_logical_name as app from tasks").to_pylist() == [
        {"app": app}
    ]


def _machines(store: Store) -> list[tuple[float, float | None]]:
    rows = store.sql("select cpu_capacity, memory_capacity from machine_events order by all")
    return [tuple(row.values()) for row in rows.to_pylist()]


def _node(metric: str, node: str, cpu: int, gib: int) -> list[dict[str, Any]]:
    return [
        series(metric, {"node": node, "resource": "cpu"}, [(0, str(cpu))]),
        series(metric, {"node": node, "resource": "memory"}, [(0, str(gib * GIB))]),
    ]


def test_capacity_is_taken_before_what_is_left_for_pods(tmp_path: Path) -> None:
    nodes = [
        *_node(CAPACITY, "n1", 8, 32),
        *_node(ALLOCATABLE, "n1", 7, 30),
        *_node(CAPACITY, "n2", 4, 16),
    ]
    store = store_of(tmp_path, answer(HALF, *nodes), capacity="")
    assert _machines(store) == [(0.5, 0.5), (1.0, 1.0)]
    assert not any("allocatable" in note for note in store.manifest.notes)


def test_machines_that_only_say_what_is_left_are_so_large_and_it_is_said(tmp_path: Path) -> None:
    store = store_of(tmp_path, answer(HALF, *_node(ALLOCATABLE, "n1", 7, 30)), capacity="")
    assert store.manifest.basis["cores"] == 7
    assert store.manifest.notes[0] == (
        "Machines are as large as kube_node_status_allocatable says: what is left for pods, as "
        "kube_node_status_capacity is not there."
    )


def test_older_names_of_capacity_are_read(tmp_path: Path) -> None:
    nodes = [
        series("kube_node_status_capacity_cpu_cores", {"node": "n1"}, [(0, "4")]),
        series("kube_node_status_capacity_memory_bytes", {"node": "n1"}, [(0, str(8 * GIB))]),
    ]
    store = store_of(tmp_path, answer(HALF, *nodes), capacity="")
    assert (store.manifest.basis["cores"], store.manifest.basis["bytes"]) == (4, 8 * GIB)


def _events(store: Store) -> list[tuple[str, int]]:
    rows = store.sql("select type, time // 1000000 - 600 as s from instance_events").to_pylist()
    return [(row["type"], row["s"]) for row in rows]


def _collection_events(store: Store) -> list[str]:
    rows = store.sql("select type from collection_events order by time, source_row").to_pylist()
    return [row["type"] for row in rows]


def ended(reason: str, first: int, last: int = 600) -> dict[str, Any]:
    """Return how a container ended before: the state is there from the minute after."""
    samples = [(second, "1") for second in range(first, last + 1, 60)]
    return series(TERMINATED, APP | {"reason": reason}, samples)


def test_a_container_that_was_killed_and_goes_on_is_submitted_again(tmp_path: Path) -> None:
    store = store_of(tmp_path, answer(HALF, ended("OOMKilled", 300)))
    assert _events(store) == [
        ("SUBMIT", 0),
        ("SCHEDULE", 0),
        ("FAIL", 300),
        ("SUBMIT", 300),
        ("SCHEDULE", 300),
    ]
    # Its collection has not ended.
    assert _collection_events(store) == ["SUBMIT", "SCHEDULE"]


def test_a_container_that_ended_last_has_an_end(tmp_path: Path) -> None:
    store = store_of(tmp_path, answer(HALF, ended("Completed", 660, 900)))
    assert _events(store) == [("SUBMIT", 0), ("SCHEDULE", 0), ("FINISH", 660)]
    assert _collection_events(store) == ["SUBMIT", "SCHEDULE", "FINISH"]


def test_an_end_before_the_first_sample_is_counted(tmp_path: Path) -> None:
    store = store_of(tmp_path, answer(HALF, ended("OOMKilled", 0)))
    assert _events(store) == [("SUBMIT", 0), ("SCHEDULE", 0)]
    assert left_out(store) == {"ended_before": 1}


def test_a_state_that_goes_on_in_another_file_is_one_end(tmp_path: Path) -> None:
    texts = answer(HALF, ended("OOMKilled", 300, 420)), answer(ended("OOMKilled", 480))
    assert _events(store_of(tmp_path, *texts)).count(("FAIL", 300)) == 1
    whole = store_of(tmp_path / "whole", answer(HALF, ended("OOMKilled", 300)))
    assert len(_events(whole)) == 5


def test_a_reason_with_the_value_0_is_none(tmp_path: Path) -> None:
    """Earlier versions of kube-state-metrics gave every reason, most of them with 0."""
    samples = [(60 * minute, "1" if minute >= 5 else "0") for minute in range(11)]
    found = [
        series(TERMINATED, APP | {"reason": "OOMKilled"}, samples),
        series(TERMINATED, APP | {"reason": "Error"}, level(0)),
    ]
    store = store_of(tmp_path, answer(HALF, *found))
    assert _events(store)[2:] == [("FAIL", 300), ("SUBMIT", 300), ("SCHEDULE", 300)]


def test_memory_alone_has_windows_of_its_own(tmp_path: Path) -> None:
    store = store_of(tmp_path, answer(series(MEMORY, APP, level(GIB, n=3))))
    rows = store.sql(
        "select end_time - start_time as t, average_memory * 32 as gib, average_cpu as c from instance_usage"
    )
    assert rows.to_pylist() == [{"t": 60_000_000, "gib": 1.0, "c": None}] * 3


def test_memory_at_other_times_than_cpu_is_that_of_its_window(tmp_path: Path) -> None:
    """Sampled 30 s before each end of a window of CPU."""
    samples = [(60 * minute + 30, str((minute + 1) * GIB)) for minute in range(10)]
    store = store_of(tmp_path, answer(HALF, series(MEMORY, APP, samples)))
    rows = store.sql("select average_memory * 32 as gib from instance_usage order by start_time")
    assert [row["gib"] for row in rows.to_pylist()] == [float(gib) for gib in range(1, 11)]
