"""``meta.json``: what a dataset was made from and how, enough to say exactly what was trained on."""

import json
from dataclasses import asdict, dataclass
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

from borgtrace.datasets.formats.arrays import FeatureNames
from borgtrace.datasets.leakage import Leakage, Overlap
from borgtrace.datasets.options import DatasetOptions
from borgtrace.datasets.scaling import Scaling
from borgtrace.datasets.trace_index import Counts
from borgtrace.errors import StoreError, shell_word
from borgtrace.storage import read_text
from borgtrace.store import Store

FILE = "meta.json"
KIND = "borgtrace dataset"
FORMAT_VERSION = "1.0"
BUILD_AGAIN = "build the dataset again"


@dataclass(frozen=True, slots=True)
class DatasetFile:
    """One file of a set: name, records, size in bytes."""

    name: str
    records: int
    size: int


@dataclass(frozen=True, slots=True)
class SelectionCounts:
    """Traces that fit the selection, windows of those in all sets, and what each criterion leaves out."""

    n_matched: int
    windows: int
    removed: dict[str, Counts]


class Metadata:
    """What ``meta.json`` says.

    Attributes
    ----------
    raw
        All of it, as it stands there.
    """

    def __init__(self, raw: dict[str, Any]) -> None:
        self.raw = raw

    @property
    def format(self) -> str:
        """Format of the files."""
        return str(self.raw["options"]["format"])

    @property
    def is_compressed(self) -> bool:
        """Whether the files are compressed."""
        return bool(self.raw["options"]["is_compressed"])

    @property
    def n_matched(self) -> int:
        """Traces that fit the selection."""
        return int(self.raw["n_matched"])

    @property
    def windows(self) -> int:
        """Windows of the traces in all sets; 0 in a dataset of an earlier version, which did not record them."""
        return int(self.raw.get("windows", 0))

    @property
    def removed(self) -> dict[str, Counts]:
        """Traces and windows of all tasks with usage (at ``"all"``), and what each criterion leaves out of them."""
        return {
            option: (traces, windows)
            for option, (traces, windows) in self.raw.get("removed", {}).items()
        }

    @cached_property
    def names(self) -> FeatureNames:
        """Names of what each trace has."""
        return FeatureNames(
            series=tuple(self.raw["features"]),
            numbers=tuple(self.raw["static_numbers"]),
            words={name: tuple(words) for name, words in self.raw["static_words"].items()},
        )

    @cached_property
    def scalings(self) -> tuple[Scaling, ...]:
        """How each series was scaled, and the way back."""
        return tuple(Scaling(**entry) for entry in self.raw["scaling"])

    @cached_property
    def files(self) -> dict[str, tuple[DatasetFile, ...]]:
        """Files of each set."""
        files = {}
        for name, entry in self.raw["sets"].items():
            files[name] = tuple(DatasetFile(**file) for file in entry["files"])
        return files

    @property
    def counts(self) -> dict[str, int]:
        """Traces in each set."""
        return {name: int(entry["traces"]) for name, entry in self.raw["sets"].items()}

    @property
    def leakage(self) -> tuple[str, ...]:
        """What the sets share, as sentences."""
        recorded = self.raw["leakage"]
        shared = tuple(Overlap(**overlap) for overlap in recorded["shared"])
        return Leakage(shared, recorded["running_on"]).lines()


def describe(
    store: Store,
    options: DatasetOptions,
    *,
    names: FeatureNames,
    scalings: tuple[Scaling, ...],
    files: dict[str, list[DatasetFile]],
    leakage: Leakage,
    selected: SelectionCounts,
) -> Metadata:
    """Put together what ``meta.json`` says; nothing in it depends on place or time.

    Parameters
    ----------
    store, options
        What the dataset was made from, and how.
    names
        What each trace has.
    scalings
        How each series was scaled.
    files
        Files of each set.
    leakage
        What the sets share.
    selected
        How many traces and windows came into it.
    """
    manifest = store.manifest
    sets = {}
    for name, set_files in files.items():
        sets[name] = {
            "traces": sum(file.records for file in set_files),
            # By hand, since asdict copies what it finds: the files of a set are hundreds.
            "files": [
                {"name": file.name, "records": file.records, "size": file.size}
                for file in set_files
            ],
        }
    raw = {
        "kind": KIND,
        "format_version": FORMAT_VERSION,
        "code_version": version("borgtrace"),
        "identity": options.identity(manifest.digest),
        "store": {
            "digest": manifest.digest,
            "generation": manifest.generation,
            "cell": manifest.cell,
            "synthetic": manifest.synthetic,
        },
        "options": options.recorded(),
        **asdict(selected),
        "features": list(names.series),
        "static_numbers": list(names.numbers),
        "static_words": {name: list(words) for name, words in names.words.items()},
        "scaling": [asdict(scaling) for scaling in scalings],
        "leakage": asdict(leakage),
        "sets": sets,
    }
    return Metadata(raw)


