"""What an experiment frees goes back to the system."""

from __future__ import annotations

import os
import platform
import subprocess
import sys

import pytest

_SCRIPT = """
from threading import Thread

import numpy as np
import psutil

from borgtrace.catalog import find
from borgtrace.colocation.tasks.synthetic import synthetic_pool

find("relative_difference").run(synthetic_pool(30, seed=1))


def draw(kept):
    # The first size that is freed is the one below which glibc would keep the pages.
    np.ones(30_000_000, np.uint8)
    for _ in range(20):
        large = np.ones(20_000_000, np.uint8)
        kept.append((np.ones(100_000, np.uint8), large))


before = psutil.Process().memory_info().rss
rows = []
thread = Thread(target=draw, args=(rows,))
thread.start()
thread.join()
rows = [small for small, _ in rows]
print(psutil.Process().memory_info().rss - before)
"""


@pytest.mark.wide
@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the option is one of glibc")
def test_large_arrays_of_threads_go_back_to_the_system_once_they_are_freed() -> None:
    command = [sys.executable, "-c", _SCRIPT]
    # Workers that other tests have started leave their own settings.
    settings = {name: value for name, value in os.environ.items() if "MALLOC" not in name}
    printed = subprocess.run(
        command, env=settings, check=True, stdout=subprocess.PIPE, text=True
    ).stdout
    # 20 arrays of 100 kB are still in use; 400 MB between them are not.
    assert int(printed) < 20e6
