"""A real Prometheus and a real VictoriaMetrics on the loopback, filled with invented series."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import httpx
import pytest

Labels = Mapping[str, str]
Samples = Iterable[tuple[int, str]]
_SECONDS_TO_START = 60


@dataclass(frozen=True)
class Series:
    """One series: its labels, the metric's name among them, and its samples at whole seconds."""

    labels: Labels
    samples: tuple[tuple[int, str], ...]

    @property
    def metric(self) -> str:
        return self.labels["__name__"]

    @cached_property
    def times(self) -> list[int]:
        return [at for at, _ in self.samples]

    def values_between(self, first: float, last: float) -> list[str]:
        """Return the values at the times from `first` to `last`, both included."""
        begin = bisect_left(self.times, first)
        return [value for _, value in self.samples[begin : bisect_right(self.times, last)]]

    def text(self) -> str:
        inside = ",".join(
            f'{name}="{value}"' for name, value in self.labels.items() if name != "__name__"
        )
        return f"{self.metric}{{{inside}}}"


def require(program: str) -> str:
    """Return the path of a program; skip the test where it is not installed."""
    path = shutil.which(program)
    if path is None:
        pytest.skip(f"{program} is not installed (.ci/run installs it)")
    return path


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def running(words: list[str], url: str, log: Path) -> Iterator[str]:
    """Run a server until the block ends; it answers a query when the block begins."""
    # The kernel ends it when the tests are killed, which then end nothing themselves.
    with_parent = ["setpriv", "--pdeathsig", "KILL"] if shutil.which("setpriv") else []
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*with_parent, *words], stdout=output, stderr=output, cwd=log.parent
        )
    try:
        deadline = time.monotonic() + _SECONDS_TO_START
        while not answers(url):
            if process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError(f"{words[0]} does not start: {log.read_text()[-2000:]}")
            time.sleep(0.05)
        yield url
    finally:
        process.kill()
        process.wait()


def answers(url: str) -> bool:
    try:
        response = httpx.get(f"{url}/api/v1/query", params={"query": "1"}, trust_env=False)
    except httpx.HTTPError:
        return False
    return response.status_code == 200


@contextmanager
def prometheus(folder: Path, series: Iterable[Series], *words: str) -> Iterator[str]:
    """Run a Prometheus that holds some series; yields its address."""
    program = require("prometheus")
    promtool = require("promtool")
    folder.mkdir(parents=True, exist_ok=True)
    source = folder / "series.txt"
    with source.open("w") as file:
        for one in sorted(series, key=lambda each: each.metric):
            name = one.text()
            file.writelines(f"{name} {value} {at}\n" for at, value in one.samples)
        file.write("# EOF\n")
    data = folder / "data"
    made = subprocess.run(
        [promtool, "tsdb", "create-blocks-from", "openmetrics", "-q", source, data],
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stderr + made.stdout
    (folder / "prometheus.yml").write_text("scrape_configs: []\n")
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    line = [
        program,
        f"--config.file={folder / 'prometheus.yml'}",
        f"--storage.tsdb.path={data}",
        "--storage.tsdb.retention.time=100y",
        f"--web.listen-address=127.0.0.1:{port}",
        "--log.level=warn",
        *words,
    ]
    prefix = next((word.partition("=")[2] for word in words if "route-prefix" in word), "")
    with running(line, url + prefix, folder / "prometheus.log") as address:
        yield address


@contextmanager
def victoria_metrics(folder: Path, series: Iterable[Series], *words: str) -> Iterator[str]:
    """Run a VictoriaMetrics that holds some series; yields its address."""
    program = require("victoria-metrics")
    folder.mkdir(parents=True, exist_ok=True)
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    line = [
        program,
        f"-storageDataPath={folder / 'data'}",
        "-retentionPeriod=100y",
        f"-httpListenAddr=127.0.0.1:{port}",
        "-loggerLevel=ERROR",
        *words,
    ]
    with running(line, url, folder / "victoria-metrics.log"):
        for one in series:
            name = one.text()
            text = "".join(f"{name} {value} {at}000\n" for at, value in one.samples)
            imported = httpx.post(
                f"{url}/api/v1/import/prometheus", content=text.encode(), trust_env=False
            )
            assert imported.status_code == 204, imported.text
        httpx.get(f"{url}/internal/force_flush", trust_env=False)
        yield url
