"""JSON that is one document rather than records on lines: which table it holds, and what is refused of it."""

from __future__ import annotations

import json

import pytest

from borgtrace.errors import BorgtraceError
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.ingest.find.raw_files import find_raw_files
from borgtrace.schema.time import SECOND
from borgtrace.store import Store
from tests.ingest.own_data import AVERAGES, hashed, ingest_own, rows
from tests.ingest.shaped_samples import CLOUDWATCH_SERIES, KRR, NODE_METRICS, pod_metrics_list


@pytest.mark.parametrize("indent", [None, 2])
def test_answers_of_kubernetes_metrics_are_the_windows_that_end_at_their_times(tmp_path, indent):
    answers = [
        pod_metrics_list("2026-11-01T00:05:30Z", "250m"),
        pod_metrics_list("2026-11-01T00:06:30Z", "1"),
        # Asked again before it was measured again: the same measurement.
        pod_metrics_list("2026-11-01T00:06:30Z", "1"),
    ]
    path = tmp_path / "top.json"
    path.write_text("\n".join(json.dumps(answer, indent=indent) for answer in answers))
    ingest([path], tmp_path / "store", IngestOptions(jobs=1, capacity="2cores,4GiB"))
    store = Store.open(tmp_path / "store")
    columns = "collection_id, start_time, end_time, average_cpu, average_memory"
    # 00:05:00 is a multiple of five minutes, and so 600 s; 2 cores and 4 GiB are 1.
    proxy = hashed("shop/web-0/proxy")
    app = hashed("shop/web-0/app")
    assert rows(store, "instance_usage", columns) == sorted(
        [
            (app, 600 * SECOND, 630 * SECOND, 0.125, 0.25),
            (app, 660 * SECOND, 690 * SECOND, 0.5, 0.25),
            (proxy, 600 * SECOND, 630 * SECOND, pytest.approx(0.00075), 0.125),
            (proxy, 660 * SECOND, 690 * SECOND, pytest.approx(0.00075), 0.125),
        ],
        key=lambda row: row[:2],
    )


def test_a_file_that_is_written_again_is_looked_at_again(tmp_path):
    path = tmp_path / "own.json"
    columns = []
    for name in ("pod", "task"):
        records = [{name: "web", "time": 300 * row, "cpu": 0.5 + row % 2} for row in range(3)]
        path.write_text(json.dumps(records))
        (source,) = find_raw_files([path]).discovery.sources
        columns.append(source.dialect.tables["usage"].names)
    assert "pod" in columns[0]
    assert "task" in columns[1]
    assert "pod" not in columns[1]


def test_records_without_values_are_rows_that_are_refused(tmp_path):
    # More of them than are put together; of 8 cores.
    n_empty = 20_000
    records = [{"task": "web", "time": 0, "cpu": 0.5}, *[{}] * n_empty]
    records.append({"task": "web", "time": 300, "cpu": 0.25})
    store = ingest_own(tmp_path, AVERAGES, {"own.json": json.dumps(records)})
    assert rows(store, "instance_usage", "source_row, average_cpu") == [
        (0, 0.5 / 8),
        (n_empty + 1, 0.25 / 8),
    ]
    (entry,) = store.manifest.sources
    assert (entry.stored, entry.quarantined) == (2, n_empty)


def test_series_of_cloudwatch_are_told_apart_by_their_ids_and_their_labels(tmp_path):
    declaration = AVERAGES.replace('"relative"', '"epoch"').replace('"task"', '"series"')
    declaration = declaration.replace('unit = "s"', 'unit = "iso"').replace('"cpu"', '"value"')
    # One query for each machine is a usual script: the id is the same in all of them.
    files = {
        f"{one['Label']}.json": json.dumps({"MetricDataResults": [one], "Messages": []})
        for one in CLOUDWATCH_SERIES
    }
    store = ingest_own(tmp_path, declaration, files)
    assert rows(store, "instance_usage", "collection_id, start_time, average_cpu") == sorted(
        (hashed(f"m1/{label}"), time * SECOND, cpu)
        for label in ("i-0a", "i-0b")
        for time, cpu in ((600, 0.25), (900, 0.5))
    )


def test_records_in_records_are_columns_with_dots(tmp_path):
    records = [
        {"pod": {"name": "web"}, "usage": {"cpu": 2}, "time": 0},
        {"pod": {"name": "web"}, "usage": {"cpu": 4}, "time": 300, "labels": ["a"]},
    ]
    declaration = AVERAGES.replace('"task"', '"pod.name"').replace('"cpu"', '"usage.cpu"')
    lines = "\n".join(json.dumps(record) for record in records)
    for name, text in (("lines.json", lines), ("array.json", json.dumps(records))):
        (tmp_path / name).mkdir()
        store = ingest_own(tmp_path / name, declaration, {"own.json": text})
        assert rows(store, "instance_usage", "average_cpu") == [(0.25,), (0.5,)]


