"""A folder with the files of FGD's experiments, whose workloads are read when they are asked for."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from borgtrace.errors import SourceError, check_names
from borgtrace.scheduling.gpus.arrivals import PodArrivals
from borgtrace.scheduling.gpus.files import read_arrivals, read_nodes, read_pods
from borgtrace.scheduling.gpus.workload import GpuWorkload
from borgtrace.storage import as_path, read_regular
from borgtrace.store.manifest import Manifest
from borgtrace.version import __version__

NODES = "openb_node_list_gpu_node"
PODS = "openb_pod_list_"
ARRIVALS = "openb_arrivals"
ENDINGS = (".csv", ".csv.gz")
OF_PAPER = ("default", "cpu100", "gpushare60", "gpuspec33", "multigpu20")
"""Workloads of the paper's tables."""


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
