"""What all tests share: the real trace parts, the command as users start it, and an order that saves time."""

from __future__ import annotations

import faulthandler
import fcntl
import gc
import multiprocessing.util
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings
from warm import warm_process, write_stand_ins

from tests.wide import SPARK, mark_wide, needs_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Seeded, and never timed: on a busy machine an example that is right may take long.
settings.register_profile("tests", deadline=None, derandomize=True)
settings.load_profile("tests")

_TRACE = Path(__file__).parents[2] / "shared" / "trace"
_WARM_SOCKET = pytest.StashKey[str]()
_BEGIN = ("tests/docs/", "tests/datasets/test_readers.py")
"""Tests that begin with a store for all pages, or import TensorFlow."""


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Iterator[None]:
    """Mark wide cases before tests are selected by their marks; put what is left in an order that saves time."""
    mark_wide(items)
    yield
    _put_costly_first(items)


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Iterator[None]:
    """Where no test was compiled yet, let one worker collect before the others, which then read what it compiled.

    It takes 32 s of CPU time in a fresh clone, which each of them would spend.  Garbage is not looked for meanwhile:
    what is made stays, and to look through it again and again takes a seventh more.
    """
    gc.disable()
    shared = getattr(session.config, "workerinput", {}).get("shared_folder")
    if shared is None or any(Path(__file__).parent.rglob("*-pytest-*.pyc")):
        return (yield)
    with (Path(shared) / "collecting").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if any(Path(shared).glob("collected")):
            fcntl.flock(lock, fcntl.LOCK_UN)
        collected = yield
        (Path(shared) / "collected").touch()
    return collected


def _put_costly_first(items: list[pytest.Item]) -> None:
    """Put first, in the shares of two workers, what is costly to begin.

    Workers get equal shares of the tests, in their order, and the quicker ones take over from the end of the others'.
    So what stands first in a share stays in one worker, and begins once instead of in each.
    """
    first = [item for item in items if needs_spark(item)]
    middle = [item for item in items if item.nodeid.startswith(_BEGIN)]
    chosen = {*first, *middle}
    others = [item for item in items if item not in chosen]
    n_workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "2"))
    rest_of_share = max(0, len(items) // n_workers - len(first))
    items[:] = [*first, *others[:rest_of_share], *middle, *others[rest_of_share:]]


def pytest_collection_finish() -> None:
    """Collect garbage seldom, and leave alone what was imported.

    Expressions of Ibis are many small objects: looking through all of them again and again took a sixth of the time.
    """
    gc.enable()
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 10, 10)


_REGISTRIES = (
    ("borgtrace.catalog", "QUESTION_KINDS"),
    ("borgtrace.schema.dialects", "DIALECT_KINDS"),
    ("borgtrace.overcommit.policies.registry", "POLICY_KINDS"),
    ("borgtrace.overcommit.recommenders.registry", "RECOMMENDER_KINDS"),
    ("borgtrace.placement.estimators.registry", "ESTIMATOR_KINDS"),
    ("borgtrace.scheduling.policies", "SCHEDULER_KINDS"),
    ("borgtrace.forecast.registry", "FORECASTER_KINDS"),
)
"""Where ideas of users are remembered as long as a process lives."""


@pytest.fixture(autouse=True)
def forget_extensions() -> Iterator[None]:
    """Let nothing that a test adds with ``--from`` be listed in the tests after it."""
    before = {name: dict(files) for name, files in _extensions_of_files().items()}
    yield
    for name, files in _extensions_of_files().items():
        files.clear()
        files.update(before.get(name, {}))


def _extensions_of_files() -> dict[str, dict[str, Any]]:
    """Return what the registries that are imported remember of files."""
    loaded = {}
    for module, name in _REGISTRIES:
        if module in sys.modules:
            loaded[name] = getattr(sys.modules[module], name)._of_files
    return loaded


_LONGEST_TEST = 900
"""Seconds after which a test hangs: where each thread waits is printed, and its process ends."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> Iterator[None]:
    """End a process whose test hangs, so that the run ends and says where."""
    faulthandler.dump_traceback_later(_LONGEST_TEST, exit=True)
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A folder for what is known of stores that were opened before, in place of the user's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session", autouse=True)
def own_temporary_files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder for temporary files that goes in the end, with what libraries and killed processes leave in it.

    It has a short path of its own, since sockets lie in it, too: theirs may have 107 bytes.
    """
    # Where the folders of tests are is decided at the first one, and is no temporary file.
    tmp_path_factory.getbasetemp()
    # Python's own removes itself when the process ends, which is later.
    multiprocessing.util.get_temp_dir()
    with (
        tempfile.TemporaryDirectory(prefix="borgtrace-", ignore_cleanup_errors=True) as folder,
        pytest.MonkeyPatch.context() as patch,
    ):
        # A process that has given up its rights gets through, too.
        Path(folder).chmod(0o711)
        patch.setenv("TMPDIR", folder)
        patch.setattr(tempfile, "tempdir", folder)
        yield Path(folder)


