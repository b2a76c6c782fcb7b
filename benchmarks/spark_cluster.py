"""A Spark cluster and an S3 server on this machine, and what they cost; not a benchmark itself.

Each worker is a process group of its own with one core; it and all that it starts can be killed together, as a machine
that is lost.  The server listens at two ports, one for the driver and one for the workers, so that their bytes are told
apart.  CPU seconds are exact: those of living processes, with the children that they waited for, and of all orphans,
which come to this process.
"""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import localbucket
import numpy as np
import pyspark

SPARK_HOME = Path(pyspark.__file__).parent
KEYS = {
    "AWS_ACCESS_KEY_ID": "any",
    "AWS_SECRET_ACCESS_KEY": "any",
    "AWS_REGION": "us-east-1",
}
_TICK = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")
_ADOPT_ORPHANS = 36
"""PR_SET_CHILD_SUBREAPER of Linux."""
_PORTS = ("driver", "workers")
_SAMPLED_EVERY = 0.5


def free_port() -> int:
    """Return a port that nobody listens at."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def await_port(port: int) -> None:
    """Wait until somebody listens at a port."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise TimeoutError(f"nobody listens at port {port}")


class Processes:
    """What this benchmark started, by role, and what each role has cost.

    A process has the role of its nearest ancestor that was started with one.  What an ended parent leaves behind has
    that of its process group, or else is a Python process of a worker.
    """

    def __init__(self) -> None:
        ctypes.CDLL(None).prctl(_ADOPT_ORPHANS, 1)
        self.role_of: dict[int, str] = {}
        self.ended: Counter[str] = Counter()
        self.status_of: dict[int, int] = {}
        self.lock = threading.Lock()
        """Held while children are waited for: nobody else may wait for theirs then."""

    def start(
        self,
        role: str,
        command: list[str],
        environment: dict[str, str],
        log: Path,
    ) -> int:
        """Start a process in a group of its own, and return its id."""
        with log.open("ab") as out:
            process = subprocess.Popen(
                command,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )
        self.role_of[process.pid] = role
        # Waited for here, with its cost.
        process.returncode = 0
        return process.pid

    def wait(self, pid: int) -> int:
        """Wait until a process and its whole group have ended, and return its exit status."""
        while pid not in self.status_of or self._is_group_alive(pid):
            self.bury()
            time.sleep(0.02)
        return self.status_of[pid]

    def kill(self, pid: int) -> None:
        """Kill a process and all that it started, at once."""
        for member in self._below(pid):
            with suppress(ProcessLookupError):
                os.kill(member, signal.SIGKILL)

    def end(self) -> None:
        """Kill all that was started and all that it left behind."""
        for pid, _ in list(self._living()):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def bury(self) -> None:
        """Take note of children that have ended."""
        with self.lock:
            self._bury()

    def _bury(self) -> None:
        while True:
            try:
                child = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                return
            if child is None:
                return
            group = int(_stat(child.si_pid)[2])
            role = self.role_of.get(child.si_pid) or self.role_of.get(group) or "workers"
            pid, status, usage = os.wait4(child.si_pid, 0)
            self.ended[role] += usage.ru_utime + usage.ru_stime
            self.status_of[pid] = os.waitstatus_to_exitcode(status)

    def cpu(self) -> Counter[str]:
        """Return the CPU seconds of each role until now."""
        self.bury()
        spent = Counter(self.ended)
        for pid, role in self._living():
            with suppress(OSError):
                spent[role] += sum(map(int, _stat(pid)[11:15])) / _TICK
        return spent

    def resident(self, root: int) -> int:
        """Return the resident bytes of a process and all below it."""
        total = 0
        for pid in self._below(root):
            with suppress(OSError):
                total += int(_stat(pid)[21]) * _PAGE
        return total

    def pids(self, role: str) -> list[int]:
        """Return the living processes of a role."""
        return [pid for pid, its_role in self._living() if its_role == role]

    def _living(self) -> Iterator[tuple[int, str]]:
        parents = _parents()
        for pid in parents:
            ancestor = pid
            while ancestor in parents and ancestor not in self.role_of:
                if parents[ancestor] == os.getpid():
                    break
                ancestor = parents[ancestor]
            if ancestor in self.role_of:
                yield pid, self.role_of[ancestor]
            elif parents.get(ancestor) == os.getpid() and ancestor != os.getpid():
                with suppress(OSError):
                    yield pid, self.role_of.get(int(_stat(ancestor)[2]), "workers")

    def _below(self, root: int) -> list[int]:
        parents = _parents()
        members = [root]
        for member in members:
            members += [pid for pid, parent in parents.items() if parent == member]
        return members

    def _is_group_alive(self, group: int) -> bool:
        with suppress(ProcessLookupError):
            os.killpg(group, 0)
            return True
        return False


