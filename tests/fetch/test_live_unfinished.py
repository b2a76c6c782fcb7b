"""A fetch that was interrupted: an ingest of its folder says what is missing, and how to complete it."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.fetch.fake_prometheus import FakePrometheus, Reply, Request, api_error, serving
from tests.fetch.small_cluster import MINUTE, START, cluster

from borgtrace.errors import SourceError
from borgtrace.fetch import Backoff
from borgtrace.fetch.prometheus import (
    FetchRequest,
    PrometheusServer,
    Stretch,
    fetch_answers,
    make_query_plan,
    unfinished_fetch,
)

MEMORY = "container_memory_working_set_bytes"
PERIOD = ["--since", "2026-09-22T00:00:00Z", "--until", "2026-09-22T01:59:00Z"]
HOUR = Stretch(START, START + 59 * MINUTE)
NEXT_HOUR = Stretch(START + 60 * MINUTE, START + 119 * MINUTE)


def refuse_memory(request: Request) -> Reply | None:
    """Refuse samples of memory, as a server does whose users may not read all of it."""
    if request.is_of_samples and request.metric == MEMORY:
        return api_error(403, "forbidden", "not yours")
    return None


def fetch(fake: FakePrometheus, folder: Path, period: Stretch) -> None:
    backoff = Backoff(base=0.001, cap=0.01)
    with PrometheusServer(fake.url, backoff=backoff, timeout=2.0) as server:
        plan = make_query_plan(server, FetchRequest(folder, (), period, MINUTE))
        for _ in fetch_answers(server, plan):
            pass


@pytest.mark.wide
def test_an_ingest_says_what_a_fetch_left_and_how_to_complete_it(
    command: Callable[..., list[str]], tmp_path: Path
) -> None:
    def run(*words: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command(*words), capture_output=True, text=True, check=False, timeout=600
        )

    answers = tmp_path / "answers"
    store = tmp_path / "store"
    with serving(FakePrometheus(cluster(), choose=refuse_memory)) as fake:
        assert run("fetch", "prometheus", fake.url, answers, *PERIOD).returncode == 3
        done = run("ingest", answers, "--store", store, "--capacity", "8cores,16GiB")
        assert done.returncode == 0, done.stderr
        # CPU came; of the other four metrics nothing did.
        command_line = (
            f"borgtrace fetch prometheus {fake.url} {answers} --since 2026-09-22T00:00:00Z "
            "--until 2026-09-22T01:59:00Z --step 60s"
        )
        notes = [line for line in done.stdout.splitlines() if "interrupted" in line]
        assert notes == [
            f"The fetch into {answers} was interrupted: 80% of what it asked for is missing, of {MEMORY} and 3 more, "
            f"from 2026-09-22 00:00 UTC to 2026-09-22 01:59 UTC. To complete it: {command_line}; then ingest again."
        ]
        fake.choose = lambda request: None
        _, *words = shlex.split(command_line)
        assert run(*words).returncode == 0
    again = run("ingest", answers, "--store", store, "--capacity", "8cores,16GiB")
    assert again.returncode == 0, again.stderr
    assert "interrupted" not in again.stdout
    assert "interrupted" not in run("info", store).stdout


def test_what_is_missing_is_known_by_metric_and_time(tmp_path: Path) -> None:
    with serving(FakePrometheus(cluster())) as fake:
        fetch(fake, tmp_path, HOUR)
        assert unfinished_fetch(tmp_path) is None
        fake.choose = refuse_memory
        with pytest.raises(SourceError):
            fetch(fake, tmp_path, NEXT_HOUR)
        unfinished = unfinished_fetch(tmp_path)
        assert unfinished is not None
        assert unfinished.period == NEXT_HOUR
        assert MEMORY in unfinished.metrics
        assert "container_cpu_usage_seconds_total" not in unfinished.metrics
        # Another period does not hide it.
        fake.choose = lambda request: None
        fetch(fake, tmp_path, HOUR)
        still = unfinished_fetch(tmp_path)
        assert still is not None
        assert (still.period, still.metrics) == (unfinished.period, unfinished.metrics)
        fetch(fake, tmp_path, NEXT_HOUR)
    assert unfinished_fetch(tmp_path) is None


@pytest.mark.parametrize(
    "text",
    ["", "[", "{}", "[1]", '[["x", 0, 1]]', f'[["{MEMORY}", -1, "x"]]', f'[["{MEMORY}", 9, 3]]'],
)
def test_a_list_that_is_damaged_says_nothing(tmp_path: Path, text: str) -> None:
    with serving(FakePrometheus(cluster(minutes=5))) as fake:
        fetch(fake, tmp_path, Stretch(START, START + 4 * MINUTE))
    (tmp_path / ".wanted.json").write_text(text)
    assert unfinished_fetch(tmp_path) is None


def test_a_folder_of_other_things_is_no_fetch(tmp_path: Path) -> None:
    assert unfinished_fetch(tmp_path) is None
    (tmp_path / ".fetch.json").write_text("{}")
    assert unfinished_fetch(tmp_path) is None