@pytest.fixture(scope="session", autouse=True)
def light_java(own_temporary_files: Path) -> Iterator[None]:
    """Let Spark's Java compile lightly and collect garbage in one thread: it lives for a minute here.

    Measured on four questions over a small cell: 21 s of CPU time in place of 51.
    """
    options = (
        "-XX:TieredStopAtLevel=1",
        "-XX:+UseSerialGC",
        # It knows no TMPDIR, and writes its counters to a folder of the user's.
        f"-Djava.io.tmpdir={own_temporary_files}",
        "-XX:-UsePerfData",
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPARK_SUBMIT_OPTS", " ".join(options))
        yield


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session of Spark on two threads of this machine, with its workers: they take seconds to begin."""
    pytest.importorskip("pyspark", reason="pyspark is not installed")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java, which is not on the PATH")
    from borgtrace.engine.spark_session import open_session

    session = open_session(SPARK, "1GB", tmp_path_factory.mktemp("spill"))
    yield session
    session.stop()


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Let the workers of a run share the process whose forks are commands: to import everything takes it 5 s."""
    config = node.config
    if _WARM_SOCKET not in config.stash:
        stack = ExitStack()
        config.add_cleanup(stack.close)
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="borgtrace-"))
        path = stack.enter_context(warm_process(Path(folder) / "socket", os.environ))
        config.stash[_WARM_SOCKET] = str(path)
    node.workerinput["warm_socket"] = config.stash[_WARM_SOCKET]
    node.workerinput["shared_folder"] = str(Path(config.stash[_WARM_SOCKET]).parent)


Commands = Callable[..., Path]


@pytest.fixture(scope="session")
def commands(
    request: pytest.FixtureRequest, own_cache: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Commands]:
    """Return a function that makes a folder of commands, each a fork of one process that has imported everything."""
    with ExitStack() as stack:
        if hasattr(request.config, "workerinput"):
            path = Path(request.config.workerinput["warm_socket"])
        else:
            own_path = tmp_path_factory.mktemp("warm") / "socket"
            path = stack.enter_context(warm_process(own_path, os.environ))
        # A function: scripts/mutants.py keeps what fixtures return where it can, and this ends with its process.
        yield lambda folder, **rights: write_stand_ins(folder, path, **rights)


@pytest.fixture(scope="session")
def command(
    commands: Commands, tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., list[str]]:
    """Return a function that completes words to a command line of `borgtrace`, as a shell would get it."""
    folder = commands(tmp_path_factory.mktemp("commands") / "bin")
    return lambda *words: [str(folder / "borgtrace"), *map(str, words)]


@pytest.fixture(scope="session")
def python(command: Callable[..., list[str]]) -> str:
    """The program that runs ``-c CODE WORD…`` in a fork of the process that runs commands, WORD… from ``argv[3]``."""
    return str(Path(command()[0]).with_name("python"))


@pytest.fixture(scope="session")
def trace() -> Path:
    """Folder of real trace parts beside the project; skips where it is absent."""
    if not _TRACE.is_dir():
        pytest.skip("no real trace parts beside the project (../shared/trace)")
    return _TRACE


def real_folder(trace: Path, name: str) -> Path:
    """Return a folder of the real trace parts; skips where it is absent: not every copy has all of them."""
    if not (trace / name).is_dir():
        pytest.skip(f"no {name} among the real trace parts (../shared/trace)")
    return trace / name


@pytest.fixture(scope="session")
def real_store(trace: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of all real 2011 parts (about 6 s), which the workers of a run share."""
    from borgtrace.ingest import IngestOptions, ingest

    # Each worker has a folder of its own in that of the run.
    shared = tmp_path_factory.getbasetemp().parent if "PYTEST_XDIST_WORKER" in os.environ else None
    folder = shared / "real" if shared else tmp_path_factory.mktemp("real")
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "store" / "manifest.json").exists():
            ingest([trace / "clusterdata-2011-2"], folder / "store", IngestOptions(jobs=1))
    return folder / "store"
