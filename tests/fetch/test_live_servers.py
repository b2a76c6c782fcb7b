"""A real Prometheus and a real VictoriaMetrics: fetched, gone on with, and ingested like the same cluster as files."""

from __future__ import annotations

import gzip
import json
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from tests.fetch.small_cluster import MINUTE, START, cluster, full_cluster
from tests.fetch.three_ways import contents, ingest_answers, ingest_csv, table_digests
from tests.metric_servers import Series, prometheus, victoria_metrics
from tests.own_process import own_process, peak_memory

import borgtrace
from borgtrace.fetch.prometheus.metrics import ALL_NAMES
from borgtrace.schema.dialects.prometheus import DIALECT

pytestmark = pytest.mark.wide

Run = Callable[..., subprocess.CompletedProcess[str]]
Server = Callable[..., AbstractContextManager[str]]
Rows = dict[str, list[tuple[Any, ...]]]
Digests = dict[str, tuple[int, str]]
TWO_DAYS = 2 * 24 * 60
"""Minutes."""
MOST_MEMORY = 700e6
"""Bytes."""
SERVERS = pytest.mark.parametrize("server", [prometheus, victoria_metrics])


@pytest.fixture
def run(command: Callable[..., list[str]]) -> Run:
    """Run a command to its end."""

    def run_command(*words: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command(*words), capture_output=True, text=True, check=False, timeout=600
        )

    return run_command


def period(minutes: int) -> list[str]:
    return ["--since", str(START), "--until", str(START + MINUTE * minutes)]


@pytest.fixture(scope="module")
def rows_of_csv(tmp_path_factory: pytest.TempPathFactory) -> Rows:
    """The rows of the small cluster by way of CSV, which are those by way of answers written by hand."""
    folder = tmp_path_factory.mktemp("small")
    rows = contents(ingest_csv(cluster(), folder / "csv"))
    assert contents(ingest_answers(cluster(), folder / "answers")) == rows
    return rows


@pytest.fixture(scope="module")
def rows_of_answers(tmp_path_factory: pytest.TempPathFactory) -> Rows:
    """The rows of the full cluster by way of answers written by hand."""
    return contents(ingest_answers(full_cluster(), tmp_path_factory.mktemp("full") / "answers"))


@SERVERS
def test_a_live_cluster_is_the_one_of_its_files(
    server: Server, run: Run, tmp_path: Path, rows_of_csv: Rows
) -> None:
    """CSV, answers written by hand, and what a server answers in pieces give the same rows."""
    # Of four pods and 120 minutes Prometheus refuses more than 150 samples at once.
    limits = ["--query.max-samples=150"] if server is prometheus else []
    with server(tmp_path / "server", cluster(), *limits) as url:
        live = tmp_path / "live"
        done = run("fetch", "prometheus", url, live, *period(120), "--json")
        assert done.returncode == 0, done.stderr
        facts = json.loads(done.stdout)
        usage = [one for one in facts["metrics"] if one["metric"].startswith("container_")]
        assert [(one["series"], one["metric"]) for one in usage] == [
            (4, "container_cpu_usage_seconds_total"),
            (4, "container_memory_working_set_bytes"),
        ]
        assert facts["unmatched"] == []
        assert facts["files"] > 5 if server is prometheus else facts["files"] == 5
        again = run("fetch", "prometheus", url, live, *period(120), "--json")
        assert json.loads(again.stdout)["queries"] == 0
    assert run("ingest", live, "--store", tmp_path / "store").returncode == 0
    assert contents(tmp_path / "store") == rows_of_csv


def test_a_server_is_a_source(run: Run, tmp_path: Path, rows_of_csv: Rows) -> None:
    """Of one namespace: two of the pods, on all machines."""
    words = ["--store", tmp_path / "web", *period(120), "--selector", '{namespace="web"}']
    with prometheus(tmp_path / "server", cluster()) as url:
        done = run("ingest", url, *words)
    assert done.returncode == 0, done.stderr
    names = borgtrace.open(tmp_path / "web").sql(
        "select distinct collection_name as name from collection_events order by all"
    )
    assert names["name"].to_pylist() == ["web/pod-1/app", "web/pod-3/app"]
    assert contents(tmp_path / "web")["machine_events"] == rows_of_csv["machine_events"]
    (kept,) = (tmp_path / "web.answers").iterdir()
    assert (kept / "container_cpu_usage_seconds_total").is_dir()