def test_a_list_in_each_snapshot_has_the_time_around_it(tmp_path):
    snapshots = [
        {"tasks": [{"task": "web", "cpu": cpu}, {"task": "7", "cpu": 1}], "time": time}
        for time, cpu in ((0, 2), (300, 4))
    ]
    lines = "\n".join(json.dumps(snapshot) for snapshot in snapshots)
    store = ingest_own(tmp_path, AVERAGES, {"own.json": lines})
    assert rows(store, "instance_usage", "collection_id, start_time, average_cpu") == sorted(
        [
            (7, 600 * SECOND, 0.125),
            (7, 900 * SECOND, 0.125),
            (hashed("web"), 600 * SECOND, 0.25),
            (hashed("web"), 900 * SECOND, 0.5),
        ]
    )


def test_a_table_beside_that_of_usage_is_passed_over(tmp_path):
    document = {
        "disks": [{"disk": "d1", "size": 4}],
        "usage": [{"task": "web", "time": 0, "cpu": 2}, {"task": "web", "time": 300, "cpu": 4}],
    }
    path = tmp_path / "own.json"
    path.write_text(json.dumps(document))
    (source,) = find_raw_files([path]).discovery.sources
    assert (source.kind, source.inner) == ("JSON", "usage")


def test_machines_beside_usage_in_one_file_are_read_too(tmp_path):
    document = {
        "nodes": [{"node": "m1", "cores": 4}],
        "usage": [{"task": "web", "time": 0, "cpu": 2}, {"task": "web", "time": 300, "cpu": 4}],
    }
    path = tmp_path / "own.json"
    path.write_text(json.dumps(document))
    sources = find_raw_files([path]).discovery.sources
    assert [(source.table, source.inner) for source in sources] == [
        ("machines", "nodes"),
        ("usage", "usage"),
    ]


NO_TABLE = "expected a list of records; write it as to_json(…, orient='records', lines=True) does"
REFUSED = {
    "orient values": (
        [["web", 0, 2], ["web", 300, 4]],
        "no table in this JSON: rows without the names of their columns, as orient='values' writes them: "
        + NO_TABLE,
    ),
    "two readings": (
        {"a": {"x": 1, "y": 2}, "b": {"x": 3, "y": 4}},
        "no table in this JSON: an object of objects, which may be columns of rows or rows of columns: "
        + NO_TABLE,
    ),
    "a short row": (
        {"columns": ["task", "time", "cpu"], "data": [["web", 0, 2], ["web", 300]]},
        "no table in this JSON: a row of 2 values under 3 names: " + NO_TABLE,
    ),
    "a short column": (
        {"task": ["web", "web"], "time": [0], "cpu": [2, 4]},
        "no table in this JSON: lists of unequal length: " + NO_TABLE,
    ),
    "values without times": (
        {"MetricDataResults": [{"Id": "m1", "Timestamps": ["2026-11-01"], "Values": [1, 2]}]},
        "no table in this JSON: 2 values at 1 times in series m1: " + NO_TABLE,
    ),
    "krr": (
        KRR,
        "krr's report: requests and recommendations, and no usage over time; fetch the usage that it was made from: "
        "borgtrace fetch prometheus URL DEST",
    ),
    "nodes": (
        NODE_METRICS,
        "usage of nodes (NodeMetrics), which is not that of tasks; ask for that of pods: "
        "kubectl get --raw /apis/metrics.k8s.io/v1beta1/pods",
    ),
    "two tables of usage": (
        {
            "day": [{"task": "a", "time": 0, "cpu": 1}],
            "night": [{"pod": "a", "time": 0, "cpu": 1}],
        },
        "several tables that may be usage, with different columns: got day (task, time, cpu); night (pod, time, cpu); "
        "export the one that holds the usage as CSV or Parquet, or write a file with [usage] and task, time and cpu = "
        "its columns, and add --dialect FILE.toml",
    ),
    "no table of usage": (
        {"day": [{"a": 1}], "night": [{"b": 1}]},
        "none of its tables has columns called like a task, a time, and CPU or memory: got day (a); night (b); "
        "write a file with [usage] and task, time and cpu = the columns of one, and add --dialect FILE.toml",
    ),
}


@pytest.mark.parametrize(("document", "message"), REFUSED.values(), ids=REFUSED)
def test_what_holds_no_table_of_usage_is_refused_with_the_reason(tmp_path, document, message):
    path = tmp_path / "own.json"
    path.write_text(json.dumps(document))
    with pytest.raises(BorgtraceError) as error:
        find_raw_files([path])
    assert str(error.value) == f"{path}: {message}"


def test_a_document_that_ends_early_says_where(tmp_path):
    path = tmp_path / "own.json"
    path.write_text('[{"task": "web", "time": 0, "cpu": 1}, {"ta')
    with pytest.raises(BorgtraceError) as error:
        find_raw_files([path])
    assert str(error.value) == (
        f"{path}: damaged JSON file: expected a whole value at character 40, got '{{\"ta'; "
        "fetch it again, or write it again"
    )
