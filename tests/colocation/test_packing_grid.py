"""The grid of experiments: what its cells share, what they see, and what does not depend on threads."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from borgtrace.colocation import synthetic_pool
from borgtrace.colocation.experiments.beyond import packing_memory
from borgtrace.colocation.experiments.shared.outcomes import paper_estimators
from borgtrace.colocation.options import ColocationOptions
from borgtrace.colocation.packing import shared_draws
from borgtrace.colocation.packing.grid import GridCell, PackingGrid, judge_instance
from borgtrace.colocation.packing.instances import Instance, Instances, Room, split
from borgtrace.colocation.packing.quality import overflow_counts
from borgtrace.colocation.study import Study
from borgtrace.colocation.tasks.pool import TaskPool
from borgtrace.errors import UsageError
from borgtrace.placement import Packing
from borgtrace.placement.estimators.bounds import Chernoff
from borgtrace.placement.estimators.convolution import Convolution
from borgtrace.placement.estimators.estimator import Estimator
from borgtrace.placement.estimators.gpa import Gpa
from borgtrace.placement.estimators.sizes import Average, Cantelli, Percentile
from tests.rows import chosen_columns

POOL = synthetic_pool(400, seed=4)


def grid(threads: int = 2, count: int = 3) -> PackingGrid:
    return PackingGrid(
        Instances(
            POOL,
            size=80,
            realizations=200,
            count=count,
            seed=1,
        ),
        threads=threads,
    )


def test_the_paper_has_sixteen_estimators():
    assert [e.label for e in paper_estimators()] == [
        "average 1",
        "average 1.25",
        "average 2",
        "percentile 50",
        "percentile 70",
        "percentile 90",
        "percentile 95",
        "percentile 99",
        "percentile 100",
        "cantelli 4.4",
        "cantelli 1.7",
        "cantelli 1",
        "gpa 0.1",
        "gpa 0.05",
        "gpa 0.01",
        "gpa 0.001",
    ]


def test_threads_and_company_change_nothing():
    cells = [
        GridCell(Gpa(0.01)),
        GridCell(Convolution(0.01), packer="first-fit"),
        GridCell(Average(1.25), data="avg"),
    ]
    together = grid(2).outcomes(cells)
    assert grid(1).outcomes(cells) == together
    alone = [outcome for cell in reversed(cells) for outcome in grid(1).outcomes([cell])]
    assert sorted(alone, key=repr) == sorted(together, key=repr)
    more = [outcome for outcome in grid(2, count=5).outcomes(cells) if outcome.instance < 3]
    assert more == together


def test_estimators_see_the_first_columns_and_are_judged_on_the_rest():
    inst = np.float32([[0.4, 0.4, 0.9, 0.4]] * 2)  # together 1.8 in column 2 only
    drawn = Instance(0, np.arange(2), inst, lambda column: inst)
    (half,) = judge_instance(drawn, [GridCell(Percentile(100), clairvoyance=0.5)])
    assert half.m_abs == 1
    assert half.overflows == 1
    assert half.trials == 2
    (all_seen,) = judge_instance(drawn, [GridCell(Percentile(100))])
    assert all_seen.m_abs == 2
    assert all_seen.overflows == 0
    assert all_seen.trials == 8
    (quarter,) = judge_instance(drawn, [GridCell(Percentile(100), clairvoyance=0.25)])
    assert quarter.overflows == 1
    assert quarter.trials == 3
    assert half.lower_bound == 2  # from all columns: 2 · .525


def test_averages_are_judged_on_instantaneous_usage():
    inst = np.float32([[0.0, 1.0]] * 2)
    avg = np.float32([[0.5, 0.5]] * 2)
    (outcome,) = judge_instance(
        Instance(
            0,
            np.arange(2),
            inst,
            lambda column: avg,
        ),
        [GridCell(Percentile(100), data="avg")],
    )
    assert outcome.m_abs == 1
    assert outcome.q == 0.5


def test_machines_are_filled_to_e_and_judged_by_all_of_their_capacity():
    inst, avg = (
        np.float32([[0.45, 0.7]] * 2),
        np.float32([[0.4, 0.4]] * 2),
    )  # together .9 and 1.4; averages .8
    drawn = Instance(0, np.arange(2), inst, lambda column: avg)
    maximum = Percentile(100)
    cells = [GridCell(maximum, data="avg", fill=e) for e in (0.8, 0.79, 1.0)]
    full, apart, whole = judge_instance(drawn, cells)
    # .4 + .4 fill a machine to .8; only 1.4 exceeds the whole machine, .9 does not
    assert full.m_abs == 1
    assert full.overflows == 1
    assert full.trials == 2
    assert apart.m_abs == 2
    assert apart.overflows == 0
    assert apart.trials == 4
    assert whole.m_abs == 1
    assert whole.overflows == 1
    assert [each.lower_bound for each in (full, apart)] == [2, 2]  # 2 · .575, by the whole machine
    with pytest.raises(UsageError) as caught:
        GridCell(maximum, fill=0.0)
    assert (
        str(caught.value) == "fill: not the capacity of a machine: expected a number above 0, got 0"
    )


def test_unplaceable_tasks_are_counted_and_left_out_of_the_bound():
    inst = np.float32(
        [
            [0.5, 0.5],
            [1.6, 1.6],
            [0.25, 0.25],
        ]
    )
    (outcome,) = judge_instance(
        Instance(
            0,
            np.arange(3),
            inst,
            lambda column: inst,
        ),
        [GridCell(Average(1))],
    )
    assert outcome.n_unplaceable == 1
    assert outcome.m_abs == 1
    assert outcome.lower_bound == 1
    assert outcome.m == 1.0
    (none,) = judge_instance(
        Instance(
            0,
            np.arange(1),
            inst[1:2],
            lambda column: inst[1:2],
        ),
        [GridCell(Average(1))],
    )
    assert none.m_abs == 0
    assert none.m == 0.0
    assert none.q == 0.0
    assert none.trials == 0


def test_the_bound_leaves_out_what_fits_nowhere_with_memory_too():
    # 1.6 of CPU fits no machine; .5 and .25 are left, of which the memory, 1.1 together, is scarcer
    inst = np.float32(
        [
            [0.5, 0.5],
            [1.6, 1.6],
            [0.25, 0.25],
        ]
    )
    memory = np.float32(
        [
            [0.6] * 2,
            [0.6] * 2,
            [0.5] * 2,
        ]
    )
    drawn = Instance(0, np.arange(3), inst, lambda column: memory)
    for row in packing_memory.pack_instance(drawn, None):
        expected = {
            "n_unplaceable": 1,
            "lower_bound": 2,
            "m_abs": 2,
        }
        assert chosen_columns(row, expected) == expected


def test_instances_draw_without_replacement_and_reproducibly():
    instances = Instances(
        POOL,
        size=50,
        realizations=100,
        count=2,
        seed=3,
    )
    first = instances.make(0)
    again = instances.make(0)
    assert len(set(first.tasks.tolist())) == 50
    assert (first.inst == again.inst).all()
    assert first.tasks.tolist() != instances.make(1).tasks.tolist()
    longer = Instances(
        POOL,
        size=50,
        realizations=150,
        count=9,
        seed=3,
    ).make(0)
    assert (longer.inst[:, :100] == first.inst).all()
    assert len(Instances(POOL, size=5_000, realizations=100).make(0).tasks) == len(POOL)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"realizations": 99}, "--realizations: out of range: expected 100 to 1,000,000, got 99"),
        ({"size": 0}, "--size: out of range: expected 1 to 1,000,000, got 0"),
        ({"instances": 0}, "--instances: out of range: expected 1 to 100,000, got 0"),
    ],
)
def test_too_few_of_anything(options, message):
    with pytest.raises(UsageError) as caught:
        ColocationOptions(**options)
    assert str(caught.value) == message


def test_impossible_cells():
    with pytest.raises(UsageError) as caught:
        GridCell(Gpa(0.1), clairvoyance=0.0)
    assert (
        str(caught.value)
        == "clairvoyance: not a share of the realizations: expected above 0 and at most 1, got 0"
    )
    with pytest.raises(UsageError) as caught:
        GridCell(Gpa(0.1), capacity=-1.0)
    assert (
        str(caught.value)
        == "capacity: not the capacity of a machine: expected a number above 0, got -1"
    )


def test_halves_share_no_task():
    first, second = split(POOL, 100, seed=0)
    ids = [
        set(zip(p.collection_id.tolist(), p.instance_index.tolist(), strict=True))
        for p in (first, second)
    ]
    assert not ids[0] & ids[1]
    assert len(ids[0]) + len(ids[1]) == len(POOL)
    assert split(POOL, 300, seed=0) == (POOL, POOL)


def skewed_pool(tasks: int, seed: int) -> TaskPool:
    """Return tasks whose usage is log-normal: their sums have a longer tail than a Gaussian's."""
    random = np.random.default_rng(seed)
    usage = 0.01 * random.lognormal(-0.5, 1.0, 50 * tasks).astype(np.float32)
    return TaskPool(
        offsets=np.arange(tasks + 1) * 50,
        inst=usage,
        avg=usage,
        collection_id=np.arange(tasks),
        instance_index=np.zeros(tasks, np.int64),
        generation="2011",
    )


