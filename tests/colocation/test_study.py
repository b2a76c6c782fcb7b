"""Studies, grids and the experiments that share them: options, halves, what is made once."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from borgtrace.catalog import experiments
from borgtrace.colocation import ColocationOptions, Study
from borgtrace.colocation.experiment import plan_cells
from borgtrace.colocation.experiments.beyond import packing_online
from borgtrace.colocation.experiments.packing import packing_averages, packing_base
from borgtrace.colocation.experiments.usage import usage_changes
from borgtrace.colocation.packing.grid import (
    GridCell,
    PackingGrid,
    PackingOutcome,
    group_cells,
    judge_instance,
    n_realizations_seen,
)
from borgtrace.colocation.packing.instances import Instance, Instances, Room
from borgtrace.colocation.study import GivenPool, halves, instances_of
from borgtrace.errors import UsageError
from borgtrace.placement import Average, Gpa
from borgtrace.question import PlannedTables
from tests.colocation.known import drawn
from tests.colocation.test_packing_past import on_clock
from tests.colocation.test_pool import make

POOL = on_clock(
    np.repeat(
        [
            [0.25],
            [0.5],
            [0.125],
            [0.75],
        ],
        6,
        axis=1,
    )
)
SMALL = ColocationOptions(
    tasks=4,
    realizations=100,
    instances=2,
    size=2,
    seed=5,
)


@pytest.mark.parametrize(
    ("name", "least", "allowed"),
    [
        ("tasks", 1, "1 to 1,000,000,000"),
        ("realizations", 100, "100 to 1,000,000"),
        ("instances", 1, "1 to 100,000"),
        ("size", 1, "1 to 1,000,000"),
        ("samples", 1, "1 to 1,000,000"),
        ("hours", 1, "1 to 10,000"),
    ],
)
def test_the_least_of_each_size(name: str, least: int, allowed: str) -> None:
    assert getattr(ColocationOptions(**{name: least}), name) == least
    with pytest.raises(UsageError) as caught:
        ColocationOptions(**{name: least - 1})
    assert str(caught.value) == f"--{name}: out of range: expected {allowed}, got {least - 1}"


def test_draws_that_no_memory_holds_are_refused() -> None:
    assert ColocationOptions(size=1_000, realizations=1_000_000).size == 1_000
    with pytest.raises(UsageError) as caught:
        ColocationOptions(size=1_001, realizations=1_000_000)
    assert str(caught.value) == (
        "--size: too many draws at once: expected --size times --realizations of at most 1,000,000,000, "
        "got 1,001,000,000"
    )


def test_defaults() -> None:
    plain = ColocationOptions()
    assert (plain.tasks, plain.realizations, plain.instances, plain.size, plain.samples) == (
        100_000,
        10_000,
        5,
        1_000,
        1_000,
    )
    assert plain.hours == 24
    assert plain.capacity == 1.0
    assert plain.target == 0.001
    assert plain.seed == 0
    assert (plain.promises, plain.mix, plain.instantaneous, plain.include) == (
        "production=0.999,free=0.95",
        "",
        "sampled",
        "",
    )


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"include": "long"}, "--include: .*short.*got long.*"),
        (
            {"capacity": 0.0},
            "--capacity: out of range: expected above 0 and at most 1,000,000, got 0",
        ),
    ],
)
def test_options_that_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=f"^{message}$"):
        ColocationOptions(**given)


def test_a_store_is_prepared_with_the_options(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def prepare(*given: Any) -> Any:
        calls.append(given)
        return POOL

    tables = PlannedTables("2011")
    monkeypatch.setattr("borgtrace.colocation.study.prepare", prepare)
    options = ColocationOptions(
        tasks=7,
        seed=3,
        instantaneous="histogram",
        include="short,failing",
    )
    assert Study(tables).pool(options) is POOL
    ((source, tasks, seed, instantaneous, words),) = calls
    assert source is tables
    assert tasks == 7
    assert seed == 3
    assert instantaneous == "histogram"
    assert tuple(words) == ("short", "failing")


def test_halves_judge_on_other_tasks_and_other_draws() -> None:
    judged, learning = halves(POOL, SMALL)
    assert judged.on_fresh is True
    assert learning.on_fresh is True
    assert judged.instances.seed == 5
    assert learning.instances.seed == 6
    both = (judged.instances, learning.instances)
    assert {(each.size, each.realizations, each.count) for each in both} == {(2, 100, 2)}
    tasks = [set(each.pool.collection_id.tolist()) for each in both]
    assert len(tasks[0]) == 2
    assert len(tasks[1]) == 2
    assert tasks[0] | tasks[1] == {0, 1, 2, 3}
    study = Study(POOL)
    assert study.halves(SMALL) is study.halves(replace(SMALL))
    assert study.halves(SMALL)[0].on_fresh
    assert not study.grid(SMALL).on_fresh


def test_a_study_takes_a_sample_of_its_pool_once() -> None:
    study = Study(POOL)
    # All of them as they are; fewer are taken, and kept.
    for tasks in (4, 5):
        assert study.pool(replace(SMALL, tasks=tasks)) is POOL
    three = replace(SMALL, tasks=3)
    assert len(study.pool(three)) == 3
    assert study.pool(three) is study.pool(replace(three, realizations=200, size=3))
    assert study.pool(three) is not study.pool(replace(three, seed=6))
    assert study.coverage(three).n_tasks == 3


def test_what_is_made_is_made_once_under_its_key() -> None:
    study = Study(POOL)
    made = []

    def make_it() -> int:
        made.append(1)
        return len(made)

    assert [
        study.once("a", make_it),
        study.once("a", make_it),
        study.once("b", make_it),
    ] == [
        1,
        1,
        2,
    ]


def test_instances_have_the_sizes_of_the_options() -> None:
    instances = instances_of(POOL, SMALL)
    assert instances.size == 2
    assert instances.realizations == 100
    assert instances.count == 2
    assert instances.seed == 5
    assert instances.kept == {}
    kept: dict[int, Any] = {}
    assert instances_of(POOL, SMALL, kept).kept is kept
    study = Study(POOL)
    assert study.instances(SMALL).kept is study.instances(replace(SMALL, instances=9)).kept
    assert study.instances(SMALL).kept is not study.instances(replace(SMALL, realizations=200)).kept


def test_what_a_given_pool_says_of_itself() -> None:
    chosen_options = GivenPool(POOL)
    assert chosen_options.name == "planted"
    assert chosen_options.coverage.n_tasks == 4
    assert chosen_options.coverage.dialect.trace == "2011"
    parameters = chosen_options.provenance({"size": 3}, 1.5)
    assert parameters.store == "planted"
    assert parameters.generation == "2011"
    assert parameters.is_synthetic is False
    assert parameters.engine == "numba"
    assert parameters.parameters == {"size": 3}
    assert parameters.seconds == 1.5
    other = GivenPool(replace(POOL, generation="2019", is_synthetic=True))
    assert other.coverage.dialect.trace == "2019"
    assert other.provenance({}, 0).generation == "2019"
    assert other.provenance({}, 0).is_synthetic


# --- cells and outcomes ------------------------------------------------------------------------------


def test_numbers_of_an_outcome() -> None:
    result = PackingOutcome(
        GridCell(Gpa(0.1)),
        0,
        6,
        4,
        9,
        600,
        20,
        2,
        1,
    )
    assert result.machines == 8
    assert result.m == 1.5
    assert result.q == 0.015
    assert replace(result, trials=0, overflows=0).q == 0.0


@pytest.mark.parametrize(
    ("fields", "is_possible"),
    [
        ({"clairvoyance": 1.0}, True),
        ({"clairvoyance": 0.001}, True),
        ({"clairvoyance": 0.0}, False),
        ({"clairvoyance": 1.001}, False),
        ({"capacity": 0.0}, False),
        ({"fill": 0.0}, False),
        ({"fill": 0.8, "capacity": 0.5}, True),
    ],
)
def test_possible_cells(fields: dict[str, float], is_possible: bool) -> None:
    if is_possible:
        GridCell(Gpa(0.1), **fields)
        return
    with pytest.raises(UsageError):
        GridCell(Gpa(0.1), **fields)


@pytest.mark.parametrize(
    ("share", "n", "seen"),
    [
        (1.0, 100, 100),
        (0.1, 100, 10),
        (0.001, 100, 1),
        (0.016, 100, 2),
        (0.5, 7, 4),
    ],
)
def test_at_least_one_realization_is_seen(share: float, n: int, seen: int) -> None:
    instance = drawn(np.zeros((2, n)))
    assert n_realizations_seen(instance, GridCell(Gpa(0.1), clairvoyance=share)) == seen


def test_cells_that_see_the_same_are_together() -> None:
    cells = [GridCell(Gpa(0.1), data=data) for data in ("inst", "avg", "inst")]
    groups = group_cells(cells, lambda cell: cell.data)
    assert list(groups) == ["inst", "avg"]
    assert [len(group) for group in groups.values()] == [2, 1]


USAGE = np.float32(
    [
        [0.25, 0.25, 0.75, 0.75],
        [0.5, 0.5, 0.5, 0.5],
    ]
)
FRESH = np.float32(
    [
        [0.75, 0.75, 0.75, 0.25],
        [0.5, 0.5, 0.5, 0.5],
    ]
)
AVERAGES = np.full((2, 4), 0.75, np.float32)


def two_tasks() -> Instance:
    """Two tasks whose four draws are known: seen are the first ones, fresh ones are others."""

    def draw(column: str, salt: int = 0) -> np.ndarray:
        return AVERAGES if column == "avg" else FRESH

    return Instance(3, np.array([0, 1]), USAGE, draw)


@pytest.mark.parametrize(
    ("fields", "on_fresh", "machines", "overflows", "trials"),
    [
        # .5 + .5 fit on one machine, which two of four draws exceed.
        ({}, False, 1, 2, 4),
        # Half seen: .25 + .5, judged on the other half.
        ({"clairvoyance": 0.5}, False, 1, 2, 2),
        # By draws that nobody has seen, all of them count.
        ({"clairvoyance": 0.5}, True, 1, 3, 4),
        ({}, True, 1, 3, 4),
        # Averages of .75 need a machine each, on which nothing overflows.
        ({"data": "avg"}, False, 2, 0, 8),
        # Filled to half; the first task alone exceeds half a machine in half of its draws.
        ({"fill": 0.5}, False, 2, 0, 8),
        ({"capacity": 0.5}, False, 2, 2, 8),
    ],
)
def test_what_is_seen_and_what_judges(
    fields: dict[str, Any],
    on_fresh: bool,
    machines: int,
    overflows: int,
    trials: int,
) -> None:
    (found,) = judge_instance(
        two_tasks(),
        [GridCell(Average(1), **fields)],
        on_fresh=on_fresh,
    )
    assert found.m_abs == machines
    assert found.overflows == overflows
    assert found.trials == trials
    assert found.instance == 3
    assert found.n_tasks == 2
    assert found.n_unplaceable == 0
    assert found.predicted is None
    # Means of all draws together are 1.
    assert found.lower_bound == (2 if fields.get("capacity") else 1)


def test_what_fits_nowhere_and_what_is_moved() -> None:
    # Tasks of .5 and .5 on one of two machines: rebalancing has nothing to move; .75 and .75 fit no half.
    cells = [
        GridCell(Average(1), is_rebalanced=True),
        GridCell(Average(1), is_rebalanced=False),
        GridCell(Average(2), capacity=0.5),
    ]
    one, other, none = judge_instance(two_tasks(), cells)
    assert one.n_moved == 0
    assert other.n_moved == 0
    assert none.m_abs == 0
    assert none.n_unplaceable == 2
    assert none.lower_bound == 1
    assert none.trials == 0
    assert none.q == 0.0


def test_overflow_that_is_predicted_is_a_mean_over_machines() -> None:
    (found,) = judge_instance(two_tasks(), [GridCell(Gpa(0.5))])
    # Mean 1 and deviation .25 on one machine of 1.
    assert found.m_abs == 1
    assert found.predicted == pytest.approx(0.5, abs=1e-5)


class Plans(Study):
    """A study that notes what it is told to plan."""

    def __init__(self) -> None:
        super().__init__(POOL)
        self.options: ColocationOptions | None = None
        self.cells: list[GridCell] = []

    def plan(self, options: ColocationOptions, cells: Sequence[GridCell]) -> None:
        self.options = options
        self.cells = list(cells)


def test_experiments_on_the_grid_run_in_one_pass() -> None:
    study = Plans()
    chosen = [packing_base.QUESTION, usage_changes.QUESTION, packing_averages.QUESTION]
    plan_cells(study, chosen, {"size": 7, "hours": 3})
    assert study.cells == packing_base.cells() + packing_averages.cells()
    # Ten instances by default; what was given; nothing that they do not take.
    assert study.options == ColocationOptions(size=7, instances=10)


@pytest.mark.parametrize(
    "chosen",
    [
        [packing_base.QUESTION],
        [packing_base.QUESTION, usage_changes.QUESTION],
        [],
    ],
)
def test_one_experiment_runs_on_its_own(chosen: list[Any]) -> None:
    study = Plans()
    plan_cells(study, chosen, {})
    assert study.options is None
    assert study.cells == []


def test_planned_cells_run_in_the_pass_of_the_first() -> None:
    instances = CountedInstances(POOL, size=2, realizations=50, count=2)
    first, second = GridCell(Average(1)), GridCell(Average(2))
    grid = PackingGrid(instances, planned=[first, second])
    alone = PackingGrid(Instances(POOL, size=2, realizations=50, count=2))
    assert grid.outcomes([first]) == alone.outcomes([first])
    assert instances.n_passes == 1
    assert grid.outcomes([second]) == alone.outcomes([second])
    assert instances.n_passes == 1


class CountedInstances(Instances):
    """Instances that count how often all of them are worked on."""

    n_passes = 0

    def map(self, work: Any, threads: Any = 2) -> Any:
        object.__setattr__(self, "n_passes", self.n_passes + 1)
        return super().map(work, threads)


def test_instances_that_are_kept_share_their_room() -> None:
    """An instance of two tasks and 100 realizations is counted as 5 × 2 × 100 × 4 bytes."""
    room = Room(3 * 4000)
    first = Instances(POOL, size=2, realizations=100, count=2, room=room)
    second = Instances(POOL, size=2, realizations=100, count=4, seed=1, room=room)
    for number in range(2):
        first.make(number)
    assert list(first.kept) == [0, 1]
    for number in range(4):
        second.make(number)
    # The oldest of the other kind make way; of its own kind the first ones stay.
    assert (list(first.kept), list(second.kept)) == ([], [0, 1, 2])
    second.kept.clear()
    first.make(1)
    assert list(first.kept) == [1]
    assert first.make(1) is first.kept[1]


def test_a_room_on_another_machine_is_as_large_and_empty() -> None:
    room = Room(4000)
    here = Instances(POOL, size=2, realizations=100, count=2, room=room)
    here.make(0)
    elsewhere = Instances(
        POOL, size=2, realizations=100, count=2, room=pickle.loads(pickle.dumps(room))
    )
    elsewhere.make(0)
    elsewhere.make(1)
    # Neither makes way for the other, and a second one finds no room.
    assert (list(here.kept), list(elsewhere.kept)) == ([0], [0])


def test_options_of_an_experiment_and_their_defaults() -> None:
    online = packing_online.QUESTION
    assert dict(online.parameters) == {
        "tasks": 2_000,
        "capacity": 1.0,
        "include": "",
        "seed": 0,
    }
    assert dict(usage_changes.QUESTION.parameters) == {
        "tasks": 100_000,
        "size": 1_000,
        "hours": 72,
        "seed": 0,
    }
    listed = experiments()
    assert listed["packing_online"] is online
    assert set(listed) >= {"packing_base", "usage_changes"}
    assert "arrivals" not in listed


def test_the_subject_of_an_experiment_is_a_study() -> None:
    study = Study(POOL)
    assert packing_base.QUESTION.subject(study) is study
    made = packing_base.QUESTION.subject(POOL)
    assert isinstance(made.source, GivenPool)
    assert made.source.whole is POOL


def test_outcomes_are_known_once_and_in_the_order_that_is_asked_for() -> None:
    instances = Instances(
        make([[0.25, 0.25], [0.5, 0.5]]),
        size=2,
        realizations=100,
        count=2,
    )
    grid = PackingGrid(instances, threads=1)
    first = GridCell(Average(1))
    second = GridCell(Average(3))
    (one, two) = grid.outcomes([first])
    assert one.instance == 0
    assert two.instance == 1
    assert one.cell == first
    outcomes = grid.outcomes([second, first, second])
    assert [(each.cell, each.instance) for each in outcomes] == [
        (second, 0),
        (second, 1),
        (first, 0),
        (first, 1),
    ]
    assert outcomes[2] is one
    # .75 and 1.5 of 1: one machine, and a task that fits none.
    assert [(each.m_abs, each.n_unplaceable) for each in outcomes[:2]] == [(1, 1)] * 2
    assert grid.mean_quality(first) == 0.0
