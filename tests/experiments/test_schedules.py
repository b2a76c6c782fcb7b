"""Experiments with schedulers: planted waits, what is kept, own schedulers, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import borgtrace
from borgtrace import Scheduler
from borgtrace.cli import main
from borgtrace.errors import UsageError
from borgtrace.experiments import ExperimentResult, read_plan
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.scheduling import SIMULATE
from tests.experiments.test_laboratory import assert_same
from tests.extensions.own_code import install
from tests.extensions.test_installed_packages import run_with
from tests.ingest.raw import write_part

Run = Callable[..., tuple[int, str, str]]
S = 1_000_000
LEFT = '''"""The machine with the least CPU left."""

from borgtrace import Scheduler


def score(task, machine):
    return machine.cpu_free - task.cpu


SCHEDULER = Scheduler(name="{name}", about="least CPU is left", score=score)
'''


def attempt(job: int, arrival: int, wait: int, priority: int) -> list[str]:
    """Return the events of a task that waits and runs for 100 s."""
    at = (arrival, arrival + wait, arrival + wait + 100)
    machines = ("", 7, 7)
    return [
        f"{time * S},,{job},0,{machine},{kind},bob,2,{priority},0.1,0.1,0.001,0"
        for time, machine, kind in zip(at, machines, (0, 1, 4), strict=True)
    ]


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One empty machine: six tasks of production that waited 100 s each, and three free ones that waited 50 s."""
    root = tmp_path_factory.mktemp("planted")
    events = []
    for job in range(6):
        events += attempt(job + 1, 1000 + 1800 * job, wait=100, priority=9)
    for job in range(3):
        events += attempt(job + 11, 1500 + 1800 * job, wait=50, priority=0)
    events.sort(key=lambda line: int(line.partition(",")[0]))
    write_part(root / "raw", "task_events", events)
    write_part(root / "raw", "machine_events", ["0,7,0,PLATFORM,1,1"])
    ingest([root / "raw"], root / "store", IngestOptions(jobs=1))
    return root / "store"


def run_on(store: Path, out: Path | None = None, **settings: Any) -> ExperimentResult:
    described: dict[str, Any] = {"stores": {"a": store}, "out": out}
    return borgtrace.experiment(**{**described, **settings})


@pytest.mark.wide
def test_what_tasks_waited_in_the_trace_and_what_an_empty_machine_spares_them(
    planted: Path,
) -> None:
    result = run_on(
        planted, schedulers=["recorded", "best-fit"], tiers=["all", "production", "free"]
    )
    waits = {(row["tier"], row["policy"]): row["wait"] for row in result.policies.table.to_pylist()}
    assert waits == pytest.approx(
        {
            ("all", "recorded"): (6 * 100 + 3 * 50) / 9,
            ("production", "recorded"): 100.0,
            ("free", "recorded"): 50.0,
            ("all", "best-fit"): 0.0,
            ("production", "best-fit"): 0.0,
            ("free", "best-fit"): 0.0,
        }
    )
    pairs = {row["tier"]: row for row in result.comparisons.table.to_pylist()}
    # The same for each task: without any interval.
    assert pairs["production"] | {"p": 0} == pytest.approx(
        {
            "tier": "production",
            "policy": "best-fit",
            "other": "recorded",
            "wait": 0.0,
            "other_wait": 100.0,
            "difference": 100.0,
            "low": 100.0,
            "high": 100.0,
            "p": 0,
            "is_shown": True,
        }
    )
    # Of all tasks some waited 100 s and some 50.
    assert pairs["all"]["low"] < 83 < pairs["all"]["high"]
    assert result.sentence.splitlines() == [
        result.sentence.splitlines()[0],
        result.sentence.splitlines()[1],
        "production tasks: least wait under best-fit: 0 s [0 to 0] a task, with 0 evictions a task, "
        "and 0 % pending at the end.",
        "Under best-fit tasks wait 100 s less than under recorded [100, 100].",
        "free tasks: least wait under best-fit: 0 s [0 to 0] a task, with 0 evictions a task, "
        "and 0 % pending at the end.",
        "Under best-fit tasks wait 50 s less than under recorded [50, 50].",
        # They arrive within three hours, which cannot tell how hours differ.
        "95 % intervals over 9 jobs, those of differences for 3 comparisons together; "
        "1 day cannot tell how other days differ.",
    ]


