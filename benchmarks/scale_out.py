"""Raw files in a bucket to a store, answers, a dataset and overcommit, on a Spark cluster of 1, 2 and 4 workers.

A standalone master, workers of one core each and an S3 server run on this machine, which has fewer cores than that:
what counts is CPU seconds, not the speed-up.  Each phase is the command of a user in a process of its own, whose cache
is empty; workers and driver share nothing but the bucket.  The first rows are of the same commands on this machine,
without Spark and without the server: what the cluster gives is compared with that.

"Through the driver" is what the driver read from the bucket and wrote to it, and what passed between it and executors,
both ways; "data" is the raw files for the ingest, the store for other phases.  With --kill each phase runs once more
with the most workers, and one of them is killed with all its processes after half of the time that the phase took.

    python benchmarks/scale_out.py [--rows 200000] [--workers 1 2 4] [--kill] [--memory 1GB] [--phases ingest dataset]

Needs `localbucket`, `pyspark`, Java, and `ss` of Linux.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import re
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).parent))
from spark_cluster import Bucket, Cluster, Processes, Watch

HOURS = 72
ROWS_OF_FILE = 540_000
"""Usage rows of a raw file: a fifth of those of the real trace."""
PHASES = ("ingest", "questions", "dataset", "overcommit")
WORKER_MEMORY = "4g"
"""What a worker may give to executors: more than any executor asks for."""
TOLERANCE = 1e-9
"""Two engines add numbers in another order."""
CONFIGURATION = """\
spark.eventLog.enabled true
spark.eventLog.dir file://{folder}
spark.eventLog.compress false
spark.eventLog.rolling.enabled false
"""


@dataclass(frozen=True)
class Cost:
    """What one run of a phase took.

    Attributes
    ----------
    seconds
        Elapsed.
    cpu
        CPU seconds by role.
    traffic
        Bytes by client and direction.
    from_executors, to_executors
        Bytes that the driver received from executors, and sent to them.
    peak
        Largest resident bytes of a worker with all its processes.
    lost
        Executors that were lost.
    result
        Digest of what was made, or how it compares.
    """

    seconds: float
    cpu: Counter[str]
    traffic: Counter[str]
    from_executors: int
    to_executors: int
    peak: int
    lost: int
    result: str

    @property
    def through_driver(self) -> int:
        """Bytes that passed through the driver."""
        bucket = self.traffic["driver read"] + self.traffic["driver wrote"]
        return bucket + self.from_executors + self.to_executors


class Bench:
    """The bucket, the folders of this machine, and the runs."""

    def __init__(self, folder: Path, memory: str) -> None:
        self.folder = folder
        self.memory = memory
        self.processes = Processes()
        self.bucket = Bucket(folder, self.processes)
        self.objects = self.bucket.root / "cells"
        self.here = folder / "here"
        self.here.mkdir()
        self.n_runs = 0

    def words(self, phase: str, engine: str) -> list[str]:
        """Return the command of a phase: on this machine where `engine` is empty, else on a cluster and the bucket."""
        root = "s3://cells" if engine else str(self.here)
        raw = f"{root}/raw" if engine else str(self.objects / "raw")
        store = f"{root}/cell"
        if phase == "questions":
            answers = str(self.answers(engine))
            return [__file__, "--ask", store, engine or "duckdb", answers, "--memory", self.memory]
        words_of_phase = {
            "ingest": ["ingest", raw, "--store", store],
            "dataset": ["dataset", store, f"{root}/set"],
            "overcommit": ["overcommit", store, "--json"],
        }
        words = ["-m", "borgtrace", *words_of_phase[phase], "--memory", self.memory]
        return [*words, "--engine", engine] if engine else words

    def answers(self, engine: str) -> Path:
        """Return where the answers of all questions go."""
        return self.folder / ("answers of the cluster" if engine else "answers")

    def run(self, phase: str, cluster: Cluster | None, kill_after: float = math.inf) -> Cost:
        """Run a phase, and lose a worker on the way where it lasts long enough."""
        self.n_runs += 1
        own = self.folder / f"run-{self.n_runs}"
        own.mkdir()
        engine = cluster.url if cluster else ""
        self.clear(phase, engine)
        cpu, traffic = self.processes.cpu(), self.bucket.traffic()
        watch = Watch(self.processes, cluster)
        watch.start()
        begun = time.perf_counter()
        command = [sys.executable, "-W", "ignore", *self.words(phase, engine)]
        printed = own / "printed"
        pid = self.processes.start("driver", command, self.environment(own), printed)
        self.lose(cluster, pid, begun + kill_after)
        status = self.processes.wait(pid)
        seconds = time.perf_counter() - begun
        watch.is_over.set()
        watch.join()
        print_outcome(command, status, printed.read_text())
        cost = Cost(
            seconds=seconds,
            cpu=self.processes.cpu() - cpu,
            traffic=self.bucket.traffic() - traffic,
            from_executors=watch.received,
            to_executors=watch.sent,
            peak=watch.peak,
            lost=lost_executors(own),
            result=f"failed ({status})" if status else self.result(phase, engine, printed),
        )
        shutil.rmtree(own)
        return cost

    def environment(self, own: Path) -> dict[str, str]:
        """Return the environment of a driver whose cache and event log are in a folder of its own."""
        conf = own / "conf"
        conf.mkdir()
        (conf / "spark-defaults.conf").write_text(CONFIGURATION.format(folder=own))
        return {
            **os.environ,
            **self.bucket.environment("driver"),
            "XDG_CACHE_HOME": str(own / "cache"),
            "SPARK_CONF_DIR": str(conf),
            "SPARK_LOCAL_IP": "127.0.0.1",
        }

    def lose(self, cluster: Cluster | None, pid: int, moment: float) -> None:
        """Kill a worker at a moment, should the command of this process still run then."""
        if cluster is None or moment == math.inf:
            return
        while time.perf_counter() < moment:
            self.processes.bury()
            if pid in self.processes.status_of:
                return
            time.sleep(0.02)
        cluster.lose_worker()

    def clear(self, phase: str, engine: str) -> None:
        """Remove what an earlier run of a phase made."""
        root = self.objects if engine else self.here
        made = {"ingest": "cell", "dataset": "set", "overcommit": "cell/cache"}
        if phase in made:
            shutil.rmtree(root / made[phase], ignore_errors=True)
        if phase == "questions":
            shutil.rmtree(self.answers(engine), ignore_errors=True)

    def result(self, phase: str, engine: str, out: Path) -> str:
        """Return the digest of what a phase made; for answers, how they compare with those of this machine."""
        root = self.objects if engine else self.here
        if phase == "ingest":
            return str(json.loads((root / "cell" / "manifest.json").read_text())["digest"])[:12]
        if phase == "dataset":
            return digest_of_files(root / "set")
        if phase == "overcommit":
            return digest_of_answer(out)
        if engine:
            return compare_answers(self.answers(""), self.answers(engine))
        return f"{len(list(self.answers('').glob('*.parquet')))} answers"


def print_outcome(command: Sequence[str], status: int, printed: str) -> None:
    """Say why a command failed, or which questions took longest."""
    if status:
        print(f"{' '.join(command)}: {status}\n{printed[-4000:]}", file=sys.stderr)
    longest = re.findall(r"^(\w+ \d+\.\d)$", printed, re.MULTILINE)[:8]
    if longest:
        print(f"questions, elapsed s: {', '.join(longest)}", file=sys.stderr)


def digest_of_answer(out: Path) -> str:
    """Return a digest of the answer among what a command printed, without where and how fast it was computed."""
    text = out.read_text()
    answer = json.loads(text[text.find("{") : text.rfind("}") + 1])
    del answer["provenance"]
    return hashlib.sha256(json.dumps(answer, sort_keys=True).encode()).hexdigest()[:12]


def digest_of_files(folder: Path) -> str:
    """Return a digest of the names and bytes of all files below a folder."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.*")):
        if path.is_file():
            digest.update(path.relative_to(folder).as_posix().encode())
            digest.update(hashlib.file_digest(path.open("rb"), "sha256").digest())
    return digest.hexdigest()[:12]


