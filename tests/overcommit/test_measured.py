"""After which slots a promise can be judged: what was not measured is not kept, by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from borgtrace.overcommit.measured import blind_slots, judged_instants
from borgtrace.overcommit.metrics import scores
from borgtrace.overcommit.policies import Prediction
from borgtrace.overcommit.walk_forward import sum_by_period
from tests.overcommit.plain import Machine

N_SLOTS = 12
HORIZON = 2
Usage = list[float | None]


def machine_of(*tasks: Usage) -> Machine:
    """Tasks of limit 1 that run for the whole trace; None where nothing was measured."""
    samples = {
        slot: {task: (usage[slot], 1.0) for task, usage in enumerate(tasks)}
        for slot in range(N_SLOTS)
    }
    return Machine(samples, N_SLOTS)


def between(first: int, end: int, usage: float | None) -> Usage:
    """.5 in all slots but some."""
    return [usage if first <= slot < end else 0.5 for slot in range(N_SLOTS)]


ALWAYS: Usage = [0.5] * N_SLOTS


@pytest.mark.parametrize(
    ("tasks", "blind"),
    [
        pytest.param([ALWAYS, ALWAYS], [], id="all is measured"),
        pytest.param([between(4, 6, None)] * 2, [4, 5], id="the whole machine has a gap"),
        pytest.param(
            [between(6, N_SLOTS, None)] * 2, [*range(6, N_SLOTS)], id="the machine is gone"
        ),
        pytest.param([between(4, 6, None), ALWAYS], [], id="half of what runs is measured"),
        pytest.param([between(4, 6, None)] * 2 + [ALWAYS], [4, 5], id="a third of it is"),
        pytest.param([between(6, N_SLOTS, None)] * 2 + [ALWAYS], [], id="two tasks ended, unsaid"),
        pytest.param([between(4, 6, 0.0)] * 2, [4, 5], id="an outage writes zeros"),
        pytest.param([between(4, 6, 0.0), ALWAYS], [], id="one task is idle"),
        pytest.param([[0.0] * N_SLOTS], [], id="a machine that never does anything"),
        pytest.param([between(2, N_SLOTS, 0.0)], [], id="a machine that is mostly idle"),
        pytest.param([[None] * N_SLOTS], [*range(N_SLOTS)], id="nothing is ever measured"),
    ],
)
def test_blind_slots(tasks: list[Usage], blind: list[int]) -> None:
    block = machine_of(*tasks).block()
    assert np.flatnonzero(blind_slots(block)).tolist() == blind
    # A promise reaches two slots ahead, and the trace ends after slot 11: slots up to 9 have a whole horizon.
    judged = [
        slot
        for slot in range(N_SLOTS - HORIZON)
        if not {slot, slot + 1, slot + 2}.intersection(blind)
    ]
    assert np.flatnonzero(judged_instants(block, HORIZON)).tolist() == judged


def test_what_is_not_seen_is_neither_kept_nor_broken() -> None:
    """A gap in slots 4 and 5, and .9 of each of two tasks in slot 8: 1.5 are promised.

    Judged are the slots whose next two are measured: 0, 1 and 6 to 9; after 6 and 7 the promise breaks.
    """
    usage: Usage = between(4, 6, None)
    usage[8] = 0.9
    block = machine_of(usage, usage).block()
    promised = [Prediction(np.full(N_SLOTS, 1.5), 0)]
    (score,) = scores(block, HORIZON, promised)
    assert (score["instants"], score["violations"]) == (6, 2)
    # Two tasks of limit 1 in six slots.
    assert (score["limit"], score["peak"]) == (12, 9)
    ((first, second),) = sum_by_period(block, HORIZON, promised, slots_per_period=6)
    assert (first["instants"], first["violations"], first["unseen"]) == (2, 0, 4)
    assert (second["instants"], second["violations"], second["unseen"]) == (4, 2, 0)


def test_googles_simulator_takes_what_is_missing_for_nothing_used() -> None:
    block = replace(machine_of(between(4, 6, None)).block(), is_literal=True)
    assert judged_instants(block, HORIZON).all()
