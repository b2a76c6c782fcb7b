"""Edits listed by hand, each with the tests that must notice: applied one by one in a copy of the project."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

ROOT = Path(__file__).parents[2]
_COPIED = ("src", "tests", "scripts", "benchmarks", "docs", "examples")
_FILES = ("pyproject.toml", "README.md", "mkdocs.yml", "Makefile")
SECONDS = 300
"""For the tests of one edit; an edit that makes them hang is noticed."""


@dataclass(frozen=True, slots=True)
class Edit:
    """One edit: exact text in a file, what replaces it, and the tests that must fail."""

    id: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]

    def fault(self) -> str:
        """Say what is wrong with the entry, or nothing."""
        path = ROOT / self.file
        if not path.is_file():
            return f"{self.file} is not there"
        count = path.read_text().count(self.old)
        return "" if count == 1 else f"its old text stands {count} times in {self.file}"


def read(path: Path) -> list[Edit]:
    """Read a list of edits."""
    entries = tomllib.loads(path.read_text()).get("edit", [])
    return [Edit(e["id"], e["file"], e["old"], e["new"], tuple(e["tests"])) for e in entries]


def run(edits: Sequence[Edit], jobs: int = 1) -> dict[str, str]:
    """Try every edit; return by id ``"noticed"``, or why it was not.

    Parameters
    ----------
    edits
        Edits whose `fault` is empty.
    jobs
        Copies of the project that are worked on at a time.
    """
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(jobs) as pool:
        copies: SimpleQueue[Path] = SimpleQueue()
        for number in range(jobs):
            copies.put(_copied(Path(folder) / str(number) / "project"))

        def one(edit: Edit) -> str:
            copy = copies.get()
            try:
                outcome = _noticed(edit, copy)
            finally:
                copies.put(copy)
            print(f"{edit.id}: {outcome}", flush=True)
            return outcome

        return dict(zip((edit.id for edit in edits), pool.map(one, edits), strict=True))


def _copied(target: Path) -> Path:
    for name in _COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, target / name, symlinks=True)
    for name in _FILES:
        shutil.copy2(ROOT / name, target / name)
    return target


def _noticed(edit: Edit, copy: Path) -> str:
    with _edited(edit, copy):
        try:
            code = _tests(edit.tests, copy)
        except subprocess.TimeoutExpired:
            return "noticed"
    return {0: "SURVIVED", 1: "noticed", 2: "noticed", 5: "NO SUCH TEST"}.get(code, f"PYTEST FAILED ({code})")


def _tests(tests: Sequence[str], copy: Path) -> int:
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "-p", "no:cacheprovider", *tests]
    environment = os.environ | {"PYTHONPATH": str(copy / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, cwd=copy, env=environment, capture_output=True, timeout=SECONDS, check=False)
    return done.returncode


@contextmanager
def _edited(edit: Edit, copy: Path) -> Iterator[None]:
    """Make an edit, and put back the file and what was compiled beside it."""
    path, compiled = copy / edit.file, (copy / edit.file).parent / "__pycache__"
    before, times = path.read_text(), path.stat()
    saved = copy.parent / "compiled"
    if compiled.is_dir():
        shutil.copytree(compiled, saved)
    path.write_text(before.replace(edit.old, edit.new))
    try:
        yield
    finally:
        path.write_text(before)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        shutil.rmtree(compiled, ignore_errors=True)
        if saved.is_dir():
            saved.rename(compiled)