def lost_executors(folder: Path) -> int:
    """Count in Spark's event log the executors that were lost while the command ran."""
    lost = 0
    for log in folder.glob("app-*"):
        for line in log.read_text().splitlines():
            event = json.loads(line)
            if event["Event"] == "SparkListenerExecutorRemoved":
                lost += "killed by driver" not in event["Removed Reason"]
    return lost


def compare_answers(here: Path, there: Path) -> str:
    """Say how many answers of two folders agree, and how far apart their numbers are."""
    worst = 0.0
    differing = []
    names = sorted({path.name for folder in (here, there) for path in folder.glob("*.parquet")})
    for name in names:
        apart = math.inf
        if (here / name).exists() and (there / name).exists():
            apart = distance(pq.read_table(here / name), pq.read_table(there / name))
        if apart > TOLERANCE:
            differing.append(f"{name.removesuffix('.parquet')} ({apart:.1g})")
        else:
            worst = max(worst, apart)
    agreement = f"{len(names) - len(differing)} of {len(names)} answers agree to {worst:.0e}"
    return f"{agreement}; not {', '.join(differing)}" if differing else agreement


def distance(left: pa.Table, right: pa.Table) -> float:
    """Return the largest relative difference of two tables; infinity where something else differs."""
    if left.num_rows != right.num_rows or left.column_names != right.column_names:
        return math.inf
    worst = 0.0
    for name in left.column_names:
        for one, other in zip(left[name].to_pylist(), right[name].to_pylist(), strict=True):
            if one == other:
                continue
            if not isinstance(one, float) or not isinstance(other, float):
                return math.inf
            if not (math.isnan(one) and math.isnan(other)):
                worst = max(worst, abs(one - other) / max(abs(one), abs(other)))
    return worst


