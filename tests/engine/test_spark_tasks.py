"""Independent tasks on Spark: their results, their errors, and a store made by them."""

from __future__ import annotations

import os
import pickle
import random
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import numpy as np
import pytest

import borgtrace
from borgtrace import engine
from borgtrace.colocation.options import ColocationOptions
from borgtrace.colocation.packing.grid import GridCell
from borgtrace.colocation.study import Study
from borgtrace.colocation.tasks.synthetic import synthetic_pool
from borgtrace.datasets import Options as DatasetOptions
from borgtrace.datasets import Selection, build
from borgtrace.engine import SparkTasks, spark_session, tasks_on
from borgtrace.engine.refusal import refusal
from borgtrace.errors import EngineError, SourceError, UsageError
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.ingest.build import sorting_limits, staging
from borgtrace.ingest.find.discovery import discover
from borgtrace.overcommit import ADVICE, RECLAIMED, REPLAY
from borgtrace.overcommit.recommenders import RECOMMENDERS
from borgtrace.placement import parse_estimator
from borgtrace.scheduling import COMPACT, SIMULATE
from borgtrace.storage.paths import as_path
from borgtrace.store import Store
from borgtrace.store.manifest import SourceEntry
from borgtrace.store.verify import verify
from borgtrace.synth import generate
from tests.engine.conftest import on_spark
from tests.ingest.raw import USAGE, write_cell, write_part

# pyspark leaves its sockets to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")


@pytest.fixture
def tasks(con: object) -> SparkTasks:
    """The session of the contract suite, as a place of work."""
    return SparkTasks("local[2]", "1GB")


@on_spark
def test_results_come_in_order_from_other_processes(tasks: SparkTasks) -> None:
    asked = [5, 1, 3]
    found = list(tasks.map(lambda item: (item * len(asked), os.getpid()), iter(asked)))
    assert [value for value, _ in found] == [15, 3, 9]
    assert os.getpid() not in {process for _, process in found}
    assert sorted(tasks.map(abs, [-2, -1], ordered=False)) == [1, 2]


@on_spark
def test_what_a_task_raises(tasks: SparkTasks) -> None:
    def work(item: int) -> None:
        raise (
            SourceError("part", "cannot be read", way_out="fetch it again")
            if item
            else ValueError("no such thing")
        )

    with pytest.raises(SourceError, match=r"^part: cannot be read; fetch it again$"):
        list(tasks.map(work, [1]))
    with pytest.raises(EngineError) as caught:
        list(tasks.map(work, [0]))
    told = (
        "local[2]: a task failed: got ValueError: no such thing; the log of the executor says more"
    )
    assert str(caught.value) == told


class _Context:
    """Stands for Spark's context: what it is asked is done at once, here."""

    master = "spark://host:7077"

    def __init__(self) -> None:
        self.defaultParallelism = 3
        self.said: list[str] = []
        self.sent: list[Any] = []
        self.received: list[tuple[int, bytes]] = []
        self.destroy, self.cancelAllJobs = (
            partial(self.said.append, "destroyed"),
            partial(self.said.append, "cancelled"),
        )

    def broadcast(self, carried: Any) -> Any:
        return SimpleNamespace(value=pickle.loads(pickle.dumps(carried)), destroy=self.destroy)

    def parallelize(self, items: list[Any], pieces: int) -> Any:
        assert (len(items), pieces) == (1, 1)
        self.sent += items
        return SimpleNamespace(map=lambda call: SimpleNamespace(collect=lambda: self._run(call)))

    def _run(self, call: Any) -> list[tuple[int, bytes]]:
        result = call(self.sent[-1])
        self.received.append(result)
        return [result]


@pytest.fixture
def context(monkeypatch: pytest.MonkeyPatch) -> _Context:
    context = _Context()
    monkeypatch.setattr(
        spark_session,
        "open_session",
        lambda *_: SimpleNamespace(sparkContext=context),
    )
    return context


def test_each_item_is_a_task_and_nothing_is_left_on_spark(context: _Context) -> None:
    tasks, factor = SparkTasks("spark://host:7077"), 10
    assert list(tasks.map(lambda item: item * factor, iter(range(20)))) == list(range(0, 200, 10))
    assert context.said == ["cancelled", "destroyed"]


def test_results_come_back_compressed(context: _Context) -> None:
    (counts,) = SparkTasks("spark://host:7077").map(np.zeros, [100_000])
    assert counts.tolist() == [0.0] * 100_000
    ((size, received),) = context.received
    assert size > 800_000
    assert len(received) < 2_000


