"""kill −9 at any moment, then the same command again: the same bytes as if nothing had happened."""

from __future__ import annotations

import itertools
import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import borgtrace
from borgtrace.datasets import DatasetOptions, build
from tests.forked import CLEAN

from .test_build import digest


def _build(
    ready: Any,
    folder: Path,
    out: Path,
    call: int,
) -> None:
    """Build, and die when it tells its progress for this time."""
    calls = itertools.count(1)

    def report(step: str, done: int, total: int) -> None:
        if next(calls) == call:
            os.kill(os.getpid(), signal.SIGKILL)

    store = borgtrace.open(folder)
    ready.set()
    build(
        store,
        out,
        DatasetOptions(shards=64),
        progress=report,
        threads=2,
    )


def killed(work: Callable[..., None], delay: float | None, *arguments: object) -> int | None:
    """Do work in a process that is killed `delay` seconds after it is ready (None: it kills itself)."""
    ready = CLEAN.Event()
    process = CLEAN.Process(target=work, args=(ready, *arguments))
    process.start()
    assert ready.wait(60)
    if delay is not None:
        time.sleep(delay)
        process.kill()
    process.join(60)
    return process.exitcode


@pytest.mark.wide
def test_a_killed_build_is_built_again(synthetic_store: Path, tmp_path: Path) -> None:
    store = borgtrace.open(synthetic_store)
    build(store, tmp_path / "whole", DatasetOptions(shards=64))
    whole = digest(tmp_path / "whole")
    rng = random.Random(5)
    out = tmp_path / "d"
    for call in (3, rng.randint(4, 60), rng.randint(61, 190)):
        assert killed(_build, None, synthetic_store, out, call) == -signal.SIGKILL
        assert not out.exists()
    for _ in range(2):
        killed(
            _build,
            rng.uniform(0, 0.1),
            synthetic_store,
            out,
            -1,
        )
        assert not out.exists() or digest(out) == whole
    build(store, out, DatasetOptions(shards=64))
    assert digest(out) == whole
    assert sorted(path.name for path in tmp_path.iterdir()) == ["d", "whole"]
