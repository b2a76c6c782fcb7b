"""The pods of a workload, what they request, and which of these requests are typical."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from borgtrace.kernels.arrays import Flags, Index
from borgtrace.scheduling.gpus.cell import CPU_ONLY, SHARING, WHOLE, PodKinds, TypicalPods

COVERED_PERCENT = 95
"""Of the pods, how many typical kinds cover at least."""


@dataclass(frozen=True, slots=True)
class GpuPods:
    """The pods of a workload.

    Attributes
    ----------
    names
        What they are called.
    cpu, memory
        Shape (pods,): thousandths of a core; MiB.
    n_gpus, gpu_milli
        Shape (pods,): devices, and thousandths of each.
    spec
        Which models they may use, joined by ``|``; all where empty.
    times
        Shape (pods, 2): second at which each was submitted, and how many it runs; None where nobody knows.
    """

    names: Sequence[str]
    cpu: Index
    memory: Index
    n_gpus: Index
    gpu_milli: Index
    spec: Sequence[str]
    times: Index | None = None

    def __len__(self) -> int:
        return len(self.names)

    @property
    def total(self) -> Index:
        """Shape (pods,): thousandths of all devices that each requests."""
        return self.n_gpus * self.gpu_milli

    def sorted_by_name(self) -> GpuPods:
        """Return the pods in the order of their names, as text."""
        order = np.argsort(np.array(self.names, dtype=np.str_), kind="stable")
        places = order.tolist()
        return GpuPods(
            names=[self.names[place] for place in places],
            cpu=self.cpu[order],
            memory=self.memory[order],
            n_gpus=self.n_gpus[order],
            gpu_milli=self.gpu_milli[order],
            spec=[self.spec[place] for place in places],
            times=None if self.times is None else self.times[order],
        )

    def kinds(self, models: Sequence[str]) -> tuple[PodKinds, Index]:
        """Return the kinds of pods, and of which kind each is.

        Parameters
        ----------
        models
            Names of the models that nodes have.
        """
        specs, spec = np.unique(np.array(self.spec, dtype=np.str_), return_inverse=True)
        table = np.column_stack([self.cpu, self.memory, self.n_gpus, self.gpu_milli, spec])
        rows, kind, n_listed = np.unique(table, axis=0, return_inverse=True, return_counts=True)
        cpu, memory, n_gpus, gpu_milli, spec_of_kind = np.ascontiguousarray(rows.T)
        shapes = np.column_stack([cpu, n_gpus, gpu_milli])
        shape = np.unique(shapes, axis=0, return_inverse=True)[1]
        kinds = PodKinds(
            cpu=cpu,
            memory=memory,
            n_gpus=n_gpus,
            gpu_milli=gpu_milli,
            total=n_gpus * gpu_milli,
            pod_class=classes_of(n_gpus, gpu_milli),
            allowed=allowed_models(specs.tolist(), models)[spec_of_kind],
            shape=shape.reshape(-1),
            n_listed=n_listed,
        )
        return kinds, kind.reshape(-1)

    def typical(self, models: Sequence[str], covered_percent: int = COVERED_PERCENT) -> TypicalPods:
        """Return the most frequent kinds, without regard to memory, that cover most pods.

        The most frequent come first; of equally frequent ones that with the most CPU, then the largest part of a
        device, then the most devices, then the last spec as text.

        Parameters
        ----------
        models
            Names of the models that nodes have.
        covered_percent
            Of the pods, how many they cover at least.
        """
        counts: dict[tuple[int, int, int, str], int] = {}
        columns = (self.cpu.tolist(), self.gpu_milli.tolist(), self.n_gpus.tolist(), self.spec)
        for request in zip(*columns, strict=True):
            counts[request] = counts.get(request, 0) + 1
        by_count = sorted(((n, request) for request, n in counts.items()), reverse=True)
        weights: list[float] = []
        n_covered = 0
        for n, _ in by_count:
            if 100 * n_covered >= covered_percent * len(self):
                break
            n_covered += n
            weights.append(n / len(self))
        chosen = [request for _, request in by_count[: len(weights)]]
        cpu, gpu_milli, n_gpus = (
            np.array([request[:3] for request in chosen], dtype=np.int64).reshape(-1, 3).T
        )
        # Divided twice, as FGD does: the last bit of a weight may decide where a pod goes.
        weight = np.array(weights) / (n_covered / max(len(self), 1))
        return TypicalPods(
            cpu=np.ascontiguousarray(cpu),
            n_gpus=np.ascontiguousarray(n_gpus),
            gpu_milli=np.ascontiguousarray(gpu_milli),
            allowed=allowed_models([request[3] for request in chosen], models),
            weight=weight,
        )


def classes_of(n_gpus: Index, gpu_milli: Index) -> Index:
    """Return the class of pods: CPU-only, sharing, or 1, 2, 4, 8 whole devices (others count as the next above)."""
    whole = SHARING + 1 + np.searchsorted([1, 2, 4], n_gpus)
    is_sharing = (n_gpus == 1) & (gpu_milli < WHOLE)
    return np.where(n_gpus == 0, CPU_ONLY, np.where(is_sharing, SHARING, whole))


def allowed_models(specs: Sequence[str], models: Sequence[str]) -> Flags:
    """Return which models each spec names: bool (specs, models); an empty one allows all.

    Examples
    --------
    >>> allowed_models(["T4|P100", ""], ["P100", "G2", "T4"]).astype(int).tolist()
    [[1, 0, 1], [1, 1, 1]]
    """
    allowed = np.ones((len(specs), len(models)), dtype=np.bool_)
    for row, spec in enumerate(specs):
        if spec:
            allowed[row] = np.isin(np.array(models, dtype=np.str_), spec.split("|"))
    return allowed