@pytest.mark.parametrize(
    ("sizes", "tasks"),
    [
        # Large items are tasks of their own, and small ones are one with those behind them until they are worth it.
        ([100, 90, 3, 3, 3, 3, 2], [[0], [1], [2, 3, 4, 5], [6]]),
        # A sixteenth of all is worth a task: small items of few bytes are divided among all executors.
        ([4] * 32, [[item, item + 1] for item in range(0, 32, 2)]),
        ([0, 0], [[0], [1]]),
        ([], []),
    ],
)
def test_small_items_share_a_task(
    context: _Context, sizes: list[int], tasks: list[list[int]]
) -> None:
    items = list(range(len(sizes)))
    there = SparkTasks("spark://host:7077")
    results = list(there.map_together(lambda item: item * 10, items, sizes, worth=10))
    assert results == [item * 10 for item in items]
    assert context.sent == tasks


def test_what_a_task_raises_ends_the_others(context: _Context) -> None:
    def work(item: int) -> int:
        if item == 1:
            raise SourceError("part", "cannot be read", way_out="fetch it again")
        if item == 2:
            raise ValueError("org.apache.X: no such thing")
        return item

    tasks = SparkTasks("spark://host:7077")
    found = tasks.map(work, [0, 1])
    assert next(found) == 0
    with pytest.raises(SourceError, match=r"^part: cannot be read; fetch it again$"):
        next(found)
    assert context.said == ["cancelled", "destroyed"]
    with pytest.raises(EngineError, match=r"^spark://host:7077: a task failed: "):
        list(tasks.map(work, [2]))
    # One who takes the first result alone leaves nothing either.
    context.said.clear()
    some = tasks.map(work, [0, 0, 0])
    assert next(some) == 0
    some.close()  # type: ignore[attr-defined]
    assert context.said == ["cancelled", "destroyed"]


def test_nobody_is_advised_where_tasks_are_given_up(
    context: _Context,
    recwarn: pytest.WarningsRecorder,
) -> None:
    def work(item: int) -> int:
        if item:
            raise SourceError("part", "cannot be read", way_out="fetch it again")
        time.sleep(0.3)
        return item

    with pytest.raises(SourceError, match=r"^part: cannot be read; fetch it again$"):
        list(SparkTasks("spark://host:7077").map(work, [1, 0, 0, 0, 0], ordered=False))
    assert not [str(one.message) for one in recwarn if issubclass(one.category, UserWarning)]


