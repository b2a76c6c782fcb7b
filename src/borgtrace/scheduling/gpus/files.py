"""The files of FGD's experiments: the nodes, the pods of each workload, and in which order pods arrived in each run.

They are CSV with a header, plain or packed by gzip, as Alibaba and the authors of FGD publish them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

from borgtrace.errors import SourceError, check_names
from borgtrace.kernels.arrays import Index
from borgtrace.scheduling.gpus.arrivals import PodArrivals
from borgtrace.scheduling.gpus.cell import MOST_DEVICES, WHOLE
from borgtrace.scheduling.gpus.nodes import GpuNodes
from borgtrace.scheduling.gpus.pods import GpuPods
from borgtrace.scheduling.gpus.workload import GpuWorkload
from borgtrace.storage import NotRegularError, as_path, open_regular, read_regular
from borgtrace.store.manifest import Manifest
from borgtrace.version import __version__

NODES = "openb_node_list_gpu_node"
PODS = "openb_pod_list_"
ARRIVALS = "openb_arrivals"
ENDINGS = (".csv", ".csv.gz")
OF_PAPER = ("default", "cpu100", "gpushare60", "gpuspec33", "multigpu20")
"""Workloads of the paper's tables."""
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


@dataclass(frozen=True, slots=True)
class GpuFolder:
    """A folder with the files.

    Attributes
    ----------
    path
        Where it is.
    nodes
        The list of nodes.
    pods
        The list of pods of each workload, by its name.
    arrivals
        The file with the arrivals of published runs; None where there is none.
    """

    path: Path
    nodes: Path
    pods: Mapping[str, Path]
    arrivals: Path | None

    @property
    def manifest(self) -> Manifest:
        """What a store of these files would say of them; nothing is ingested."""
        return Manifest(
            generation="openb",
            cell="",
            time_zone="",
            code_version=__version__,
            digest=self.digest,
            tables={},
            sources=(),
        )

    @property
    def digest(self) -> str:
        """SHA-256 of the names and the bytes of all files."""
        digest = hashlib.sha256()
        for file in (self.nodes, *self.pods.values(), *filter(None, [self.arrivals])):
            digest.update(f"{file.name} {hashlib.sha256(read_regular(file)).hexdigest()}".encode())
        return digest.hexdigest()

    def workloads(self, names: Sequence[str] = ()) -> list[GpuWorkload]:
        """Read workloads.

        Parameters
        ----------
        names
            Of the lists of pods; where empty, those of FGD's paper, or all where none of these is there.

        Raises
        ------
        UsageError
            There is no such list.
        SourceError
            A file cannot be read.
        """
        check_names("--workload", names, self.pods, "no such list of pods")
        of_paper = [name for name in OF_PAPER if name in self.pods]
        nodes = read_nodes(self.nodes)
        published = read_arrivals(self.arrivals) if self.arrivals else {}
        workloads = []
        for name in names or of_paper or self.pods:
            pods = read_pods(self.pods[name])
            own = {seed: run for (workload, seed), run in published.items() if workload == name}
            for seed, run in own.items():
                check_arrivals(self.arrivals, f"{name}, seed {seed}", run, len(pods), len(nodes))
            workloads.append(GpuWorkload(name, nodes, pods, own))
        return workloads


def open_folder(path: str | Path) -> GpuFolder:
    """Find the files in a folder.

    Raises
    ------
    SourceError
        It is no folder, or has no list of nodes or of pods.
    """
    folder = as_path(path)
    if not folder.is_dir():
        raise SourceError(str(folder), "no such folder")
    files = {entry.name: entry for entry in sorted(folder.iterdir())}
    pods = {}
    for name, file in files.items():
        stem = name.removesuffix(".gz").removesuffix(".csv")
        if name.startswith(PODS) and name.endswith(ENDINGS):
            pods[stem.removeprefix(PODS)] = file
    nodes = [files[NODES + ending] for ending in ENDINGS if NODES + ending in files]
    arrivals = [files[ARRIVALS + ending] for ending in ENDINGS if ARRIVALS + ending in files]
    if not nodes or not pods:
        raise SourceError(
            str(folder),
            "no files of FGD's experiments",
            expected=f"{NODES}.csv and {PODS}default.csv, packed by gzip or not",
            way_out="they are in data/csv of hkust-adsl/kubernetes-scheduler-simulator on GitHub",
        )
    return GpuFolder(folder, nodes[0], pods, arrivals[0] if arrivals else None)


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


def check_arrivals(
    path: Path | None, run: str, arrivals: PodArrivals, n_pods: int, n_nodes: int
) -> None:
    """Refuse arrivals of pods or nodes that are not there.

    Raises
    ------
    SourceError
        A place is beyond the list, or ranks are not those of all nodes.
    """
    is_right = arrivals.pods.max(initial=-1) < n_pods and len(arrivals.node_rank) == n_nodes
    if not is_right:
        raise SourceError(
            f"{path}: {run}",
            "arrivals of other lists",
            expected=f"places below {n_pods:,}, and ranks of {n_nodes:,} nodes",
            got=f"place {arrivals.pods.max(initial=-1):,}, and {len(arrivals.node_rank):,} ranks",
        )


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
