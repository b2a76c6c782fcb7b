"""The first run of every command beside its second, in an environment where nothing was compiled yet.

Each command runs with an empty cache and a home of its own, then again, in a copy of the package whose modules Python
has compiled, as pip does. With `shipped` the copy holds the machine code that scripts/machine_code.py made, as a wheel
does; with `compiled` it holds none, as a clone. The bar for the first is 1.5 × the second + 3 s. CPU seconds say the
same where other programs run beside. Run:

    python scripts/machine_code.py && python benchmarks/first_use.py [--machines 40 --hours 6] [--only overcommit]
"""

from __future__ import annotations

import argparse
import compileall
import os
import resource
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "borgtrace"
MAKE_STORE = (
    "synth raw --machines {machines} --hours {hours} --seed 1",
    "ingest raw --store store",
)
COMMANDS = (
    "--help",
    "doctor",
    *MAKE_STORE,
    "info store",
    "verify store",
    'sql store "select count(*) from tasks"',
    "trace store {task}",
    "machine store {machine}",
    "analyze store",
    "compare store store",
    "reproduce zhu2015 store --out out",
    "report store report.html",
    "dataset store out --format npz",
    "dataset store out --format tfrecord",
    "forecast store",
    "export store out",
    "advise store --out advice",
    "overcommit store",
    "overcommit target store",
    "overcommit reclaim store",
    "overcommit recommend store --cores-per-unit 64 --gib-per-unit 256",
    "overcommit explain store {machine} --at 1h",
    "colocate store --experiment packing_base --realizations 100 --instances 2 --size 20 --out out",
    "colocate place store",
    "colocate pool store --out long-tasks",
    "compact store",
    "simulate store",
    "subset store out --fraction 0.5",
)
FIND_IDS = """
import borgtrace
store = borgtrace.open("store")
task = "collection_id, instance_index from instance_usage order by all limit 1"
print(*store.sql(f"select {task}").to_pylist()[0].values())
print(*store.sql("select min(machine_id) as id from instance_usage where machine_id > 0").column("id").to_pylist())
"""


@dataclass(frozen=True)
class Run:
    """Seconds that a process took, and of CPU."""

    seconds: float
    cpu: float
    compiled: bool


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--machines", type=int, default=40)
    parser.add_argument("--hours", type=int, default=6)
    parser.add_argument("--only", action="append", help="a command, by its first words")
    parser.add_argument("--code", choices=["shipped", "compiled"], action="append")
    parser.add_argument("--times", type=int, default=1, help="runs of each; the fastest counts")
    arguments = parser.parse_args()
    for code in arguments.code or ["shipped", "compiled"]:
        with tempfile.TemporaryDirectory(prefix="borgtrace-first-") as folder:
            measure(code, Path(folder), arguments)


def measure(code: str, folder: Path, arguments: argparse.Namespace) -> None:
    """Run every command first and again, and print a line for each."""
    copy_package(folder / "package", code)
    names = {"machines": arguments.machines, "hours": arguments.hours}
    print(f"{code}: {arguments.machines} machines, {arguments.hours} h", flush=True)
    cell = folder / "cell"
    cell.mkdir()
    for command in MAKE_STORE:
        run(folder, cell, ["-m", "borgtrace", *shlex.split(command.format(**names))], "prepared")
    found = run_python(folder, cell, ["-c", FIND_IDS], "prepared").splitlines()
    names |= {"task": found[0], "machine": found[1]}
    print("first s  second s  bar s  met  first CPU s  second CPU s  CPU met  command")
    for number, template in enumerate(COMMANDS):
        command = template.format(**names)
        if arguments.only and not command.startswith(tuple(arguments.only)):
            continue
        words = ["-m", "borgtrace", *shlex.split(command)]
        runs = [
            first_and_second(folder, cell, words, f"{number}-{again}")
            for again in range(arguments.times)
        ]
        first = min((pair[0] for pair in runs), key=lambda one: one.seconds)
        second = min((pair[1] for pair in runs), key=lambda one: one.seconds)
        bar, cpu_bar = 1.5 * second.seconds + 3, 1.5 * second.cpu + 3
        print(
            f"{first.seconds:>7.1f} {second.seconds:>9.1f} {bar:>6.1f} {yes(first.seconds <= bar):>4} "
            f"{first.cpu:>12.1f} {second.cpu:>13.1f} {yes(first.cpu <= cpu_bar):>8}  {command}"
            f"{'  (compiled)' if first.compiled else ''}{'  (COMPILED AGAIN)' if second.compiled else ''}",
            flush=True,
        )


def yes(is_met: bool) -> str:
    return "yes" if is_met else "NO"


def copy_package(folder: Path, code: str) -> None:
    """Copy the package, with what pip compiles of it, and with or without machine code."""
    ignored = ["__pycache__"] if code == "shipped" else ["__pycache__", "machine_code"]
    shutil.copytree(SOURCE, folder / "borgtrace", ignore=shutil.ignore_patterns(*ignored))
    if code == "shipped" and not list(folder.rglob("*.kernel")):
        sys.exit("no machine code there: python scripts/machine_code.py")
    compileall.compile_dir(folder, quiet=1, workers=os.cpu_count() or 1)


def first_and_second(folder: Path, cell: Path, words: list[str], home: str) -> tuple[Run, Run]:
    """Run a command twice, each on what it may read alone, the first time in a new home."""
    runs = []
    for again in ("first", "second"):
        place = folder / f"{home}-{again}"
        place.mkdir()
        for made in cell.iterdir():
            # A command that makes what another one reads makes it anew.
            if made.name not in written_by(words):
                shutil.copytree(made, place / made.name)
        runs.append(run(folder, place, words, home))
        shutil.rmtree(place)
    return runs[0], runs[1]


def written_by(words: list[str]) -> Iterator[str]:
    """Yield what a command makes of the two folders that others read."""
    if "synth" in words:
        yield "raw"
    if "synth" in words or "ingest" in words:
        yield "store"


def run(folder: Path, place: Path, words: list[str], home: str) -> Run:
    """Run Python in a place, and return what it took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.perf_counter()
    errors = run_python(folder, place, words, home, is_message=True)
    seconds = time.perf_counter() - begin
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Run(seconds, cpu, "First run" in errors)


def run_python(
    folder: Path, place: Path, words: list[str], home: str, *, is_message: bool = False
) -> str:
    """Run Python with a home and a cache of its own, and return its output, or its messages."""
    environment = {name: value for name, value in os.environ.items() if "NUMBA" not in name}
    environment |= {
        "PYTHONPATH": str(folder / "package"),
        "HOME": str(folder / f"home-{home}"),
        "XDG_CACHE_HOME": str(folder / f"home-{home}" / "cache"),
        # Else it is kept beside the source, where the next command finds it.
        "NUMBA_CACHE_DIR": str(folder / f"home-{home}" / "numba"),
    }
    ended = subprocess.run(
        [sys.executable, *words],
        cwd=place,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if ended.returncode:
        sys.exit(f"{shlex.join(words)}: {ended.stderr.strip()}")
    return ended.stderr if is_message else ended.stdout


if __name__ == "__main__":
    main()
