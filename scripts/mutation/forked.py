"""Tests run in forks of a process that has imported everything heavy but nothing of ours.

A start of Python with DuckDB, Arrow, Ibis and Numba takes five seconds, a fork some milliseconds: the difference
between four hours and one for a sample of all packages.  Nothing of ours is imported before the fork, so a change is
made by handing the import another source; no thread runs yet, so that the fork is safe.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType
from typing import Any

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"
_HEAVY = (
    "numpy",
    "scipy.stats",
    "scipy.special",
    "scipy.optimize",
    "pyarrow.parquet",
    "pyarrow.compute",
    "pyarrow.csv",
    "duckdb",
    "ibis",
    "numba",
    "joblib",
    "altair",
    "typer.testing",
    "rich.console",
    "httpx",
    "jinja2",
    "isal.isal_zlib",
    "hypothesis",
    "pytest",
)
_QUIET = (
    *("-x", "-q", "--no-header", "--no-summary", "-p", "no:cacheprovider", "-p", "no:xdist"),
    # Asserts are left as they are: the rewriting would load a file whose doctests are asked for past `with_source`.
    "--assert=plain",
)


def warm_up() -> None:
    """Import what every test needs, once."""
    sys.path[:0] = [str(ROOT), str(SOURCE)]
    os.environ["PYTHONPATH"] = str(SOURCE)
    os.chdir(ROOT)
    for name in _HEAVY:
        importlib.import_module(name)


_WAIT = 20
"""Elapsed seconds per second of CPU after which a child is taken to wait for ever: other programs run here too."""


class Fork:
    """A child that runs tests, and what became of it.

    `seconds` are of CPU: on a busy machine a slow test must not be taken for one that hangs.
    """

    def __init__(self, work: Callable[[], int], seconds: int) -> None:
        self.begun, self.seconds = time.monotonic(), _WAIT * seconds
        self.pid = os.fork()
        if self.pid == 0:
            os.setsid()
            # One second more for the hard limit: the soft one's signal tells that it was the time.
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
            silence = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(silence, stream)
            code = 3
            try:
                code = work()
            finally:
                os._exit(code)

    def outcome(self) -> int | None:
        """Return the exit code, a negative one after too long, None while it runs."""
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        if pid:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() - self.begun < self.seconds:
            return None
        os.killpg(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        return -1


def tests(arguments: Sequence[str]) -> int:
    """Run pytest in this process."""
    import pytest

    return int(pytest.main([*_QUIET, *arguments]))


def with_source(file: str, source: str) -> None:
    """Let the import of a file of ours find another source."""
    target = str(ROOT / file)
    real = SourceFileLoader.get_code

    def get_code(self: SourceFileLoader, fullname: str) -> CodeType | None:
        if os.path.realpath(self.path) == target:
            return compile(source, self.path, "exec", dont_inherit=True)
        return real(self, fullname)

    SourceFileLoader.get_code = get_code  # type: ignore[method-assign]


class Listener:
    """A pytest plugin: which functions of ours each test calls, and how long it takes.

    What a shared fixture calls counts for each test that asks for it, for each would make it anew in its fork.
    """

    def __init__(self, out: Path) -> None:
        self.out = out
        self.called: set[str] = set()
        self.names: dict[CodeType, str] = {}
        self.fixtures: dict[str, tuple[set[str], float]] = {}
        self.tests: dict[str, dict[str, Any]] = {}

    def __call__(self, frame: Any, event: str, _: Any) -> None:
        """Note the call of a function of ours; None keeps its lines from being traced."""
        code = frame.f_code
        name = self.names.get(code)
        if name is None:
            file = code.co_filename
            name = f"{file.partition('/src/')[2]}:{code.co_qualname}" if "/src/borgtrace/" in file else ""
            self.names[code] = name
        if name:
            self.called.add(name)

    def pytest_fixture_setup(self, fixturedef: Any, request: Any) -> Any:
        """Note what a fixture calls that outlives a test."""
        yield from self._shared(fixturedef)

    pytest_fixture_setup.hookwrapper = True  # type: ignore[attr-defined]

    def _shared(self, fixturedef: Any) -> Any:
        outer, self.called = self.called, set()
        begun = time.perf_counter()
        yield
        if fixturedef.scope != "function":
            self.fixtures[fixturedef.argname] = (self.called, time.perf_counter() - begun)
        self.called |= outer

    def pytest_runtest_protocol(self, item: Any, nextitem: Any) -> Any:
        """Note what a test calls."""
        self.called, before = set(), set(self.fixtures)
        begun = time.perf_counter()
        sys.settrace(self)
        threading.settrace(self)
        yield
        sys.settrace(None)
        threading.settrace(None)  # type: ignore[arg-type]
        asked = [self.fixtures[name] for name in getattr(item, "fixturenames", ()) if name in self.fixtures]
        old = [self.fixtures[name] for name in getattr(item, "fixturenames", ()) if name in before]
        seconds = time.perf_counter() - begun + sum(cost for _, cost in old)
        self.tests[item.nodeid] = {
            "seconds": round(seconds, 3),
            "calls": sorted(self.called.union(*(calls for calls, _ in asked))),
        }

    pytest_runtest_protocol.hookwrapper = True  # type: ignore[attr-defined]

    def pytest_sessionfinish(self) -> None:
        """Write what was found."""
        self.out.write_text(json.dumps(self.tests))


def listen(arguments: Sequence[str], out: Path) -> int:
    """Run tests and write which functions each calls; a failing test does not stop it."""
    import pytest

    options = [option for option in _QUIET if option != "-x"]
    return int(pytest.main([*options, *arguments], plugins=[Listener(out)]))
