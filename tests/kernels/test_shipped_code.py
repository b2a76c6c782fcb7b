"""Machine code that a wheel brings along is used where it fits, and never more than that."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import llvmlite.binding as llvm
import pytest

import borgtrace
from borgtrace.kernels.code_folders import SHIPPED
from borgtrace.kernels.portable_code import PORTABLE_CPU, runs_portable_code

PACKAGE = Path(borgtrace.__file__).parent
CODE = """
import numpy as np
from borgtrace.kernels.compilation import announcing_compilation
from borgtrace.kernels.hashing import task_keys

ids = np.arange(3)
with announcing_compilation(lambda: print("compiling")):
    print(task_keys(1, ids, ids).tolist())
"""
PORTABLE = {"NUMBA_CPU_NAME": PORTABLE_CPU, "NUMBA_CPU_FEATURES": ""}
needs_portable_cpu = pytest.mark.skipif(
    not runs_portable_code(), reason=f"the CPU of this machine is older than {PORTABLE_CPU}"
)


def lines_of(sources: Path, cache: Path, **environment: str) -> list[str]:
    """Run the kernel of a copy of the package, and return what is printed."""
    ended = subprocess.run(
        [sys.executable, "-c", CODE],
        env={
            **os.environ,
            "PYTHONPATH": str(sources),
            "NUMBA_CACHE_DIR": str(cache),
            **environment,
        },
        capture_output=True,
        text=True,
        check=True,
    )
    return ended.stdout.splitlines()


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package with machine code for a portable CPU, as a wheel has it."""
    folder = tmp_path_factory.mktemp("sources")
    ignored = shutil.ignore_patterns("__pycache__", "machine_code")
    package = shutil.copytree(PACKAGE, folder / "borgtrace", ignore=ignored)
    compiled = folder / "compiled"
    lines_of(folder, compiled, **PORTABLE)
    shipped = package / SHIPPED.relative_to(PACKAGE)
    shipped.mkdir(parents=True)
    for file in compiled.rglob("*.kernel"):
        file.rename(shipped / file.name)
    assert list(shipped.iterdir())
    return folder


@pytest.fixture
def answer(sources: Path, tmp_path: Path) -> list[str]:
    """What is printed where nothing is shipped: the answer, after it was compiled for this machine."""
    hidden = (sources / "borgtrace" / SHIPPED.relative_to(PACKAGE)).rename(sources / "hidden")
    printed = lines_of(sources, tmp_path / "without")
    hidden.rename(sources / "borgtrace" / SHIPPED.relative_to(PACKAGE))
    assert printed[0] == "compiling"
    return printed


@needs_portable_cpu
@pytest.mark.wide
def test_shipped_code_is_run_as_it_is_whatever_time_its_source_has(
    sources: Path, tmp_path: Path, answer: list[str]
) -> None:
    # Installers set times of their own.
    for path in (sources / "borgtrace" / "kernels").rglob("*"):
        os.utime(path, (1, 1))
    assert lines_of(sources, tmp_path / "cache") == answer[1:]
    assert not list(tmp_path.glob("cache/**/*.kernel"))


@needs_portable_cpu
@pytest.mark.wide
@pytest.mark.parametrize("damage", ["changed", "short", "of another function", "earlier source"])
def test_shipped_code_that_does_not_fit_is_compiled_instead(
    sources: Path, tmp_path: Path, answer: list[str], damage: str
) -> None:
    copied = tmp_path / "copied"
    shutil.copytree(sources / "borgtrace", copied / "borgtrace")
    files = list((copied / "borgtrace").rglob("*.kernel"))
    for file in files:
        content = file.read_bytes()
        middle = len(content) // 2
        if damage == "changed":
            file.write_bytes(
                content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]
            )
        elif damage == "short":
            file.write_bytes(content[:middle])
        elif damage == "of another function":
            file.write_bytes(content + content)
    if damage == "earlier source":
        source = copied / "borgtrace" / "kernels" / "hashing.py"
        text = source.read_text()
        assert "return z ^ (z >> _S31)" in text
        source.write_text(text.replace("return z ^ (z >> _S31)", "return z ^ (z >> _S30)"))
    compiled, keys = lines_of(copied, tmp_path / "cache")
    assert compiled == "compiling"
    assert (keys == answer[1]) == (damage != "earlier source")
    # What was compiled is found from now on.
    assert lines_of(copied, tmp_path / "cache") == [keys]


@needs_portable_cpu
@pytest.mark.wide
def test_whoever_names_a_cpu_gets_code_for_that(
    sources: Path, tmp_path: Path, answer: list[str]
) -> None:
    assert lines_of(sources, tmp_path / "cache", NUMBA_CPU_NAME="generic") == answer


LEVEL_3 = "avx avx2 bmi bmi2 cx16 f16c fma lzcnt movbe popcnt sahf sse3 sse4.1 sse4.2 ssse3 xsave"
"""What the ABI of x86-64 asks of a CPU at level 3, beyond what all have."""


@pytest.mark.parametrize("missing", LEVEL_3.split())
def test_a_cpu_that_lacks_one_feature_does_not_run_shipped_code(
    monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    features = dict.fromkeys(LEVEL_3.split(), True)
    assert runs_on("x86_64", features, monkeypatch)
    assert not runs_on("x86_64", features | {missing: False}, monkeypatch)
    assert not runs_on("aarch64", features, monkeypatch)


def runs_on(machine: str, features: dict[str, bool], monkeypatch: pytest.MonkeyPatch) -> bool:
    """Return whether shipped code runs on a machine whose CPU has these features."""
    with monkeypatch.context() as patch:
        patch.setattr(platform, "machine", lambda: machine)
        patch.setattr(llvm, "get_host_cpu_features", lambda: features)
        runs_portable_code.cache_clear()
        answer = runs_portable_code()
    runs_portable_code.cache_clear()
    return answer
