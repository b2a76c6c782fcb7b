"""Every question on a real Spark cluster: a standalone master and two workers on loopback."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from borgtrace.catalog import questions
from borgtrace.question import Tables
from tests.question.test_contract import WORKLOAD, alike

pytestmark = pytest.mark.scale

_ASK = """
import json, sys
from borgtrace.catalog import find
from borgtrace.question import EngineTables
url, store, *names = sys.argv[1:]
tables = EngineTables.of(store, url, memory="900MB")
answers = {}
for name in names:
    result = find(name).run(tables)
    answers[name] = {"not_applicable": result.not_applicable, "rows": result.table.to_pylist()}
print("ANSWERS" + json.dumps(answers))
"""


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _listens(port: int, seconds: float = 60.0) -> bool:
    limit = time.monotonic() + seconds
    while time.monotonic() < limit:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return True
        time.sleep(0.2)
    return False


def worker_command(url: str) -> list[str]:
    """Return the command of a worker of one core, which needs the environment of the master."""
    import pyspark

    return [
        str(Path(pyspark.__file__).parent / "bin" / "spark-class"),
        "org.apache.spark.deploy.worker.Worker",
        "--host",
        "127.0.0.1",
        "--webui-port",
        "0",
        "--cores",
        "1",
        "--memory",
        "1g",
        url,
    ]


@pytest.fixture(scope="module")
def master(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    pyspark = pytest.importorskip("pyspark", reason="pyspark is not installed")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("no Java: the standalone cluster cannot start")
    folder, port = tmp_path_factory.mktemp("cluster"), _free_port()
    home = Path(pyspark.__file__).parent
    environment = {
        **os.environ,
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_NO_DAEMONIZE": "1",
        "SPARK_WORKER_DIR": str(folder),
        "PYSPARK_PYTHON": sys.executable,
    }
    url = f"spark://127.0.0.1:{port}"
    master = [
        str(home / "bin" / "spark-class"),
        "org.apache.spark.deploy.master.Master",
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
        "--webui-port",
        "0",
    ]
    commands = [master, worker_command(url), worker_command(url)]
    running: list[subprocess.Popen[bytes]] = []
    with (folder / "log").open("wb") as log:
        try:
            for number, command in enumerate(commands):
                running.append(
                    subprocess.Popen(
                        command,
                        env=environment,
                        stdout=log,
                        stderr=log,
                    )
                )
                if number == 0 and not _listens(port):
                    pytest.fail(
                        f"the master does not listen: {(folder / 'log').read_text()[-2000:]}"
                    )
            yield url
        finally:
            for process in reversed(running):
                process.terminate()
            for process in running:
                process.wait(30)


def test_a_standalone_cluster_agrees(
    master: str, cells: dict[str, Path], duckdb_tables: dict[str, Tables]
) -> None:
    agree_on(
        [str(param.id) for param in WORKLOAD],
        master,
        str(cells["2011"] / "store"),
        duckdb_tables["2011"],
    )


def agree_on(names: Sequence[str], url: str, store: str, tables: Tables) -> None:
    """Ask a cluster some questions, and compare its answers with those of this machine."""
    asked = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", _ASK, url, store, *names],
        capture_output=True,
        text=True,
        timeout=1500,
        check=False,
        env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"},
    )
    assert asked.returncode == 0, asked.stderr[-3000:]
    answers = json.loads(asked.stdout.rpartition("ANSWERS")[2])
    for name in names:
        expected = questions()[name].run(tables)
        rows = json.loads(json.dumps(expected.table.to_pylist()))
        assert answers[name]["not_applicable"] == expected.not_applicable, name
        assert len(answers[name]["rows"]) == len(rows), name
        for left, right in zip(rows, answers[name]["rows"], strict=True):
            assert all(alike(value, right[column]) for column, value in left.items()), (
                name,
                left,
                right,
            )
