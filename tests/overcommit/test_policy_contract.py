"""What every peak policy keeps: it sees no later slot, is the same each time, and predicts each slot of a machine."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from borgtrace.overcommit import parse_policy
from borgtrace.overcommit.policies.registry import policies
from tests.overcommit.plain import Machine
from tests.overcommit.test_restatement import random_machine

LARGEST_MACHINE = {"cores": 64.0, "gib": 256.0}
SEEDS = range(3)
ALONE = [name for name, kind in policies().items() if not kind.pools]
"""Policies that know nothing but a machine's own past; the others are given more in tests of their own."""


def with_another_future(machine: Machine, last: int) -> Machine:
    """Return the same machine up to a slot; later every task uses and may use something else, and one more comes."""
    samples = {}
    for slot, present in machine.samples.items():
        is_later = slot > last
        samples[slot] = dict.fromkeys([*present, 999], (0.5, 0.75)) if is_later else present
    return Machine(samples, machine.n_slots)


@pytest.mark.parametrize("name", ALONE)
@pytest.mark.parametrize("seed", SEEDS)
def test_what_comes_later_changes_nothing(name: str, seed: int) -> None:
    policy = parse_policy(name, LARGEST_MACHINE)
    machine = random_machine(seed)
    whole = policy.predict(machine.block()).peak
    slots = sorted(machine.samples)
    for place in (0, len(slots) // 3, len(slots) // 2, len(slots) - 2):
        other = policy.predict(with_another_future(machine, slots[place]).block()).peak
        np.testing.assert_array_equal(other[: place + 1], whole[: place + 1])


@pytest.mark.parametrize("name", ALONE)
@pytest.mark.parametrize("seed", SEEDS)
def test_each_slot_has_a_peak_and_the_same_one_each_time(name: str, seed: int) -> None:
    machine = random_machine(seed)
    first = parse_policy(name, LARGEST_MACHINE).predict(machine.block())
    again = parse_policy(name, LARGEST_MACHINE).predict(machine.block())
    assert first.peak.shape == (len(machine.samples),)
    assert np.isfinite(first.peak).all()
    assert (first.peak >= 0).all()
    assert first.n_cold >= 0
    np.testing.assert_array_equal(first.peak, again.peak)
    assert first.n_cold == again.n_cold


@pytest.mark.parametrize("resource", ["cpu", "memory"])
@pytest.mark.parametrize("name", ALONE)
def test_a_task_that_was_not_measured_counts_its_limit(name: str, resource: str) -> None:
    policy = parse_policy(name, LARGEST_MACHINE)
    measured = {0: (0.125, 0.25), 1: (0.5, 0.5)}
    unmeasured = {0: (0.125, 0.25), 1: (None, 0.5)}
    peaks = []
    for present in (measured, unmeasured):
        block = replace(Machine({0: present}, 1).block(), resource=resource)
        peaks.append(policy.predict(block).peak.tolist())
    assert peaks[0] == peaks[1]


@pytest.mark.parametrize("name", sorted(policies()))
def test_a_policy_says_what_it_is(name: str) -> None:
    kind = policies()[name]
    assert kind.about
    assert kind.name == name