def test_calibrated_gpa_keeps_its_target_where_it_learned():
    from borgtrace.placement.estimators.calibrated import CalibratedGpa

    learning = PackingGrid(
        Instances(
            skewed_pool(400, seed=4),
            size=300,
            realizations=2_000,
            count=2,
            seed=8,
        )
    )
    plain: Estimator = CalibratedGpa(0.01)
    learned = learning.prepared(plain, GridCell(plain))
    q = learning.mean_quality(GridCell(learned, is_rebalanced=False))
    assert 0.006 <= q <= 0.01
    assert learning.mean_quality(GridCell(Gpa(0.01), is_rebalanced=False)) > 0.01


def test_sizes_order_the_machines():
    outcomes = grid().outcomes([GridCell(Cantelli(b)) for b in (1.0, 1.7, 4.4)])
    machines = [outcome.m_abs for outcome in outcomes if outcome.instance == 0]
    assert machines == sorted(machines)


def test_fresh_draws_judge_what_others_were_seen():
    inst = np.float32([[0.4, 0.4]] * 2)
    fresh = np.float32([[0.4, 0.9]] * 2)
    drawn = Instance(0, np.arange(2), inst, lambda column, salt: fresh)
    cell = GridCell(Percentile(100), clairvoyance=0.5)
    (found,) = judge_instance(drawn, [cell], on_fresh=True)
    assert (found.m_abs, found.overflows, found.trials) == (
        1,
        1,
        2,
    )  # all fresh columns, whatever was seen
    made = Instances(
        POOL,
        size=50,
        realizations=100,
        count=1,
        seed=3,
    ).make(0)
    assert (made.fresh != made.inst).any()
    whole = Instances(
        POOL,
        size=len(POOL),
        realizations=100,
        count=2,
        seed=3,
    )
    one, other = (made.fresh[np.argsort(made.tasks)] for made in (whole.make(0), whole.make(1)))
    assert (one != other).any(axis=1).mean() > 0.9  # the same tasks, judged by other draws
    assert made.fresh.mean() == pytest.approx(made.inst.mean(), rel=0.05)


