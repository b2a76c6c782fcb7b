"""A fetch that was interrupted: what it was to bring, and what an ingest of its folder therefore lacks."""

import json
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from borgtrace.errors import SourceError
from borgtrace.fetch.prometheus.folder import AnswerFolder, FolderQuery, read_query
from borgtrace.fetch.prometheus.metrics import ALL_NAMES
from borgtrace.fetch.prometheus.stretches import Stretch, subtract
from borgtrace.storage import read_regular, write_file

_WANTED = ".wanted.json"


@dataclass(frozen=True, slots=True)
class UnfinishedFetch:
    """What is missing in a folder of answers.

    Attributes
    ----------
    folder
        The folder.
    query
        What its answers have in common.
    metrics
        Metrics of which something is missing.
    period
        First and last time of what is missing.
    share
        How much of what was asked for is missing, from 0 to 1: mean over the metrics.
    """

    folder: Path
    query: FolderQuery
    metrics: tuple[str, ...]
    period: Stretch
    share: float


def note_wanted(folder: AnswerFolder, metrics: Collection[str], period: Stretch) -> None:
    """Write down what a fetch is going to ask for, beside what earlier ones did not bring.

    Parameters
    ----------
    folder
        Where its answers go.
    metrics, period
        What it asks for.
    """
    wanted = [each for each in _read_wanted(folder.path) if _missing(folder, *each)]
    wanted += [(metric, period) for metric in metrics]
    lines = [[metric, each.first, each.last] for metric, each in dict.fromkeys(wanted)]
    write_file(folder.path / _WANTED, json.dumps(lines) + "\n")


def unfinished_fetch(path: Path) -> UnfinishedFetch | None:
    """Return what is missing in a folder of answers; None where nothing is, or where it is no such folder.

    Parameters
    ----------
    path
        The folder.
    """
    query = None
    # A folder that does not say what it is is refused, or read, for what it holds.
    with suppress(SourceError):
        query = read_query(path)
    if query is None or query.step <= 0:
        return None
    folder = AnswerFolder.read(path, query)
    missing: dict[str, list[Stretch]] = {}
    n_wanted = 0
    n_missing = 0
    for metric, period in _read_wanted(path):
        stretches = _missing(folder, metric, period)
        n_wanted += period.points(query.step)
        n_missing += sum(each.points(query.step) for each in stretches)
        if stretches:
            missing.setdefault(metric, []).extend(stretches)
    if not missing:
        return None
    all_stretches = [each for stretches in missing.values() for each in stretches]
    first = min(each.first for each in all_stretches)
    last = max(each.last for each in all_stretches)
    return UnfinishedFetch(path, query, tuple(missing), Stretch(first, last), n_missing / n_wanted)


def _missing(folder: AnswerFolder, metric: str, period: Stretch) -> list[Stretch]:
    query = read_query(folder.path)
    present = folder.intervals().get(metric, [])
    return subtract(period, present, query.step) if query else []


def _read_wanted(path: Path) -> list[tuple[str, Stretch]]:
    """Return metrics and times that were asked for; nothing where the file is missing or damaged."""
    wanted = []
    with suppress(OSError, ValueError, TypeError, RecursionError):
        for metric, first, last in json.loads(read_regular(path / _WANTED)):
            if metric in ALL_NAMES and 0 <= int(first) <= int(last):
                wanted.append((str(metric), Stretch(int(first), int(last))))
    return wanted
