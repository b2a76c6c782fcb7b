"""The files of FGD's experiments: the nodes, the pods of each workload, and in which order pods arrived in each run.

They are CSV with a header, plain or packed by gzip, as Alibaba and the authors of FGD publish them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

from borgtrace.errors import SourceError
from borgtrace.kernels.arrays import Index
from borgtrace.scheduling.gpus.arrivals import PodArrivals
from borgtrace.scheduling.gpus.cell import MOST_DEVICES, WHOLE
from borgtrace.scheduling.gpus.nodes import GpuNodes
from borgtrace.scheduling.gpus.pods import GpuPods
from borgtrace.storage import NotRegularError, open_regular

LARGEST = 2**40
"""No request or capacity is larger: what is added up stays far below 2⁶³."""

NODE_COLUMNS = {
    "sn": pa.string(),
    "cpu_milli": pa.int64(),
    "memory_mib": pa.int64(),
    "gpu": pa.int64(),
    "model": pa.string(),
}
POD_COLUMNS = {
    "name": pa.string(),
    "cpu_milli": pa.int64(),
    "memory_mib": pa.int64(),
    "num_gpu": pa.int64(),
    "gpu_milli": pa.int64(),
    "gpu_spec": pa.string(),
    "creation_time": pa.int64(),
    "deletion_time": pa.int64(),
    "scheduled_time": pa.int64(),
}
TIMES = ("creation_time", "deletion_time", "scheduled_time")
NOT_IN_ALL = ("gpu_spec", *TIMES)
"""Columns that some lists of pods lack."""
ARRIVAL_COLUMNS = {
    "workload": pa.string(),
    "seed": pa.int64(),
    "kind": pa.string(),
    "indices": pa.string(),
}


def read_nodes(path: Path) -> GpuNodes:
    """Read a list of nodes, in the order of the file.

    Raises
    ------
    SourceError
        It cannot be read, or a value is out of range.
    """
    table = read_columns(path, NODE_COLUMNS)
    n_devices = integers(path, table, "gpu", MOST_DEVICES)
    names, model = np.unique(texts(table, "model"), return_inverse=True)
    return GpuNodes(
        names=texts(table, "sn"),
        cpu=integers(path, table, "cpu_milli", LARGEST),
        memory=integers(path, table, "memory_mib", LARGEST),
        n_devices=n_devices,
        model=model.astype(np.int64),
        models=names.tolist(),
    )


def read_pods(path: Path) -> GpuPods:
    """Read a list of pods, sorted by name.

    Raises
    ------
    SourceError
        It cannot be read, or a value is out of range.
    """
    table = read_columns(path, POD_COLUMNS, optional=NOT_IN_ALL)
    n_gpus = integers(path, table, "num_gpu", MOST_DEVICES)
    gpu_milli = integers(path, table, "gpu_milli", WHOLE)
    # A share of several devices would be a pod of a kind that neither the trace nor its simulator has.
    is_odd = ((n_gpus != 1) & (gpu_milli % WHOLE > 0)) | ((n_gpus == 0) != (gpu_milli == 0))
    if is_odd.any():
        first = int(np.flatnonzero(is_odd)[0])
        raise SourceError(
            f"{path}: row {first + 1}",
            "no request for GPUs",
            expected="gpu_milli 0 without GPUs, up to 1000 of one, 1000 of each of several",
            got=f"num_gpu {n_gpus[first]}, gpu_milli {gpu_milli[first]}",
        )
    has_times = set(TIMES) <= set(table.column_names)
    pods = GpuPods(
        names=texts(table, "name"),
        cpu=integers(path, table, "cpu_milli", LARGEST),
        memory=integers(path, table, "memory_mib", LARGEST),
        n_gpus=n_gpus,
        gpu_milli=gpu_milli,
        spec=texts(table, "gpu_spec"),
        times=times_of(path, table) if has_times else None,
    )
    return pods.sorted_by_name()


def times_of(path: Path, table: pa.Table) -> Index:
    """Return when pods were submitted, and how long they ran; those that never started: until they were deleted.

    Raises
    ------
    SourceError
        A time is missing or negative, or a pod ends before it starts.
    """
    submitted = integers(path, table, "creation_time", LARGEST)
    deleted = integers(path, table, "deletion_time", LARGEST)
    scheduled = table["scheduled_time"].fill_null(-1).to_numpy().astype(np.int64)
    started = np.where(scheduled < 0, submitted, scheduled)
    is_wrong = deleted < started
    if is_wrong.any():
        row = int(np.flatnonzero(is_wrong)[0])
        raise SourceError(
            f"{path}: row {row + 1}",
            "a pod ends before it starts",
            got=f"scheduled_time {started[row]}, deletion_time {deleted[row]}",
        )
    return np.column_stack([submitted, deleted - started])


def read_arrivals(path: Path) -> dict[tuple[str, int], PodArrivals]:
    """Read the arrivals of published runs, by workload and seed.

    Raises
    ------
    SourceError
        It cannot be read, or is no such file.
    """
    table = read_columns(path, ARRIVAL_COLUMNS)
    lists: dict[tuple[str, int], dict[str, Index]] = {}
    for row, line in enumerate(table.to_pylist(), start=1):
        try:
            numbers = np.array(line["indices"].split(), dtype=np.int64)
        except ValueError:
            numbers = np.array([-1])
        if numbers.min(initial=0) < 0 or line["kind"] not in ("pods", "node_rank"):
            raise SourceError(
                f"{path}: row {row}",
                "no arrivals",
                expected="kind pods or node_rank, and places from 0",
            )
        lists.setdefault((line["workload"], line["seed"]), {})[line["kind"]] = numbers
    arrivals = {}
    for run, kinds in lists.items():
        if len(kinds) < 2:
            raise SourceError(
                str(path), f"half of the run {run[0]}, seed {run[1]}", expected="pods and node_rank"
            )
        arrivals[run] = PodArrivals(pods=kinds["pods"], node_rank=kinds["node_rank"])
    return arrivals


def read_columns(
    path: Path, types: Mapping[str, pa.DataType], optional: Sequence[str] = ()
) -> pa.Table:
    """Read columns of a CSV file with a header.

    Parameters
    ----------
    path
        The file; packed by gzip where its name ends so.
    types
        The columns, with their types.
    optional
        Those that it may lack.

    Raises
    ------
    SourceError
        It cannot be read, lacks a column, or a value has another type.
    """
    compression = "gzip" if path.suffix == ".gz" else None
    convert = pa_csv.ConvertOptions(column_types=types, strings_can_be_null=False)
    try:
        with open_regular(path) as file, pa.input_stream(file, compression=compression) as stream:
            table = pa_csv.read_csv(stream, convert_options=convert)
    except (NotRegularError, OSError, pa.ArrowInvalid, EOFError) as error:
        raise SourceError(str(path), f"cannot be read as CSV: {error}") from error
    for name in types:
        if name not in table.column_names and name not in optional:
            raise SourceError(
                str(path),
                f"no column {name}",
                got=", ".join(table.column_names[:8]),
            )
    return table.select([name for name in types if name in table.column_names])


def integers(path: Path, table: pa.Table, name: str, most: int) -> Index:
    """Return a column of whole numbers from 0 to `most`; raise SourceError where one is not."""
    column = table[name]
    values: Index = column.fill_null(-1).to_numpy().astype(np.int64)
    is_wrong = (values < 0) | (values > most)
    if is_wrong.any():
        row = int(np.flatnonzero(is_wrong)[0])
        raise SourceError(
            f"{path}: row {row + 1}",
            f"{name} is out of range",
            expected=f"0 to {most}",
            got=str(column[row].as_py()),
        )
    return values


def texts(table: pa.Table, name: str) -> list[str]:
    """Return a column of texts; empty ones where the table lacks it."""
    if name not in table.column_names:
        return [""] * table.num_rows
    return [text or "" for text in table[name].to_pylist()]
