"""One rule for all that is advised: it keeps its target by its own interval on held-out data, or nothing does."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import product
from typing import Any, TypeAlias, cast

import numpy as np
import pyarrow as pa

from borgtrace import catalog, first_screen
from borgtrace.colocation.experiments.shared.advice_words import advice
from borgtrace.colocation.options import ColocationOptions
from borgtrace.colocation.packing.advice import TrialPlan, advise
from borgtrace.colocation.packing.intervals import ConfidenceInterval
from borgtrace.colocation.packing.trial import Evidence, JudgedPacking, PackingTrial
from borgtrace.overcommit import parse_policy
from borgtrace.overcommit.advice import rows_of_periods
from borgtrace.overcommit.walk_forward import SUMS
from borgtrace.placement import Estimator, Gpa, Percentile, Request
from borgtrace.question.promises import keeps
from tests.colocation.known import instances_with
from tests.colocation.test_packing_past import on_clock

UpperEnds: TypeAlias = tuple[float | None, ...]
TARGET = 0.01
WAYS: tuple[Estimator, ...] = (Gpa(0.01), Percentile(100), Request(1.0), Request(1.05))
MACHINES = (10, 20, 30, 25)


def evidence(way: Estimator, upper_end: float | None) -> Evidence:
    """What trials say of a way whose interval ends there."""
    nothing = np.zeros(0, np.int64)
    packing = JudgedPacking(MACHINES[WAYS.index(way)], 0, nothing, np.zeros((0, 0), np.int64))
    known = Evidence([[packing]], blocks=None, realizations=1, target=TARGET)
    vars(known)["on_draws"] = ConfidenceInterval(0.005, 0.0, upper_end)
    vars(known)["per_machine"] = lambda: (ConfidenceInterval(0.0), ConfidenceInterval(0.0))
    return known


class KnownPlan(TrialPlan):
    """A plan whose trials find what is given: upper ends where the choice is made, and where it is judged."""

    def __init__(self, chosen: UpperEnds, judged: UpperEnds) -> None:
        instances = instances_with(on_clock(np.ones((2, 2)), cpu_request=np.ones(2)), [0], [1])
        super().__init__((), PackingTrial(instances), "words")
        vars(self).update(upper_ends={True: chosen, False: judged})

    def judge(
        self, tried: Sequence[Estimator], options: ColocationOptions, *, is_choice: bool
    ) -> dict[Estimator, Evidence]:
        upper_ends = dict(zip(WAYS, vars(self)["upper_ends"][is_choice], strict=True))
        return {way: evidence(way, upper_ends[way]) for way in tried}


NOTHING_KEEPS = "Nothing tested keeps the target by its 95% interval; nearest"
CANNOT_JUDGE = "Too little usage to judge whether a packing keeps the target; least overflow"
NO_FACTOR = "not even packing by requests keeps the target by its interval"
TO_JUDGE = "To judge it: a longer trace, or a lower --slo."


def packing_rows(chosen: UpperEnds, judged: UpperEnds) -> pa.Table:
    options = ColocationOptions(target=TARGET)
    setting = {
        "target": TARGET,
        "capacity": 1.0,
        "n_tasks": 1,
        "n_instances": 1,
        "overlap": 0.0,
        "scope": "words",
        "block_hours": None,
    }
    rows = advise(KnownPlan(chosen, judged), options, WAYS)
    return pa.Table.from_pylist([row | setting for row in rows])


def cases() -> list[tuple[UpperEnds, UpperEnds]]:
    """Upper ends within the target, above it, and unknown, of each way where it is chosen and where it is judged."""
    every = list(product((0.005, 0.02, None), repeat=2 * len(WAYS)))
    drawn = np.random.default_rng(38).choice(len(every), 150, replace=False).tolist()
    # Where all are alike: nothing keeps it in one of both, or in neither.
    alike = [
        (first,) * 4 + (second,) * 4 for first, second in product((0.005, 0.02, None), repeat=2)
    ]
    return [(ends[:4], ends[4:]) for ends in (*alike, *(every[number] for number in drawn))]


def test_packing_advice_never_contradicts_its_interval() -> None:
    nothing_kept = 0
    for chosen, judged in cases():
        table = packing_rows(chosen, judged)
        rows = {f"{row['estimator']} {row['parameter']:.3g}": row for row in table.to_pylist()}
        sentence = advice(table)
        kept = {name for name, row in rows.items() if keeps(row["q_draws_high"], TARGET)}
        advised = re.match(r"Pack by (\S+ \S+) \(", sentence)
        if advised:
            assert advised[1] in kept
        else:
            (nearest,) = [row for row in table.to_pylist() if row["is_nearest"]]
            is_judged = nearest["q_draws_high"] is not None
            assert sentence.startswith(NOTHING_KEEPS if is_judged else CANNOT_JUDGE)
            assert not kept
            nothing_kept += 1
        factor = re.search(r"Overcommit factor on requests: (\S+),", sentence)
        if factor:
            assert {"request 1", f"request {factor[1]}"} <= kept
        else:
            assert NO_FACTOR in sentence or sentence.endswith(TO_JUDGE)
            assert "request 1" not in kept
        check_first_screen(table, advised[1] if advised else None, factor[1] if factor else None)
    assert nothing_kept > 3


def check_first_screen(table: pa.Table, way: str | None, factor: str | None) -> None:
    """The report's first screen says the same."""
    amounts = {amount.id: amount for amount in first_screen.overcommit(table, cast(Any, None))}
    assert amounts["overcommit-factor"].exact == (float(factor) if factor else "none")
    assert ("packing" in amounts) is (way is not None)
    if way is not None:
        assert amounts["packing"].text == way


