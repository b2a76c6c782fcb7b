"""Every command that writes × a disk that fills up: one line that says so, nothing half-written, and no exit code 0."""

from __future__ import annotations

import gzip
import os
import random
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import borgtrace
from borgtrace.cli.app import COMMANDS
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.synth import SynthOptions
from borgtrace.synth.generate import write_trace
from tests.fetch.conftest import Bucket, serving
from tests.fetch.fake_prometheus import FakePrometheus
from tests.fetch.fake_prometheus import serving as serving_prometheus
from tests.fetch.small_cluster import cluster
from tests.gpu_files import write_gpu_files
from tests.ingest.raw import write_cell

WRITERS = {
    "advise": "advise {store} --out {out}/advice.html",
    "analyze": "analyze {store} job_durations --out {out}",
    "colocate": "colocate --synthetic 200 --experiment packing_base --instances 1 --size 50 --out {out}",
    "colocate place": "colocate place --moments {moments} --placement {out}/placement.csv",
    "colocate pool": "colocate pool --synthetic 2000 --out {out}/pool.parquet",
    "compact": "compact {store} --at 1h --what-if limits --seeds 1 --out {out}",
    "compare": "compare {store} {other} --out {out}",
    "dataset": "dataset {store} {out} --format npz --min-length 1",
    "dataset tfrecord": "dataset {store} {out} --min-length 1",
    "dataset parquet": "dataset {store} {out} --format parquet --min-length 1",
    "demo": "demo {out} --machines 10 --hours 1",
    "experiment": "experiment {experiment} --out {out}",
    "export": "export {store} {out}",
    "export sqlite": "export {store} {out} --format sqlite",
    "export opendc": "export {store} {out} --layout opendc --capacity 8cores,32GiB",
    "export raw": "export {store} {out} --layout raw",
    "fetch": "fetch 2019 {out} --cell a --tables instance_usage --base-url {server}",
    "fetch prometheus": "fetch prometheus {prometheus} {out} --since 2026-09-22 --until 2026-09-23",
    "forecast": "forecast {store} --forecaster persistence --out {out}",
    "forecast --save": "forecast {store} --forecaster persistence --folds 1 --examples 200 --save {out}/model",
    "ingest": "ingest {raw} --store {out} --jobs 1",
    "merge": "merge {store} {part} {out}",
    "overcommit": "overcommit {store} --policy borg --out {out}",
    "overcommit reclaim": "overcommit reclaim {store} --out {out}",
    "overcommit recommend": "overcommit recommend {store} --cores-per-unit 64 --gib-per-unit 256 --out {out}",
    "overcommit target": "overcommit target {store} --policy borg --out {out}",
    "reproduce": "reproduce zhu2015 {store} --only method-3 --out {out}",
    "report": "report {store} {out}/page.html job_durations",
    "simulate": "simulate {store} --policy recorded --out {out}",
    "simulate gpus": "simulate gpus {gpus} --policy best-fit --runs 1 --out {out}",
    "simulate --event-log": "simulate {store} --policy best-fit --event-log {out}",
    "subset": "subset {store} {out} --fraction 1",
    "synth": "synth {out} --machines 10 --hours 1",
    "trace": "trace {store} {job} --plot {out}/life.html",
}
"""A command line for each thing that a command writes."""
READERS = {
    "check",
    "dialect",
    "doctor",
    "explore",
    "info",
    "machine",
    "mcp",
    "overcommit explain",
    "sql",
    "verify",
    "views",
}
"""Commands that write nothing but what they print, or what may be computed again."""
KEPT = {
    "demo": "folder of the demo",
    "experiment": "cells that are finished",
    "fetch": "what has arrived",
    "fetch prometheus": "answers that have arrived",
    "ingest": "what was checked",
}
"""Commands that find again what they have done, and go on: of these something stays."""
ROOMS = (0, 20_000, 300_000)
"""Bytes that are left on the disk."""
DISK = 16 << 20
EXPERIMENT = """\
stores = ["store", "other"]
policies = ["limit", "borg:phi=0.9"]
horizon = "5m"
"""
Run = Callable[[str, Path], subprocess.CompletedProcess[str]]


