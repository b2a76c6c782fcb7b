"""Install borgtrace into a fresh environment, as a user would, and print the megabytes of each package and the seconds.

What is counted is what ``pip install .`` adds: every file of each package, compiled modules (.pyc) among them, in
decimal megabytes of content; not Python, pip and setuptools, which the environment has before.  The disk itself takes
a few percent more, since each file fills its last block.

    python benchmarks/footprint.py
    python benchmarks/footprint.py --extra pandas --limit 700
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
_SIZES = """
import importlib.metadata, json, os
sizes = {}
for package in importlib.metadata.distributions():
    paths = [package.locate_file(file) for file in package.files or ()]
    stats = [os.stat(path) for path in paths if os.path.isfile(path)]
    content = sum(stat.st_size for stat in stats)
    blocks = sum(stat.st_blocks * 512 for stat in stats)
    sizes[package.metadata["Name"]] = [content, blocks]
print(json.dumps(sizes))
"""


class Size(NamedTuple):
    """Bytes of a package's files, and what the disk takes for them."""

    content: int
    on_disk: int


def sizes(python: Path) -> dict[str, Size]:
    """Return the size of each package of an environment."""
    text = subprocess.run([python, "-c", _SIZES], check=True, capture_output=True, text=True).stdout
    return {name: Size(*pair) for name, pair in json.loads(text).items()}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--extra", action="append", default=[], help="An extra; repeatable.")
    parser.add_argument("--least", type=float, default=1.0, help="Smallest package shown, in MB.")
    parser.add_argument("--limit", type=float, help="Exit with 1 above so many MB.")
    options = parser.parse_args()
    extras = f"[{','.join(options.extra)}]" if options.extra else ""
    with tempfile.TemporaryDirectory(prefix="borgtrace-footprint-") as folder:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        python = Path(folder) / "bin" / "python"
        before = sizes(python)
        began = time.perf_counter()
        command = [python, "-m", "pip", "install", "--quiet", f"{ROOT}{extras}"]
        subprocess.run(command, check=True)
        seconds = time.perf_counter() - began
        after = sizes(python)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    added = {name: size for name, size in after.items() if name not in before}
    for name, size in sorted(added.items(), key=lambda item: (-item[1].content, item[0])):
        if size.content >= options.least * 1e6:
            print(f"{size.content / 1e6:8.1f} MB  {name}")
    total = sum(size.content for size in added.values()) / 1e6
    on_disk = sum(size.on_disk for size in added.values()) / 1e6
    print(f"{total:8.1f} MB  all {len(added)} packages ({on_disk:.1f} MB of disk)")
    print(f"{seconds:8.1f} s   pip install ({used.ru_utime + used.ru_stime:.1f} s of CPU)")
    if options.limit is not None and total > options.limit:
        sys.exit(1)


if __name__ == "__main__":
    main()
