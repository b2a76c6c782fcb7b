"""The algorithm of 2017, stated again in a few lines over an exported index, gives the same dataset."""

from __future__ import annotations

import hashlib
import json
import math
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from borgtrace import datasets
from borgtrace.datasets import DatasetOptions, Selection, build
from borgtrace.export import JobsLayout, export_jobs
from borgtrace.store import Store

Trace = tuple[str, int, int]


def _read(export: Path, trace: Trace) -> list[float]:
    query = "SELECT `CPU rate` FROM `task_usage` WHERE `task index` = ? ORDER BY `start time`"
    with closing(sqlite3.connect(export / trace[0])) as connection:
        return [rate for (rate,) in connection.execute(query, (trace[2],))]


def _original(export: Path, seed: int, most: int) -> tuple[dict[str, list[Trace]], float, float]:
    rows = [line.split(",") for line in (export / "index.csv").read_text().splitlines()]
    traces = []
    for path, _, _, job, task, length, *_ in rows:
        if 5 <= int(length) <= 50:
            traces.append((path, int(job), int(task)))
    np.random.RandomState(seed).shuffle(traces)
    traces = traces[: min(len(traces), most)]
    sizes = [int(fraction * len(traces)) for fraction in (0.7, 0.1, 0.2)]
    ends = np.cumsum(sizes)
    names = ("training", "validation", "testing")
    sets = {
        name: traces[end - size : end] for name, size, end in zip(names, sizes, ends, strict=True)
    }
    total = 0.0
    count = 0
    mean = 0.0
    squares = 0.0
    for value in (value for trace in sets["training"] for value in _read(export, trace)):
        total = total + value
        count = count + 1
        delta = value - mean
        mean += delta / count
        squares += delta * (value - mean)
    return sets, total / count, math.sqrt(squares / (count - 1))


@pytest.mark.parametrize(("seed", "most"), [(0, 10_000), (7, 60)])
def test_sets_order_shards_and_numbers_are_those_of_2017(
    store: Store,
    tmp_path: Path,
    seed: int,
    most: int,
) -> None:
    known = "n_windows = (select count(average_cpu) from instance_usage u where u.collection_id = tasks.collection_id"
    selection = Selection(
        sample=most, where=f"{known} and u.instance_index = tasks.instance_index)"
    )
    export_jobs(
        store,
        tmp_path / "jobs",
        JobsLayout("sqlite"),
        has_header=False,
        workers=1,
    )
    _drop_incomplete(tmp_path / "jobs")
    build(
        store,
        tmp_path / "d",
        DatasetOptions(
            selection=selection,
            compat="original",
            seed=seed,
        ),
    )
    sets, mean, deviation = _original(tmp_path / "jobs", seed, most)
    found = datasets.open(tmp_path / "d")
    assert found.metadata.scalings[0].offset == mean
    assert found.metadata.scalings[0].divisor == deviation
    for name, traces in sets.items():
        files: dict[str, list[Trace]] = {}
        for trace in traces:
            shard = hashlib.md5(",".join(map(str, trace)).encode()).hexdigest()[:2]
            files.setdefault(f"{shard}.tfrecords", []).append(trace)
        assert {path.name for path in found[name].paths} == set(files)
        for path in found[name].paths:
            part = found[name].arrays(path)
            assert [(job, task) for job, task, *_ in part.identity.tolist()] == [
                t[1:] for t in files[path.name]
            ]
            values = [
                (value - mean) / deviation
                for t in files[path.name]
                for value in _read(tmp_path / "jobs", t)
            ]
            np.testing.assert_array_equal(part.values[:, 0], np.float32(values))
        told = json.loads((tmp_path / "d" / name / "meta.json").read_text())
        assert told == {
            "dimension_count": 1,
            "path_count": len(files),
            "sample_count": len(traces),
        }


def _drop_incomplete(export: Path) -> None:
    """Leave out of the index what the pipeline of 2017 could not read: traces with an empty CPU rate."""
    index = export / "index.csv"
    kept = []
    for line in index.read_text().splitlines():
        path, _, _, job, task, *_ = line.split(",")
        if None not in _read(export, (path, int(job), int(task))):
            kept.append(line)
    index.write_text("".join(f"{line}\n" for line in kept))
