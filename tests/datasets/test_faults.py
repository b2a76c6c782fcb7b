"""kill −9 at any moment, then the same command again: the same bytes as if nothing had happened."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import borgtrace
from borgtrace.datasets import Options, build

from .test_build import digest

_BUILD = """
import os, signal, sys, time
import borgtrace
from borgtrace.datasets import Options, build
calls = 0
def report(step, done, total):
    global calls
    calls += 1
    if calls == int(sys.argv[3]):
        os.kill(os.getpid(), signal.SIGKILL)
store = borgtrace.open(sys.argv[1])
print("ready", flush=True)
build(store, sys.argv[2], Options(shards=64), progress=report, threads=2)
"""


def killed(script: str, delay: float | None, *arguments: object) -> int:
    """Run a script and kill it `delay` seconds after it is ready (None: it kills itself)."""
    with subprocess.Popen(
        [sys.executable, "-c", script, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        if delay is not None:
            time.sleep(delay)
            os.kill(process.pid, signal.SIGKILL)
        return process.wait(60)


def test_a_killed_build_is_built_again(synthetic_store: Path, tmp_path: Path) -> None:
    store = borgtrace.open(synthetic_store)
    build(store, tmp_path / "whole", Options(shards=64))
    whole = digest(tmp_path / "whole")
    rng = random.Random(5)
    out = tmp_path / "d"
    for call in (3, rng.randint(4, 60), rng.randint(61, 190)):
        assert killed(_BUILD, None, synthetic_store, out, call) == -signal.SIGKILL
        assert not out.exists()
    for _ in range(2):
        killed(_BUILD, rng.uniform(0, 0.1), synthetic_store, out, -1)
        assert not out.exists() or digest(out) == whole
    build(store, out, Options(shards=64))
    assert digest(out) == whole
    assert sorted(path.name for path in tmp_path.iterdir()) == ["d", "whole"]