def test_every_draw_of_an_instance_waits_for_its_turn(monkeypatch):
    drawn = []
    taken = TaskPool.draw

    def draw(
        pool,
        tasks,
        realizations,
        seed,
        column,
    ):
        drawn.append((column, shared_draws.DRAWING.locked()))
        return taken(pool, tasks, realizations, seed, column)

    monkeypatch.setattr(TaskPool, "draw", draw)
    pool = replace(POOL, memory=POOL.avg)
    made = Instances(
        pool,
        size=5,
        realizations=100,
        count=1,
    ).make(0)
    assert (made.draw("memory") == made.avg).all()  # the same windows, whatever the column
    assert made.fresh.shape == (5, 100)
    assert drawn == [
        ("inst", True),
        ("memory", True),
        ("avg", True),
        ("inst", True),
    ]


def test_a_study_keeps_apart_what_was_drawn_otherwise():
    study = Study(POOL)
    plain = ColocationOptions(realizations=100, size=5)
    assert study.grid(plain) is study.grid(ColocationOptions(realizations=100, size=5))
    for other in (
        replace(plain, instantaneous="histogram"),
        replace(plain, seed=1),
        replace(plain, size=6),
    ):
        assert study.grid(other) is not study.grid(plain)
        assert study.instances(other).kept is not study.instances(plain).kept
    assert study.instances(replace(plain, instances=9)).kept is study.instances(plain).kept