def test_the_same_command_later_adds_what_is_new(run: Run, tmp_path: Path) -> None:
    """An hour, then the next one: the store is that of both hours fetched at once."""
    with prometheus(tmp_path / "server", cluster()) as url:
        first = run("ingest", url, "--store", tmp_path / "store", *period(60))
        assert first.returncode == 0, first.stderr
        second = run("ingest", url, "--store", tmp_path / "store", *period(120))
        assert second.returncode == 0, second.stderr
        at_once = run("ingest", url, "--store", tmp_path / "at-once", *period(120))
    assert "the store is made again of all, old and new" in second.stdout
    assert second.stdout.splitlines()[-1].startswith("digest ")
    assert second.stdout.splitlines()[-1] == at_once.stdout.splitlines()[-1]
    assert first.stdout.splitlines()[-1] != at_once.stdout.splitlines()[-1]


@pytest.mark.parametrize(
    "server", [prometheus, pytest.param(victoria_metrics, marks=pytest.mark.scale)]
)
def test_all_that_is_known_is_fetched(
    server: Server, run: Run, tmp_path: Path, rows_of_answers: Rows
) -> None:
    series = full_cluster()
    with server(tmp_path / "server", series) as url:
        done = run("fetch", "prometheus", url, tmp_path / "live", *period(120), "--json")
    facts = json.loads(done.stdout)
    assert (facts["unknown"], facts["unmatched"]) == ([], [])
    names = [one["metric"] for one in facts["metrics"]]
    assert sorted(names) == sorted({one.metric for one in series})
    ingested = run("ingest", tmp_path / "live", "--store", tmp_path / "store")
    assert ingested.returncode == 0, ingested.stderr
    assert contents(tmp_path / "store") == rows_of_answers
    # Killed after 30 minutes of a trace that begins at 600 s.
    fails = borgtrace.open(tmp_path / "store").sql(
        "select time from instance_events where type = 'FAIL'"
    )
    assert fails["time"].to_pylist() == [(600 + 30 * 60) * 1_000_000]
    about = borgtrace.open(tmp_path / "store").sql("""
        select namespace, owner_kind, collection_logical_name as owner, container,
            max(8 * cpu_limit) as cpu_limit, count(*) as n
        from tasks group by all order by all
    """)
    assert [tuple(row.values()) for row in about.to_pylist()] == [
        ("shop", "Deployment", "shop", "app", 1.0, 2),
        ("web", "Deployment", "web", "app", 1.0, 2),
    ]


def test_every_metric_that_is_asked_for_is_read() -> None:
    assert {*ALL_NAMES} <= {*DIALECT.tables}


RULE = "node_namespace_pod_container:container_cpu_usage_seconds_total:sum_irate"
RULE_OF_MEMORY = "node_namespace_pod_container:container_memory_working_set_bytes"


@pytest.mark.parametrize("has_raw", [False, True])
@SERVERS
def test_recording_rules_are_fetched_where_the_metrics_are_not(
    server: Server, run: Run, tmp_path: Path, has_raw: bool
) -> None:
    labels = {"namespace": "shop", "pod": "web", "container": "app", "node": "n0"}
    times = [START + MINUTE * minute for minute in range(20)]
    samples = {
        RULE: tuple((at, "1.5") for at in times),
        RULE_OF_MEMORY: tuple((at, str(2**30)) for at in times),
    }
    if has_raw:
        counts = tuple((at, str(2 * (at - START))) for at in times)
        samples["container_cpu_usage_seconds_total"] = counts
    known = []
    for name, values in samples.items():
        image = {"image": "web:1"} if name.startswith("container_") else {}
        known.append(Series({"__name__": name, **labels, **image}, values))
    # Rules have no such label: the condition is left out for them.
    words = [*period(60), "--selector", '{image!=""}', "--json"]
    with server(tmp_path / "server", known) as url:
        done = run("fetch", "prometheus", url, tmp_path / "live", *words)
        again = run("fetch", "prometheus", url, tmp_path / "live", *words)
    assert done.returncode == 0, done.stderr
    metrics = [one["metric"] for one in json.loads(done.stdout)["metrics"]]
    cpu = "container_cpu_usage_seconds_total" if has_raw else RULE
    assert metrics == [cpu, RULE_OF_MEMORY]
    assert json.loads(again.stdout)["queries"] == 0
    ingested = run(
        "ingest", tmp_path / "live", "--store", tmp_path / "store", "--capacity", "8cores,16GiB"
    )
    assert ingested.returncode == 0, ingested.stderr
    used = borgtrace.open(tmp_path / "store").sql(
        "select distinct 8 * average_cpu as cores, 16 * average_memory as gib from instance_usage"
    )
    assert used.to_pylist() == [{"cores": 2.0 if has_raw else 1.5, "gib": 1.0}]


