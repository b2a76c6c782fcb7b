"""Do costs grow like the data?  CPU of ingest, of each question and of a task pool at two sizes of one cell.

Each work runs in a process of its own on each size; questions of one store run in one process, one after the other, and
share tables as `borgtrace analyze` does: the first question that needs a shared table pays for it, at both sizes, and
the first experiment that packs pays for the packings of all.  `analyze` is the command as a user runs it, with all of
them in as many processes as it takes.
CPU counts all threads and children.  The exponent is log(CPU ratio) ÷ log(ratio of usage rows); what takes less than a
second at the large size is mostly start-up and gets none.  Extrapolated: the large size × (real rows ÷ its rows) to the
power of the exponent, at least 1; without an exponent, along the line through both sizes.  The sum is also printed with
that line for all, which counts what does not grow (imports, plans, samples of fixed size) once.  Questions that do not
apply to the cell (those of the 2019 trace, say) take no time; `fidelity`, which asks of synthetic cells alone, is in no
sum.

    borgtrace synth small --machines 256 --hours 72 && borgtrace synth large --machines 2300 --hours 72
    python benchmarks/growth.py small large [--runs 3]

Several runs are medians, of both sizes in turn.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

REAL_WINDOWS = 1_233_000_000
MEMORY, CORES = "4GB", 2
Costs = dict[str, tuple[float, float]]
"""CPU and elapsed seconds by the name of the work."""
OF_SYNTHETIC = ("fidelity",)
"""Questions that do not apply to the real trace."""
_TOLD = 1.0
"""CPU seconds below which an exponent would be that of starting up."""


def cost(run: Callable[[], object]) -> tuple[float, float]:
    """Return CPU seconds, of this process and of children that ended, and elapsed seconds."""
    before, begun = os.times(), time.perf_counter()
    run()
    after = os.times()
    return sum(after[:4]) - sum(before[:4]), time.perf_counter() - begun


def ingest_(raw: Path, store: Path) -> dict[str, tuple[float, float]]:
    from borgtrace.ingest import IngestOptions, ingest

    ingest([raw], store, IngestOptions(jobs=CORES, memory=MEMORY))
    return {}


def questions(raw: Path, store: Path) -> dict[str, tuple[float, float]]:
    from borgtrace.catalog import questions
    from borgtrace.question import EngineTables, with_subjects

    tables = EngineTables.of(store, memory=MEMORY, threads=CORES)
    return {
        question.name: cost(partial(question.run, subject))
        for question, subject in with_subjects(questions().values(), tables)
    }


def analyze(raw: Path, store: Path) -> dict[str, tuple[float, float]]:
    from borgtrace.catalog import questions

    asked = [name for name in questions() if name not in OF_SYNTHETIC]
    command = [sys.executable, "-m", "borgtrace", "analyze", str(store), *asked, "--memory", MEMORY]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return {}


def pool(raw: Path, store: Path) -> dict[str, tuple[float, float]]:
    from borgtrace.colocation.tasks.preparation import prepare_pool

    return {"task pool": cost(lambda: prepare_pool(store))}


WORK = {"ingest": ingest_, "questions": questions, "analyze": analyze, "pool": pool}
IN_CHILDREN = ("ingest", "analyze")
"""Work whose processes are children of a child: what they took is told when that has ended."""


def rows_of(store: Path) -> int:
    from borgtrace import open as open_store

    return open_store(store).manifest.tables["instance_usage"]


def alone(what: str, raw: Path, store: Path) -> dict[str, tuple[float, float]]:
    """Run some work in a process of its own."""
    command = [sys.executable, __file__, str(raw), str(store), "--only", what]
    told: list[str] = []
    whole = cost(
        lambda: told.extend(
            subprocess.run(
                command, check=True, stdout=subprocess.PIPE, text=True
            ).stdout.splitlines()
        )
    )
    if what in IN_CHILDREN:
        return {what: whole}
    found: dict[str, tuple[float, float]] = json.loads(told[-1])
    return found


@dataclass(frozen=True)
class Growth:
    """What one piece of work took at both sizes, as CPU and elapsed seconds."""

    small: tuple[float, float]
    large: tuple[float, float]
    rows: tuple[int, int]

    @property
    def exponent(self) -> float | None:
        """How CPU grows with rows; None for what is mostly start-up."""
        if self.large[0] < _TOLD:
            return None
        return math.log(self.large[0] / self.small[0]) / math.log(self.rows[1] / self.rows[0])

    @property
    def real(self) -> tuple[float, float]:
        """CPU and elapsed seconds at the size of the real trace."""
        return self._real(0), self._real(1)

    def _real(self, place: int) -> float:
        if self.exponent is not None:
            return self.large[place] * (REAL_WINDOWS / self.rows[1]) ** max(1.0, self.exponent)
        # Mostly start-up.
        return self.along_line[place]

    @property
    def along_line(self) -> tuple[float, float]:
        """CPU and elapsed seconds at the size of the real trace, along a line through both sizes that never falls."""
        further = (REAL_WINDOWS - self.rows[1]) / (self.rows[1] - self.rows[0])
        cpu, elapsed = (
            large + max(0.0, large - small) * further
            for small, large in zip(self.small, self.large, strict=True)
        )
        return cpu, elapsed

    def __str__(self) -> str:
        told = "–" if self.exponent is None else f"{self.exponent:.2f}"
        cpu, elapsed = self.real
        return f"{self.small[0]:.2f} | {self.large[0]:.2f} | {told} | {cpu / 60:.1f} | {elapsed / 60:.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "cells", type=Path, nargs=2, help="raw files of the small and of the large cell"
    )
    parser.add_argument("--work", type=Path, default=None, help="folder for the stores")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--only", choices=WORK, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.only:
        print(json.dumps(WORK[options.only](*options.cells)))
        return
    with tempfile.TemporaryDirectory(dir=options.work) as folder:
        compare(options.cells, [Path(folder) / size for size in ("small", "large")], options.runs)


def middle(found: list[Costs]) -> Costs:
    """Return the median CPU and the median elapsed seconds of each work."""
    each = {
        name: zip(*(run[name] for run in found if name in run), strict=True) for name in found[0]
    }
    return {
        name: (statistics.median(cpu), statistics.median(elapsed))
        for name, (cpu, elapsed) in each.items()
    }


def compare(cells: list[Path], stores: list[Path], runs: int) -> None:
    for what in WORK:
        alone(what, cells[0], stores[0].with_name("first"))  # what is compiled once is compiled now
    told: dict[str, list[list[Costs]]] = {what: [[], []] for what in WORK}
    for _ in range(runs):
        for store in stores:
            shutil.rmtree(store, ignore_errors=True)
        for what, sizes in told.items():
            for size, *pair in zip(sizes, cells, stores, strict=True):
                size.append(alone(what, *pair))
    found = {what: [middle(size) for size in sizes] for what, sizes in told.items()}
    rows = rows_of(stores[0]), rows_of(stores[1])
    print(f"{rows[0]:,} and {rows[1]:,} usage rows, {MEMORY}, {CORES} cores, medians of {runs}\n")
    print("| work | CPU s, small | CPU s, large | exponent | real trace, CPU min | elapsed min |")
    print("|---|--:|--:|--:|--:|--:|")
    for what, (small, large) in found.items():
        growths = {name: Growth(small[name], large[name], rows) for name in small if name in large}
        for name, growth in growths.items():
            print(f"| {name} | {growth} |")
        if len(growths) > 1:
            real = {name: growth for name, growth in growths.items() if name not in OF_SYNTHETIC}
            both = [
                tuple(map(sum, zip(*(sizes[name] for name in real), strict=True)))
                for sizes in (small, large)
            ]
            (cpu, elapsed), (more_cpu, more_elapsed) = both
            print(f"| **all {what}** | {Growth((cpu, elapsed), (more_cpu, more_elapsed), rows)} |")
            spent = [sum(growth.real[place] for growth in real.values()) / 60 for place in (0, 1)]
            print(f"\nsum of the lines above: {spent[0]:.0f} CPU min, {spent[1]:.0f} min elapsed")
            spent = [
                sum(growth.along_line[place] for growth in real.values()) / 60 for place in (0, 1)
            ]
            print(f"along straight lines: {spent[0]:.0f} CPU min, {spent[1]:.0f} min elapsed\n")


if __name__ == "__main__":
    main()