def test_threads_that_wait_are_two_for_each_core_and_take_item_by_item(
    context: _Context,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = []

    def pool(threads: int, **options: Any) -> Any:
        asked.append((threads, options))
        return lambda calls: (call for call in ())

    monkeypatch.setattr("joblib.Parallel", pool)
    for ordered in (True, False):
        assert list(SparkTasks("spark://host:7077").map(abs, [1], ordered=ordered)) == []
    options = {
        "backend": "threading",
        "batch_size": 1,
        "pre_dispatch": "n_jobs",
    }
    assert asked == [
        (6, options | {"return_as": "generator"}),
        (6, options | {"return_as": "generator_unordered"}),
    ]


def write_usage(raw: Path) -> None:
    """Four parts of 300 windows each, of 40 jobs."""
    generator = random.Random(3)
    for part in range(4):
        starts = [600_000_000 + (300 * part + row) * 300_000_000 for row in range(300)]
        lines = [
            f"{start},{start + 300_000_000},{generator.randrange(40)},0,5,{generator.random():.4g},"
            "0.1,,,,0.2,,,1,,,,,0,0.1"
            for start in starts
        ]
        write_part(raw, "task_usage", lines, part)


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with ``raw``, in it a damaged file and a refused row, and its store made by this machine."""
    folder = tmp_path_factory.mktemp("here")
    write_usage(write_cell(folder / "raw"))
    (folder / "raw" / "task_usage" / "part-00009-of-00500.csv.gz").write_bytes(b"\x1f\x8b")
    write_part(folder / "raw", "task_usage", ["900000000,600000000,1,0,5,0.1,,,,,,,,,,,,,,"], 7)
    ingest([folder / "raw"], folder / "store", IngestOptions(jobs=1))
    return folder


@pytest.mark.wide
@on_spark
def test_a_store_made_on_spark_is_that_of_this_machine(
    tasks: SparkTasks,
    here: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In two steps, of several files, by paths that only this process understands."""
    monkeypatch.setattr(sorting_limits, "MOST_ROWS", 400)
    monkeypatch.chdir(here)
    options = IngestOptions(engine=tasks.url, memory="1GB")
    store = Path(os.path.relpath(tmp_path / "store", here))
    ingest(sorted(Path("raw").glob("*/part-0000[02]*")), store, options)
    ingest(["raw"], store, replace(options, stage_only=True))
    # What half a task left is written again.
    for entry in ("1", "3"):
        (tmp_path / "store" / "staging" / "ledger" / f"task_usage-part-0000{entry}.json").unlink()
    result = ingest(["raw"], store, options)
    made = borgtrace.open(store)
    assert len(made.layout.parts("instance_usage")) > 2
    assert made.digest == borgtrace.open(here / "store").digest
    assert [entry.quarantined for entry in made.manifest.sources if entry.quarantined] == [1]
    assert [Path(fault.where).name for fault in result.faults] == ["part-00009-of-00500.csv.gz"]
    assert all(check.holds for check in verify(store))


@pytest.mark.wide
@on_spark
def test_a_dataset_made_on_spark_is_that_of_this_machine(
    tasks: SparkTasks,
    here: Path,
    tmp_path: Path,
) -> None:
    store = borgtrace.open(here / "store")
    asked = DatasetOptions(
        selection=Selection(min_length=1, gaps="grid"),
        shards=2,
        static=("tier",),
        format="npz",
    )
    told: list[tuple[str, int, int]] = []
    build(store, tmp_path / "here", asked)
    build(
        store,
        tmp_path / "there",
        asked,
        threads=tasks,
        progress=lambda *step: told.append(step),
    )
    files = sorted(
        path.relative_to(tmp_path / "here")
        for path in (tmp_path / "here").rglob("*")
        if path.is_file()
    )
    assert len(files) == 9
    for file in files:
        assert (tmp_path / "here" / file).read_bytes() == (
            tmp_path / "there" / file
        ).read_bytes(), file
    assert told[-1] == ("write", 6, 6)


@pytest.mark.wide
@on_spark
def test_cells_of_experiments_judged_on_spark_are_those_of_this_machine(tasks: SparkTasks) -> None:
    pool = synthetic_pool(20, seed=1)
    sizes = ColocationOptions(
        tasks=20,
        realizations=100,
        instances=2,
        size=10,
    )
    cells = [
        GridCell(parse_estimator("gpa:0.01")),
        GridCell(parse_estimator("gpa:0.01"), is_rebalanced=False),
    ]
    there = Study(pool, tasks).grid(sizes).outcomes(cells)
    assert len(there) == 4
    assert there == Study(pool).grid(sizes).outcomes(cells)
    # Cells of two pools: those that judge, and those that were learned from.
    judged, learned = Study(pool, tasks).halves(sizes)
    expected = Study(pool).halves(sizes)
    assert [judged.outcomes(cells[:1]), learned.outcomes(cells[:1])] == [
        grid.outcomes(cells[:1]) for grid in expected
    ]


@pytest.mark.wide
@on_spark
def test_replays_on_spark_answer_as_this_machine(
    tasks: SparkTasks,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Overcommit and its advice, schedules by policy, compaction by seed; by a path that only this process knows."""
    generate(tmp_path / "raw", "2011", 10, 4.0, 1)
    ingest([tmp_path / "raw"], tmp_path / "store", IngestOptions(jobs=1))
    monkeypatch.chdir(tmp_path)
    store = borgtrace.open("store", memory="1GB")
    policies = ("limit", "nsigma", "gpa:history=2h")
    replayed = REPLAY.run(store, policies=policies, horizon=3_600_000_000)
    assert replayed.table.num_rows == 6
    # By hours, as the trace has no whole day.
    advice = {"policies": policies, "horizon": 900_000_000, "period": 3_600_000_000, "target": 0.5}
    advised = ADVICE.run(store, **advice)
    assert advised.table.num_rows > 0
    reclaimed = RECLAIMED.run(store)
    assert reclaimed.table.num_rows > 0
    recommended = RECOMMENDERS.run(store, cores=64.0, gib=256.0)
    assert recommended.table.num_rows > 0
    scheduled = SIMULATE.run(store, policies=("best-fit", "worst-fit"))
    assert scheduled.table.num_rows > 0
    compacted = COMPACT.run(store, at=7_200_000_000, seeds=2, what_ifs=("limits",))
    assert compacted.table.num_rows == 1
    elsewhere = [
        REPLAY.run(store, tasks.url, policies=policies, horizon=3_600_000_000),
        ADVICE.run(store, tasks.url, **advice),
        RECLAIMED.run(store, tasks.url),
        RECOMMENDERS.run(store, tasks.url, cores=64.0, gib=256.0),
        SIMULATE.run(store, tasks.url, policies=("best-fit", "worst-fit")),
        COMPACT.run(store, tasks.url, at=7_200_000_000, seeds=2, what_ifs=("limits",)),
    ]
    answers = [replayed, advised, reclaimed, recommended, scheduled, compacted]
    for here, there in zip(answers, elsewhere, strict=True):
        assert there.table.equals(here.table)


@pytest.mark.wide
@on_spark
def test_workers_that_do_not_see_usage_by_machine_are_told(
    tasks: SparkTasks,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The folder is on the disk of this machine: here it is away while tasks run."""
    generate(tmp_path / "raw", "2011", 4, 3.0, 1)
    ingest([tmp_path / "raw"], tmp_path / "store", IngestOptions(jobs=1))
    store = borgtrace.open(tmp_path / "store", memory="1GB")
    options = {"policies": ("limit",), "resources": ("cpu",), "horizon": 3_600_000_000}
    REPLAY.run(store, **options)
    (folder,) = (tmp_path / "store").rglob("machines-*")
    map_on_workers = SparkTasks.map

    def map_elsewhere(self: SparkTasks, *call: Any, **how: Any) -> Iterator[Any]:
        folder.rename(tmp_path / "another disk")
        return map_on_workers(self, *call, **how)

    monkeypatch.setattr(SparkTasks, "map", map_elsewhere)
    with pytest.raises(EngineError) as caught:
        REPLAY.run(store, tasks.url, **options)
    assert str(caught.value) == (
        f"{folder}: workers do not see the usage by machine; "
        "put the store on a disk that all of them share, or in a bucket; or leave out --engine"
    )


def test_workers_that_write_to_another_disk_are_told(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (source,) = discover([write_part(tmp_path / "raw", "task_usage", USAGE)]).sources
    entry = staging.stage(source, tmp_path / "elsewhere")
    assert isinstance(entry, SourceEntry)
    monkeypatch.setattr(SparkTasks, "map", lambda *_, **__: iter([[(source, entry)]]))
    with pytest.raises(EngineError) as caught:
        list(staging.stage_all([source], tmp_path / "here", SparkTasks("spark://host:7077")))
    assert str(caught.value) == (
        f"{tmp_path / 'here'}: what the workers staged is not there; "
        "put the store in a bucket, or on a disk that all of them share"
    )


def test_where_tasks_run() -> None:
    assert tasks_on("duckdb") is None
    assert tasks_on("spark://host:7077", "2GB") == SparkTasks("spark://host:7077", "2GB")
    with pytest.raises(UsageError, match="--engine: unknown engine"):
        tasks_on("dask")


JAVA = (
    "An error occurred while calling o7.collect.\n"
    ": org.apache.spark.SparkException: Job aborted due to stage failure: "
)
LOST = "Task 0 in stage 0.0 failed 4 times, most recent failure: Lost task 0.3 in stage 0.0 (TID 3) (h executor 0): "


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            f"{JAVA}{LOST}org.apache.spark.api.python.PythonException: Traceback (most recent call last):\n"
            '  File "worker.py", line 1, in main\n'
            "pyspark.errors.exceptions.base.PySparkRuntimeError: [PYTHON_VERSION_MISMATCH] Python in worker has"
            " different version: 3.12 than that in driver: 3.11\n\n\tat org.apache.spark.api.python.BasePythonRunner",
            "workers run another version of Python: got PySparkRuntimeError: [PYTHON_VERSION_MISMATCH] Python in worker"
            " has different version: 3.12 than that in driver: 3.11;"
            " set PYSPARK_PYTHON to the path of this version on the workers",
        ),
        (
            f"{JAVA}{LOST}PythonException: Traceback:\nModuleNotFoundError: No module named 'borgtrace'\n\n\tat x.y",
            "workers lack a package: got ModuleNotFoundError: No module named 'borgtrace';"
            " install borgtrace and pyspark on each of them, or ship an environment",
        ),
        (
            f"{JAVA}{LOST}ExecutorLostFailure (executor 0 exited) Reason: exit code 137\nDriver stacktrace:",
            "a task failed: got Lost task 0.3 in stage 0.0 (TID 3) (h executor 0): ExecutorLostFailure (executor 0"
            " exited) Reason: exit code 137; the log of the executor says more",
        ),
        (
            "java.io.InvalidClassException: org.apache.X; local class incompatible",
            "workers run another version of Spark: got InvalidClassException: org.apache.X; local class"
            " incompatible; install pyspark of the version that the master has",
        ),
    ],
)
def test_why_spark_gave_up_is_one_line(text: str, message: str) -> None:
    assert str(refusal("spark://host:7077", text)) == f"spark://host:7077: {message}"