@SERVERS
def test_a_gap_stays_a_gap(server: Server, run: Run, tmp_path: Path) -> None:
    """A sample is taken once: the lookback of five minutes repeats none where a scrape is missing."""
    labels = {"namespace": "shop", "pod": "web", "container": "app", "node": "n0"}
    times = [START + MINUTE * minute for minute in range(20) if minute not in (5, 6, 7)]
    samples = tuple((at, str(at - START)) for at in times)
    one = Series({"__name__": "container_cpu_usage_seconds_total", **labels}, samples)
    with server(tmp_path / "server", [one]) as url:
        done = run("fetch", "prometheus", url, tmp_path / "live", *period(60))
    assert done.returncode == 0, done.stderr
    (file,) = (tmp_path / "live" / "container_cpu_usage_seconds_total").iterdir()
    (answer,) = json.loads(gzip.decompress(file.read_bytes()))["data"]["result"]
    assert answer["metric"]["__name__"] == "container_cpu_usage_seconds_total"
    assert [(at, value) for at, value in answer["values"]] == list(samples)


def test_paths_before_the_api_are_named_and_taken(run: Run, tmp_path: Path) -> None:
    prefix = "--web.route-prefix=/prometheus"
    with prometheus(tmp_path / "server", cluster(minutes=5), prefix) as url:
        root = url.removesuffix("/prometheus")
        wrong = run("fetch", "prometheus", root + "/graph", tmp_path / "live", *period(5))
        right = run("fetch", "prometheus", f"{url}/graph", tmp_path / "live", *period(5))
    assert wrong.returncode == 3
    assert wrong.stderr.splitlines()[-1] == (
        f"borgtrace: {root}/api/v1/query: no Prometheus API at this address: expected an answer as JSON, "
        f"got 404 Not Found (404 page not found); the API is at {url}: name this address"
    )
    assert right.returncode == 0, right.stderr


def test_a_cluster_path_of_victoria_metrics_is_taken(run: Run, tmp_path: Path) -> None:
    """The single binary answers below the paths of the cluster version, too."""
    with victoria_metrics(tmp_path / "server", cluster(minutes=5)) as url:
        done = run("fetch", "prometheus", f"{url}/prometheus", tmp_path / "live", *period(5))
    assert done.returncode == 0, done.stderr


@pytest.fixture
def ended() -> Iterator[list[subprocess.Popen[bytes]]]:
    """Processes that are killed at the end."""
    processes: list[subprocess.Popen[bytes]] = []
    yield processes
    for process in processes:
        if process.poll() is None:
            process.kill()
            process.wait()


@pytest.fixture(scope="module")
def two_days(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Series], Digests]:
    """The series of 200 pods and two days, and the digests of their tables by way of CSV and of answers."""
    folder = tmp_path_factory.mktemp("two-days")
    series = cluster(n_pods=200, minutes=TWO_DAYS)
    digests = table_digests(ingest_csv(series, folder / "csv"))
    assert table_digests(ingest_answers(series, folder / "answers")) == digests
    # The last pod ends in the middle; the first sample of a counter begins a window and ends none.
    assert digests["instance_usage"][0] == 199 * (TWO_DAYS - 1) + TWO_DAYS // 2 - 1
    return series, digests


@pytest.mark.scale
@SERVERS
def test_two_days_of_two_hundred_pods(
    server: Server,
    two_days: tuple[list[Series], Digests],
    tmp_path: Path,
    ended: list[subprocess.Popen[bytes]],
) -> None:
    """576,000 samples of each usage metric: killed, gone on with, equal to its files, in little memory."""
    series, digests = two_days
    live = tmp_path / "live"
    limits = ["--query.max-samples=200000"] if server is prometheus else []
    with server(tmp_path / "server", series, *limits) as url:
        fetch = own_process("fetch", "prometheus", url, live, *period(TWO_DAYS))
        killed = subprocess.Popen([*fetch, "--rate", "4"], stdout=subprocess.DEVNULL)
        ended.append(killed)
        wait_for(lambda: len(list(live.rglob("*.json.gz"))) >= 2)
        killed.send_signal(signal.SIGKILL)
        killed.wait()
        before = {path: path.stat().st_mtime_ns for path in live.rglob("*.json.gz")}
        assert peak_memory(fetch, ended) <= MOST_MEMORY
        assert {path: path.stat().st_mtime_ns for path in before} == before
    ingest = own_process("ingest", live, "--store", tmp_path / "store", "--jobs", "1")
    assert peak_memory(ingest, ended) <= MOST_MEMORY
    assert table_digests(tmp_path / "store") == digests


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)
