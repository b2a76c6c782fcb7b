"""Peak memory of every command that reads or writes data, on two synthetic cells and several budgets.

A command and all processes that it starts are watched together: the peak is that of the sum of their proportional set
sizes (PSS of /proc, which shares out pages that several processes map), sampled ten times a second.  The bound of a
command with ``--memory`` is 1.2 times the budget and 0.5 GB.  The growth is the exponent of the peak from the smaller
to the larger cell: 1 means that twice the rows need twice the memory.

    python benchmarks/memory.py                                   # .4 and 1.6 M usage rows, an hour
    python benchmarks/memory.py --machines 140 --budget 1GB --only report --only overcommit
"""

from __future__ import annotations

import argparse
import math
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

COMMANDS = {
    "synth": "synth {out} --machines {machines} --hours 24 --seed 1",
    "ingest": "ingest {raw} --store {out}",
    "demo": "demo {out}",
    "info": "info {store}",
    "sql": "sql {store} 'select machine_id, max(maximum_cpu) from instance_usage group by 1 order by 1'",
    "trace": "trace {store} {job}",
    "machine": "machine {store} {machine}",
    "analyze": "analyze {store} --out {out}",
    "compare": "compare {store} {other}",
    "reproduce": "reproduce zhu2015 {store} --out {out}",
    "report": "report {store} {out}.html",
    "dataset": "dataset {store} {out}",
    "forecast": "forecast {store}",
    "export": "export {store} {out} --layout jobs --format sqlite",
    "advise": "advise {store}",
    "overcommit": "overcommit {store}",
    "overcommit target": "overcommit target {store}",
    "overcommit recommend": "overcommit recommend {store}",
    "overcommit reclaim": "overcommit reclaim {store}",
    "overcommit explain": "overcommit explain {store} {machine} --at 12h",
    "colocate": "colocate {store}",
    "compact": "compact {store} --at 12h",
    "simulate": "simulate {store}",
    "subset": "subset {store} {out} --time 0h..12h",
    "verify": "verify {store}",
}
"""Words of each command; a new file or folder stands for {out}."""
WITHOUT_BUDGET = {"synth", "info", "trace", "machine", "export", "verify", "demo"}
"""Commands that take no ``--memory``: their bound is that of the default."""
DEFAULT_BUDGET = "4GB"
GB = 10**9


class Cell(NamedTuple):
    """A synthetic cell: its raw files, its store, and a job and a machine of it."""

    machines: int
    raw: Path
    store: Path
    n_rows: int
    job: str
    machine: str


class Run(NamedTuple):
    """One run of a command."""

    exit_code: int
    peak: int
    seconds: float


def watched(words: list[str], log: Path) -> Run:
    """Run a command of borgtrace, and sample the memory of its processes."""
    began = time.perf_counter()
    peak = 0
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "borgtrace", *words],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        while process.poll() is None:
            peak = max(peak, sum(proportional(pid) for pid in tree(process.pid)))
            time.sleep(0.1)
    return Run(process.returncode, peak, time.perf_counter() - began)


def tree(root: int) -> list[int]:
    """Return a process and all below it; those whose parents ended are found by their session."""
    members = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        # The session, which is named after the process that began it.
        if int(fields[3]) == root:
            members.append(int(entry.name))
    return members


def proportional(pid: int) -> int:
    """Return the proportional set size of a process, in bytes; 0 where it has ended."""
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0
    for line in text.splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    return 0


def make_cell(folder: Path, machines: int) -> Cell:
    """Make a cell of a day, or take the one that lies there."""
    raw = folder / f"raw-{machines}"
    store = folder / f"store-{machines}"
    if not store.exists():
        shutil.rmtree(raw, ignore_errors=True)
        borgtrace("synth", str(raw), "--machines", str(machines), "--hours", "24", "--seed", "1")
        borgtrace("ingest", str(raw), "--store", str(store))
    query = "select count(*), min(collection_id), min(machine_id) from instance_usage"
    facts = borgtrace("sql", str(store), query).splitlines()[-1].replace(",", " ").split()
    return Cell(machines, raw, store, int(facts[0]), facts[1], facts[2])


def borgtrace(*words: str) -> str:
    """Run a command, and return what it prints."""
    command = [sys.executable, "-m", "borgtrace", *words]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def bytes_of(budget: str) -> int:
    """Return a budget such as 2GB in bytes."""
    return int(float(budget.removesuffix("GB")) * GB)


def words_of(name: str, cell: Cell, other: Cell, out: Path, budget: str | None) -> list[str]:
    """Return the words of a command on a cell."""
    places = {**cell._asdict(), "other": other.store, "out": out}
    # Split before names are filled in: a path may hold blanks.
    words = [word.format(**places) for word in shlex.split(COMMANDS[name])]
    return words if budget is None else [*words, "--memory", budget]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--machines", type=int, action="append", help="Size of a cell (140 and 510); repeatable."
    )
    parser.add_argument("--budget", action="append", help="1GB, 2GB and 4GB; repeatable.")
    parser.add_argument("--only", action="append", choices=COMMANDS, help="Repeatable.")
    parser.add_argument("--folder", type=Path, help="Keeps the cells for the next run.")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="borgtrace-memory-") as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        cells = [make_cell(folder, machines) for machines in options.machines or (140, 510)]
        for cell in cells:
            print(f"{cell.machines} machines: {cell.n_rows:,} usage rows", flush=True)
        n_missed = measure(cells, options.only or list(COMMANDS), options.budget, folder)
    print(f"{n_missed} above their bound or failed")


def measure(cells: list[Cell], names: list[str], budgets: list[str] | None, folder: Path) -> int:
    """Run commands on all cells with all budgets, print a line for each, and count those that missed."""
    n_missed = 0
    print(
        f"{'command':<22}{'usage rows':>12}{'budget':>8}{'peak':>9}{'bound':>9}  met  growth",
        flush=True,
    )
    for name in names:
        own_budgets = [None] if name in WITHOUT_BUDGET else budgets or ["1GB", "2GB", "4GB"]
        for budget in own_budgets:
            bound = 1.2 * bytes_of(budget or DEFAULT_BUDGET) + 0.5 * GB
            peaks: list[tuple[int, int]] = []
            for cell in cells:
                out = folder / "out"
                log = folder / f"{name}-{cell.machines}-{budget}.log".replace(" ", "-")
                run = watched(words_of(name, cell, cells[0], out, budget), log)
                shutil.rmtree(out, ignore_errors=True)
                out.with_suffix(".html").unlink(missing_ok=True)
                is_met = run.exit_code == 0 and run.peak <= bound
                n_missed += not is_met
                peaks.append((cell.n_rows, run.peak))
                verdict = (
                    "yes" if is_met else "NO" if run.exit_code == 0 else f"exit {run.exit_code}"
                )
                print(
                    f"{name:<22}{cell.n_rows:>12,}{budget or '-':>8}{run.peak / GB:>6.2f} GB"
                    f"{bound / GB:>6.2f} GB  {verdict:<4} {growth(peaks)}  ({run.seconds:.0f} s)",
                    flush=True,
                )
    return n_missed


def growth(peaks: list[tuple[int, int]]) -> str:
    """Return the exponent of the peak from the first cell to the last, where there are two."""
    (least_rows, least_peak), (most_rows, most_peak) = peaks[0], peaks[-1]
    if least_rows == most_rows or not least_peak or not most_peak:
        return ""
    return f"{math.log(most_peak / least_peak) / math.log(most_rows / least_rows):.2f}"


if __name__ == "__main__":
    os.environ.setdefault("PYTHONUNBUFFERED", "1")
    main()
