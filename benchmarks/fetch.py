"""Fetching: how fast ``borgtrace fetch`` takes files from a server that is not the bottleneck.

A server process on the loopback sends files with ``sendfile``.  Measured in the same run: the limit (a bare
socket reading the same bytes), httpx alone, and the fetch as users get it: checksummed, written to disk,
flushed, renamed, entered in the ledger.

    python benchmarks/fetch.py [--megabytes 1000] [--dir DIR]
"""

from __future__ import annotations

import argparse
import hashlib
import multiprocessing
import shutil
import socket
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx

from borgtrace.fetch import Session, bucket, fetch_files, make_plan

N_FILES = 8
TRACE = bucket("2011")


class Handler(SimpleHTTPRequestHandler):
    """Sends files without touching their bytes."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        """Say nothing."""

    def copyfile(self, source, outputfile):
        """Let the kernel send the file."""
        outputfile.flush()
        self.connection.sendfile(source)


def serve(root, port):
    def handler(*args):
        return Handler(*args, directory=root)

    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    port.send(server.server_address[1])
    server.serve_forever()


def make_files(root, megabytes):
    """Write files that begin as gzip does; what is in them matters to nobody here."""
    block = b"\x1f\x8b" + bytes(range(256)) * 4095 + bytes(254)
    sums, paths = [], [TRACE.path("task_usage", part) for part in range(N_FILES)]
    for path in paths:
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(block * (megabytes // N_FILES))
        sums.append(f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {path}")
    (root / "SHA256SUM").write_text("\n".join(sums))
    return paths


def bare_socket(port, path):
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(f"GET /{path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        while connection.recv(1 << 16):
            pass


def httpx_alone(port, path):
    with httpx.stream("GET", f"http://127.0.0.1:{port}/{path}") as response:
        for _ in response.iter_raw():
            pass


def in_threads(action, port, paths, jobs):
    started = time.perf_counter()
    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(lambda path: action(port, path), paths))
    return time.perf_counter() - started


def borgtrace(port, dest, jobs):
    started = time.perf_counter()
    with Session(jobs) as session:
        plan = make_plan(
            session,
            TRACE,
            dest,
            tables=["task_usage"],
            parts=f"0-{N_FILES - 1}",
            base_url=f"http://127.0.0.1:{port}",
            jobs=jobs,
        )
        errors = [
            outcome.error for outcome in fetch_files(session, plan, jobs=jobs) if outcome.error
        ]
    assert not errors, errors
    return time.perf_counter() - started


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("--dir", default=None)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.dir) as scratch:
        root = Path(scratch, "bucket")
        paths = make_files(root, options.megabytes)
        megabytes = sum((root / path).stat().st_size for path in paths) / 1e6
        here, there = multiprocessing.Pipe()
        server = multiprocessing.Process(
            target=serve,
            args=(str(root), there),
            daemon=True,
        )
        server.start()
        port = here.recv()
        print(f"{N_FILES} files, {megabytes:,.0f} MB, sha256 checked\n")
        print(
            f"{'jobs':>4} {'of the limit':>12} {'fetch MB/s':>11} {'httpx alone':>12} {'bare socket':>12}"
        )
        for jobs in (1, 2, 4, 8):
            limit = megabytes / in_threads(bare_socket, port, paths, jobs)
            plain = megabytes / in_threads(httpx_alone, port, paths, jobs)
            dest = Path(scratch, f"dest{jobs}")
            rate = megabytes / borgtrace(port, dest, jobs)
            shutil.rmtree(dest)
            print(f"{jobs:>4} {rate / limit:>12.2f} {rate:>11,.0f} {plain:>12,.0f} {limit:>12,.0f}")
        server.terminate()


if __name__ == "__main__":
    main()