def test_overcommit_advice_never_contradicts_its_interval() -> None:
    policies = [parse_policy(text) for text in ("limit", "borg:phi=0.9", "borg:phi=0.5")]
    rng = np.random.default_rng(38)
    n_advised = 0
    n_nothing = 0
    for _ in range(100):
        sums = np.zeros((3, 3, 4), SUMS)
        sums["instants"] = 1_800
        sums["limit"] = 100
        sums["peak"] = np.array([100.0, 90.0, 50.0])[:, None]
        sums["violations"] = rng.choice([0, 1, 18, 36], (3, 3, 4), p=[0.7, 0.1, 0.1, 0.1])
        for row in rows_of_periods(sums, policies, 12, TARGET):
            known = sums[:, :, : row["day"] - 1]
            if row["policy"] is None:
                n_nothing += 1
                assert known["violations"][:, 0].sum() > 0
            elif row["policy"] != "limit" or row["learned"] > 0:
                n_advised += 1
                assert keeps(row["learned_high"], TARGET)
            if row["is_kept"]:
                assert row["rate_high"] <= TARGET
    assert n_advised > 10
    assert n_nothing > 10


def test_every_question_that_speaks_is_walked_over_here() -> None:
    speaking = {
        question.name for question in catalog.questions().values() if question.sentence is not None
    }
    # The second of them tells what came, and advises nothing.
    assert speaking == {"packing_advice", "packing_promises"}


STRICT = {"≤ 1", "≤ 0", "< 1", "0", "0.0"}
"""What a criterion may tolerate whose sentence has no number: nothing above the target, or above the other."""


def test_a_sentence_without_a_tolerance_has_a_criterion_without_one() -> None:
    """Claims that something keeps a target, or needs no more than another, name what more is tolerated."""
    absolute = re.compile(r"\b(keeps?|meets?|no more|never|kept)\b")
    checked = 0
    for question in catalog.questions().values():
        for claim in question.claims:
            if claim.kind != "criterion" or not absolute.search(claim.statement):
                continue
            checked += 1
            if "%" not in claim.statement:
                assert claim.criterion.tolerance in STRICT, (claim.id, claim.criterion.tolerance)
    assert checked >= 8
