"""``borgtrace doctor``: what borgtrace finds on this machine."""

import os
import platform
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from borgtrace._version import __version__

_LIBRARIES = ("duckdb", "pyarrow", "numpy", "numba", "ibis-framework", "altair")
_OPTIONAL = {
    "pyspark": "--engine local[N] and spark://",
    "torch": "reading datasets with PyTorch",
    "tensorflow": "reading datasets with TensorFlow",
    "pandas": "frames of pandas in notebooks",
}
_BROWSERS = ("chromium", "google-chrome", "firefox")


@dataclass(frozen=True, slots=True)
class Check:
    """What was looked for, what was found (None: nothing), and what works only with it."""

    name: str
    found: str | None
    needed_for: str = ""


def checks() -> list[Check]:
    """Look at this machine; takes less than a second and changes nothing."""
    return [
        Check("borgtrace", __version__),
        Check("Python", f"{platform.python_version()} ({sys.executable})"),
        Check("system", platform.platform()),
        Check("cores", str(os.cpu_count())),
        Check("memory", _memory(), "the default budget of 4 GB"),
        Check("free disk here", _free(Path.cwd())),
        Check(
            "free disk for temporary files",
            f"{_free(Path(tempfile.gettempdir()))} in {tempfile.gettempdir()}",
        ),
        *(Check(name, _version(name), "borgtrace itself") for name in _LIBRARIES),
        *(Check(name, _version(name), use) for name, use in _OPTIONAL.items()),
        Check("Java", _java(), "Spark, which needs Java 17 or later"),
        Check(
            "browser", next(filter(None, map(shutil.which, _BROWSERS)), None), "looking at reports"
        ),
    ]


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _memory() -> str | None:
    try:
        pages, size = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError):  # a system that does not tell
        return None
    return f"{pages * size / 2**30:.1f} GiB"


def _free(folder: Path) -> str:
    return f"{shutil.disk_usage(folder).free / 1e9:.1f} GB"


def _java() -> str | None:
    program = shutil.which("java")
    if program is None:
        return None
    try:
        said = subprocess.run(
            [program, "-version"], capture_output=True, text=True, timeout=10, check=True
        ).stderr
    except (OSError, subprocess.SubprocessError):  # a stub that only says how to install Java
        return None
    return said.splitlines()[0] if said else program


def doctor(as_json: bool = False) -> None:
    """Show versions, memory, disk and the optional programs, for a bug report or before a large job.

    Example: borgtrace doctor
    """
    from borgtrace.cli._printing import print_json

    found = checks()
    if as_json:
        print_json(
            {check.name: {"found": check.found, "needed_for": check.needed_for} for check in found},
            indent=1,
        )
        return
    width = max(len(check.name) for check in found)
    for check in found:
        print(
            f"{check.name:<{width}}  {check.found or f'not found; needed for {check.needed_for}'}"
        )
