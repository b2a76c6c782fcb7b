"""Memory beside CPU, and classes with promises of their own: cells, rows and claims by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from borgtrace.colocation import ColocationOptions, Study
from borgtrace.colocation.experiments.beyond import packing_memory, packing_promises
from borgtrace.colocation.packing.service_classes import ServiceClasses
from borgtrace.placement import Observation
from borgtrace.question import NotApplicable
from tests.colocation.answers import measured
from tests.colocation.known import drawn, packing_of
from tests.colocation.test_packing_past import on_clock
from tests.rows import chosen_columns


@pytest.mark.parametrize(
    ("disk", "resources", "n"),
    [(None, 2, 1), ([0.5, 0.75, 0.5], 3, 2)],
)
def test_memory_is_limited_by_its_maximum_and_disk_by_the_request(
    disk: list[float] | None, resources: int, n: int
) -> None:
    cpu = np.full((3, 200), 0.125, np.float32)
    memory = np.repeat(
        np.float32(
            [
                [0.25],
                [0.25],
                [0.25],
            ]
        ),
        200,
        axis=1,
    )
    # The third task needs .5 at one moment in two hundred: .25 + .25 + .5 fit, and .51 would not.
    memory[2, 7] = 0.5
    instance = drawn(cpu, number=4, fresh=memory)
    all_rows = packing_memory.pack_instance(
        instance,
        None if disk is None else np.array(disk),
    )
    assert len(all_rows) == 7 * 3
    vector = [row for row in all_rows if row["cpu"].startswith("vector-gpa")]
    assert {(row["cpu"], row["memory"], row["resources"], row["m_abs"]) for row in vector} == {
        ("vector-gpa 0.001", "percentile 100", resources, n)
    }
    assert [row["packer"] for row in vector] == ["first-fit", "best-fit", "dot-product"]
    pairs = [row for row in all_rows if row not in vector]
    assert {row["resources"] for row in pairs} == {2}
    assert {(row["cpu"], row["memory"]) for row in pairs} == {
        ("gpa 0.001", "percentile 100"),
        ("gpa 0.001", "gpa 1e-05"),
        ("convolution 0.001", "percentile 100"),
        ("convolution 0.001", "gpa 1e-05"),
        ("average 1.25", "percentile 100"),
        ("average 1.25", "gpa 1e-05"),
    }
    # .25 + .25 + .25125 of memory, less than one machine; nothing overflows.
    expected = {
        "instance": 4,
        "lower_bound": 1,
        "q_cpu": 0,
        "q_memory": 0,
        "n_unplaceable": 0,
    }
    assert all({name: row[name] for name in expected} == expected for row in all_rows)


def test_each_resource_overflows_on_its_own() -> None:
    # One machine by mean CPU and a maximum of memory of which every moment is known.
    cpu = np.tile(
        np.float32([0.25, 1.25, 0.25, 0.25]),
        (2, 50),
    )
    memory = np.full((2, 200), 0.75, np.float32)
    instance = drawn(cpu, fresh=memory)
    all_rows = {
        (row["cpu"], row["memory"], row["packer"]): row
        for row in packing_memory.pack_instance(instance, None)
    }
    row = all_rows["average 1.25", "percentile 100", "first-fit"]
    # Memory parts the two tasks; each exceeds its machine's CPU in one of four moments; 2 · .75 of memory bound it.
    expected = {
        "m_abs": 2,
        "q_cpu": 0.25,
        "q_memory": 0,
        "lower_bound": 2,
    }
    assert chosen_columns(row, expected) == expected
    assert all_rows["gpa 0.001", "percentile 100", "first-fit"]["n_unplaceable"] == 2


def classes_of(
    names: tuple[str, ...],
    targets: tuple[float, ...],
    rank: np.ndarray,
) -> ServiceClasses:
    return ServiceClasses(names, targets, rank, "by hand")


# Machine 0 holds the first two tasks, machine 1 the third; the last fits none, and machine 2 is empty.
PACKED = packing_of([0, 0, 1, -1], 3)
LATER = np.float32(
    [
        [0.5, 0.75, 0.5, 0.5],
        [0.25, 0.5, 0.75, 0.25],
        [1.5, 0.5, 0.5, 1.5],
        [9, 9, 9, 9],
    ]
)


def test_a_class_is_judged_beside_the_stricter_ones_on_machines_that_hold_it() -> None:
    classes = classes_of(("lax", "strict"), (0.1, 0.01), np.array([0, 1, 1, 1]))
    lax, strict = packing_promises.judge_classes(PACKED, LATER, classes)
    # On machine 0 both together exceed 1 in two of four moments, on machine 1 the strict task alone in two.
    common = {
        "m_abs": PACKED.n_bins,
        "lower_bound": math.ceil((2.25 + 1.75 + 4) / 4),
        "n_unplaceable": 1,
    }
    assert lax == common | {
        "tier": "lax",
        "target": 0.1,
        "q": 4 / 8,
        "n_of_tier": 1,
    }
    assert strict == common | {
        "tier": "strict",
        "target": 0.01,
        "q": 2 / 8,
        "n_of_tier": 3,
    }


def test_a_class_of_one_machine_and_one_without_any() -> None:
    classes = classes_of(("none", "one"), (0.1, 0.2), np.array([-1, -1, 1, -1]))
    none, one = packing_promises.judge_classes(PACKED, LATER, classes)
    assert none["n_of_tier"] == 0
    assert one["n_of_tier"] == 1
    assert one["q"] == 2 / 4
    empty = classes_of(("none",), (0.1,), np.full(4, -1))
    assert packing_promises.judge_classes(PACKED, LATER, empty)[0]["q"] == 0.0


class Drawing:
    """Draws that are known: tasks in their order, and who has no past."""

    def __init__(self) -> None:
        self.seeds: list[Any] = []

    def __call__(self, seed: Any) -> Any:
        self.seeds.append(seed)
        return self

    def permutation(self, n: int) -> np.ndarray:
        return np.arange(n)[::-1]

    def random(self, n: int) -> np.ndarray:
        # The first task has a past whatever is drawn; .1 is not below a tenth.
        return np.array([0.0, 0.1, 0.0999, 0.5])[:n]

    def integers(self, most: int, size: int) -> np.ndarray:
        return np.arange(size) % most


@pytest.mark.parametrize(
    ("slots", "learned", "cuts"),
    [
        # Less than two days: half of it, and no hours of the day.
        (400, 200, 1),
        (575, 287, 1),
        # Whole days but the last one.
        (576, 288, 2),
        (720, 288, 2),
        (870, 576, 2),
    ],
)
def test_what_is_learned_and_who_has_no_past(
    monkeypatch: pytest.MonkeyPatch,
    slots: int,
    learned: int,
    cuts: int,
) -> None:
    asked: list[Any] = []

    def with_priors(mean: np.ndarray, variance: np.ndarray, unseen: np.ndarray, *kin: Any) -> Any:
        asked.append((mean.shape, unseen.tolist(), len(kin)))
        return mean, variance

    hours: list[np.ndarray] = []
    known = packing_promises.moments_by_hour

    def moments(values: np.ndarray, of_day: np.ndarray) -> Any:
        hours.append(of_day)
        return known(values, of_day)

    pool = on_clock(
        np.full((5, slots), 0.25),
        start=[6] * 5,
    )
    span = packing_promises.longest_busy_span(pool, slots // 12, 2)
    assert span.first == 6
    assert len(span.tasks) == 5
    drawing = Drawing()
    monkeypatch.setattr(packing_promises, "with_priors", with_priors)
    monkeypatch.setattr(packing_promises, "moments_by_hour", moments)
    monkeypatch.setattr(
        packing_promises, "longest_busy_span", lambda *asked: type(span)(6, slots, span.tasks)
    )
    monkeypatch.setattr(np.random, "default_rng", drawing)
    options = ColocationOptions(
        promises="production=0.999,free=0.95",
        seed=3,
        hours=72,
        size=4,
        instances=2,
    )
    answer_rows = packing_promises.compute(Study(pool), options)
    # Of random classes, and of each instance.
    assert drawing.seeds == [
        [3, 7],
        [3, 0, 11],
        [3, 1, 11],
    ]
    assert len(asked) == 2 * cuts
    assert {tuple(unseen) for _, unseen, _ in asked} == {(False, False, True, False)}
    assert {kin for *_, kin in asked} == {3}
    assert {len(of_day) for of_day in hours} == {learned}
    assert set(hours[0]) == {0}
    if cuts == 2:
        # The span begins at half past midnight: six slots of hour 0, then whole hours, then the rest of hour 0.
        assert hours[1][:18].tolist() == [0] * 6 + [1] * 12
        assert hours[1][282:288].tolist() == [0] * 6
    rows = {
        (row["instance"], row["n_unseen"], row["hours"], row["n_tasks"], row["classes"])
        for row in answer_rows
    }
    assert rows == {(k, 1, (slots - learned) / 12, 4, "jobs at random") for k in (0, 1)}
    assert {row["way"] for row in answer_rows} == set(packing_promises.WAYS[: 2 + cuts])
    assert len(answer_rows) == 2 * 2 * (2 + cuts)


def test_moments_of_each_hour_that_occurs() -> None:
    values = np.float32(
        [
            [0, 1, 0.5, 0.5],
            [0.25, 0.25, 0, 1],
        ]
    )
    mean, variance = packing_promises.moments_by_hour(
        values,
        np.array([5, 5, 23, 23]),
    )
    assert mean.tolist() == [[0.5, 0.5], [0.25, 0.5]]
    assert variance.tolist() == [[0.25, 0], [0, 0.25]]


def promised(*found: tuple[str, str, float, float]) -> pa.Table:
    return pa.Table.from_pylist(
        [
            {
                "way": way,
                "tier": tier,
                "target": target,
                "q": q,
                "hours": 24.0,
            }
            for way, tier, target, q in found
        ]
    )


def test_the_strictest_promise_for_all_takes_more_machines_than_classes() -> None:
    # .3 and .3 with deviations of .1: .4 is 2.83 deviations of both, which .0023 exceed.
    moments = packing_promises.HourlyMoments(
        np.full((2, 1), 0.3),
        np.full((2, 1), 0.01),
    )
    classes = classes_of(
        ("lax", "strict"),
        (0.4, 0.001),
        np.array([0, 1]),
    )
    seen = Observation(np.full((2, 4), 0.3, np.float32))
    packings = list(packing_promises.pack_in_each_way([moments], classes, seen))
    # All at .001, a class each on machines of its own, and both together: only the lax one suffers.
    assert [packing.n_bins for packing in packings] == [2, 2, 1]


def test_what_is_said_of_promises() -> None:
    classes, by_hour = packing_promises.WAYS[2:]
    table = promised(
        (classes, "free", 0.05, 0.04),
        (classes, "production", 0.001, 0.002),
        (classes, "production", 0.001, 0.004),
    )
    assert packing_promises.answer_in_words(table) == (
        "Packed as classes, and judged on 24 later hours: free 0.96 of the time (0.95 promised), production 0.997 of"
        " the time (0.999 promised). No interval: all instances share these hours, so that of others nothing is known."
        " Moments by the hour of the day need tasks that run for two days, these run for"
        " 48 h."
    )
    with pytest.raises(NotApplicable) as caught:
        measured(packing_promises, "promises-kept", table)
    assert str(caught.value) == "the tasks run for less than two days"
    both = promised(
        (classes, "free", 0.05, 0.5),
        (by_hour, "free", 0.05, 0.04),
        (by_hour, "production", 0.001, 0.0005),
    )
    assert packing_promises.answer_in_words(both) == (
        "Packed as classes by hour, and judged on 24 later hours: free 0.96 of the time (0.95 promised), production"
        " 0.9995 of the time (0.999 promised). No interval: all instances share these hours, so that of others nothing"
        " is known."
    )
    assert measured(packing_promises, "promises-kept", both) == pytest.approx(0.8)
