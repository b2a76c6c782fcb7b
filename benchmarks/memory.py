"""Peak memory of every command that reads or writes data, on two synthetic cells and several budgets.

A command and all processes that it starts are watched together: the peak is that of the sum of their proportional set
sizes (PSS of /proc, which shares out pages that several processes map), sampled ten times a second.  The bound of a
command with ``--memory`` is 1.2 times the budget and 0.5 GB.  The growth is the exponent of the peak from the smaller
to the larger cell: 1 means that twice the rows need twice the memory.  Answers of Prometheus are as large as the cells:
90 and 330 MB.

    python benchmarks/memory.py                                   # .4 and 1.6 M usage rows, an hour
    python benchmarks/memory.py --machines 140 --budget 1GB --only report --only overcommit
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

COMMANDS = {
    "synth": "synth {out} --machines {machines} --hours 24 --seed 1",
    "synth --like": "synth {out} --like {store} --machines 20 --hours 1",
    "ingest": "ingest {raw} --store {out}",
    "ingest of answers": "ingest {answers} --store {out} --capacity 16cores,64GiB --yes",
    "merge": "merge {first_half} {second_half} {out}",
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
    "export for OpenDC": "export {store} {out} --layout opendc --capacity 64cores,256GiB",
    "advise": "advise {store} --out {out}.html",
    "overcommit": "overcommit {store}",
    "overcommit target": "overcommit target {store}",
    "overcommit recommend": "overcommit recommend {store} --cores-per-unit 64 --gib-per-unit 256",
    "overcommit reclaim": "overcommit reclaim {store}",
    "overcommit explain": "overcommit explain {store} {machine} --at 12h",
    "colocate": "colocate {store}",
    "colocate place": "colocate place {store} --placement {out}.csv",
    "colocate pool": "colocate pool {store} --out {out}.pool",
    "compact": "compact {store} --at 12h",
    "simulate": "simulate {store}",
    "subset": "subset {store} {out} --time 0h..12h",
    "verify": "verify {store}",
    "explore": "explore {store} --no-browser",
}
"""Words of each command; a new file or folder stands for {out}."""
WITHOUT_BUDGET = {"synth", "info", "trace", "machine", "verify", "demo"}
"""Commands that take no ``--memory``: their bound is that of the default."""
DEFAULT_BUDGET = "4GB"
GB = 10**9
PAGE = os.sysconf("SC_PAGE_SIZE")


PAGES = [
    "",
    *(f"data/cell/{name}.json" for name in ("cpu", "memory", "pending", "running", "machines")),
    "machine/{machine}",
    "data/machine/{machine}/cpu.json",
    "data/machine/{machine}/tasks.json",
    "job/{job}",
    "data/job/{job}/cpu.json",
]
"""What is looked at in the explorer."""
ANSWER_BYTES_PER_MACHINE = 650_000
"""Of the answers of Prometheus."""
PER_NODE = 16
"""Containers, on as many cores, of which each takes half a core."""
N_SAMPLES = 2880
"""Of a series: one a minute for two days."""


class Cell(NamedTuple):
    """A synthetic cell: raw files, a store of each half of them and of all, answers of Prometheus, a job, a machine."""

    machines: int
    raw: Path
    store: Path
    first_half: Path
    second_half: Path
    answers: Path
    n_rows: int
    job: str
    machine: str


class Run(NamedTuple):
    """One run of a command."""

    exit_code: int
    peak: int
    seconds: float


def watched(words: list[str], log: Path, use: Callable[[int], None] | None = None) -> Run:
    """Run a command of borgtrace, and sample the memory of its processes.

    Parameters
    ----------
    words
        The command.
    log
        The file of what it prints.
    use
        Called with the process's id beside it, for a command that serves until it is interrupted.
    """
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
        if use:
            threading.Thread(target=use, args=(process.pid,), daemon=True).start()
        while process.poll() is None:
            members = tree(process.pid)
            # To share out pages takes the kernel milliseconds, and never gives more than the resident ones.
            if sum(resident(pid) for pid in members) > peak:
                peak = max(peak, sum(proportional(pid) for pid in members))
            time.sleep(0.1)
    return Run(process.returncode, peak, time.perf_counter() - began)


def look_around(cell: Cell, log: Path, pid: int) -> None:
    """Wait for the explorer, look at a page of each kind, and end it; a page that fails ends it the hard way."""
    try:
        while "http://" not in (text := log.read_text()):
            time.sleep(0.1)
        address = text[text.index("http://") :].split()[0]
        # The address carries a key, which the first answer turns into a cookie.
        client = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        client.open(address).read()
        root = address.partition("/?")[0]
        for page in PAGES:
            client.open(f"{root}/{page.format(**cell._asdict())}").read()
    except OSError as error:
        print(f"explore: {error}", file=sys.stderr)
        os.kill(pid, signal.SIGKILL)
    else:
        os.kill(pid, signal.SIGINT)


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


def resident(pid: int) -> int:
    """Return the resident set size of a process, in bytes; 0 where it has ended."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE
    except OSError:
        return 0


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
    halves = [folder / f"half-{half}-{machines}" for half in (0, 1)]
    answers = folder / f"answers-{machines}.json"
    if not store.exists():
        shutil.rmtree(raw, ignore_errors=True)
        borgtrace("synth", str(raw), "--machines", str(machines), "--hours", "24", "--seed", "1")
        borgtrace("ingest", str(raw), "--store", str(store))
    for half, place in enumerate(halves):
        if not place.exists():
            files = sorted(map(str, raw.glob("*/*.csv.gz")))[half::2]
            borgtrace("ingest", *files, "--store", str(place))
    if not answers.exists():
        write_answers(answers, machines * ANSWER_BYTES_PER_MACHINE)
    query = "select count(*), min(collection_id), min(machine_id) from instance_usage"
    facts = borgtrace("sql", str(store), query).splitlines()[-1].replace(",", " ").split()
    return Cell(machines, raw, store, *halves, answers, int(facts[0]), facts[1], facts[2])


def write_answers(path: Path, n_bytes: int) -> None:
    """Write the answer of Prometheus to a range query of CPU and memory of containers, of about so many bytes."""
    metrics = ("container_cpu_usage_seconds_total", "container_memory_working_set_bytes")
    separator = ""
    with path.open("w") as file:
        file.write('{"status":"success","data":{"resultType":"matrix","result":[')
        container = 0
        while file.tell() < n_bytes:
            names = {"pod": f"web-{container}", "node": f"node-{container // PER_NODE}"}
            labels = {"namespace": "shop", "container": "app", **names}
            for metric in metrics:
                values = samples(metric, container)
                series = {"metric": {"__name__": metric, **labels}, "values": values}
                file.write(separator + json.dumps(series, separators=(",", ":")))
                separator = ","
            container += 1
        file.write("]}}")


def samples(metric: str, container: int) -> list[tuple[int, str]]:
    """Return samples of a counter of CPU seconds, or of a level of memory."""
    rows = []
    used = 0.0
    for place in range(N_SAMPLES):
        share = (container * 37 + place * 13) % 100
        used += share * 0.61
        amount = f"{used:.4f}" if "cpu" in metric else str(2**20 * (share + 100))
        rows.append((1_793_491_200 + 60 * place, amount))
    return rows


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
                # What an earlier run has kept would spare this one the work.
                shutil.rmtree(cell.store / "cache", ignore_errors=True)
                use = partial(look_around, cell, log) if name == "explore" else None
                run = watched(words_of(name, cell, cells[0], out, budget), log, use)
                shutil.rmtree(out, ignore_errors=True)
                for file in folder.glob("out.*"):
                    file.unlink()
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
