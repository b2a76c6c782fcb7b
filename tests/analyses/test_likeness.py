"""A cell like a store: planted parameters come back, nothing of the store itself does, and what it lacks is said."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import borgtrace
from borgtrace.analyses.fidelity.likeness import (
    fields_of_arrivals,
    fit,
    names_of_tiers,
    shares_of_owners,
)
from borgtrace.analyses.fidelity.task_distributions import (
    CpuOfWindows,
    class_numbers,
    curve,
    life_curve,
    merged_ends,
    task_class,
)
from borgtrace.catalog import find
from borgtrace.cli import main
from borgtrace.errors import UsageError
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.synth import generate
from borgtrace.synth.model.classes import CLASSES, TaskClass
from borgtrace.synth.model.draws import QuantileCurve
from borgtrace.synth.model.profile import Likeness, MachineShape
from borgtrace.synth.model.profiles import PROFILES
from tests.bucket import serving
from tests.rows import chosen_columns

pytestmark = pytest.mark.wide

GOOGLE_2011, GOOGLE_2019 = PROFILES.values()
SHAPES = (MachineShape("X", 0.5, 0.25, 3), MachineShape("Y", 1.0, 1.0, 1))


def stored(folder: Path, **options: Any) -> Path:
    ingest([generate(folder / "raw", **options)], folder / "store", IngestOptions(jobs=1))
    return folder / "store"


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of a cell whose parameters are not the published ones."""
    waits = QuantileCurve((0.0, 1.0), (20.0, 40.0))
    tiers = tuple(
        replace(
            tier,
            delay=waits,
            running=2.0,
            pending=0.1,
            single=0.5,
            jobs=share,
            largest=30,
            lives=None,
            is_steady=False,
        )
        for tier, share in zip(GOOGLE_2011.tiers, (0.2, 0.3, 0.5), strict=True)
    )
    more = {
        "burst": 0.1,
        "killed_pending": 0.2,
        "removals": 0.05,
        "looping": 0.0,
        "tasks_per_job": None,
        "resubmitting": None,
        "shapes": SHAPES,
    }
    cell = replace(
        GOOGLE_2011,
        tiers=tiers,
        jobs_per_hour=1.5,
        is_even=True,
        **more,
    )
    folder = tmp_path_factory.mktemp("planted")
    return stored(
        folder,
        machines=40,
        hours=8,
        seed=3,
        anomalies=False,
        like=Likeness(cell),
    )


@pytest.fixture(scope="module")
def likeness(planted: Path) -> Likeness:
    return fit(borgtrace.open(planted), "2011")


def test_planted_parameters_of_the_cell_come_back(likeness: Likeness) -> None:
    cell = likeness.profile
    assert [shape[1:] for shape in cell.shapes] == [(0.5, 0.25, 30), (1.0, 1.0, 10)]
    assert cell.jobs_per_hour == pytest.approx(1.5, rel=0.15)
    # 480 arrivals, 320 machine hours with 16 removals.
    assert cell.burst == pytest.approx(0.1, abs=0.04)
    assert cell.removals == pytest.approx(0.05, rel=0.5)
    # A kill takes two hours at the median: of a fifth of the submissions, eight hours show two thirds.
    assert cell.killed_pending == pytest.approx(0.2 * 2 / 3, abs=0.03)
    assert likeness.missing == ()


def test_planted_parameters_of_tiers_come_back(likeness: Likeness) -> None:
    assert [tier.name for tier in likeness.profile.tiers] == ["free", "other", "production"]
    assert [tier.failing_use_little for tier in likeness.profile.tiers] == [True, True, False]
    jobs = [tier.jobs for tier in likeness.profile.tiers]
    assert np.array(jobs) / sum(jobs) == pytest.approx([0.2, 0.3, 0.5], abs=0.06)
    for tier in likeness.profile.tiers:
        assert tier.running == pytest.approx(2.0, abs=0.05)
        assert tier.pending == pytest.approx(0.1, abs=0.03)
        assert tier.single == pytest.approx(0.5, abs=0.12)
        assert tier.delay.at(0.5) == pytest.approx(
            28.3, rel=0.15
        )  # the middle of 20 and 40, in logarithms
        assert tier.sizes is not None
        assert tier.sizes.at(1.0) <= 30.0


def test_what_was_measured_there_is_what_the_fidelity_report_looks_for(
    planted: Path, likeness: Likeness
) -> None:
    published = {(target.measure, target.tier): target for target in likeness.targets}
    assert published["running_per_machine", "free"].published == pytest.approx(2.0)
    assert published["machines_1_1", "machines"].published == pytest.approx(0.25)
    # What is not there is no target: no machine has a quarter of the largest.
    assert ("machines_0.25_0.25", "machines") not in published
    assert {target.grade for target in likeness.targets} == {"S"}


