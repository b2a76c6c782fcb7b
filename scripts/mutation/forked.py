"""Tests run in forks of a warm process, on changed code.

A start of Python with DuckDB, Arrow, Ibis and Numba takes five seconds and collecting the tests as long again, a fork
some milliseconds: the difference between a night and an hour for a sample of all packages.  There are two ways:

- :func:`in_session` collects tests once and forks from there; a change replaces the code of the functions it touches
  (:func:`patch`).  What was computed at import or is remembered from it keeps its old value: so this way tells what
  is noticed, and not what is not.
- :func:`tests` runs pytest in a fork of a process that has imported everything heavy and nothing of ours; a change is
  made by handing the import another source (:func:`with_source`).

No thread runs yet where a process is forked, so that a fork is safe.
"""

from __future__ import annotations

import ast
import builtins
import gc
import importlib
import inspect
import itertools
import json
import os
import pickle
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest

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
"""Elapsed seconds per second of CPU after which a child is stopped: other programs run here too."""
_IDLE = 60
"""Elapsed seconds with hardly any CPU, its own children's included, after which a child is taken to wait for ever."""
_TICKS = os.sysconf("SC_CLK_TCK")
"""Clock ticks in a second of CPU."""
_LITTLE = _TICKS // 2
"""Clock ticks that a child which waits in a loop may take in that time."""
_PAUSE = 10
"""Elapsed seconds between two looks at a child that mean a pause of the machine: they are a moment apart."""


class Fork:
    """A child that runs tests in a temporary folder of its own, and what became of it.

    `seconds` are of CPU: on a busy machine a slow test must not be taken for one that hangs.
    """

    def __init__(self, work: Callable[[], int], seconds: int) -> None:
        # Counted here: not every kernel keeps to a limit of CPU.
        self.begun, self.longest, self.most_ticks = (
            time.monotonic(),
            _WAIT * seconds,
            seconds * _TICKS,
        )
        self.ticks, self.moved, self.looked, self.asked = 0, self.begun, self.begun, self.begun
        self.folder = tempfile.mkdtemp(prefix="mutants-")
        # Tests of permissions go on as another user, who must be able to enter.
        Path(self.folder).chmod(0o755)
        self.pid = os.fork()
        if self.pid == 0:
            os.setsid()
            tempfile.tempdir = os.environ["TMPDIR"] = self.folder
            silence, errors = os.open(os.devnull, os.O_RDWR), os.fdopen(os.dup(2), "w")
            for stream in (0, 1, 2):
                os.dup2(silence, stream)
            code = 3
            try:
                code = work()
            except Exception:
                traceback.print_exc(file=errors)
                errors.flush()
            finally:
                os._exit(code)

    def _hangs(self) -> bool:
        """Whether the child has used too much CPU, or hardly any for long."""
        now = time.monotonic()
        # Asked once a second: a look at all processes takes a millisecond.
        if now - self.looked > 1:
            self.looked = now
            ticks = _ticks(self.pid)
            if ticks > self.most_ticks:
                return True
            if ticks - self.ticks > _LITTLE:
                self.ticks, self.moved = ticks, now
        return now - self.moved > _IDLE or now - self.begun > self.longest

    def _forgive_pauses(self) -> None:
        """Leave out the time in which nobody asked: the whole machine was stopped, not this child alone."""
        now = time.monotonic()
        pause, self.asked = now - self.asked, now
        if pause > _PAUSE:
            self.begun += pause
            self.moved += pause

    def outcome(self) -> int | None:
        """Return the exit code, a negative one after too long, None while it runs."""
        self._forgive_pauses()
        # Not reaped yet: its number still means its group.
        has_ended = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        if not has_ended and not self._hangs():
            return None
        # With what it has started: Spark's Java would outlive it by seconds of CPU.
        os.killpg(self.pid, signal.SIGKILL)
        _, status = os.waitpid(self.pid, 0)
        shutil.rmtree(self.folder, ignore_errors=True)
        return os.waitstatus_to_exitcode(status) if has_ended else -1


def _ticks(session: int) -> int:
    """Return the CPU that the processes of a session and those they have waited for have used, in clock ticks."""
    total = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            # The name, in brackets, may hold spaces.
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended meanwhile
            continue
        total += (int(fields[3]) == session) * sum(map(int, fields[11:15]))
    return total


def tests(arguments: Sequence[str], kept: Mapping[str, str]) -> int:
    """Run pytest in this process, with premade fixtures."""
    return int(pytest.main([*_QUIET, *arguments], plugins=[Premade(kept)]))


