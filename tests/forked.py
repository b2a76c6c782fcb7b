"""Processes that are killed: forks of one that has loaded everything and runs no threads, in half a second."""

from __future__ import annotations

import multiprocessing

CLEAN = multiprocessing.get_context("forkserver")
CLEAN.set_forkserver_preload(
    [
        "borgtrace.interactive",
        "tests.ingest.test_crash_points",
        "tests.ingest.test_kill",
        "tests.datasets.test_faults",
        "tests.export.test_faults",
        "tests.kernels.test_caching",
        "tests.kernels.kernel_scripts",
    ]
)
