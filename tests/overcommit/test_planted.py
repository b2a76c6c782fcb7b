"""A machine with known answers: a gap, a task that returns, a changing limit, limits of zero, single samples."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from borgtrace.errors import UsageError
from borgtrace.overcommit import ReplayOptions, oracle, parse_policy
from borgtrace.overcommit.policies import policies
from tests.overcommit.plain import Machine

# Task 0 runs in slots 0–3, 6 and 7 (4 and 5 are missing), its limit falls from .5 to .25 at slot 3; task 1 has a
# limit of zero and uses nothing; task 2 is seen once.  Slots 8 and 9 are a gap of the machine.
SAMPLES: dict[int, dict[int, tuple[float | None, float]]] = {
    0: {0: (0.1, 0.5)},
    1: {0: (0.2, 0.5), 1: (0.0, 0.0)},
    2: {0: (0.4, 0.5), 1: (0.0, 0.0)},
    3: {0: (0.2, 0.25), 2: (0.3, 1.0)},
    6: {0: (0.1, 0.25)},
    7: {0: (None, 0.25)},
    10: {1: (0.0, 0.0)},
}
MACHINE = Machine(SAMPLES, 11)


def peaks(policy: str) -> list[float]:
    return [float(value) for value in parse_policy(policy).predict(MACHINE.block()).peak]


def test_the_history_of_a_task_survives_a_missing_slot() -> None:
    # In slot 6 the history of 25 minutes reaches back to slot 2: (.4 + .2 + .1) has three samples, mean .2333 of .25.
    assert peaks("average:warmup=10m") == pytest.approx(
        [
            0.5,
            0.15,
            0.7 / 3,
            0.9 / 4 + 1.0,
            1.0 / 5,
            0.25,
            0.0,
        ]
    )
    assert peaks("max:warmup=10m") == pytest.approx([0.5, 0.2, 0.4, 0.4 + 1.0, 0.4, 0.25, 0.0])


def test_a_task_without_usage_counts_its_limit() -> None:
    assert peaks("limit")[5] == peaks("nsigma:warmup=5m")[5] == 0.25


def test_the_deviation_of_one_sample_is_nothing() -> None:
    assert peaks("nsigma:n=5,history=5m,warmup=5m") == pytest.approx(
        [0.1, 0.2, 0.4, 0.5, 0.1, 0.25, 0.0]
    )


def test_with_every_task_cold_limits_are_promised() -> None:
    assert peaks("nsigma:history=1d,warmup=1d") == peaks("gpa:warmup=1d") == peaks("limit")


HISTORY_POLICIES = [
    name
    for name, kind in policies().items()
    if {"history", "warmup"} <= {parameter.name for parameter in fields(kind)}
]


def test_these_policies_have_a_history() -> None:
    assert HISTORY_POLICIES == [
        "convolution",
        "gpa",
        "machine-percentile",
        "nsigma",
        "saddlepoint",
        "task-percentile",
    ]


@pytest.mark.parametrize("name", HISTORY_POLICIES)
def test_a_warmup_that_no_history_holds_is_refused(name: str) -> None:
    with pytest.raises(UsageError) as refusal:
        parse_policy(f"{name}:history=1h")
    label = parse_policy(f"{name}:history=1h,warmup=1h").label
    assert str(refusal.value) == (
        "--policy: warmup is longer than history, so that every task stays cold: expected at most 1h, "
        f"got {label.replace('warmup=1h', 'warmup=1h50m')}; name a shorter warmup, or a longer history"
    )
    # As long as the history it is no mistake: a whole history is asked for.
    parse_policy(f"{name}:history=1h50m")


@pytest.mark.wide
@pytest.mark.parametrize("name", HISTORY_POLICIES)
def test_a_history_survives_one_missing_window(name: str) -> None:
    """A task of 60 slots, of which slot 40 is missing: 21 samples are too few, and none is cold after that."""
    samples = {slot: {0: (0.1, 0.5)} for slot in range(60) if slot != 40}
    block = Machine(samples, 60).block()
    policy = parse_policy(f"{name}:history=2h")
    assert policy.predict(block).n_cold == 21
    assert parse_policy(f"{name}:history=2h,warmup=2h").predict(block).n_cold == 23 + 19


@pytest.mark.parametrize("name", ["nsigma", "machine-percentile", "task-percentile"])
def test_defaults_of_the_simulator(name: str) -> None:
    assert parse_policy(name).label.endswith("history=2h,warmup=1h50m")
    options = ReplayOptions(policies=(name, f"limit+{name}:warmup=1h"), is_literal=True)
    plain, named = [policy.label for policy in options.parsed()]
    assert plain.endswith("history=2h,warmup=2h")
    assert named.endswith("history=2h,warmup=1h")


def test_nine_tenths_are_taken_once() -> None:
    assert peaks("borg")[0] == 0.45


def test_the_oracle_caps_by_the_limit_of_now_and_sees_who_returns() -> None:
    block = MACHINE.block()
    # Horizon 3 of 11 slots: slots 0 to 7 are judged.  From slot 3 on task 0 is seen again in slot 6; in slot 2 its
    # limit is still .5; after slot 7 nothing of what is there is measured.
    assert oracle(block, 3) == pytest.approx([0.4, 0.4, 0.2, 0.1, 0.0, 0.0])
    # Horizon 4: in slot 6 the whole of (6, 10] exists, in slot 7 it does not.
    assert len(oracle(block, 4)) == 5


def test_who_comes_when_another_leaves_is_not_there_before() -> None:
    block = Machine(
        {
            0: {0: (0.1, 0.5)},
            1: {0: (0.1, 0.5)},
            2: {1: (0.3, 0.5)},
        },
        3,
    ).block()
    assert oracle(block, 2).tolist() == [0.1]


def test_googles_simulator_forgets_and_ignores_gaps() -> None:
    literal = MACHINE.block().without_gaps()
    assert literal.all.slots.tolist() == [0, 1, 2, 3, 4, 5, 6]
    # Without the gap slot 6 follows slot 3, as sample 4; the history is kept.  A task that misses a slot loses it.
    assert literal.forgetful().all.task.tolist() == [0, 0, 0, 0, 0, 0, 1, 1, 2, 3]


def literal_peaks(n_samples: dict[int, int], horizon: int) -> list[float]:
    """What Google's oracle says of a machine whose tasks use a hundredth of the slot's number, under limits of 10."""
    samples = {}
    for slot, n in n_samples.items():
        samples[slot] = dict.fromkeys(range(n), (slot / 100, 10.0))
    block = replace(Machine(samples, max(samples) + 1).block(), is_literal=True)
    return oracle(block, horizon).tolist()


def test_googles_oracle_has_a_row_for_each_whole_horizon() -> None:
    # 400 slots and a horizon of a day: 112 rows, each of the slot a day later.
    peaks = literal_peaks(dict.fromkeys(range(400), 1), 288)
    assert peaks == pytest.approx([(slot + 288) / 100 for slot in range(112)])


def test_googles_oracle_at_a_gap() -> None:
    # One task; slots 4 to 7 are missing.  Slot 8 lets one waiting slot be judged: slot 1, by all up to slot 3.  Slot 9
    # then judges slot 2, by slot 8 too, and slot 10 judges slot 3; the end judges slot 8, by slots 9 and 10.
    peaks = literal_peaks(dict.fromkeys([0, 1, 2, 3, 8, 9, 10], 1), 2)
    assert peaks == pytest.approx([0.02, 0.03, 0.08, 0.09, 0.1])
    # With two tasks slot 8 judges slots 1 and 2, each by slot 3; slot 9 then slot 3 by slot 8, and slot 8 by nothing at
    # all: the sum of the limits.
    peaks = literal_peaks(dict.fromkeys([0, 1, 2, 3, 8, 9, 10], 2), 2)
    assert peaks == pytest.approx([0.04, 0.06, 0.06, 0.16, 20.0, 0.2])
    # With three tasks slot 8 judges slot 3 too, by nothing.
    peaks = literal_peaks(dict.fromkeys([0, 1, 2, 3, 8, 9, 10], 3), 2)
    assert peaks == pytest.approx([0.06, 0.09, 0.09, 30.0, 30.0, 0.3])


def test_the_order_of_policies_does_not_matter() -> None:
    assert peaks("borg+gpa:warmup=10m") == peaks("gpa:warmup=10m+borg")


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (
            "sigma",
            "--policy: no such policy: expected one of average, borg, convolution, forecast, gpa",
        ),
        (
            "nsigma:m=1",
            "--policy: nsigma has no such parameter: expected one of n, history, warmup, got nsigma:m=1",
        ),
        ("limit:m=1", "--policy: limit has no such parameter: expected none, got limit:m=1"),
        ("nsigma:n=x", "--policy: n is not a number: expected 0 to 1,000, got nsigma:n=x"),
        ("nsigma:n=-1", "--policy: n out of range: expected 0 to 1,000, got -1"),
        (
            "nsigma:history=10s",
            "--policy: history is shorter than a slot: expected 5m to 366d, got nsigma:history=10s",
        ),
        ("forecast:rho=0", "--policy: rho out of range: expected above 0 and below 1, got 0"),
        (
            "forecast:of=x",
            "--policy: forecast has no such parameter: expected one of by, rho, got forecast:of=x",
        ),
        (
            "koordinator-batch:calculate=x",
            "--policy: calculate out of range: expected usage, request or maxUsageRequest, got x",
        ),
        ("borg:phi=0", "--policy: phi out of range: expected above 0 and at most 1, got 0"),
        ("gpa:rho=1", "--policy: rho out of range: expected above 0 and below 1, got 1"),
        ("convolution:rho=0", "--policy: rho out of range: expected above 0 and below 1, got 0"),
        (
            "saddlepoint:rho=0.5",
            "--policy: rho out of range: expected above 0 and below 0.5, got 0.5",
        ),
        ("online-gpa:prior=-1", "--policy: prior out of range: expected 0 to 1,000, got -1"),
        ("online-gpa:rho=1", "--policy: rho out of range: expected above 0 and below 1, got 1"),
        ("task-percentile:q=101", "--policy: q out of range: expected 0 to 100, got 101"),
    ],
)
def test_a_policy_that_is_none_is_refused(policy: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_policy(policy)
    assert str(caught.value).startswith(message)


def test_both_ends_are_percentiles() -> None:
    # Of .1, .2 and .4 of a limit of .5 in slot 2.
    for q, peak in (("0", 0.1), ("100", 0.4)):
        assert peaks(f"task-percentile:q={q},history=1h,warmup=5m")[2] == pytest.approx(peak)


def test_a_label_reads_back() -> None:
    for text in (
        "nsigma:n=3,history=10h,warmup=2h",
        "borg:phi=0.9+limit",
        "gpa:rho=1e-06,history=1d,warmup=2h",
    ):
        assert parse_policy(text).label == text
