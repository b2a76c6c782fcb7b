"""Experiments on a store in a bucket: a task makes the pool, and the driver gets the answers."""

from __future__ import annotations

import pickle
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from borgtrace.catalog import find
from borgtrace.colocation.experiment import Experiment
from borgtrace.colocation.study_in_task import StudyInTask
from borgtrace.engine import SparkTasks
from borgtrace.errors import StoreError
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.question import EngineTables, Result, with_subjects
from borgtrace.synth import generate
from tests.bucket import Bucket, serving

URL = "s3://cells/store"
NAMES = ("usage_deviation", "packing_base", "packing_averages")
OPTIONS = {"tasks": 40, "realizations": 100, "instances": 2, "size": 8}


@pytest.fixture(scope="module")
def cell(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cell")
    generate(folder / "raw", "2011", machines=8, hours=4, seed=5)
    ingest([folder / "raw"], folder / "store", IngestOptions(jobs=1))
    return folder / "store"


@pytest.fixture
def bucket(cell: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    """A bucket with the store, and a cache of its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with serving(tmp_path / "s3", "cells", monkeypatch) as made:
        shutil.copytree(cell, made.root / "store", ignore=shutil.ignore_patterns("cache", ".lock"))
        yield made


@pytest.fixture
def tasks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many experiments each task of Spark has computed; they run here, and what is sent is pickled."""
    cloudpickle = pytest.importorskip("pyspark.cloudpickle", reason="pyspark is not installed")
    n_experiments: list[int] = []

    def run(_: SparkTasks, function: Any, items: Iterable[Any]) -> Iterator[Any]:
        for item in items:
            n_experiments.append(len(item))
            sent_function, sent_item = pickle.loads(cloudpickle.dumps((function, item)))
            yield pickle.loads(cloudpickle.dumps(sent_function(sent_item)))

    monkeypatch.setattr(SparkTasks, "map", run)
    return n_experiments


def on_spark() -> EngineTables:
    """Return tables of the bucket that say they are on Spark: an experiment asks them for short else."""
    tables = EngineTables.of(URL)
    tables.origin = replace(tables.origin, engine="spark://host:7077")
    return tables


def results(tables: EngineTables) -> list[Result]:
    """Ask experiments together, as a report does."""
    experiments = [find(name) for name in NAMES]
    found = []
    for experiment, study in with_subjects(experiments, tables, OPTIONS):
        assert isinstance(experiment, Experiment)
        own = {name: OPTIONS[name] for name in experiment.options if name in OPTIONS}
        found.append(experiment.run(study, **own))
    return found


def test_one_task_computes_the_experiments_that_are_asked_together(
    cell: Path, bucket: Bucket, tasks: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    here = results(EngineTables.of(cell))

    def no_pool(*_: object) -> None:
        raise AssertionError("the driver makes no pool")

    monkeypatch.setattr(StudyInTask, "pool", no_pool)
    there = results(on_spark())
    assert tasks == [len(NAMES)]
    for one, other in zip(here, there, strict=True):
        assert one.table.num_rows
        assert one.table == other.table
        assert [finding.outcome for finding in one.findings] == [
            finding.outcome for finding in other.findings
        ]
    # One that was not planned has a task of its own.
    find("packing_base").run(on_spark(), **OPTIONS)
    assert tasks == [len(NAMES), 1]


def test_why_an_experiment_has_no_answer_comes_from_the_task(
    cell: Path, bucket: Bucket, tasks: list[int]
) -> None:
    short = "n_windows = 1"
    experiment = find("packing_base")
    here = experiment.run(EngineTables.of(cell).filter(short))
    there = experiment.run(on_spark().filter(short))
    assert tasks == [1]
    assert here.not_applicable
    assert there.not_applicable == here.not_applicable


def test_what_a_task_could_not_read_is_an_error(bucket: Bucket, tasks: list[int]) -> None:
    tables = on_spark()
    for path in (bucket.root / "store" / "tasks").glob("*"):
        path.write_bytes(b"")
    with pytest.raises(StoreError):
        find("packing_base").run(tables, **OPTIONS)


def test_a_store_on_a_disk_is_studied_here(cell: Path) -> None:
    tables = EngineTables.of(cell)
    tables.origin = replace(tables.origin, engine="spark://host:7077")
    assert not isinstance(find("packing_base").subject(tables), StudyInTask)
