"""Compile all kernels for a portable CPU, and put the machine code where a wheel takes it from.

    python scripts/machine_code.py [FOLDER]

Takes three minutes of CPU and writes about 3 MB: machine code for the version of Python that runs this, and for the
versions of Numba and llvmlite of its environment, in which borgtrace has to be installed. What was in the folder is
replaced. A wheel holds what several versions of Python wrote, one after the other; with other versions, on other
systems and on older CPUs, borgtrace compiles as it does without.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from pathlib import Path

from borgtrace.cli.warming import compile_ahead
from borgtrace.kernels.code_files import SUFFIX
from borgtrace.kernels.code_folders import SHIPPED
from borgtrace.kernels.portable_code import PORTABLE_CPU, runs_portable_code

SOURCE = Path(__file__).parents[1] / "src" / "borgtrace"
TAKEN_FROM = SOURCE / "kernels" / SHIPPED.parent.name / SHIPPED.name
"""Where the build of a wheel finds it, whichever copy of the package runs."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, nargs="?", default=TAKEN_FROM)
    folder = parser.parse_args().folder
    if not runs_portable_code():
        sys.exit(
            f"this machine cannot run code for {PORTABLE_CPU}, which is compiled by running it"
        )
    with tempfile.TemporaryDirectory(prefix="borgtrace-code-") as scratch:
        compile_for_portable_cpu(Path(scratch))
        files = replace_files(folder, Path(scratch))
    size = sum(file.stat().st_size for file in files)
    print(f"{folder}: {len(files)} functions, {size / 1e6:.1f} MB")


def compile_for_portable_cpu(folder: Path) -> None:
    """Run every command that compiles, in an environment that compiles for the portable CPU into a folder."""
    # Code that was shipped before would be found, and not be compiled again.
    shutil.rmtree(SHIPPED, ignore_errors=True)
    os.environ |= {
        "NUMBA_CACHE_DIR": str(folder),
        "NUMBA_CPU_NAME": PORTABLE_CPU,
        # Those that the name of the CPU implies, not those of this machine.
        "NUMBA_CPU_FEATURES": "",
        # A library of Intel's that other machines may lack.
        "NUMBA_DISABLE_INTEL_SVML": "1",
    }
    compile_ahead(lambda *_: None)


def replace_files(folder: Path, compiled: Path) -> list[Path]:
    """Replace the files of a folder by what was compiled, and return those."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    files = []
    for file in sorted(compiled.rglob(f"*{SUFFIX}")):
        files.append(Path(shutil.copy(file, folder)))
    return files


if __name__ == "__main__":
    main()