@pytest.mark.parametrize("name", ["recorded", "best-fit", "best-fit+preempt", "random:k=2"])
def test_the_table_agrees_with_simulate(stores: Path, name: str) -> None:
    result = run_on(stores / "a", schedulers=[name])
    (own,) = result.cells.table.to_pylist()
    rows = SIMULATE.run(stores / "a", policies=(name,)).table.to_pylist()
    waited = 3600 * sum(row["waiting_hours"] for row in rows)
    assert own["wait"] * own["tasks"] == pytest.approx(waited)
    assert own["evictions"] * own["tasks"] == pytest.approx(sum(row["evicted"] for row in rows))
    assert own["pending"] * own["tasks"] == pytest.approx(sum(row["pending_end"] for row in rows))


def test_only_what_is_random_is_computed_for_each_seed(stores: Path, tmp_path: Path) -> None:
    settings: dict[str, Any] = {
        "stores": [stores / "a", stores / "b"],
        "schedulers": {"best": ["best-fit", "recorded"], "random": {"k": [1, 2], "preempt": True}},
        "seeds": [0, 1],
    }
    first = borgtrace.experiment(**settings, out=tmp_path / "one")
    # Of each store two schedulers once, and two for each of two seeds.
    assert first.n_computed == 2 * (2 + 2 * 2)
    assert first.cells.table.num_rows == 2 * 4 * 2
    again = borgtrace.experiment(**settings, out=tmp_path / "one")
    assert again.n_computed == 0
    borgtrace.experiment(**settings, out=tmp_path / "several", jobs=2)
    assert_same(tmp_path / "one", tmp_path / "several")
    assert first.policies.table["policy"].to_pylist() == [
        "best-fit",
        "recorded",
        "random:k=1+preempt",
        "random:k=2+preempt",
    ]


@pytest.mark.wide
def test_a_scheduler_of_ones_own_is_a_member_and_its_code_is_named(planted: Path) -> None:
    own = Scheduler(name="own-idle", about="the most CPU is free", score=least_free)
    result = run_on(planted, schedulers={"own": [own], "ours": ["worst-fit"]})
    (pair,) = result.comparisons.table.to_pylist()
    # With one machine there is nothing to choose.
    assert (pair["difference"], pair["low"], pair["high"], pair["is_shown"]) == (0, 0, 0, False)
    assert result.policies.provenance.extensions["own-idle"]["source"] == __name__


