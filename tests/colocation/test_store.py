"""Pools of whole stores, both generations, against the same steps written in pandas."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import borgtrace
from borgtrace.colocation import prepare_pool
from borgtrace.errors import UsageError
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.store.coverage import coverage
from borgtrace.synth import generate

KEY = ["collection_id", "instance_index"]


@pytest.fixture(scope="module", params=["2011", "2019"])
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp(f"cell{request.param}")
    generate(
        folder / "raw",
        generation=request.param,
        machines=12,
        hours=4,
        seed=5,
    )
    ingest([folder / "raw"], folder / "store", IngestOptions(jobs=1))
    return folder / "store"


def read(store: Path, table: str) -> pd.DataFrame:
    columns = {
        "tasks": [*KEY, "collection_type", "n_evict", "n_fail", "n_kill", "n_lost", "cpu_request"],
        "instance_usage": [
            *KEY,
            "start_time",
            "end_time",
            "sampled_cpu",
            "average_cpu",
            "average_memory",
        ],
    }[table]
    return pq.read_table(
        sorted(store.glob(f"{table}/part-*.parquet")),
        columns=columns,
    ).to_pandas()


def test_the_pool_of_a_store_said_again(store: Path) -> None:
    opened = borgtrace.open(store)
    pool = prepare_pool(opened)
    tasks = read(store, "tasks").set_index(KEY)
    usage = read(store, "instance_usage")
    usage["seconds"] = (usage.end_time - usage.start_time) // 1_000_000
    by = usage.groupby(KEY)
    is_long = by.size() >= 24 if opened.manifest.generation == "2011" else by.seconds.sum() >= 7200
    fine = (tasks.collection_type == "JOB") & (
        tasks[["n_evict", "n_fail", "n_kill", "n_lost"]].sum(axis=1) == 0
    )
    kept = is_long & (by.sampled_cpu.max() > 0) & fine.reindex(is_long.index)
    expected = usage.set_index(KEY).loc[kept[kept].index].reset_index()
    expected = expected.dropna(subset=["sampled_cpu", "average_cpu"])
    expected = expected.sort_values([*KEY, "start_time"], kind="stable")

    assert len(pool) == kept.sum() > 20
    ids = pd.MultiIndex.from_arrays([pool.collection_id, pool.instance_index])
    assert ids.equals(pd.MultiIndex.from_frame(expected[KEY].drop_duplicates()))
    np.testing.assert_array_equal(pool.n_windows, expected.groupby(KEY).size())
    np.testing.assert_array_equal(pool.inst, expected.sampled_cpu)
    average = expected.average_cpu.where(expected.average_cpu <= 1, expected.sampled_cpu)
    np.testing.assert_array_equal(pool.avg, average)
    np.testing.assert_array_equal(pool.start, expected.start_time // 1_000_000)
    np.testing.assert_array_equal(pool.seconds, expected.seconds)
    memory = expected.groupby(KEY).average_memory.ffill().to_numpy()
    np.testing.assert_array_equal(
        pool.memory[~np.isnan(memory)],
        memory[~np.isnan(memory)],
    )
    assert pool.part == coverage(opened.manifest)
    np.testing.assert_array_equal(pool.cpu_request, tasks.cpu_request.loc[ids])
    assert pool.is_synthetic
    assert pool.is_weighted == (opened.manifest.generation == "2019")


def test_percentiles_know_what_the_sampled_second_knows(store: Path) -> None:
    """2019: draws from the percentiles have the mean of the averages; 2011 has none and says so."""
    opened = borgtrace.open(store)
    if opened.manifest.generation == "2011":
        with pytest.raises(UsageError) as error:
            prepare_pool(opened, instantaneous="histogram")
        assert str(error.value) == (
            f"{store}: 2011 publishes no percentiles of CPU usage; take the sampled second"
        )
        return
    pool = prepare_pool(opened, instantaneous="histogram")
    drawn = pool.draw(np.arange(len(pool)), 2000).mean(axis=1)
    assert drawn.mean() == pytest.approx(pool.mean("avg").mean(), rel=0.05)
    sampled = prepare_pool(opened)
    np.testing.assert_array_equal(pool.inst, sampled.inst)


def test_the_real_parts_have_no_long_tasks(real_store: Path) -> None:
    """One usage window per task could be had: the answer is a sentence with counts."""
    with pytest.raises(UsageError) as error:
        prepare_pool(borgtrace.open(real_store))
    text = str(error.value)
    assert text.startswith(f"{real_store}: no long task is left of 676: ")
    assert "fewer than 24 windows" in text