_CHANGE = """\
import os
from importlib.machinery import SourceFileLoader

real = SourceFileLoader.get_code


def get_code(self, fullname):
    if os.path.realpath(self.path) == {target!r}:
        return compile({source!r}, self.path, "exec", dont_inherit=True)
    return real(self, fullname)


SourceFileLoader.get_code = get_code
"""


def with_source(file: str, source: str) -> None:
    """Let the import of a file of ours find another source, here and in every Python that a test starts."""
    change = _CHANGE.format(target=str(ROOT / file), source=source)
    folder = Path(tempfile.mkdtemp(prefix="changed-"))
    # Python runs a file of this name when it starts: tests of commands start a process that has imported everything.
    (folder / "sitecustomize.py").write_text(change)
    os.environ["PYTHONPATH"] = os.pathsep.join([str(folder), os.environ["PYTHONPATH"]])
    exec(change, {})


Items = Mapping[str, Any]
"""Collected tests by their id."""


def in_session(arguments: Sequence[str], work: Callable[[Items], None]) -> None:
    """Collect tests, and hand them over instead of running them."""

    class Collected:
        @pytest.hookimpl(tryfirst=True)
        def pytest_runtestloop(self, session: Any) -> bool:
            work({item.nodeid: item for item in session.items})
            return True

    pytest.main([*_QUIET, "-s", *arguments], plugins=[Collected()])


def run(
    items: Sequence[Any], kept: Mapping[str, str] | None = None, *, to_the_end: bool = False
) -> int:
    """Run collected tests, with premade fixtures; return 1 at the first that fails, or after all of them."""
    failures = []

    class Watch:
        def pytest_runtest_logreport(self, report: Any) -> None:
            if report.failed:
                failures.append(report.nodeid)

    if items:
        config = items[0].config
        config.pluginmanager.register(Watch())
        config.pluginmanager.register(Premade(kept or {}))
        # Temporary folders of this fork alone, which its parent removes.
        config._tmp_path_factory._given_basetemp = Path(tempfile.gettempdir()) / "tests"
    for item, after in zip(items, [*items[1:], None], strict=True):
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
        if failures and not to_the_end:
            return 1
    return int(bool(failures))


Functions = Mapping[tuple[str, str], Sequence[FunctionType]]


def functions() -> Functions:
    """Return all functions of ours that are loaded, by file (from ``src``) and qualified name."""
    found: dict[tuple[str, str], list[FunctionType]] = {}
    for each in gc.get_objects():
        # Not isinstance: PyTorch warns where it is asked for the class of some objects.
        if type(each) is FunctionType and "/src/borgtrace/" in each.__code__.co_filename:
            file = "src/" + each.__code__.co_filename.partition("/src/")[2]
            found.setdefault((file, each.__code__.co_qualname), []).append(each)
    return found


def patch(loaded: Functions, file: str, source: str, name: str | None = None) -> None:
    """Give loaded functions the code that a changed source has for them; one of them where `name` is given."""
    for code in _codes(compile(source, str(ROOT / file), "exec", dont_inherit=True)):
        if name in (None, code.co_qualname):
            for function in loaded.get((file, code.co_qualname), ()):
                if function.__code__.co_freevars == code.co_freevars:
                    function.__code__ = code


def _codes(code: CodeType) -> Iterator[CodeType]:
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield each
            yield from _codes(each)


