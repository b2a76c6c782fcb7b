"""A process of Spark's Python that is used again."""

import gc
import importlib
import sys
import zipfile
from pathlib import Path
from zipimport import zipimporter

import pytest

from borgtrace.engine.settling import settle


def test_directories_of_zip_files_are_not_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = tmp_path / "packed.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr("one_in_zip.py", "value = 1")
        packed.writestr("other_in_zip.py", "value = 2")
    monkeypatch.syspath_prepend(str(archive))
    assert importlib.import_module("one_in_zip").value == 1
    read: list[str] = []
    monkeypatch.setattr(zipimporter, "invalidate_caches", lambda self: read.append(self.archive))
    importlib.invalidate_caches()
    assert read == [str(archive)]
    try:
        settle()
        importlib.invalidate_caches()
        assert read == [str(archive)]
        assert gc.get_freeze_count() > 0
        # What was not imported yet is still found.
        assert importlib.import_module("other_in_zip").value == 2
    finally:
        gc.unfreeze()
        for name in ("one_in_zip", "other_in_zip"):
            sys.modules.pop(name, None)
