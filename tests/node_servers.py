"""Servers of buckets that npm has (``npm install s3rver azurite``): found in $NODE_SERVERS or on the PATH."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def started(name: str, *words: str) -> Iterator[str]:
    """Start a server whose words may hold ``PORT``; yield its host and port, or skip where there is no such program."""
    program = shutil.which(
        name, path=os.pathsep.join([os.environ.get("NODE_SERVERS", ""), os.environ["PATH"]])
    )
    if program is None:
        pytest.skip(
            f"{name} is not installed: npm install {name}, and NODE_SERVERS=…/node_modules/.bin"
        )
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    command = [program, *(str(port) if word == "PORT" else word for word in words)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while not _listens(port):
            assert process.poll() is None, f"{name} ended"
            time.sleep(0.05)
        yield f"127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


def s3rver(root: Path) -> tuple[str, ...]:
    """Return the command of an S3 server that knows one key, with the bucket ``cells``."""
    return (
        "s3rver",
        "-d",
        str(root),
        "-a",
        "127.0.0.1",
        "-p",
        "PORT",
        "--configure-bucket",
        "cells",
    )


def azurite(root: Path) -> tuple[str, ...]:
    """Return the command of a server that answers as Azure's blobs do; the API of folders it lacks."""
    options = (
        "--skipApiVersionCheck",
        "--disableTelemetry",
        "--silent",
        "--loose",
        "--disableProductStyleUrl",
    )
    return ("azurite-blob", "--blobPort", "PORT", "--location", str(root), *options)


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