class Listener:
    """A pytest plugin: which functions of ours each test and each shared fixture calls, and how much CPU it takes.

    Elapsed time would tell how busy the machine was: on a busy one hardly a test was left for a change.

    What a shared fixture returned is kept in `home`, where it can be pickled, so that a fork need not make it anew.
    """

    def __init__(self, home: Path) -> None:
        self.home = home
        self.numbers = itertools.count()
        self.called: set[str] = set()
        self.fixtures: dict[str, dict[str, Any]] = {}
        self.tests: dict[str, dict[str, Any]] = {}
        builtins.__note__ = lambda name: self.called.add(name)  # type: ignore[attr-defined]

    @pytest.hookimpl(hookwrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any, request: Any) -> Any:
        """Note what a fixture calls that outlives a test, and keep what it returns."""
        outer, self.called = self.called, set()
        begun = _cpu()
        outcome = yield
        # Without a home, it is one of pytest's own, such as the folder of this very run.
        if fixturedef.scope != "function" and fixturedef.baseid and not outcome.excinfo:
            name = _fixture_id(fixturedef, request)
            before = self.fixtures.get(name, {"seconds": 0.0, "calls": ()})
            self.fixtures[name] = {
                # Set up again, Spark has its Java already; a fork has not.
                "seconds": max(before["seconds"], _cpu() - begun),
                "calls": sorted(self.called.union(before["calls"])),
                "asks": [name for name in fixturedef.argnames if name != "request"],
                # One that yields is there until its end: a server, a setting of the environment.
                "kept": None
                if inspect.isgeneratorfunction(fixturedef.func)
                else self._keep(outcome.get_result()),
            }
        self.called |= outer

    def _keep(self, value: Any) -> str | None:
        # Counted, not the number of fixtures: one that is set up again would share its file with the next.
        path = self.home / f"{next(self.numbers)}.pickle"
        try:
            with path.open("wb") as file:
                _Pickler(file).dump(value)
        except Exception:  # a function, a connection: made anew
            return None
        return str(path)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: Any, nextitem: Any) -> Any:
        """Note what a test calls."""
        self.called, before = set(), set(self.fixtures)
        begun = _cpu()
        yield
        made = sum(told["seconds"] for name, told in self.fixtures.items() if name not in before)
        self.tests[item.nodeid] = {
            "seconds": max(0.0, round(_cpu() - begun - made, 3)),
            "calls": sorted(self.called),
            "fixtures": list(getattr(item, "fixturenames", ())),
        }


class _Pickler(pickle.Pickler):
    def reducer_override(self, value: object) -> Any:
        if type(value).__module__.startswith("ibis.backends"):
            raise pickle.PicklingError("would come back without its connection")
        return NotImplemented


def _cpu() -> float:
    """Return the seconds of CPU of this fork and of all that it has started, such as Spark's Java, which goes on."""
    return _ticks(os.getpid()) / _TICKS


def _fixture_id(fixturedef: Any, request: Any) -> str:
    """Name a fixture by its home, its name and its parameter."""
    return f"{fixturedef.baseid}::{fixturedef.argname}::{getattr(request, 'param', '')!r}"


class Premade:
    """A pytest plugin that hands out what fixtures returned once, of those that a change cannot concern."""

    def __init__(self, kept: Mapping[str, str]) -> None:
        self.kept = kept

    @pytest.hookimpl(tryfirst=True)
    def pytest_fixture_setup(self, fixturedef: Any, request: Any) -> Any:
        """Return what was kept; None leaves it to the fixture."""
        path = self.kept.get(_fixture_id(fixturedef, request))
        if path is None:
            return None
        value = pickle.loads(Path(path).read_bytes())
        fixturedef.cached_result = (value, fixturedef.cache_key(request), None)
        return value


def listen(
    items: Sequence[Any],
    loaded: Functions,
    is_compiled: Callable[[ast.FunctionDef], bool],
    home: Path,
) -> int:
    """Run tests and write into `home` which functions each calls; a failing test does not stop it."""
    for file in {file for file, _ in loaded}:
        patch(loaded, file, _noting(file, is_compiled))
    listener = Listener(home)
    items[0].config.pluginmanager.register(listener)
    # Not the folder of this fork: what fixtures made is used by those that come.
    tempfile.tempdir = os.environ["TMPDIR"] = str(home)
    code = run(items, to_the_end=True)
    (home / "told.json").write_text(
        json.dumps({"tests": listener.tests, "fixtures": listener.fixtures})
    )
    return code


def _noting(file: str, is_compiled: Callable[[ast.FunctionDef], bool]) -> str:
    """Return the source of a file in which each function first says its name; compiled ones cannot."""
    tree = ast.parse((ROOT / file).read_text())

    def within(body: list[ast.stmt], prefix: str) -> None:
        for node in body:
            if isinstance(node, ast.ClassDef):
                within(node.body, f"{prefix}{node.name}.")
            elif isinstance(node, ast.FunctionDef) and not is_compiled(node):
                name = f"{file.removeprefix('src/')}:{prefix}{node.name}"
                for each in ast.walk(node):
                    if isinstance(each, ast.FunctionDef):
                        # After the docstring, which must stay the first statement.
                        each.body.insert(int(ast.get_docstring(each) is not None), _note(name))

    within(tree.body, "")
    return ast.unparse(ast.fix_missing_locations(tree))


def _note(name: str) -> ast.stmt:
    return ast.Expr(ast.Call(ast.Name("__note__", ast.Load()), [ast.Constant(name)], []))