def least_free(task: Any, machine: Any) -> Any:
    return -machine.cpu_free


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def invoke(*words: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as caught:
            main([str(word) for word in words])
        printed = capsys.readouterr()
        return int(caught.value.code or 0), printed.out, printed.err

    return invoke


@pytest.mark.wide
def test_the_command_runs_schedulers_of_a_file(planted: Path, tmp_path: Path, run: Run) -> None:
    own = tmp_path / "left.py"
    own.write_text(LEFT.format(name="experiment-left"), encoding="utf-8")
    plan = tmp_path / "plan.toml"
    text = f'stores = ["{planted}"]\nschedulers = ["experiment-left", "recorded"]\n'
    plan.write_text(text, encoding="utf-8")
    words = ("experiment", plan, "--out", tmp_path / "out")
    code, _, err = run(*words)
    assert code == 2
    assert err.startswith(
        f"borgtrace: {plan}: schedulers.experiment-left: no such scheduler: expected one of recorded, "
    )
    code, out, err = run(*words, "--from", own)
    assert code == 0, err
    assert out.startswith('"tier","family","policy","stores"')
    assert err.splitlines()[-2].startswith(
        "Under experiment-left tasks wait 83 s less than under recorded ["
    )
    code, out, err = run(*words, "--from", own, "--json")
    assert code == 0, err
    answers = [json.loads(line) for line in out.splitlines()]
    assert [answer["recipe"] for answer in answers] == ["cells", "policies", "comparisons"]


@pytest.mark.wide
def test_a_file_may_not_choose_a_scheduler_of_an_installed_package(
    planted: Path, tmp_path: Path
) -> None:
    text = LEFT.format(name="installed-left")
    entry_points = "[borgtrace.schedulers]\ninstalled-left = acme_left:SCHEDULER\n"
    install(tmp_path, "acme_left", f"print('acme runs')\n{text}", entry_points)
    plan = tmp_path / "plan.toml"
    plan.write_text(f'stores = ["{planted}"]\nschedulers = ["installed-left+preempt"]\n')
    words = ["experiment", str(plan), "--out", str(tmp_path / "out")]
    refused = run_with(tmp_path, f"from borgtrace.cli import main; main({words})")
    assert refused.returncode == 2
    assert "acme runs" not in refused.stdout + refused.stderr
    assert refused.stderr == (
        f"borgtrace: {plan}: schedulers.installed-left+preempt: a file may not run the code of "
        "package acme_left 1.2: got installed-left; name it yourself: --from acme_left\n"
    )


SHORT = 'stores = ["a"]\n'
WRONG = {
    'schedulers = ["best-fit"]\npolicies = ["limit"]': "schedulers: an experiment compares one kind: policies save, "
    "and under schedulers tasks wait: expected policies or schedulers, got both; make two experiments of it",
    'schedulers = {a = ["best-fit"], b = ["best-fit"]}': "schedulers: one is named twice: got best-fit",
    "schedulers = []": "schedulers: nothing is named: expected at least one",
    "schedulers = [5]": "schedulers: not a scheduler: got an object of the class int",
    'schedulers = ["best-fitt"]': "schedulers.best-fitt: no such scheduler: expected one of recorded, "
    "least-stranded, best-fit, worst-fit, first-fit, dot-product, random",
    'schedulers = ["best-fit"]\nseeds = [0, 1]': "seeds: they would change nothing: a seed draws the order in which "
    "random looks at machines, and it is not named: expected one seed, or the scheduler random, got 2 seeds",
    'schedulers = ["best-fit"]\nhorizon = "1h"': "horizon: no part of an experiment: expected one of stores, "
    "schedulers, seeds, tiers, factor, plan, whole_jobs",
    'schedulers = ["best-fit"]\nfactor = 2': "factor: out of range: expected 0 to 1, got 2",
    'schedulers = ["best-fit"]\nfactor = 0.5\nplan = "gpa:0.1"': "factor: not beside plan: expected one of the two, "
    "got plan = gpa:0.1, factor = 0.5",
    'schedulers = ["best-fit"]\nplan = "mine:1"': "plan: no plan of borgtrace: expected one of average, cantelli, "
    "percentile, request, gpa, reservation, reclaimed, share, overcommit, got mine",
    'schedulers = ["best-fit"]\nplan = 5': "plan: not a text: got 5",
    'schedulers = ["best-fit"]\nwhole_jobs = 1': "whole_jobs: neither true nor false: got 1",
    'schedulers = ["best-fit"]\ntiers = []': "tiers: nothing is named: expected at least one",
    "[schedulers.random]\nk = []": "schedulers.random.k: no value: expected at least one",
    "[schedulers.random]\npreempt = []": "schedulers.random.preempt: no value: expected at least one",
    "[schedulers.random]\npreempt = 1": "schedulers.random.preempt: neither true nor false: got 1",
    "[schedulers.random]\nq = 1": "schedulers.random: not a parameter of a scheduler: "
    "expected policy, k or preempt, got 'q'",
}


@pytest.mark.parametrize("lines", WRONG)
def test_a_wrong_value_is_refused_with_its_place(tmp_path: Path, lines: str) -> None:
    file = tmp_path / "experiment.toml"
    file.write_text(f"{SHORT}{lines}\n", encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        read_plan(file)
    assert str(caught.value).partition("; did you")[0].startswith(f"{file}: {WRONG[lines]}")


def test_a_tier_that_a_store_does_not_know_is_refused(planted: Path) -> None:
    with pytest.raises(UsageError) as caught:
        run_on(planted, schedulers=["best-fit"], tiers=["mid"])
    assert str(caught.value) == (
        "tiers: no such tier in store a: expected all or free or other or production, got mid"
    )
