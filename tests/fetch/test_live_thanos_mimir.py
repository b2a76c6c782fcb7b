"""Thanos, Mimir and Cortex by their documented API: replicas, tenants and paths; the same store comes of all."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.fetch.fake_prometheus import FakePrometheus, Reply, Request, serving
from tests.fetch.small_cluster import MINUTE, START, cluster
from tests.fetch.three_ways import contents, ingest_answers
from tests.metric_servers import Series

PERIOD = ["--since", str(START), "--until", str(START + 20 * MINUTE)]
SERIES = cluster(minutes=20)


def replicated(series: list[Series], label: str) -> list[Series]:
    """Return each series as two servers collected it; the second missed every third sample."""
    copies = []
    for one in series:
        kept = tuple(sample for number, sample in enumerate(one.samples) if number % 3)
        copies.append(replace(one, labels={**one.labels, label: "a"}))
        copies.append(replace(one, labels={**one.labels, label: "b"}, samples=kept))
    return copies


def refuse_without_tenant(request: Request) -> Reply | None:
    """Answer as Mimir does where no tenant is named."""
    if request.headers.get("x-scope-orgid") != "team":
        return Reply(401, "no org id\n", "text/plain")
    return None


SERVERS = {
    "Thanos, whose querier merges no replicas": (
        FakePrometheus(replicated(SERIES, "prometheus_replica")),
        [],
    ),
    "Thanos Receive": (FakePrometheus(replicated(SERIES, "receive_replica")), []),
    "Mimir": (
        FakePrometheus(SERIES, prefix="/prometheus", choose=refuse_without_tenant),
        ["--header", "X-Scope-OrgID: team"],
    ),
    "Cortex": (
        FakePrometheus(SERIES, prefix="/api/prom", choose=refuse_without_tenant),
        ["--header", "X-Scope-OrgID: team"],
    ),
}


@pytest.mark.wide
@pytest.mark.parametrize(("server", "words"), SERVERS.values(), ids=SERVERS)
def test_the_same_store_comes_of_each(
    command: Callable[..., list[str]], tmp_path: Path, server: FakePrometheus, words: list[str]
) -> None:
    def run(*words: object) -> None:
        done = subprocess.run(
            command(*words), capture_output=True, text=True, check=False, timeout=300
        )
        assert done.returncode == 0, done.stderr

    with serving(server) as fake:
        run("fetch", "prometheus", f"{fake.url}{fake.prefix}", tmp_path / "live", *PERIOD, *words)
        asked = [request for request in fake.requests if request.is_of_samples]
    # What Thanos and VictoriaMetrics would else leave out or make coarser, without a word.
    parameters = {"partial_response": "false", "max_source_resolution": "0s"}
    assert all(parameters.items() <= request.parameters.items() for request in asked)
    run("ingest", tmp_path / "live", "--store", tmp_path / "store")
    assert contents(tmp_path / "store") == contents(ingest_answers(SERIES, tmp_path / "by-hand"))
