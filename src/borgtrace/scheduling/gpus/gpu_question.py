"""Questions about GPU scheduling, asked of a folder with FGD's files or of a store whose trace says as much."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from borgtrace.errors import check_names
from borgtrace.question import EngineTables, Provenance, Result, Row
from borgtrace.question.store_question import NamedCode, StoreQuestion
from borgtrace.scheduling.gpus.folder import GpuFolder, open_folder
from borgtrace.scheduling.gpus.gpu_options import label_of, named_schedulers
from borgtrace.scheduling.gpus.stored_workload import workload_of_store
from borgtrace.scheduling.gpus.workload import GpuWorkload
from borgtrace.schema.dialects import dialect
from borgtrace.storage import as_path
from borgtrace.store import Store
from borgtrace.store import open as open_store
from borgtrace.store.coverage import whole_trace
from borgtrace.store.layout import Layout


def open_gpu_trace(path: str | Path, memory: str = "4GB") -> Store | GpuFolder:
    """Open a store, or a folder with the files of FGD's experiments.

    Parameters
    ----------
    path
        A folder that is one of the two.
    memory
        Of the engine, for a store.

    Raises
    ------
    SourceError, StoreError
        It is neither.
    """
    if Layout(as_path(path)).manifest.exists():
        return open_store(path, memory=memory)
    return open_folder(path)


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuQuestion(StoreQuestion):
    """A question about pods on GPUs: ``compute(workloads, options, report)`` returns rows."""

    code: NamedCode = field(default=named_schedulers, compare=False)

    def run(
        self,
        store: Store | GpuFolder | str | Path,
        engine: str | None = None,
        **parameters: Any,
    ) -> Result:
        """Answer the question on a folder or a store; see the base.

        Parameters
        ----------
        store
            A folder or a store that is open, or the path of one.
        engine
            Where relational work runs, of a store.
        parameters
            See `parameters`.
        """
        subject = open_gpu_trace(store) if isinstance(store, str | Path) else store
        # The base is named: a dataclass with slots is another class than the one that `super` would look for.
        if isinstance(subject, Store):
            return StoreQuestion.run(self, subject, engine, **parameters)
        values = self.with_defaults(parameters)
        options = self.parse_options(values)
        return self.result(
            tables_of_folder(subject),
            self.recorded_parameters(values),
            lambda: self.rows_of_folder(subject, options),
            code=self.code(options),
        )

    def about(self, trace: Store | GpuFolder) -> GpuQuestion:
        """Return the question as it is asked of one's own data: without claims where arrivals are drawn.

        What was published is of other arrivals, so that none of the claims can be judged.

        Parameters
        ----------
        trace
            What it is asked of.
        """
        has_published_arrivals = isinstance(trace, GpuFolder) and trace.arrivals is not None
        return self if has_published_arrivals else replace(self, claims=())

    def recorded_parameters(self, parameters: Mapping[str, Any]) -> Mapping[str, Any]:
        """Name schedulers that were given as objects by their labels."""
        policies = [label_of(policy) for policy in parameters["policies"]]
        return {**parameters, "policies": policies}

    def rows_of_folder(self, folder: GpuFolder, options: Any) -> Sequence[Row]:
        """Return the rows of the answer on a folder."""
        return self.rows_of_workloads(folder.workloads(options.workloads), options)

    def rows_of_store(self, store: Store, tables: EngineTables, options: Any, /) -> Sequence[Row]:
        """Return the rows of the answer on a store, which is one workload; see the base.

        Raises
        ------
        UsageError
            Another workload is named.
        """
        own_names = ("default", store.path.name)
        check_names("--workload", options.workloads, own_names, "a store is one list of pods")
        return self.rows_of_workloads([workload_of_store(store, tables)], options)

    def rows_of_workloads(self, workloads: Sequence[GpuWorkload], options: Any) -> Sequence[Row]:
        """Return the rows of the answer on workloads."""
        rows: Sequence[Row] = self.compute(workloads, options, self.report)
        return rows


def tables_of_folder(folder: GpuFolder) -> EngineTables:
    """Return what stands for the tables of a store: none, with where the answer comes from."""
    origin = Provenance(store=str(folder.path), digest=folder.digest, generation="openb")
    return EngineTables({}, origin, coverage=whole_trace(dialect("openb")))
