"""``borgtrace doctor``: what borgtrace finds on this machine."""

import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated

from typer import Option

from borgtrace.cli.command import command
from borgtrace.cli.options import JsonOption
from borgtrace.version import __version__

LIBRARIES = (
    "duckdb",
    "pyarrow",
    "numpy",
    "numba",
    "ibis-framework",
    "altair",
    "vl-convert-python",
)
OPTIONAL_LIBRARIES = {
    "pyspark": "--engine local[N] and spark://",
    "scikit-learn": "the forecaster boosting, and clusters of usage",
    "torch": "reading datasets with PyTorch",
    "tensorflow": "reading datasets with TensorFlow",
    "pandas": "frames of pandas in notebooks, and Spark",
    "openpyxl": "reading workbooks (.xlsx)",
    "botocore": "Amazon Managed Service for Prometheus",
}
OTHER_NAMES = {"tensorflow": ("tensorflow-cpu", "tensorflow-intel", "tf-nightly")}
"""Packages that bring the same library."""
BROWSERS = ("chromium", "google-chrome", "firefox")


WarmOption = Annotated[
    bool,
    Option(
        "--warm",
        help="Compile now what commands compile on their first run, about a minute and a half on two cores.",
    ),
]


@command()
def doctor(
    is_warmed: WarmOption = False,
    as_json: JsonOption = False,
) -> None:
    """Show versions, memory, disk and the optional programs.

    For a bug report, or before a large job. With --warm, every command runs once on a tiny cell in a temporary folder
    first, so that later none has to compile; the machine code is kept beside the package, or in your cache folder.

    Example: borgtrace doctor --warm
    """
    from borgtrace.cli.printing import print_json

    if is_warmed:
        warm()
    checked = checks()
    if as_json:
        facts = {}
        for check in checked:
            facts[check.name] = {"found": check.found, "needed_for": check.needed_for}
        print_json(facts, indent=1)
        return
    width = max(len(check.name) for check in checked)
    for check in checked:
        text = check.found or f"not found; needed for {check.needed_for}"
        print(f"{check.name:<{width}}  {text}")
    print(summary_of(checked))


def warm() -> None:
    """Compile ahead, and show how many commands are ready."""
    from borgtrace.cli.console import steps, talk
    from borgtrace.cli.warming import compile_ahead

    # A shell lets what it runs in the background ignore Ctrl-C.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    began = time.perf_counter()
    with steps("commands") as report:
        n_commands = compile_ahead(report)
    seconds = time.perf_counter() - began
    talk.print(f"Compiled what {n_commands} commands need, in {seconds:.0f} s.")


@dataclass(frozen=True, slots=True)
class MachineCheck:
    """What was looked for, what was found (None: nothing), and what works only with it."""

    name: str
    found: str | None
    needed_for: str = ""


def summary_of(checked: list[MachineCheck]) -> str:
    """Say in a sentence what is missing.

    Examples
    --------
    >>> summary_of([MachineCheck("numpy", "2.4"), MachineCheck("Java", None, "Spark")])
    'Everything was found but Java.'
    >>> summary_of([MachineCheck("numpy", "2.4")])
    'Everything was found.'
    """
    missing = [check.name for check in checked if check.found is None]
    return f"Everything was found but {', '.join(missing)}." if missing else "Everything was found."


def checks() -> list[MachineCheck]:
    """Look at this machine; takes less than a second and changes nothing."""
    temporary = tempfile.gettempdir()
    free_temporary = free_disk(Path(temporary))
    return [
        MachineCheck("borgtrace", __version__),
        MachineCheck("Python", f"{platform.python_version()} ({sys.executable})"),
        MachineCheck("system", platform.platform()),
        MachineCheck("cores", str(os.cpu_count())),
        MachineCheck("memory", memory(), "the default budget of 4 GB"),
        MachineCheck("free disk here", free_disk(Path.cwd())),
        MachineCheck("free disk for temporary files", f"{free_temporary} in {temporary}"),
        *(MachineCheck(name, version_of(name), "borgtrace itself") for name in LIBRARIES),
        *(MachineCheck(name, version_of(name), use) for name, use in OPTIONAL_LIBRARIES.items()),
        MachineCheck("machine code", machine_code()),
        MachineCheck("Java", java(), "Spark, which needs Java 17 or later"),
        MachineCheck("browser", browser(), "looking at reports"),
    ]


def version_of(library: str) -> str | None:
    """Return the version of a library, by whichever package it came; None where it is not installed."""
    for package in (library, *OTHER_NAMES.get(library, ())):
        try:
            return version(package)
        except PackageNotFoundError:
            continue
    return None


def memory() -> str | None:
    """Return the memory of this machine; None where the system does not tell."""
    try:
        pages = os.sysconf("SC_PHYS_PAGES")
        page_size = os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError):
        return None
    return f"{pages * page_size / 2**30:.1f} GiB"


def free_disk(folder: Path) -> str:
    """Return the free disk of a folder."""
    return f"{shutil.disk_usage(folder).free / 1e9:.1f} GB"


def machine_code() -> str:
    """Say what need not be compiled, and where that is kept which was."""
    from borgtrace.cli.console import counted
    from borgtrace.kernels import code_folders
    from borgtrace.kernels.code_files import SUFFIX
    from borgtrace.kernels.portable_code import PORTABLE_CPU, runs_portable_code

    folder = code_folders.folder_to_write(Path(code_folders.__file__).parent)
    if folder is None:
        compiled = "compiled by each run: no folder can be written to"
    else:
        compiled = f"compiled by first runs, kept in {folder}"
    shipped = list(code_folders.SHIPPED.glob(f"*{SUFFIX}")) if runs_portable_code() else []
    if shipped:
        return f"{counted(len(shipped), 'function')} came along for {PORTABLE_CPU}; others are {compiled}"
    return compiled


def java() -> str | None:
    """Return the version of Java; None where there is none that runs."""
    program = shutil.which("java")
    if program is None:
        return None
    try:
        ended = subprocess.run(
            [program, "-version"],
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
    # A stub that only says how to install Java.
    except (OSError, subprocess.SubprocessError):
        return None
    # Java writes its version to stderr.
    return ended.stderr.splitlines()[0] if ended.stderr else program


def browser() -> str | None:
    """Return the first browser that there is."""
    for name in BROWSERS:
        program = shutil.which(name)
        if program:
            return program
    return None