@pytest.fixture
def run(command: Callable[..., list[str]]) -> Run:
    """Run a command line in a folder."""

    def run_command(line: str, here: Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command(*line.split()),
            cwd=here,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
        )

    return run_command


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    """Two stores of one row in each table."""
    folder = tmp_path_factory.mktemp("small")
    for name in ("store", "other"):
        ingest([write_cell(folder / f"raw-{name}")], folder / name, IngestOptions(jobs=1))
    (folder / "moments.csv").write_text("task,mean,std\na,0.1,0.01\nb,0.2,0.05\n")
    (folder / "experiment.toml").write_text(EXPERIMENT)
    return {
        "experiment": folder / "experiment.toml",
        "store": folder / "store",
        "other": folder / "other",
        "moments": folder / "moments.csv",
        "job": 10,
        "gpus": write_gpu_files(folder / "gpus"),
    }


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, object]]:
    """Two stores of hours of ten machines, a part of one of them, raw files, and a server of an archive."""
    folder = tmp_path_factory.mktemp("large")
    for name, seed in (("store", 1), ("other", 2)):
        raw = write_trace(folder / f"raw-{name}", SynthOptions(machines=10, hours=8.0, seed=seed))
        ingest([raw], folder / name, IngestOptions(jobs=1))
    ingest([folder / "raw-store" / "job_events"], folder / "part", IngestOptions(jobs=1))
    (folder / "moments.csv").write_text("task,mean,std\na,0.1,0.01\nb,0.2,0.05\n")
    (folder / "experiment.toml").write_text(EXPERIMENT)
    ids = borgtrace.open(folder / "store").sql(
        "select min(collection_id) as id from instance_usage"
    )
    archive = gzip.compress(random.Random(0).randbytes(400_000))
    usage = FakePrometheus(cluster(n_pods=20, minutes=600))
    with (
        serving(Bucket({"instance_usage-000000000000.json.gz": archive})) as server,
        serving_prometheus(usage) as prometheus,
    ):
        yield {
            "experiment": folder / "experiment.toml",
            "store": folder / "store",
            "other": folder / "other",
            "part": folder / "part",
            "raw": folder / "raw-store",
            "moments": folder / "moments.csv",
            "gpus": write_gpu_files(folder / "gpus"),
            "job": ids["id"][0].as_py(),
            "server": server.url,
            "prometheus": prometheus.url,
        }


@contextmanager
def full_disk(folder: Path, room: int) -> Iterator[tuple[Path, Callable[[], None]]]:
    """Mount a small disk in memory that is full but for some bytes, and yield it with a function that empties it.

    Where nothing can be mounted the test is skipped: no stand-in fails where a real disk does.
    """
    disk = folder / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "none", str(disk)]
    mounted = (
        subprocess.run(mount, capture_output=True, check=False) if shutil.which("mount") else None
    )
    if mounted is None or mounted.returncode:
        pytest.skip("no disk can be mounted here, which needs the rights of root")
    try:
        filler = disk / "filler"
        with filler.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, shutil.disk_usage(disk).free - room)
        yield disk, filler.unlink
    finally:
        subprocess.run(["umount", "--lazy", str(disk)], check=True)


def files_below(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def check_writer(
    writer: str,
    room: int,
    run: Run,
    things: dict[str, object],
    folder: Path,
) -> None:
    """Run a writer on a disk that is full, then on one with enough room, and compare what is there with the latter."""
    with full_disk(folder, room) as (disk, make_room):
        out = disk / "out"
        line = WRITERS[writer].format(**things, out=out)
        done = run(line, folder)
        left = files_below(out)
        make_room()
        if done.returncode == 0:
            assert room
            return
        assert "Traceback" not in done.stderr
        # 2 and 3 of a fetch: the disk is too small for what is announced, or a file did not arrive.
        assert done.returncode == 5 or (writer == "fetch" and done.returncode in (2, 3)), (
            done.stderr
        )
        reasons = ("disk is full", "free some disk", "disk is too small")
        assert any(reason in done.stderr for reason in reasons), done.stderr
        incomplete = [path.name for path in disk.rglob("*.incomplete*")]
        again = run(line, folder)
        assert again.returncode == 0, again.stderr
        if writer not in KEPT:
            assert incomplete == []
            # What is there is whole: answers that were written before the disk was full stay.
            whole = files_below(out)
            assert left.keys() <= whole.keys()
            assert {name: whole[name] for name in left} == left


def command_of(words: list[str]) -> str:
    """Return the command of a line: its first words."""
    two_words = " ".join(words[:2])
    return two_words if two_words in COMMANDS else words[0]


def test_the_family_is_whole() -> None:
    """A new command has a line above."""
    writers = {command_of(line.split()) for line in WRITERS.values()}
    assert writers | READERS == set(COMMANDS)


@pytest.mark.parametrize("writer", ["subset", "export", "dataset", "colocate place"])
def test_a_full_disk_is_named(
    run: Run, small: dict[str, object], tmp_path: Path, writer: str
) -> None:
    check_writer(writer, 0, run, small, tmp_path)


@pytest.mark.scale
@pytest.mark.parametrize("room", ROOMS)
@pytest.mark.parametrize("writer", WRITERS)
def test_a_full_disk_is_named_by_every_writer(
    run: Run,
    large: dict[str, object],
    tmp_path: Path,
    writer: str,
    room: int,
) -> None:
    check_writer(writer, room, run, large, tmp_path)
