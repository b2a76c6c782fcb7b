"""``meta.json``: what a dataset was made from and how, enough to say exactly what was trained on."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from borgtrace.datasets.formats import Names
from borgtrace.datasets.leakage import Shared
from borgtrace.datasets.options import Options
from borgtrace.datasets.scaling import Scaling
from borgtrace.errors import StoreError

if TYPE_CHECKING:
    from borgtrace.store import Store

FILE = "meta.json"
FORMAT_VERSION = "1.0"


@dataclass(frozen=True, slots=True)
class File:
    """One file of a set: name, records, size in bytes."""

    name: str
    records: int
    size: int


@dataclass(frozen=True, slots=True)
class Leakage:
    """What the sets share: groups, and traces that run on into the next set."""

    shared: tuple[Shared, ...]
    running: dict[str, int]

    def lines(self) -> tuple[str, ...]:
        """Say how many traces run on."""
        return tuple(
            f"{pair}: {count:,} traces still run when the first of the next set begins"
            for pair, count in self.running.items()
        )


@dataclass(frozen=True, slots=True)
class Meta:
    """What ``meta.json`` says.

    Attributes
    ----------
    format, is_compressed
        Format of the files.
    identity
        SHA-256 over options and store.
    names
        What each trace has.
    scalings
        How each series was scaled, and back.
    files
        Files of each set.
    leakage
        The report, as lines.
    n_matched
        Traces that fit the selection.
    raw
        All of it.
    """

    format: str
    is_compressed: bool
    identity: str
    names: Names
    scalings: tuple[Scaling, ...]
    files: dict[str, tuple[File, ...]]
    leakage: tuple[str, ...]
    n_matched: int
    raw: dict[str, Any]

    @property
    def counts(self) -> dict[str, int]:
        """Traces in each set."""
        return {name: sum(file.records for file in files) for name, files in self.files.items()}


def describe(
    store: Store,
    options: Options,
    identity: str,
    names: Names,
    scalings: tuple[Scaling, ...],
    files: dict[str, list[File]],
    leakage: Leakage,
    n_matched: int,
) -> dict[str, Any]:
    """Put together what is written; nothing in it depends on place or time."""
    manifest = store.manifest
    return {
        "kind": "borgtrace dataset",
        "format_version": FORMAT_VERSION,
        "code_version": version("borgtrace"),
        "identity": identity,
        "store": {
            "digest": manifest.digest,
            "generation": manifest.generation,
            "cell": manifest.cell,
            "synthetic": manifest.synthetic,
        },
        "options": options.to_json(),
        "n_matched": n_matched,
        "features": list(names.features),
        "static_numbers": list(names.numbers),
        "static_words": {name: list(words) for name, words in names.words.items()},
        "scaling": [scaling.to_json() for scaling in scalings],
        "leakage": {"shared": [asdict(entry) for entry in leakage.shared], "running_on": leakage.running},
        "sets": {
            name: {"traces": sum(file.records for file in entries), "files": [asdict(file) for file in entries]}
            for name, entries in files.items()
        },
    }


def write(folder: Path, content: dict[str, Any]) -> None:
    """Write ``meta.json``."""
    (folder / FILE).write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def write_original(folder: Path, dimensions: int, files: dict[str, list[File]]) -> None:
    """Write the ``meta.json`` that the pipeline of 2017 keeps in each set."""
    for name, entries in files.items():
        samples = sum(file.records for file in entries)
        content = {"dimension_count": dimensions, "path_count": len(entries), "sample_count": samples}
        (folder / name / FILE).write_text(json.dumps(content))


def identity_of(folder: Path) -> str | None:
    """Return the identity of the dataset in `folder`, None where there is no whole one."""
    try:
        return str(json.loads((folder / FILE).read_text())["identity"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def read(folder: Path) -> Meta:
    """Read ``meta.json`` and check that all files have the size they were written with.

    Raises
    ------
    StoreError
        There is no dataset, it is of another format version, or a file (this one too) is missing or cut
        short.
    """
    raw = _load(folder)
    files = {name: tuple(File(**entry) for entry in entries["files"]) for name, entries in raw["sets"].items()}
    for name, entries in files.items():
        for file in entries:
            _check_size(folder / name / file.name, file.size)
    words = {name: tuple(values) for name, values in raw["static_words"].items()}
    shared = tuple(Shared(**entry) for entry in raw["leakage"]["shared"])
    leakage = Leakage(shared, raw["leakage"]["running_on"])
    return Meta(
        raw["options"]["format"],
        raw["options"]["is_compressed"],
        raw["identity"],
        Names(tuple(raw["features"]), tuple(raw["static_numbers"]), words),
        tuple(Scaling(**entry) for entry in raw["scaling"]),
        files,
        tuple(str(entry) for entry in shared) + leakage.lines(),
        raw["n_matched"],
        raw,
    )


def _load(folder: Path) -> dict[str, Any]:
    path = folder / FILE
    if not path.is_file():
        raise StoreError(
            str(folder),
            "not a dataset",
            expected=f"a folder with {FILE}",
            way_out=f"build one: borgtrace dataset STORE {folder}",
        )
    try:
        raw: dict[str, Any] = json.loads(path.read_text())
    except ValueError as error:
        raise StoreError(
            str(path), "damaged", expected="JSON", got=str(error), way_out="build the dataset again"
        ) from error
    found = str(raw.get("format_version", "none"))
    if found.partition(".")[0] != FORMAT_VERSION.partition(".")[0]:
        raise StoreError(
            str(folder),
            "dataset of another format version",
            expected=FORMAT_VERSION,
            got=found,
            way_out=f"build it again: borgtrace dataset STORE {folder}",
        )
    return raw


def _check_size(path: Path, size: int) -> None:
    found = path.stat().st_size if path.is_file() else None
    if found != size:
        raise StoreError(
            str(path),
            "damaged",
            expected=f"{size:,} bytes",
            got="no file" if found is None else f"{found:,} bytes",
            way_out="build the dataset again",
        )