def _stat(pid: int) -> list[str]:
    """Return the fields of a process after its name: state, parent, group and so on."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def _parents() -> dict[int, int]:
    parents = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            parents[int(folder.name)] = int(_stat(int(folder.name))[1])
    return parents


class Bucket:
    """An S3 server in a process of its own, whose buckets are folders, and the bytes that it has sent and received."""

    def __init__(self, folder: Path, processes: Processes) -> None:
        self.root = folder / "s3"
        (self.root / "cells").mkdir(parents=True)
        self.ports = {name: free_port() for name in _PORTS}
        self._counts = _open_counts(folder / "traffic")
        command = [sys.executable, __file__, str(folder), *map(str, self.ports.values())]
        processes.start("server", command, dict(os.environ), folder / "server.log")
        for port in self.ports.values():
            await_port(port)

    def environment(self, client: str) -> dict[str, str]:
        """Return the variables by which a client finds the server."""
        return {**KEYS, "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.ports[client]}"}

    def traffic(self) -> Counter[str]:
        """Return the bytes that each client has read and written until now."""
        moved: Counter[str] = Counter()
        for name, (read, wrote) in zip(_PORTS, self._counts.tolist(), strict=True):
            moved[f"{name} read"], moved[f"{name} wrote"] = read, wrote
        return moved


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, *_: Any) -> None:
        """Say nothing of clients that were killed."""


def _open_counts(path: Path) -> np.ndarray:
    """Map bytes read and written by each client: the server writes them, and the benchmark reads them."""
    return np.memmap(path, np.int64, "r+" if path.exists() else "w+", shape=(len(_PORTS), 2))


def serve(folder: Path, ports: list[int]) -> None:
    """Serve the buckets of a folder at a port for each client, for ever."""
    servers = []
    for port, count in zip(ports, _open_counts(folder / "traffic"), strict=True):
        server = _Server(("127.0.0.1", port), _counting_handler(folder / "s3", count))
        servers.append(threading.Thread(target=server.serve_forever))
    for thread in servers:
        thread.start()


def _counting_handler(root: Path, count: np.ndarray) -> type:
    lock = threading.Lock()

    class Handler(localbucket.S3Handler):
        data_root = root

        def log_message(self, *_: Any) -> None:
            pass

        def _send_headers(self, status: Any, length: int, headers: Any = None) -> None:
            if self.command == "GET":
                with lock:
                    count[0] += length
            super()._send_headers(status, length, headers)

        def _read_body(self) -> bytes:
            body: bytes = super()._read_body()
            with lock:
                count[1] += len(body)
            return body

    return Handler


class Cluster:
    """A standalone master and workers of one core each."""

    def __init__(
        self,
        folder: Path,
        processes: Processes,
        bucket: Bucket,
        memory: str,
    ) -> None:
        self.folder = folder
        self.processes = processes
        self.port = free_port()
        self.url = f"spark://127.0.0.1:{self.port}"
        self.memory = memory
        self.workers: list[int] = []
        self._serial = 0
        self._environment = {
            **os.environ,
            **bucket.environment("workers"),
            "SPARK_HOME": str(SPARK_HOME),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_NO_DAEMONIZE": "1",
            "PYSPARK_PYTHON": sys.executable,
        }
        words = ("--host", "127.0.0.1", "--port", str(self.port), "--webui-port", "0")
        self.master = self._start("master", "org.apache.spark.deploy.master.Master", *words)
        await_port(self.port)

    def add_worker(self) -> None:
        """Start a worker with a folder and a cache of its own."""
        self._serial += 1
        own = self.folder / f"worker-{self._serial}"
        self._environment |= {"SPARK_WORKER_DIR": str(own), "XDG_CACHE_HOME": str(own / "cache")}
        own.mkdir(parents=True)
        (own / "tmp").mkdir()
        self._environment |= {"TMPDIR": str(own / "tmp"), "SPARK_LOCAL_DIRS": str(own / "tmp")}
        words = ("--host", "127.0.0.1", "--webui-port", "0", "--cores", "1", "--memory")
        worker = "org.apache.spark.deploy.worker.Worker"
        self.workers.append(self._start("workers", worker, *words, self.memory, self.url))

    def lose_worker(self) -> None:
        """Kill the newest worker, its executor and its Python processes, as if its machine were lost."""
        self.processes.kill(self.workers.pop())

    def stop(self) -> None:
        """End all workers and the master."""
        for pid in (*self.workers, self.master):
            self.processes.kill(pid)
        for pid in (*self.workers, self.master):
            self.processes.wait(pid)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _start(self, role: str, class_name: str, *words: str) -> int:
        command = [str(SPARK_HOME / "bin" / "spark-class"), class_name, *words]
        self.folder.mkdir(parents=True, exist_ok=True)
        log = self.folder.with_suffix(".log")
        return self.processes.start(role, command, self._environment, log)


class Watch(threading.Thread):
    """Samples what passes between the driver's Java and the executors, and the memory of workers.

    `ss` tells the bytes of each open connection.  What a connection carries within the last sample before it ends is
    missed: it holds results of tasks until the driver ends.
    """

    def __init__(self, processes: Processes, cluster: Cluster | None) -> None:
        super().__init__(daemon=True)
        self.processes = processes
        self.cluster = cluster
        self.bytes_of: dict[tuple[str, str], tuple[int, int]] = {}
        self.peak = 0
        self.is_over = threading.Event()

    def run(self) -> None:
        """Sample until the phase is over."""
        while self.cluster and not self.is_over.wait(_SAMPLED_EVERY):
            self._sample_connections()
            for worker in list(self.cluster.workers):
                self.peak = max(self.peak, self.processes.resident(worker))

    @property
    def received(self) -> int:
        """Bytes that came to the driver from executors."""
        return sum(received for received, _ in self.bytes_of.values())

    @property
    def sent(self) -> int:
        """Bytes that the driver sent to executors."""
        return sum(sent for _, sent in self.bytes_of.values())

    def _sample_connections(self) -> None:
        drivers = set(self.processes.pids("driver"))
        with self.processes.lock:
            listing = subprocess.run(
                ["ss", "-tinpHO"],
                capture_output=True,
                text=True,
                check=True,
            ).stdout.replace("[::ffff:127.0.0.1]", "127.0.0.1")
        own_ends: dict[tuple[str, str], tuple[int, int]] = {}
        for line in listing.splitlines():
            owners = {int(pid) for pid in re.findall(r"pid=(\d+)", line)}
            if not owners & drivers or '"java"' not in line:
                continue
            here, there = line.split()[3:5]
            received = re.search(r"bytes_received:(\d+)", line)
            sent = re.search(r"bytes_sent:(\d+)", line)
            own_ends[here, there] = (
                int(received[1]) if received else 0,
                int(sent[1]) if sent else 0,
            )
        own_python = _own_python(listing, drivers)
        for (here, there), counts in own_ends.items():
            if there not in own_python:
                self.bytes_of[here, there] = counts


def _own_python(listing: str, drivers: set[int]) -> set[str]:
    """Return the addresses of connections that the driver's Python has: to its own Java, and to the S3 server."""
    addresses = set()
    for line in listing.splitlines():
        owners = {int(pid) for pid in re.findall(r"pid=(\d+)", line)}
        if owners & drivers and '"java"' not in line:
            addresses.add(line.split()[3])
    return addresses


if __name__ == "__main__" and len(sys.argv) > 1:
    serve(Path(sys.argv[1]), [int(port) for port in sys.argv[2:]])
