"""Commands that run as processes of their own, to be killed and measured."""

from __future__ import annotations

import subprocess
import sys
import time

import psutil


def own_process(*words: object) -> list[str]:
    """Return a command line that is a process of its own."""
    return [sys.executable, "-m", "borgtrace", *map(str, words)]


def peak_memory(words: list[str], ended: list[subprocess.Popen[bytes]]) -> float:
    """Run a command to its end, and return the largest sum of the memory of its processes, in bytes."""
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    ended.append(process)
    watched = psutil.Process(process.pid)
    largest = 0
    while process.poll() is None:
        total = 0
        for one in [watched, *watched.children(recursive=True)]:
            try:
                total += one.memory_full_info().pss
            except psutil.Error:
                continue
        largest = max(largest, total)
        time.sleep(0.05)
    assert process.returncode == 0
    print(f"{words[3]}: {largest / 1e6:.0f} MB")
    return largest