def write(folder: Path, metadata: Metadata) -> None:
    """Write ``meta.json``."""
    # Not ASCII only: words of static features stay readable.
    text = json.dumps(metadata.raw, indent=1, ensure_ascii=False)
    (folder / FILE).write_text(f"{text}\n")


def write_original(folder: Path, metadata: Metadata) -> None:
    """Write the ``meta.json`` that the pipeline of 2017 keeps in each set."""
    width = len(metadata.names.series)
    counts = metadata.counts
    for name, files in metadata.files.items():
        content = {
            "dimension_count": width,
            "path_count": len(files),
            "sample_count": counts[name],
        }
        # Files that went to a bucket left no folder here.
        (folder / name).mkdir(exist_ok=True)
        (folder / name / FILE).write_text(json.dumps(content))


def is_dataset(folder: Path) -> bool:
    """Return whether a folder holds a dataset, whole or not, that borgtrace may replace."""
    path = folder / FILE
    return path.is_file() and f'"{KIND}"' in read_text(path, errors="replace")


def identity_of(folder: Path) -> str | None:
    """Return the identity of the dataset in `folder`, None where there is no whole one."""
    try:
        raw = json.loads(read_text(folder / FILE))
        # Of another format version it is another dataset, though made from the same store in the same way.
        return str(raw["identity"]) if is_readable(raw) else None
    # Whatever is damaged counts as none: the caller goes on to refuse a folder that holds something.
    except (OSError, ValueError, KeyError, TypeError):
        return None


def read(folder: Path) -> Metadata:
    """Read ``meta.json`` and check that all files have the size they were written with.

    Raises
    ------
    StoreError
        There is no dataset, it is of another format version, or a file (this one too) is missing or cut
        short.
    """
    path = folder / FILE
    if not path.is_file():
        raise StoreError(
            str(folder),
            "not a dataset",
            expected=f"a folder with {FILE}",
            way_out=f"build one: borgtrace dataset STORE {shell_word(folder)}",
        )
    try:
        metadata = Metadata(json.loads(read_text(path)))
    except ValueError as error:
        raise StoreError(
            str(path),
            "damaged",
            expected="JSON",
            got=str(error),
            way_out=BUILD_AGAIN,
        ) from error
    if not is_readable(metadata.raw):
        raise StoreError(
            str(folder),
            "dataset of another format version",
            expected=FORMAT_VERSION,
            got=str(metadata.raw.get("format_version")),
            way_out="build it again in another folder",
        )
    # Sizes, not digests: opening must not read the data; TFRecord files carry their own check sums.
    for name, files in metadata.files.items():
        for file in files:
            check_file_size(folder / name / file.name, file.size)
    return metadata


def is_readable(raw: dict[str, Any]) -> bool:
    """Whether this version reads a dataset of this metadata."""
    # A later minor version only adds; a major one may mean something else by the same names.
    major, _, _ = str(raw.get("format_version")).partition(".")
    own_major, _, _ = FORMAT_VERSION.partition(".")
    return major == own_major


def check_file_size(path: Path, size: int) -> None:
    """Refuse a file that is missing or has another size than it was written with."""
    actual_size = path.stat().st_size if path.is_file() else None
    if actual_size != size:
        raise StoreError(
            str(path),
            "damaged",
            expected=f"{size:,} bytes",
            got="no file" if actual_size is None else f"{actual_size:,} bytes",
            way_out=BUILD_AGAIN,
        )