def size_of(folder: Path) -> int:
    """Return the bytes of all files below a folder, without what a store keeps of its answers."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return sum(path.stat().st_size for path in files if folder / "cache" not in path.parents)


def make_raw(folder: Path, rows: int) -> None:
    """Write the raw files of a synthetic cell of 2011 with about so many usage rows."""
    from borgtrace.synth import generate

    machines = 1
    while machines * HOURS * (94 + 20 * math.log(machines / 50)) < rows:
        machines += 1
    parts = max(4, round(rows / ROWS_OF_FILE))
    generate(folder, "2011", machines=machines, hours=HOURS, seed=1, parts=parts)


def ask(store: str, engine: str, answers: str, memory: str) -> None:
    """Ask all questions as `analyze` does, write the answers and print the elapsed seconds of each, the longest first.

    No chart is drawn: that is work of the driver, and the same whatever the size of the data.
    """
    from borgtrace.catalog import questions
    from borgtrace.question import EngineTables, Question, with_subjects

    folder = Path(answers)
    folder.mkdir(parents=True)
    tables = EngineTables.of(store, engine, memory=memory)
    seconds_of: dict[str, float] = {}
    asked = [question for question in questions().values() if isinstance(question, Question)]
    for question, subject in with_subjects(asked, tables):
        begun = time.perf_counter()
        pq.write_table(question.run(subject).table, folder / f"{question.name}.parquet")
        seconds_of[question.name] = time.perf_counter() - begun
    for name in sorted(seconds_of, key=lambda name: -seconds_of[name]):
        print(f"{name} {seconds_of[name]:.1f}")


def print_line(label: str, phase: str, cost: Cost, n_bytes: int) -> None:
    """Print a row of the table."""
    spent, traffic = cost.cpu, cost.traffic
    engine_cpu = spent["driver"] + spent["workers"]
    through = f"{cost.through_driver / 1e6:.1f} | {100 * cost.through_driver / n_bytes:.2f}"
    parts = (traffic["driver read"], traffic["driver wrote"], cost.from_executors)
    detail = " + ".join(f"{part / 1e6:.1f}" for part in (*parts, cost.to_executors))
    moved = f"{traffic['workers read'] / 1e6:.0f} | {traffic['workers wrote'] / 1e6:.0f}"
    print(
        f"| {phase} | {label} | {cost.seconds:.1f} | {engine_cpu:.1f} | {spent['driver']:.1f} | "
        f"{spent['server']:.1f} | {moved} | {through} | {detail} | {cost.peak / 1e9:.1f} | "
        f"{cost.lost} | {cost.result} |",
        flush=True,
    )


def measure(
    bench: Bench, phases: Sequence[str], numbers: Sequence[int], *, is_killing: bool
) -> None:
    """Print the table."""
    print(
        "| phase | workers | wall s | CPU s | of it driver | server CPU s | workers read MB | "
        "wrote MB | through the driver MB | % of data | read + wrote + from + to executors | "
        "worker peak GB | lost | result |"
    )
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|---|--:|--:|---|")
    raw = size_of(bench.objects / "raw")

    def show(label: str, phase: str, cost: Cost) -> None:
        data = raw if phase == "ingest" else size_of(bench.here / "cell")
        print_line(label, phase, cost, data)

    for phase in phases:
        show("none", phase, bench.run(phase, None))
    seconds: dict[str, float] = {}
    for number in numbers:
        for phase in phases:
            cost = on_cluster(bench, phase, number)
            show(str(number), phase, cost)
            seconds[phase] = cost.seconds
    if is_killing:
        for phase in phases:
            cost = on_cluster(bench, phase, numbers[-1], seconds[phase] / 2)
            show(f"{numbers[-1]}, one killed", phase, cost)


def on_cluster(bench: Bench, phase: str, n_workers: int, kill_after: float = math.inf) -> Cost:
    """Run a phase on a cluster of its own."""
    memory = WORKER_MEMORY
    cluster = Cluster(bench.folder / "cluster", bench.processes, bench.bucket, memory)
    try:
        for _ in range(n_workers):
            cluster.add_worker()
        return bench.run(phase, cluster, kill_after)
    finally:
        cluster.stop()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=200_000, help="usage rows of the cell, about")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--memory", default="1GB", help="of an executor's Java, and --memory")
    parser.add_argument("--phases", nargs="+", choices=PHASES, default=list(PHASES))
    parser.add_argument("--kill", action="store_true", help="also kill a worker in each phase")
    parser.add_argument("--dir", type=Path, help="where all files go; a temporary folder if none")
    parser.add_argument("--ask", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.ask:
        ask(*options.ask, options.memory)
        return
    # Killed as if interrupted: nothing that was started stays.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    # The others read the store.
    phases = [phase for phase in PHASES if phase in ("ingest", *options.phases)]
    with tempfile.TemporaryDirectory(dir=options.dir) as folder:
        bench = Bench(Path(folder), options.memory)
        try:
            make_raw(bench.objects / "raw", options.rows)
            print(f"{options.rows:,} rows: {size_of(bench.objects / 'raw') / 1e6:.0f} MB raw\n")
            measure(bench, phases, options.workers, is_killing=options.kill)
        finally:
            bench.processes.end()


if __name__ == "__main__":
    main()
