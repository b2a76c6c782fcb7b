"""Cut off at every rename: a reader sees a whole store or none, and the next run ends where an undisturbed one does."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from pathlib import Path

import pytest

import borgtrace
from borgtrace.errors import StoreError
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.store.verify import verify
from tests.ingest.raw import USAGE, write_cell, write_part

ONE = IngestOptions(jobs=1)


class _Cut(BaseException):
    """The power goes: nobody catches this."""


@pytest.fixture
def sources(tmp_path: Path) -> tuple[Path, Path]:
    """A cell, and a part that comes later."""
    later = tmp_path / "later"
    write_part(later, "task_usage", [USAGE[0].replace("10,0,5", "10,1,5")], 7)
    return write_cell(tmp_path / "raw"), later


def _cut_at(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """Let the renames before `number` happen and end the process, as it were, at that one."""
    count = itertools.count(1)

    def cut(real: Callable[..., None]) -> Callable[..., None]:
        def rename(*args: object, **options: object) -> None:
            if next(count) == number:
                raise _Cut
            real(*args, **options)

        return rename

    monkeypatch.setattr(os, "rename", cut(os.rename))
    monkeypatch.setattr(os, "replace", cut(os.replace))


def test_whichever_rename_is_the_last_nothing_half_is_read(
    sources: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, later = sources
    ingest([first], tmp_path / "old", ONE)
    ingest([first, later], tmp_path / "new", ONE)
    old, new = (borgtrace.open(tmp_path / name).digest for name in ("old", "new"))
    assert old != new
    seen = set()
    for number in itertools.count(1):
        store = tmp_path / str(number)
        ingest([first], store, ONE)
        try:
            with monkeypatch.context() as patched:
                _cut_at(patched, number)
                ingest([first, later], store, ONE)
            break  # there are fewer renames than that
        except _Cut:
            seen.add(_state(store, old, new))
        ingest([first, later], store, ONE)
        assert borgtrace.open(store).digest == new
        assert [check.name for check in verify(store) if not check.holds] == []
    assert {"old", "half-built"} <= seen <= {"old", "half-built", "new"}


def _state(store: Path, old: str, new: str) -> str:
    """Which store a reader sees, whose manifest must fit the files."""
    try:
        digest = borgtrace.open(store).digest
    except StoreError as error:
        return "half-built" if "half-built" in str(error) else str(error)
    assert [check.name for check in verify(store) if not check.holds] == []
    return {old: "old", new: "new"}[digest]