def test_instances_of_a_small_pool_are_judged_as_if_each_had_drawn_alone():
    """Both instances hold all 40 tasks; without what they share, each derives its own numbers from its own draws."""
    cells = [
        GridCell(Gpa(0.1)),
        GridCell(Percentile(90), "first-fit", clairvoyance=0.5),
        GridCell(Chernoff(0.1), is_rebalanced=False),
        GridCell(Average(1.25), data="avg", capacity=0.5),
    ]
    pool = synthetic_pool(40, seed=2)
    made = Instances(pool, size=50, realizations=300, count=2, seed=1)
    assert made.shared is not None
    for instance in map(made.make, range(2)):
        assert instance.seen.percentile(90).tolist() == pytest.approx(
            np.percentile(instance.inst.astype(float), 90, axis=1), rel=1e-6
        )
        alone = replace(instance, drawn=pool.draw(instance.tasks, 300, 1), shared=None)
        assert (alone.avg == instance.avg).all()
        assert judge_instance(instance, cells) == judge_instance(alone, cells)


def test_instances_of_a_small_pool_draw_what_estimators_see_once(monkeypatch):
    drawn = []
    draw = TaskPool.draw

    def counted(pool, tasks, realizations, seed, column):
        drawn.append((len(tasks), seed, column))
        return draw(pool, tasks, realizations, seed, column)

    monkeypatch.setattr(TaskPool, "draw", counted)
    made = Instances(synthetic_pool(40, seed=2), size=40, realizations=100, count=3, seed=1)
    list(made.map(lambda instance: (instance.seen.std, instance.avg.max())))
    assert sorted(drawn) == [(40, 1, "avg"), (40, 1, "inst")]


def test_instances_of_a_large_pool_share_nothing():
    assert Instances(synthetic_pool(41, seed=2), size=40, realizations=100).shared is None
    # 5 × 40 × 400,000 × 4 bytes are 320 MB: what is kept for all instances has a bound.
    assert Instances(synthetic_pool(40, seed=2), size=40, realizations=400_000).shared is None


def test_draws_of_one_experiment_make_way_for_those_of_the_next():
    """Both share a room, in which the draws of one pool and seed are held at a time; drawn again, they are the same."""
    room = Room()
    pool = synthetic_pool(20, seed=2)
    first = Instances(pool, size=20, realizations=50, seed=1, room=room).shared
    second = Instances(pool, size=20, realizations=50, seed=3, room=room).shared
    assert first is not None
    assert second is not None
    drawn = first.draws("inst")
    assert first.draws("inst") is drawn
    assert second.draws("inst").tolist() != drawn.tolist()
    again = first.draws("inst")
    assert again is not drawn
    assert again.tolist() == drawn.tolist()


def test_a_prediction_that_nobody_asks_for_is_not_made():
    usage = np.float32([[0.5, 0.5], [0.25, 0.75]])
    drawn = Instance(0, np.arange(2), usage, lambda column: usage)
    asked = GridCell(Gpa(0.1), is_rebalanced=False)
    not_asked = replace(asked, has_prediction=False)
    with_prediction, without = judge_instance(drawn, [asked, not_asked])
    assert with_prediction.predicted is not None
    assert without.predicted is not None  # packed together with one that asks
    (alone,) = judge_instance(drawn, [not_asked])
    assert alone.predicted is None
    assert replace(alone, predicted=without.predicted) == without


def test_rows_of_usage_may_stand_in_another_order_than_tasks():
    """Tasks 0 and 1 share a bin: .5 + .75 exceed it in the first column alone."""
    packing = Packing(np.array([0, 0, 1]), np.ones((2, 1)), np.arange(2))
    usage = np.float32([[0.75, 0.25], [2, 2], [0.5, 0.5]])
    assert overflow_counts(usage, [packing], rows=np.array([2, 0, 1])).tolist() == [1 + 2]
