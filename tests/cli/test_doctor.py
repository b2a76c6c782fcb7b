"""``borgtrace doctor`` tells what is there and what is missing, and for what."""

from __future__ import annotations

import json
import subprocess
import tempfile
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from types import SimpleNamespace

import pytest

from borgtrace import __version__
from borgtrace.cli import main
from borgtrace.cli.commands import doctor as module
from borgtrace.cli.commands.doctor import checks
from borgtrace.kernels import code_folders, portable_code
from tests.kernels.test_shipped_code import LEVEL_3
from tests.rows import chosen_columns


def doctor(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["doctor", *arguments])
    return int(ended.value.code or 0)


def found() -> dict[str, str | None]:
    """What is found, by the name of the check."""
    return {check.name: check.found for check in checks()}


def test_what_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert doctor() == 0
    lines = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert lines["borgtrace"] == __version__
    assert lines["cores"].isdigit()
    assert lines["duckdb"][0].isdigit()


def test_what_is_missing_says_what_needs_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module.shutil, "which", lambda name: None)
    assert doctor("--json") == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["Java"] == {"found": None, "needed_for": "Spark, which needs Java 17 or later"}
    assert doctor() == 0
    assert "not found; needed for looking at reports" in capsys.readouterr().out


def test_a_java_that_does_not_run_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module.shutil, "which", lambda name: "/bin/false")
    assert found()["Java"] is None


@pytest.mark.parametrize(
    ("output", "version"),
    [('openjdk version "17.0.1"\nOpenJDK 64-Bit', 'openjdk version "17.0.1"'), ("", "/bin/java")],
)
def test_java_is_told_by_the_first_line_it_says(
    monkeypatch: pytest.MonkeyPatch, output: str, version: str
) -> None:
    ended = subprocess.CompletedProcess([], 0, stderr=output)
    monkeypatch.setattr(module.shutil, "which", lambda name: "/bin/java")
    monkeypatch.setattr(module.subprocess, "run", lambda *_, **__: ended)
    assert found()["Java"] == version


def test_amounts_of_disk_and_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """12.34 GB free of a larger disk; pages of 4 KiB that make 3 GiB."""
    usage = SimpleNamespace(total=10**12, free=12_340_000_000)
    sizes = {"SC_PHYS_PAGES": 3 * 2**18, "SC_PAGE_SIZE": 4096}
    monkeypatch.setattr(module.shutil, "disk_usage", lambda folder: usage)
    monkeypatch.setattr(module.os, "sysconf", sizes.__getitem__)
    amounts = found()
    expected = {
        "memory": "3.0 GiB",
        "free disk here": "12.3 GB",
        "free disk for temporary files": f"12.3 GB in {tempfile.gettempdir()}",
    }
    assert chosen_columns(amounts, expected) == expected


@pytest.mark.parametrize("error", [ValueError, OSError])
def test_a_system_that_does_not_tell_its_memory(
    error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(name: str) -> int:
        raise error

    monkeypatch.setattr(module.os, "sysconf", refuse)
    assert found()["memory"] is None


@pytest.mark.parametrize("package", ["tensorflow", "tensorflow-cpu", "tf-nightly"])
def test_tensorflow_is_found_by_the_name_of_any_of_its_packages(
    monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    def version(name: str) -> str:
        if name == package:
            return "2.20.0"
        raise PackageNotFoundError(name)

    monkeypatch.setattr(module, "version", version)
    assert found()["tensorflow"] == "2.20.0"
    assert found()["torch"] is None


def test_machine_code_came_along_or_is_compiled_and_kept_somewhere(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    shipped = tmp_path / "shipped"
    monkeypatch.setattr(code_folders, "SHIPPED", shipped)
    monkeypatch.setattr(portable_code.platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(portable_code.llvm, "get_host_cpu_features", dict)
    clear_answers()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    kept = f"compiled by first runs, kept in {tmp_path}/borgtrace"
    assert found()["machine code"] == kept
    (tmp_path / "file").touch()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "file"))
    clear_answers()
    assert found()["machine code"] == "compiled by each run: no folder can be written to"
    shipped.mkdir()
    (shipped / "f-1-2.kernel").touch()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    clear_answers()
    # This CPU cannot run it.
    assert found()["machine code"] == kept
    features = dict.fromkeys(LEVEL_3.split(), True)
    monkeypatch.setattr(portable_code.llvm, "get_host_cpu_features", lambda: features)
    clear_answers()
    expected = f"1 function came along for x86-64-v3; others are {kept}"
    assert found()["machine code"] == expected
    clear_answers()


def clear_answers() -> None:
    """Forget what was found out about this machine."""
    code_folders.folder_to_write.cache_clear()
    code_folders.folders_to_read.cache_clear()
    portable_code.runs_portable_code.cache_clear()
