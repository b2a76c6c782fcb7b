"""What is shipped: the package with its templates and types, all of the source, nothing else."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.wide

pytest.importorskip("hatchling", reason="the build backend is in the extra `test`")
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build wheel and sdist once, without the network."""
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT],
        check=True,
        capture_output=True,
        timeout=120,
    )
    return folder


def _tracked(folder: str) -> set[str]:
    """Files of the source tree that belong to the package, without what Python leaves behind."""
    return {
        str(path.relative_to(ROOT))
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".kernel"
    }


def test_the_wheel_holds_the_package_and_nothing_else(built: Path) -> None:
    (wheel,) = built.glob("borgtrace-*-py3-none-any.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        metadata = archive.read(next(n for n in names if n.endswith("/METADATA"))).decode()
        entries = archive.read(next(n for n in names if n.endswith("/entry_points.txt"))).decode()
    # Machine code is there where somebody made it before (scripts/machine_code.py).
    shipped = {name for name in names if ".dist-info/" not in name and not name.endswith(".kernel")}
    assert shipped == {name.removeprefix("src/") for name in _tracked("src/borgtrace")}
    assert {"borgtrace/py.typed", "borgtrace/report/templates/report.html.j2"} <= shipped
    assert any(name.endswith("/licenses/LICENSE") for name in names)
    assert "Requires-Python: >=3.11" in metadata
    assert "borgtrace = borgtrace.cli:main" in entries


def test_core_dependencies_have_no_test_or_spark_tools(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        metadata = archive.read(
            next(n for n in archive.namelist() if n.endswith("/METADATA"))
        ).decode()
    needed = [line for line in metadata.splitlines() if line.startswith("Requires-Dist: ")]
    core = {re.split(r"[^\w-]", line.split()[1])[0] for line in needed if "extra ==" not in line}
    assert core >= {"duckdb", "pyarrow", "numpy", "numba", "typer"}
    assert not core & {
        "pytest",
        "torch",
        "tensorflow-cpu",
        "pyspark",
        "pandas",
        "prompt-toolkit",
        "scipy",
        "scikit-learn",
        "selenium",
        "ruff",
        "hatchling",
    }


def test_the_sdist_builds_the_same_wheel_and_carries_tests_and_docs(built: Path) -> None:
    (sdist,) = built.glob("borgtrace-*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert _tracked("src/borgtrace") <= names
    assert {"LICENSE", "README.md", "pyproject.toml", "docs/index.md", "tests/conftest.py"} <= names
    assert not [name for name in names if name.startswith((".venv", "dist/", "demo-out"))]


def test_machine_code_goes_into_the_wheel_and_not_into_the_source(tmp_path: Path) -> None:
    for name in ("pyproject.toml", "README.md", "LICENSE", ".gitignore"):
        shutil.copy(ROOT / name, tmp_path)
    folder = "borgtrace/kernels/machine_code/cpython-311"
    (tmp_path / "src" / folder).mkdir(parents=True)
    (tmp_path / "src" / "borgtrace" / "__init__.py").touch()
    (tmp_path / "src" / folder / "f-1-2.kernel").touch()
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", tmp_path / "dist"]
    for kind in ("--wheel", "--sdist"):
        subprocess.run([*command, kind, tmp_path], check=True, capture_output=True, timeout=120)
    (wheel,) = (tmp_path / "dist").glob("*-py3-none-any.whl")
    (sdist,) = (tmp_path / "dist").glob("*.tar.gz")
    with zipfile.ZipFile(wheel) as archive:
        assert f"{folder}/f-1-2.kernel" in archive.namelist()
    with tarfile.open(sdist) as archive:
        assert not [name for name in archive.getnames() if name.endswith(".kernel")]
