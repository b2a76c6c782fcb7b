"""A small script with a kernel, which says whether it found machine code, run as other users and in other homes."""

from __future__ import annotations

import io
import os
import runpy
import tempfile
from contextlib import redirect_stdout
from multiprocessing.connection import Connection
from pathlib import Path

from borgtrace.kernels.compiled import compiled
from tests.forked import CLEAN

SCRIPT = """
from borgtrace.kernels.compiled import compiled

@compiled()
def answer(x):
    return 2 * x + {added}

if __name__ == "__main__":
    print(answer(20), "compiled" if sum(answer.stats.cache_misses.values()) else "found")
"""
OTHER_USER = 65534
"""What Unix calls nobody."""


def write_script(folder: Path, added: int = 2) -> Path:
    """Write a script whose answer is 42 where 2 is added."""
    folder.mkdir(parents=True, exist_ok=True)
    script = folder / "script.py"
    script.write_text(SCRIPT.format(added=added))
    return script


def run_script(script: Path, *, user: int | None = None, **environment: str) -> str:
    """Run a script in an environment of its own, as another user where one is named, and return what it prints."""
    receiver, sender = CLEAN.Pipe(duplex=False)
    process = CLEAN.Process(target=_run, args=(script, user, environment, sender))
    process.start()
    sender.close()
    process.join()
    assert process.exitcode == 0
    return str(receiver.recv())


def _run(script: Path, user: int | None, environment: dict[str, str], sender: Connection) -> None:
    """Be a process that has loaded everything, with an environment and rights of its own."""
    # Numba loads parts of itself when it first compiles, from folders that another user may not be able to read.
    compiled(cached=False)(_twice)(1)
    os.environ.clear()
    os.environ.update(environment)
    # The temporary folder of this process, as a new one would find it.
    tempfile.tempdir = None
    if user is not None:
        os.setgroups([])
        os.setgid(user)
        os.setuid(user)
    printed = io.StringIO()
    with redirect_stdout(printed):
        runpy.run_path(str(script), run_name="__main__")
    sender.send(printed.getvalue().strip())


def _twice(x: int) -> int:
    return 2 * x


def code_files(folder: Path) -> list[Path]:
    """Return the files of machine code below a folder."""
    return sorted(folder.rglob("*.kernel"))
