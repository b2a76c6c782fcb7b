"""How many machines a real cluster needs at its busiest moment: counted again from the published files alone."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd

import borgtrace
from borgtrace.advice import AdviceOptions, advise
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.schema.time import HOUR, SECOND, TRACE_START
from tests.conftest import real_folder

STEP = 300.0
"""Seconds."""


def test_few_machines_hold_the_busiest_moment_of_openb(trace: Path, tmp_path: Path) -> None:
    """Of 8,152 pods at most 51 run at once by their published times: 767 cores and 60 GPUs, on 1,213 nodes."""
    folder = real_folder(trace, "openb")
    pods = pd.read_csv(folder / "openb_pod_list_default.csv.gz")
    nodes = pd.read_csv(folder / "openb_node_list_gpu_node.csv.gz")
    placed = pods[pods["scheduled_time"].notna()]
    steps = np.arange(0.0, placed["deletion_time"].max(), STEP)
    begins = np.searchsorted(steps, placed["scheduled_time"])
    ends = np.searchsorted(steps, placed["deletion_time"])
    changes = np.zeros(len(steps) + 1)
    np.add.at(changes, begins, placed["cpu_milli"])
    np.add.at(changes, np.maximum(begins, ends), -placed["cpu_milli"])
    busiest = steps[np.cumsum(changes)[:-1].argmax()]
    running = placed[(placed["scheduled_time"] <= busiest) & (placed["deletion_time"] > busiest)]
    for name in ("openb_node_list_gpu_node.csv.gz", "openb_pod_list_default.csv.gz"):
        (tmp_path / name.replace("_gpu_node", "").replace("_default", "")).symlink_to(folder / name)
    ingest([tmp_path], tmp_path / "store", IngestOptions(jobs=1))
    advice = advise(borgtrace.open(tmp_path / "store"), AdviceOptions())
    rows = {row["fleet"]: row for row in advice.machines.table.to_pylist()}
    today = rows["today"]
    assert today["at"] == TRACE_START + busiest * SECOND
    assert today["at"] == TRACE_START + round(3478 * HOUR + 25 * 60 * SECOND)
    assert (today["tasks"], today["nodes"]) == (len(running), len(nodes)) == (51, 1213)
    share = running["cpu_milli"].sum() / nodes["cpu_milli"].sum()
    assert math.isclose(today["cpu_requested"], share, rel_tol=1e-4)
    # Not fewer than the largest nodes that have as many cores and GPUs, nor more than one for each pod.
    least = max(
        running["cpu_milli"].sum() / nodes["cpu_milli"].max(),
        (running["num_gpu"] * running["gpu_milli"] / 1000).sum() / nodes["gpu"].max(),
    )
    assert math.ceil(least) <= rows["requests"]["nodes"] <= len(running)
    assert rows["requests"]["nodes"] == 15
    assert advice.sentences.machines[0] == (
        "Machines of today's shapes for the 51 tasks that run at the busiest moment (3,478 h): 15 as requested; "
        "1,213 are there."
    )