class _Session:
    """A session on a master whose workers take `executors` one after the other."""

    def __init__(self, executors: Iterator[int], **asked: str) -> None:
        size = SimpleNamespace(size=lambda: 1 + next(executors))
        java = SimpleNamespace(sc=lambda: SimpleNamespace(getExecutorMemoryStatus=lambda: size))
        conf = SimpleNamespace(getAll=lambda: [("spark.executor.memory", "4096m"), *asked.items()])
        self.sparkContext: Any = SimpleNamespace(_jsc=java, getConf=lambda: conf)
        self.is_stopped = False

    def stop(self) -> None:
        self.is_stopped = True


WORKERS = [{"memoryfree": 900, "state": "ALIVE"}, {"memoryfree": 5000, "state": "DEAD"}]


@pytest.mark.parametrize(
    ("page", "got"),
    [
        (
            {
                "url": "spark://host:7077",
                "workers": [*WORKERS, {"memoryfree": 1024, "state": "ALIVE"}],
            },
            "900m, 1024m",
        ),
        ({"url": "spark://host:7077", "workers": WORKERS[1:]}, "no worker"),
        ({"url": "spark://host:7078", "workers": WORKERS}, "nothing from http://host:8080/json/"),
        (None, "nothing from http://host:8080/json/"),
    ],
)
def test_an_executor_that_no_worker_starts_is_told(
    monkeypatch: pytest.MonkeyPatch,
    page: dict[str, Any] | None,
    got: str,
) -> None:
    def answer(url: str, timeout: float) -> Any:
        if page is None:
            raise httpx.ConnectError("refused")
        assert url == "http://host:8080/json/"
        return SimpleNamespace(json=lambda: page)

    monkeypatch.setattr(httpx, "get", answer)
    monkeypatch.setattr(spark_session, "PATIENCE", 0.0)
    monkeypatch.delenv("SPARK_MASTER_WEBUI_PORT", raising=False)
    session = _Session(iter([0] * 9))
    with pytest.raises(EngineError) as caught:
        spark_session.await_executor(session, "spark://host:7077")  # type: ignore[arg-type]
    assert str(caught.value) == (
        "spark://host:7077: no worker started an executor within 0 s: expected one with 4096m free, "
        f"got {got}; choose a smaller --memory, or start workers with more"
    )
    assert session.is_stopped


