"""Every place that a command takes × paths that nobody expects: an exit code of ours, one line, and no harm."""

from __future__ import annotations

import gzip
import hashlib
import random
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from borgtrace.ingest import IngestOptions, ingest
from tests.cli.conftest import OrdinaryUser
from tests.cli.odd_paths import ODD_PATHS, SECRET
from tests.cli.path_commands import PlaceOfCommand, command_line, places_of_commands
from tests.fetch.conftest import Bucket, serving
from tests.ingest.raw import write_cell

EXIT_CODES = (0, 2, 3, 4, 5, 6, 7)
LONGEST = 300
"""Seconds after which a command hangs: on a busy machine a demo takes minutes."""
PLACES = list(places_of_commands())
SERVES = ("explore-store", "the store")
"""What would wait for a browser, as it should."""
Things = Mapping[str, Any]
Run = Callable[[list[str], Path], subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def things(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Things]:
    """What commands need beside the odd path."""
    folder = tmp_path_factory.mktemp("things")
    for name in ("store", "other"):
        ingest([write_cell(folder / f"raw-{name}")], folder / name, IngestOptions(jobs=1))
    lines = ["task,time,cpu"]
    for minute in range(0, 60, 5):
        lines.append(f"a,2026-01-01T00:{minute:02}:00Z,0.5")
    (folder / "own.csv").write_text("\n".join(lines) + "\n")
    (folder / "moments.csv").write_text("task,mean,std\na,0.1,0.01\nb,0.2,0.05\n")
    experiment = f'policies = ["limit"]\nstores = {{ a = "{folder / "store"}" }}\n'
    (folder / "experiment.toml").write_text(experiment)
    archive = gzip.compress(b"")
    with serving(Bucket({"instance_usage-000000000000.json.gz": archive})) as server:
        yield {
            "store": folder / "store",
            "other": folder / "other",
            "raw": folder / "raw-store",
            "usage": folder / "own.csv",
            "moments": folder / "moments.csv",
            "experiment": folder / "experiment.toml",
            "server": server.url,
        }


@pytest.fixture
def run(ordinary_user: OrdinaryUser) -> Run:
    """Run a command in a folder, and end it where it hangs."""

    def run_command(words: list[str], here: Path) -> subprocess.CompletedProcess[str]:
        with subprocess.Popen(
            [ordinary_user.commands / "borgtrace", *words],
            cwd=here,
            env=ordinary_user.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
        ) as process:
            try:
                out, err = process.communicate(timeout=LONGEST)
            except subprocess.TimeoutExpired:
                # Passed on to the fork that runs the command.
                process.terminate()
                return subprocess.CompletedProcess(words, -1, "", "it hangs")
        return subprocess.CompletedProcess(words, process.returncode, out, err)

    return run_command


def digests_of(folder: Path) -> dict[str, str]:
    """Return the digests of all files of a store, but for what may be computed again."""
    digests = {}
    for path in folder.rglob("*"):
        name = path.relative_to(folder)
        if path.is_file() and name.parts[0] != "cache":
            digests[str(name)] = hashlib.sha256(path.read_bytes()).hexdigest()
    return digests


def faults_of(
    place: PlaceOfCommand,
    kind: str,
    run: Run,
    things: Things,
    folder: Path,
) -> list[str]:
    """Run a command with an odd path in a place, and return what is wrong with how it ended."""
    here = folder / "inner" / "here"
    here.mkdir(parents=True)
    store = shutil.copytree(things["store"], folder / "store")
    before = digests_of(store)
    path = ODD_PATHS[kind](here, store)
    words = command_line(place, path, {**things, "store": store, "out": folder / "out"})
    done = run(words, here)
    faults = []
    if done.returncode not in EXIT_CODES:
        faults.append(f"exit code {done.returncode}")
    if "Traceback" in done.stderr or (done.returncode and not done.stderr.strip()):
        faults.append("no message of ours")
    if any(part in done.stdout + done.stderr for part in SECRET.split("/")):
        faults.append("a secret is printed")
    is_added_to = place.command == "ingest" and place.parameter == "store"
    if digests_of(store) != before and not is_added_to:
        faults.append("the store has changed")
    leftovers = [left.name for left in folder.rglob("*") if ".incomplete" in left.name]
    if leftovers:
        faults.append(f"left behind: {leftovers}")
    last = done.stderr.strip().splitlines()[-1:]
    return [f"{place}, {kind}: {fault}: {last}" for fault in faults]


def all_cases() -> list[tuple[PlaceOfCommand, str]]:
    cases = [(place, kind) for place in PLACES for kind in ODD_PATHS]
    return [case for case in cases if (str(case[0]), case[1]) != SERVES]


def faults_of_cases(
    cases: list[tuple[PlaceOfCommand, str]],
    run: Run,
    things: Things,
    tmp_path: Path,
) -> list[str]:
    faults = []
    for number, (place, kind) in enumerate(cases):
        folder = tmp_path / str(number)
        folder.mkdir()
        faults += faults_of(place, kind, run, things, folder)
        # What is closed is opened for pytest to remove.
        for path in folder.rglob("*"):
            if path.is_dir() and not path.is_symlink():
                path.chmod(0o755)
    return faults


def test_the_family_is_whole() -> None:
    """At least what is known to be a place today; another option needs no line here."""
    assert len(ODD_PATHS) >= 31
    assert {"ingest-sources", "ingest-dialect", "report-out", "trace-plot"} <= set(map(str, PLACES))
    assert len(PLACES) >= 45


@pytest.mark.wide
def test_no_odd_path_hangs_or_harms(run: Run, things: Things, tmp_path: Path) -> None:
    """A sample of the product below."""
    cases = random.Random(37).sample(all_cases(), 14)
    assert faults_of_cases(cases, run, things, tmp_path) == []


@pytest.mark.scale
@pytest.mark.parametrize("kind", ODD_PATHS)
def test_no_odd_path_of_any_kind_hangs_or_harms(
    run: Run, things: Things, tmp_path: Path, kind: str
) -> None:
    cases = [case for case in all_cases() if case[1] == kind]
    assert faults_of_cases(cases, run, things, tmp_path) == []