@pytest.fixture(scope="module")
def twin(planted: Path, likeness: Likeness, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return stored(
        tmp_path_factory.mktemp("twin"),
        machines=40,
        hours=8,
        seed=9,
        like=likeness,
    )


def test_the_report_judges_a_twin_by_the_store(twin: Path, likeness: Likeness) -> None:
    rows = find("fidelity").run(twin, resamples=100).table.to_pylist()
    assert {(row["measure"], row["tier"]) for row in rows} == {
        (t.measure, t.tier) for t in likeness.targets
    }
    # Eight hours are too short for a verdict, but not for being near.
    is_near = [row["is_near"] for row in rows if row["verdict"] != "reported"]
    assert is_near.count(True) / len(is_near) >= 0.8


def test_nothing_of_the_store_itself_is_in_the_twin(planted: Path, twin: Path) -> None:
    stores = [borgtrace.open(path) for path in (planted, twin)]
    for table, name in (("collection_events", "collection_id"), ("machine_events", "machine_id")):
        ids = [set(s.sql(f"SELECT {name} v FROM {table}")["v"].to_pylist()) for s in stores]
        assert ids[0]
        assert not ids[0] & ids[1]
    assert not series(stores[0]) & series(stores[1])


def series(store: Any) -> set[tuple[float, ...]]:
    """All runs of three windows with their averages, maxima and memory, but those in which nothing was used."""
    columns = ("average_cpu", "maximum_cpu", "average_memory")
    traces = store.traces(None, columns)
    runs = np.concatenate(
        [
            np.stack(
                [traces.columns[name][lag : len(traces.average_cpu) - 2 + lag] for name in columns],
                1,
            )
            for lag in range(3)
        ],
        axis=1,
    )
    # A run that begins in the last two windows of a task ends in another task.
    inside = np.ones(len(traces.average_cpu), dtype=bool)
    inside[np.concatenate([traces.offsets[1:] - 1, np.maximum(traces.offsets[1:] - 2, 0)])] = False
    inside = inside[: len(runs)]
    return set(map(tuple, runs[inside & (runs[:, ::3].min(axis=1) > 0.0)].tolist()))


def test_the_same_input_gives_the_same_bytes(planted: Path, tmp_path: Path) -> None:
    folders = [
        generate(
            tmp_path / name,
            machines=5,
            hours=1,
            seed=2,
            like=fit(borgtrace.open(planted), "2011"),
        )
        for name in ("a", "b")
    ]
    first, second = ([p.read_bytes() for p in sorted(f.rglob("*.csv.gz"))] for f in folders)
    assert first == second
    assert first


def test_a_store_in_a_bucket_gives_the_same_bytes(
    planted: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with serving(tmp_path / "s3", "cells", monkeypatch) as bucket:
        shutil.copytree(planted, bucket.root / "store")
        for out, like in (("here", str(planted)), ("there", "s3://cells/store")):
            with pytest.raises(SystemExit) as ended:
                main(
                    [
                        "synth",
                        str(tmp_path / out),
                        "--machines",
                        "10",
                        "--hours",
                        "1",
                        "--seed",
                        "2",
                        "--like",
                        like,
                    ]
                )
            assert ended.value.code == 0
    files = [
        {
            path.relative_to(tmp_path / out): path.read_bytes()
            for path in (tmp_path / out).rglob("*")
            if path.is_file()
        }
        for out in ("here", "there")
    ]
    assert files[0]
    assert files[0] == files[1]


def test_a_cell_of_2019_like_one_of_2011(planted: Path, tmp_path: Path) -> None:
    likeness = fit(borgtrace.open(planted), "2019")
    assert [tier.name for tier in likeness.profile.tiers] == ["free", "beb", "production"]
    assert {t.tier for t in likeness.targets if t.measure == "cpu_of_request_p50"} == {
        "free",
        "beb",
        "production",
    }
    folder = generate(
        tmp_path / "out",
        "2019",
        machines=4,
        hours=1,
        seed=1,
        like=likeness,
    )
    assert json.loads((folder / "truth.json").read_text())["rows"]["instance_usage"] > 0


def test_a_store_of_usage_alone_says_what_it_does_not_tell(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    rows = [
        f"t{task},{1793491200 + 300 * slot},{rng.uniform(0.2, 0.6):.3f}"
        for task in range(40)
        for slot in range(30)
    ]
    (tmp_path / "own.csv").write_text("task,time,cpu\n" + "\n".join(rows) + "\n")
    ingest([tmp_path / "own.csv"], tmp_path / "store", IngestOptions(capacity="8cores"))
    likeness = fit(borgtrace.open(tmp_path / "store"), "2011")
    assert {"machines", "arrivals", "lives", "waits"} <= set(likeness.missing)
    assert "usage" not in likeness.missing
    assert "machines" in likeness.note
    assert [tier.name for tier in likeness.profile.tiers] == ["production"]
    # 40 tasks of .4 cores of 8 each; a task without a request asks for its mean ÷ .29.
    classes = likeness.profile.classes
    assert sum(c.share * c.median for c in classes.rows) / 40 == pytest.approx(0.05, rel=0.1)
    assert likeness.profile.tiers[0].running == pytest.approx(
        40 / np.ceil(40 * 0.05 / 0.29), rel=0.1
    )
    generate(
        tmp_path / "out",
        machines=3,
        hours=1,
        like=likeness,
    )


def test_a_store_without_events_cannot_be_followed(
    planted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = borgtrace.open(planted)
    monkeypatch.setitem(store.manifest.tables, "instance_events", 0)
    with pytest.raises(UsageError, match="the store has no events of tasks"):
        fit(store, "2011")


def test_the_ends_of_a_distribution_count_as_their_means() -> None:
    # 1 … 10 are 5.5, and 21 … 30 are 25.5.
    assert (
        merged_ends(np.arange(30.0, 0.0, -1.0)).tolist()
        == [5.5] * 10 + list(range(11, 21)) + [25.5] * 10
    )
    made = curve(np.arange(1.0, 31.0), None)
    assert [made.at(u) for u in (0.0, 0.5, 1.0)] == pytest.approx([5.5, 15.0, 25.5])
    assert curve(np.arange(9.0), "default") == "default"
    assert curve(np.zeros(10), None).at(0.5) == pytest.approx(1e-4)


def test_lives_that_go_on_end_as_those_published() -> None:
    runs = {"seconds": np.array([100.0] * 10 + [200.0] * 10), "is_over": np.arange(20) < 10}
    life = life_curve(runs, np.ones(20, bool), QuantileCurve((0.0, 1.0), (1.0, 5000.0)))
    assert life.below(100.0) == pytest.approx(0.5)
    assert life.at(1.0) == pytest.approx(5000.0)
    assert life_curve(runs, np.arange(20) > 0, life) is life  # nine ends are too few


@pytest.mark.parametrize(
    ("jobs", "expected"),
    [
        (
            {
                "free": 10,
                "other": 10,
                "production": 10,
            },
            ["free", "other", "production"],
        ),
        (
            {
                "free": 10,
                "other": 9,
                "production": 10,
            },
            ["free", "free", "production"],
        ),
        (
            {
                "free": 9,
                "other": 10,
                "production": 9,
            },
            ["other", "other", "other"],
        ),
        (
            {
                "beb": 10,
                "mid": 10,
                "monitoring": 10,
            },
            ["other", "other", "production"],
        ),
        ({"unknown": 3}, ["production"]),
    ],
)
def test_tiers_of_fewer_than_ten_jobs_are_merged(jobs: dict[str, int], expected: list[str]) -> None:
    tiers = [name for name, n in jobs.items() for _ in range(n)]
    attempts = pa.table({"tier": tiers, "collection_id": np.arange(len(tiers))})
    names = names_of_tiers(attempts, GOOGLE_2011)
    assert [names[name] for name in jobs] == expected


def test_classes_of_fewer_than_ten_jobs_are_merged() -> None:
    level = np.linspace(0.01, 0.2, 400)
    variation = np.tile([0.1, 1.0], 200)
    every = class_numbers(level, variation, np.arange(400))
    assert len(np.unique(every)) > 8
    for job in (np.arange(400) // 40, np.arange(400) // 20):
        kinds = class_numbers(level, variation, job)
        assert all(len(np.unique(job[kinds == kind])) >= 10 for kind in np.unique(kinds))


def test_owners_of_fewer_than_ten_jobs_have_no_share_of_their_own() -> None:
    head, exponent, last, shift = shares_of_owners(
        np.repeat(["a", "b", "c"], [60, 31, 9]), GOOGLE_2011.users
    )
    assert head == pytest.approx([0.6 / 1.001, 0.31 / 1.001])
    assert exponent == 2.1
    assert last == 12
    assert shift == 13.0
    assert shares_of_owners(np.array(["", ""]), "default") == "default"


def test_an_owner_of_ten_jobs_has_a_share_and_two_owners_are_enough() -> None:
    head, _, last, _ = shares_of_owners(np.repeat(["a", "b"], [30, 10]), GOOGLE_2011.users)
    assert head == pytest.approx([0.75 / 1.001, 0.25 / 1.001])
    assert last == 12  # two and ten more, who share what is left


def test_lives_rise_from_the_shortest_to_the_longest() -> None:
    runs = {"seconds": np.arange(1.0, 31.0), "is_over": np.ones(30, bool)}
    life = life_curve(runs, np.ones(30, bool), QuantileCurve((0.0, 1.0), (1.0, 5000.0)))
    assert life.shares[0] == 0.0
    assert life.shares[-1] == 1.0
    assert list(life.shares) == sorted(life.shares)
    # 1 … 10 count as 5.5, and 21 … 30 as 25.5; all have ended, so that nothing lasts longer.
    assert life.all_at(np.array([0.0, 0.2, 0.5, 1.0])) == pytest.approx([5.5, 5.5, 15.0, 25.5])


def of_two_tasks(averages: list[float], seconds: list[float]) -> TaskClass:
    """The class of a task of mean 0.5 with four windows and one of mean 0.25 with three."""
    windows = CpuOfWindows(
        offsets=np.array([0, 4, 7]),
        average_cpu=np.array(averages),
        sampled_cpu=np.array(seconds),
    )
    return task_class(windows, np.array([0.5, 0.25]), "c", CLASSES.rows[0])


def test_a_class_wanders_as_far_as_neighbouring_windows_are_alike() -> None:
    # Of the first task 1.5, 1.5, 0.5, 0.5 times its mean; the second has no two windows in a row that are known.
    wandering = of_two_tasks([0.75, 0.75, 0.25, 0.25, 0.5, np.nan, 0.25], [0.5] * 7)
    # Products of neighbours: ¼, −¼, ¼; squares of the first of each: ¼. A third, on a scale from .15 to .92.
    assert wandering.drifting == pytest.approx((1 / 3 - 0.15) / 0.77)
    assert wandering.letter == "c"
    assert wandering.share == 2.0
    assert wandering.median == pytest.approx(0.125**0.5)
    assert wandering.spread == pytest.approx(np.log(2) / 2)
    # Seven windows are too few for a form of their own.
    assert wandering.between == CLASSES.rows[0].between
    assert wandering.within == CLASSES.rows[0].within
    assert of_two_tasks([0.5] * 4 + [0.25] * 3, [0.5] * 7).drifting == 0.0


@pytest.mark.parametrize(
    ("n_jobs", "within", "burst"),
    [
        (1, 0.5, None),
        (2, 0.4585, 0.5),
        (2, 0.917 * 0.95, 0.95),
        (2, 1.0, 0.95),
    ],
)
def test_one_job_tells_nothing_of_bursts(n_jobs: int, within: float, burst: float | None) -> None:
    jobs = {
        "size": np.ones(n_jobs),
        "user": np.array(["a"] * n_jobs),
        "name": np.array(["b"] * n_jobs),
    }
    jobs |= {f"{name}_request": np.full(n_jobs, 0.5) for name in ("cpu", "memory")}
    use = {f"{name}_request": np.exp(np.repeat([-3.0, -1.0], 5)) for name in ("cpu", "memory")}
    # Of four submissions within the trace one is killed before it starts; one more was made before.
    runs = {
        "submit_time": np.array([0, 1, 1, 1, 1], float) * 10**9,
        "schedule_time": np.array([np.nan, np.nan, np.nan, 2e9, 2e9]),
        "end_type": np.array(["KILL", "KILL", "FAIL", "KILL", "FINISH"]),
    }
    measured = {("arrivals_within_10ms", "all"): within}
    measured |= {(f"resubmitted_after_{kind}", "all"): 0.25 for kind in ("EVICT", "FAIL")}
    measured["resubmitted_after_KILL", "all"] = np.nan
    fields = fields_of_arrivals(runs, jobs, use, measured, GOOGLE_2011)
    assert fields.get("burst") == (None if burst is None else pytest.approx(burst))
    expected = {
        "killed_pending": 0.25,
        "resubmitted": {
            **GOOGLE_2011.resubmitted,
            "EVICT": 0.25,
            "FAIL": 0.25,
        },
        "users": GOOGLE_2011.users,
        "names": GOOGLE_2011.names,
    }
    assert chosen_columns(fields, expected) == expected
    # Fewer than ten jobs ask for something, so that what tasks with usage ask for stands for them.
    assert fields["request"] == fields["memory_request"] == pytest.approx((-2.0, 1.0))
