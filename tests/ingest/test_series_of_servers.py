"""What real servers and their tools print of the same series is read alike."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from tests.ingest.prometheus_files import APP, CPU, START, core_seconds, steady, store_of
from tests.metric_servers import Series, prometheus, require, victoria_metrics

USED = {"shop/web-0/app": 300, "shop/web-1/app": 600}
SERIES = [
    Series(
        {"__name__": CPU, **APP, "pod": pod, "image": "registry/app:1"},
        tuple((START + after, str(value)) for after, value in steady(cores)),
    )
    for pod, cores in (("web-0", 0.5), ("web-1", 1.0))
]
RANGE = {"query": CPU, "start": str(START), "end": str(START + 600), "step": "60s"}


@pytest.fixture(scope="module")
def prometheus_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    folder = tmp_path_factory.mktemp("prometheus")
    with prometheus(folder, SERIES) as url:
        yield url, folder / "data"


@pytest.fixture(scope="module")
def victoria_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with victoria_metrics(tmp_path_factory.mktemp("victoria"), SERIES) as url:
        yield url


def _promtool(*words: str) -> str:
    done = subprocess.run([require("promtool"), *words], capture_output=True, text=True, check=True)
    return done.stdout


def _query_range(url: str, _: Path) -> str:
    return httpx.get(f"{url}/api/v1/query_range", params=RANGE, trust_env=False).text


def _query_of_a_range(url: str, _: Path) -> str:
    params = {"query": f"{CPU}[601s]", "time": str(START + 600)}
    return httpx.get(f"{url}/api/v1/query", params=params, trust_env=False).text


def _printed(form: str) -> Callable[[str, Path], str]:
    def printed(url: str, _: Path) -> str:
        times = (f"--start={START}", f"--end={START + 600}", "--step=60s")
        return _promtool("query", "range", *form.split(), *times, url, CPU)

    return printed


def _dumped(_: str, data: Path) -> str:
    return _promtool("tsdb", "dump", str(data))


FORMS = {
    "query-range": _query_range,
    "query-of-a-range": _query_of_a_range,
    "promtool-text": _printed(""),
    "promtool-json": _printed("-o json"),
    "promtool-dump": _dumped,
}


@pytest.mark.parametrize("form", FORMS)
def test_what_prometheus_and_promtool_print_is_read(
    tmp_path: Path,
    prometheus_server: tuple[str, Path],
    form: str,
) -> None:
    text = FORMS[form](*prometheus_server)
    assert core_seconds(store_of(tmp_path, text)) == USED


@pytest.mark.parametrize("path", ["export", "query_range"])
def test_what_victoriametrics_exports_is_read(
    tmp_path: Path,
    victoria_server: str,
    path: str,
) -> None:
    params = RANGE if path == "query_range" else {"match[]": CPU}
    text = httpx.get(f"{victoria_server}/api/v1/{path}", params=params, trust_env=False).text
    assert core_seconds(store_of(tmp_path, text)) == USED
