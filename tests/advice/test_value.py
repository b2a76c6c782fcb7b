"""The value of an advice: by hand, and equal to what the command overcommit says."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

import borgtrace
from borgtrace.advice import Advice, AdviceOptions, advise
from borgtrace.advice.judging import smallest_target
from borgtrace.interactive import Store
from borgtrace.overcommit import REPLAY
from borgtrace.overcommit.advice import ADVICE
from borgtrace.overcommit.next_period import upper_end_by_chance, upper_end_of_next
from borgtrace.overcommit.walk_forward import SUMS
from borgtrace.schema.time import HOUR, TRACE_START, WINDOW
from tests.advice.cluster import BURST_SLOTS
from tests.rows import chosen_columns

HORIZON_SLOTS = 2
HORIZON = HORIZON_SLOTS * WINDOW
PERIOD_SLOTS = 72
N_SLOTS = 864
REQUESTED = 4 + 4
"""Cores: each node runs two pods that request 1, and one that requests 2."""


def broken_by_hand(share: float) -> dict[int, int]:
    """Return the broken promises of n1, by period, were a share of the requests promised.

    Node n1 uses 1.5 cores of the 4 that are requested there, and 2.5 in the burst.
    """
    promised = 4 * share
    broken: dict[int, int] = {}
    for slot in range(N_SLOTS - HORIZON_SLOTS):
        ahead = range(slot + 1, slot + 1 + HORIZON_SLOTS)
        used = 2.5 if any(one in BURST_SLOTS for one in ahead) else 1.5
        broken.setdefault(slot // PERIOD_SLOTS, 0)
        broken[slot // PERIOD_SLOTS] += used > promised
    return broken


def test_the_walk_by_hand(shop: Store) -> None:
    """With half of the requests promised, and three quarters, for ten minutes at a target of 4 %.

    Two nodes of 72 slots a period are 72 trials, of which 4 % are 2.88: two periods without a break show that.
    Half (2 cores on n1) breaks in the burst alone, in period 6 (slots 432 to 503) and 7 (504 to 575): after slots 498
    to 504, which have one of its slots within the two after them.
    """
    options = AdviceOptions(
        target=0.04,
        horizon=HORIZON,
        resources=("cpu",),
        policies=("borg:phi=0.5", "borg:phi=0.75"),
    )
    advice = advise(shop, options)
    rows = advice.periods.table.to_pylist()
    broken = broken_by_hand(0.5)
    assert {period: n for period, n in broken.items() if n} == {6: 6, 7: 1}
    # A period knows those up to the one before the last, whose horizons have ended: period 3 is the first with two.
    by_period = {(row["begin"] - TRACE_START) // (PERIOD_SLOTS * WINDOW): row for row in rows}
    assert list(by_period) == [3, 4, 5, 6, 7, 8, 9, 10, 11]
    policies = [by_period[period]["policy"] for period in range(3, 12)]
    # From period 8 on it knows period 6, where 6 of 144 broke, all on one of two nodes: t of one degree of freedom.
    assert policies == ["borg:phi=0.5"] * 5 + ["borg:phi=0.75"] * 4
    assert by_period[6]["rate"] == pytest.approx(6 / 144)
    assert by_period[7]["rate"] == pytest.approx(1 / 144)
    assert by_period[8]["rate"] == 0
    (value,) = advice.value.table.to_pylist()
    # The last period ends two slots earlier.
    windows = 2 * (8 * 72 + 70)
    assert value["windows"] == windows
    expected = {
        "trials": windows / 2 / 9,
        "rate": 7 / windows,
    }
    assert chosen_columns(value, expected) == pytest.approx(expected)
    assert value["requested"] * 8 == pytest.approx(REQUESTED)
    slots_at_half = 5 * 72
    slots_at_three_quarters = 3 * 72 + 70
    saved = (slots_at_half * 0.5 + slots_at_three_quarters * 0.25) / (windows / 2)
    assert value["savings"] == pytest.approx(saved)
    assert value["promised"] * 8 == pytest.approx(REQUESTED * (1 - saved))
    assert (value["periods"], value["periods_kept"]) == (9, 8)
    assert value["policy"] == "borg:phi=0.75"
    # Two machines of which one broke .0054 x 2: the interval reaches above 4 %.
    assert value["verdict"] == "not certain"


def test_the_command_overcommit_says_the_same(shop: Store, advice: Advice) -> None:
    """What was chosen has the rate and savings that a replay of it has, and that its walk has."""
    (cpu,) = (row for row in advice.value.table.to_pylist() if row["resource"] == "cpu")
    policies = tuple({row["policy"] for row in advice.periods.table.to_pylist()} | {cpu["safest"]})
    replayed = REPLAY.run(shop, policies=policies, horizon=HOUR, resources=("cpu",))
    by_policy = {row["policy"]: row for row in replayed.table.to_pylist()}
    safest = by_policy[cpu["safest"]]
    expected = {
        "safest_rate": safest["rate"],
        "safest_savings": safest["savings"],
    }
    assert chosen_columns(cpu, expected) == pytest.approx(expected)
    walk = ADVICE.run(
        shop,
        policies=("borg:phi=0.5", "borg:phi=0.75"),
        horizon=HORIZON,
        period=PERIOD_SLOTS * WINDOW,
        target=0.04,
        resources=("cpu",),
    )
    options = AdviceOptions(
        target=0.04,
        horizon=HORIZON,
        resources=("cpu",),
        policies=("borg:phi=0.5", "borg:phi=0.75"),
    )
    ours = advise(shop, options).periods.table.to_pylist()
    theirs = {TRACE_START + round(row["begin"] * HOUR): row for row in walk.table.to_pylist()}
    for row in ours:
        other = theirs[row["begin"]]
        assert (row["policy"], row["rate"]) == (other["policy"], other["rate"])
        assert row["savings"] == pytest.approx(other["savings"])


@pytest.mark.parametrize(
    ("n_periods", "trials", "target"),
    [
        # Of none in k periods, the next one of as many trials has one or more in one case of k + 1: 5.3 % at 18, and
        # 4.8 % at 20.  One of 1,000 is .1 %; half of the periods are known.
        (36, 1_000, 0.01),
        (40, 1_000, 0.001),
        # One of 100 is 1 %, one of 20 is 5 %.
        (36, 100, 0.05),
        (40, 100, 0.01),
        # Nothing smaller than 5 % is aimed at where not even that can be shown.
        (36, 20, 0.05),
        (2, 1, 0.05),
    ],
)
def test_the_smallest_risk_that_a_period_can_show_is_aimed_at(
    n_periods: int, trials: int, target: float
) -> None:
    horizon = 12
    sums = np.zeros((2, 1, n_periods), SUMS)
    # On two machines.
    sums["instants"] = trials * horizon / 2
    assert smallest_target(sums, horizon) == target


def test_a_period_may_bring_more_by_chance_alone() -> None:
    """Binomial, restated: were more broken in the next period, so few before it would be rarer than one in 20."""
    for broken, known, upcoming in ((0, 400, 80), (2, 400, 80), (7, 2_880, 960)):
        end = upper_end_by_chance(broken, known, upcoming) * upcoming
        before = known / (known + upcoming)
        as_few = [binom.cdf(broken, broken + count, before) for count in range(100)]
        assert as_few[math.floor(end)] >= 0.05 >= as_few[math.ceil(end)]
    # Of none in four periods: .2 to the power of y is .05.
    assert upper_end_by_chance(0, 320, 80) == pytest.approx(math.log(0.05) / math.log(0.2) / 80)


def test_the_next_period_is_expected_by_how_much_periods_differ() -> None:
    # Mean .02, standard deviation .014142; t of one degree of freedom at 97.5 % is 12.706:
    # .02 + 12.706 x .014142 x sqrt(1.5).
    assert upper_end_of_next(np.array([0.01, 0.03])) == pytest.approx(0.24008, abs=1e-5)
    assert upper_end_of_next(np.array([0.02, 0.02, 0.02])) == pytest.approx(0.02)
    assert upper_end_of_next(np.array([0.5])) == 0


def test_a_path_and_the_open_store_give_the_same_advice(shop: Store) -> None:
    options = AdviceOptions(resources=("cpu",), policies=("borg:phi=0.5",))
    by_path = advise(shop.path, options).to_dict()
    assert shop.advise(resources=("cpu",), policies=("borg:phi=0.5",)).to_dict() == by_path
    assert borgtrace.advise is advise


def test_a_notebook_shows_the_sentences(advice: Advice) -> None:
    html = advice._repr_html_()
    for sentence in (*advice.sentences.value, advice.sentences.judged):
        assert sentence in html
