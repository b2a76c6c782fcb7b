"""A store at its borders: what a notebook shows of it, who runs on a machine at which instant."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

import borgtrace
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.schema.time import SECOND
from borgtrace.store.machine import capacity_at, running_on
from borgtrace.store.manifest import read_manifest
from tests.ingest.raw import write_part

EVIL = "<img src=x onerror=alert(1)>&"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Machine 5 is removed at 1500 s; task 0 runs there from 700 s to 1000 s, task 1 has one window, 900–1200 s."""
    folder = tmp_path_factory.mktemp("borders")
    write_part(folder / "raw", "machine_events", ["0,5,0,p,0.5,0.25", "1500000000,5,1,p,0.5,0.25"])
    write_part(
        folder / "raw",
        "task_events",
        [
            "600000000,,10,0,,0,u,0,1,,,,",
            "700000000,,10,0,5,1,u,0,1,,,,",
            "1000000000,,10,0,5,4,u,0,1,,,,",
        ],
    )
    write_part(folder / "raw", "task_usage", ["900000000,1200000000,10,1,5,0.5,,,,,,,,0.5,,,,,0,"])
    ingest([folder / "raw"], folder / "store", IngestOptions(jobs=1))
    return folder / "store"


@pytest.mark.parametrize(
    ("microseconds", "instances"),
    [
        (700 * SECOND - 1, []),
        (700 * SECOND, [0]),
        (900 * SECOND - 1, [0]),
        (900 * SECOND, [0, 1]),
        (1000 * SECOND - 1, [0, 1]),
        (1000 * SECOND, [1]),
        (1200 * SECOND - 1, [1]),
        (1200 * SECOND, []),
    ],
)
def test_a_task_runs_from_its_schedule_until_just_before_its_end(store, microseconds, instances):
    running = running_on(borgtrace.open(store), 5, microseconds)
    assert sorted(running.column("instance_index").to_pylist()) == instances


@pytest.mark.parametrize(
    ("microseconds", "is_up"),
    [
        (1500 * SECOND - 1, True),
        (1500 * SECOND, False),
        (None, False),
    ],
)
def test_a_machine_is_away_from_the_instant_of_its_removal(store, microseconds, is_up):
    assert capacity_at(borgtrace.open(store), 5, microseconds).is_up is is_up


def test_what_a_notebook_shows_is_text(store, tmp_path):
    copy = shutil.copytree(store, tmp_path / "store")
    replace(read_manifest(copy), cell=EVIL).write(copy / "manifest.json")
    assert EVIL not in borgtrace.open(copy)._repr_html_()