def test_an_executor_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    rest, pauses = iter([0, 0, 1, 7]), list[float]()
    monkeypatch.setattr(spark_session.time, "sleep", pauses.append)
    spark_session.await_executor(_Session(rest), "spark://host:7077")  # type: ignore[arg-type]
    assert next(rest) == 7
    assert pauses == [0.1, 0.1]
    # Those that come with the first task are none yet.
    on_demand = _Session(iter([0, 0]), **{"spark.dynamicAllocation.enabled": "true"})
    spark_session.await_executor(on_demand, "spark://host:7077")  # type: ignore[arg-type]
    assert not on_demand.is_stopped


def test_the_engine_of_ingest_is_one_of_the_engines(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--engine: unknown engine"):
        ingest([write_cell(tmp_path / "raw")], tmp_path / "store", IngestOptions(engine="dask"))
    assert not (tmp_path / "store").exists()
    assert engine.tasks_on("local[3]") == SparkTasks("local[3]")


def test_a_store_goes_to_workers_under_a_name_that_they_understand(
    here: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(here)
    store = borgtrace.open("store")
    sent = pickle.loads(pickle.dumps(store))
    assert (sent.path, sent.digest, sent.memory) == (here / "store", store.digest, store.memory)
    # A URL is the same everywhere.
    assert (
        str(pickle.loads(pickle.dumps(Store(as_path("s3://b/store"), store.manifest))).path)
        == "s3://b/store"
    )
