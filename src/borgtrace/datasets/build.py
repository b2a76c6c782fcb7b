"""Build a dataset from a store: choose traces, split them, measure, then write every file in one pass."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

from borgtrace.datasets import card, metadata, publishing
from borgtrace.datasets.build_here import BuildHere
from borgtrace.datasets.chosen_by_task import BuildByTasks
from borgtrace.datasets.formats.arrays import FeatureNames
from borgtrace.datasets.leakage import Leakage
from borgtrace.datasets.metadata import DatasetFile, Metadata, SelectionCounts
from borgtrace.datasets.options import DatasetOptions
from borgtrace.datasets.scaling import Scaling, SeriesMoments, merge, scaling_of
from borgtrace.datasets.trace_index import Counts
from borgtrace.engine import SparkTasks
from borgtrace.errors import UsageError
from borgtrace.storage import RemotePath, as_path, check_free, new_folder
from borgtrace.store import Store

Result = TypeVar("Result")
Progress = Callable[[str, int, int], None]
"""Called with the step, how much of it is done, and how much there is."""


@dataclass(frozen=True, slots=True)
class BuildResult:
    """What was built.

    Attributes
    ----------
    path
        The dataset's folder.
    is_new
        False where the same dataset was already there.
    counts
        Traces in each set.
    n_matched
        Traces that fit the selection.
    windows
        Windows of the traces in all sets.
    removed
        Traces and windows of all tasks with usage (at ``"all"``), and what each criterion leaves out of them.
    leakage
        What the sets share.
    scalings
        How each series was scaled.
    """

    path: Path
    is_new: bool
    counts: dict[str, int]
    n_matched: int
    windows: int
    removed: dict[str, Counts]
    leakage: tuple[str, ...]
    scalings: tuple[Scaling, ...]

    @classmethod
    def of(
        cls,
        path: Path,
        is_new: bool,
        about: Metadata,
    ) -> BuildResult:
        """Return the result for a dataset of this metadata.

        Parameters
        ----------
        path
            The dataset's folder.
        is_new
            Whether it was built now.
        about
            Its metadata.
        """
        return cls(
            path=path,
            is_new=is_new,
            counts=about.counts,
            n_matched=about.n_matched,
            windows=about.windows,
            removed=about.removed,
            leakage=about.leakage,
            scalings=about.scalings,
        )


def build(
    store: Store,
    out: Path | str,
    options: DatasetOptions | None = None,
    *,
    replace: bool = False,
    threads: int | SparkTasks | None = None,
    progress: Progress | None = None,
) -> BuildResult:
    """Build a dataset.

    Parameters
    ----------
    store
        Where the traces come from.
    out
        Folder to create.  If it already holds the very same dataset, nothing is done.
    options
        See :class:`~borgtrace.datasets.options.DatasetOptions`.
    replace
        Whether to replace another dataset in `out`, once this one is complete.
    threads
        Threads that gather, encode and write; all cores where None.  They do not change a byte.  Or Spark's executors,
        which must see the store and `out` under the same names, in a bucket for instance.
    progress
        Called at each step.

    Raises
    ------
    UsageError
        An option makes no sense for this store, nothing matches, or `out` holds something else.  Nothing
        is written then.
    StoreError
        Another process is writing to `out`.
    """
    out = as_path(out)
    options = options or DatasetOptions()
    # The identity digests the store's digest and all options, but not the version of this package.
    if metadata.identity_of(out) == options.identity(store.manifest.digest):
        return BuildResult.of(out, False, metadata.read(out))
    is_replacing = replace and metadata.is_dataset(out)
    if not is_replacing:
        check_new_folder(out)
    elif out.resolve() in store.path.resolve().parents:
        raise UsageError(
            str(out),
            "holds the store, which would be removed with the old dataset",
            way_out="name another folder, or move the store",
        )
    progress = progress or (lambda *_: None)
    progress("select", 0, 1)
    if isinstance(threads, SparkTasks) and isinstance(out, RemotePath):
        with new_folder(out, replaces=is_replacing) as folder, store.expect_current():
            by_tasks = BuildByTasks(store, options, threads, out)
            progress("select", 1, 1)
            # Executors copy their own files to a bucket: they may not see a folder of this machine.
            about = write_sets(store, options, by_tasks, out, progress)
            write_descriptions(folder, about, store, options)
        return BuildResult.of(out, True, about)
    here = BuildHere(store, options, threads or os.cpu_count() or 1)
    progress("select", 1, 1)
    with new_folder(out, replaces=is_replacing) as folder, store.expect_current():
        about = write_sets(store, options, here, folder.absolute(), progress)
        write_descriptions(folder, about, store, options)
    return BuildResult.of(out, True, about)


class Building(Protocol):
    """A dataset whose traces are chosen."""

    @property
    def names(self) -> FeatureNames:
        """What each trace has."""

    @property
    def selected(self) -> SelectionCounts:
        """How many traces came into the sets, and what was left out."""

    @property
    def n_blocks(self) -> int:
        """Number of blocks that are measured."""

    @property
    def files(self) -> Sequence[tuple[str, str]]:
        """Set and name of each file."""

    def leakage(self) -> Leakage:
        """Return what the sets share."""

    def measured(self) -> Iterator[SeriesMoments]:
        """Yield what was measured of each block, in order."""

    def written(self, folder: Path, scalings: tuple[Scaling, ...]) -> Iterator[DatasetFile]:
        """Write the files below a folder, and yield each, in order."""


def write_sets(
    store: Store,
    options: DatasetOptions,
    building: Building,
    folder: Path,
    progress: Progress,
) -> Metadata:
    """Scale and write the traces of all sets, and return the metadata of the dataset."""

    def reported(step: str, results: Iterable[Result], n_items: int) -> Iterator[Result]:
        for n_done, result in enumerate(results, 1):
            progress(step, n_done, n_items)
            yield result

    # While blocks are measured and files are written: traces are dealt to files, and what sets share is counted.
    with ThreadPoolExecutor(1) as background:
        names_of_files = background.submit(lambda: building.files)
        selected = background.submit(lambda: building.selected)
        leakage = background.submit(building.leakage)
        moments = merge(reported("measure", building.measured(), building.n_blocks))
        scalings = tuple(
            scaling_of(feature, options.scale, of_feature)
            for feature, of_feature in zip(options.features, moments.features(), strict=True)
        )
        files: dict[str, list[DatasetFile]] = {name: [] for name in options.split.names}
        set_and_name = names_of_files.result()
        written = reported("write", building.written(folder, scalings), len(set_and_name))
        for (set_name, _), file in zip(set_and_name, written, strict=True):
            files[set_name].append(file)
        return metadata.describe(
            store,
            options,
            names=building.names,
            scalings=scalings,
            files=files,
            leakage=leakage.result(),
            selected=selected.result(),
        )


def write_descriptions(
    folder: Path,
    about: Metadata,
    store: Store,
    options: DatasetOptions,
) -> None:
    """Write what a dataset says of itself: for our readers, for people, and for those of other libraries."""
    metadata.write(folder, about)
    dialect = store.manifest.dialect
    (folder / card.FILE).write_text(card.card(about, dialect))
    described = json.dumps(publishing.croissant(about, dialect), indent=1, ensure_ascii=False)
    (folder / publishing.CROISSANT_FILE).write_text(f"{described}\n")
    if options.is_original:
        metadata.write_original(folder, about)


def check_new_folder(out: Path) -> None:
    """Refuse a folder that holds something, and say how to replace another dataset in it."""
    if metadata.is_dataset(out):
        raise UsageError(
            str(out),
            "holds another dataset",
            expected="a new folder",
            got="a dataset of other options or of another store",
            way_out="name another folder, or replace it: --replace",
        )
    check_free(out)
