"""CPU of a process of its own, with all of its children.  Not a benchmark itself."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path


def cpu_of(command: Sequence[str], out: Path) -> float:
    """Return the CPU seconds of a Python script that writes to `out`, which is removed before."""
    if out.is_dir():
        shutil.rmtree(out)
    out.unlink(missing_ok=True)
    before = os.times()
    subprocess.run(
        [sys.executable, *command, str(out)],
        check=True,
        env=os.environ | {"POLARS_MAX_THREADS": "2"},
        stderr=subprocess.DEVNULL,
    )
    after = os.times()
    return (
        after.children_user + after.children_system - before.children_user - before.children_system
    )
