"""Machines that the header of a log only counts, as rows like those of its jobs."""

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from borgtrace.ingest.files.sources import MachineGroup


def write_counted_machines(groups: Sequence[MachineGroup], path: Path) -> None:
    """Stage a row for each machine; they are called node1, node2 …, as the log does not name them.

    Parameters
    ----------
    groups
        Equal machines.
    path
        The staged file.
    """
    cores = [group.cores for group in groups for _ in range(group.n_machines)]
    numbers = range(1, len(cores) + 1)
    rows = pa.table(
        {
            "machine": pa.array([f"node{number}" for number in numbers], pa.string()),
            "cpu": pa.array(cores, pa.float64()),
            "source_row": pa.array([0] * len(cores), pa.int64()),
        }
    )
    pq.write_table(rows, path)
