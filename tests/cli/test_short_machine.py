"""A sound store on a machine that lacks open files, memory, permission or disk is never called damaged."""

from __future__ import annotations

import random
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from borgtrace.ingest import IngestOptions, ingest
from tests.cli.conftest import OrdinaryUser
from tests.ingest.raw import write_cell

pytestmark = pytest.mark.wide

READERS = (
    "info {store}",
    "sql {store} 'select count(*) as n from tasks'",
    "trace {store} 10 0 --columns maximum_cpu",
    "machine {store} 5",
    "verify {store}",
    "analyze {store} job_durations",
    "compare {store} {other}",
    "dataset {store} {out} --format npz --min-length 1",
    "export {store} {out}",
    "export {store} {out} --layout raw",
    "subset {store} {out} --fraction 1",
    "merge {store} {other} {out}",
    "ingest {raw} --store {copy} --jobs 1",
    "overcommit {store} --policy borg",
    "compact {store} --at 0h --what-if limits --seeds 1",
    "simulate {store} --policy recorded",
    "report {store} {out} job_durations",
)
"""Commands that read a store."""
LIMITS = {
    **{f"files+{n}": f"limit(resource.RLIMIT_NOFILE, n_open() + {n})" for n in (0, 1, 2, 4, 8)},
    **{
        f"memory+{n}MB": f"limit(resource.RLIMIT_AS, size() + ({n} << 20))"
        for n in (64, 128, 256, 512)
    },
}
"""Python that takes something away from the process that runs it."""
LONGEST = 240
"""Seconds after which a command hangs: it says where each thread waits, and ends."""
PROGRAM = """
import faulthandler, os, resource, shlex, sys
faulthandler.dump_traceback_later({longest}, exit=True)
def limit(kind, most):
    resource.setrlimit(kind, (most, most))
def n_open():
    return max(map(int, os.listdir("/proc/self/fd"))) + 1
def size():
    return int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
sys.argv = ["borgtrace", *shlex.split({line!r})]
{limit}
from borgtrace.cli import main
main()
"""
CLOSED = (
    "{store}",
    "{store}/manifest.json",
    "{store}/tasks",
    "{store}/tasks/part-00000.parquet",
    "{store}/traces",
)
"""What of a store somebody else may have closed."""
Run = Callable[[str, str], subprocess.CompletedProcess[str]]


@pytest.fixture
def run(ordinary_user: OrdinaryUser) -> Run:
    """Run a command line after some Python that takes something away."""

    def run_command(line: str, limit: str = "") -> subprocess.CompletedProcess[str]:
        program = PROGRAM.format(line=line, limit=limit, longest=LONGEST)
        try:
            done = subprocess.run(
                [ordinary_user.commands / "python", "-c", program],
                env=ordinary_user.environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=False,
                timeout=LONGEST + 60,
            )
        except subprocess.TimeoutExpired as late:
            pytest.fail(f"{line} ({limit}) neither ended nor gave up; it said: {late.stderr!r}")
        if "Timeout (" in done.stderr:
            pytest.fail(f"{line} ({limit}) hangs after {LONGEST} s:\n{done.stderr}")
        return done

    return run_command


@pytest.fixture
def things(stores: Path, tmp_path: Path) -> dict[str, Path]:
    """Sound stores, and a place for an output."""
    shutil.copytree(stores, tmp_path / "stores")
    names = ("store", "other", "copy", "raw")
    return {name: tmp_path / "stores" / name for name in names} | {"out": tmp_path / "out"}


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stores")
    for name in ("store", "other", "copy"):
        raw = "raw" if name == "store" else f"raw-{name}"
        ingest([write_cell(folder / raw)], folder / name, IngestOptions(jobs=1))
    return folder


ENDED_BY_A_LIBRARY = (
    "cannot allocate memory for thread-local data",
    "libgcc_s.so.1 must be installed",
    "LLVM ERROR: out of memory",
    "failed to create UnixStream",
)
"""What the C library, the unwinder, LLVM and the renderer say when they end the process: nobody can catch that."""


def check_not_blamed(done: subprocess.CompletedProcess[str]) -> None:
    """Check that a command ended well, or by saying what it lacked."""
    if any(words in done.stderr for words in ENDED_BY_A_LIBRARY):
        return
    assert done.returncode in (0, 2, 3, 5, 7), done.stderr
    assert "Traceback" not in done.stderr
    for blame in ("damaged", "--rebuild", "has changed", "is missing", "fetch it again"):
        assert blame not in done.stderr, done.stderr
    if done.returncode:
        assert any(
            word in done.stderr.lower()
            for word in ("too many", "memory", "thread", "permission", "not readable")
        ), done.stderr


def test_a_command_that_lacks_files_or_memory_blames_no_store(
    run: Run, things: dict[str, Path]
) -> None:
    """A sample of the product below."""
    cases = [(line, limit) for line in READERS[:8] for limit in LIMITS]
    for line, limit in random.Random(3).sample(cases, 5):
        check_not_blamed(run(line.format(**things), LIMITS[limit]))


@pytest.mark.scale
@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("line", READERS)
def test_no_command_that_lacks_files_or_memory_blames_a_store(
    run: Run,
    things: dict[str, Path],
    line: str,
    limit: str,
) -> None:
    check_not_blamed(run(line.format(**things), LIMITS[limit]))


@pytest.mark.parametrize("closed", CLOSED)
@pytest.mark.parametrize("line", ["info {store}", "verify {store}"])
def test_a_store_that_may_not_be_read_is_not_blamed(
    run: Run,
    things: dict[str, Path],
    line: str,
    closed: str,
) -> None:
    check_closed(run, things, line, closed)


@pytest.mark.scale
@pytest.mark.parametrize("closed", CLOSED)
@pytest.mark.parametrize("line", READERS)
def test_no_command_blames_a_store_that_may_not_be_read(
    run: Run,
    things: dict[str, Path],
    line: str,
    closed: str,
) -> None:
    check_closed(run, things, line, closed)


def check_closed(
    run: Run,
    things: dict[str, Path],
    line: str,
    closed: str,
) -> None:
    path = Path(closed.format(**things))
    mode = path.stat().st_mode
    path.chmod(0)
    try:
        done = run(line.format(**things))
    finally:
        path.chmod(mode)
    check_not_blamed(done)
    if done.returncode:
        assert "permission denied" in done.stderr or "not readable" in done.stderr
