"""VPA's memory, and its updater, by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from borgtrace.overcommit.recommenders import JobSamples, recommenders
from tests.overcommit.jobs import exponential, percentile, samples_of


def test_vpas_memory_is_a_peak_a_day_that_is_corrected() -> None:
    # The first sample ends its interval at once; the next interval lasts to slot 288, and its peak grows from 2 to 4e8.
    rows = [
        (0, 0, 0, 1e8),
        (0, 1, 0, 2e8),
        (0, 2, 0, 4e8),
        (0, 3, 0, 1e8),
        (0, 288, 0, 3e8),
        (0, 289, 0, 3e8),
    ]
    found = recommenders()["vpa"]().recommend(samples_of(rows, "memory"))
    edge = exponential(1e7)
    peaks = [
        [(0, 1e8, 1.0)],
        [(0, 1e8, 1.0), (288, 2e8, 1.0)],
        [(0, 1e8, 1.0), (288, 4e8, 1.0)],
        [(0, 1e8, 1.0), (288, 4e8, 1.0)],
        [(0, 1e8, 1.0), (288, 4e8, 1.0), (576, 3e8, 1.0)],
        [(0, 1e8, 1.0), (288, 4e8, 1.0), (576, 3e8, 1.0)],
    ]
    expected = [max(1.15 * percentile(seen, 0.9, 288, edge), 250e6) for seen in peaks]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_vpas_updater_waits_twelve_hours_within_its_bounds() -> None:
    # .1 and .3 core in turn: .5 lies within the bounds (P50, and P95 times more than ten), the target is a third less.
    rows = [(0, slot, 0, 0.1 + 0.2 * (slot % 2)) for slot in range(200)]
    found = recommenders()["vpa-updater"]().recommend(samples_of(rows, "cpu"))
    assert np.isnan(found[:144]).all()
    np.testing.assert_allclose(found[144:], 1.15 * exponential(0.01)(0.3))
    # Two cores: the lower bound, P50·(c/(c + .001))², soon exceeds the request.
    found = recommenders()["vpa-updater"]().recommend(
        samples_of([(0, slot, 0, 2.0) for slot in range(20)], "cpu")
    )
    bounds = [
        1.15 * exponential(0.01)(2.0) * (c / (c + 0.001)) ** 2
        for c in (min(s / 288, (s + 1) / 1440) for s in range(20))
    ]
    first = next(slot for slot, low in enumerate(bounds) if low > 0.5)
    assert 0 < first < 10
    assert np.isnan(found[:first]).all()
    np.testing.assert_allclose(found[first:], 1.15 * exponential(0.01)(2.0))


def test_vpas_updater_lowers_a_limit_above_its_bounds_at_once() -> None:
    # The second job uses a hundredth of a core, but for its first slot; P95·(1 + 1/c) falls below its request of .5.
    rows = [(0, slot, 0, 0.1) for slot in range(300)]
    rows += [(1, slot, 1, 0.4 if slot == 0 else 0.01) for slot in range(140)]
    found = recommenders()["vpa-updater"]().recommend(samples_of(rows, "cpu"))[300:]
    percentile = 1.15 * exponential(0.01)(0.01)
    first = next(s for s in range(1, 140) if percentile * (1 + max(288 / s, 1440 / (s + 1))) < 0.5)
    assert 60 < first < 80
    assert np.isnan(found[:first]).all()
    # The target is the least that is ever recommended: 25 millicores.
    np.testing.assert_allclose(found[first:], 0.025)


def test_vpas_confidence_is_the_age_of_a_job_with_many_tasks() -> None:
    # Ten tasks have 10·(s + 1) samples by slot s, of 1,440 a day: the age, s of 288 slots, is less.
    rows = [(0, slot, task, 0.48) for slot in range(20) for task in range(10)]
    found = recommenders()["vpa-updater"]().recommend(samples_of(rows, "cpu"))
    target = 1.15 * exponential(0.01)(0.48)
    first = next(s for s in range(20) if target * (s / 288 / (s / 288 + 0.001)) ** 2 > 0.5)
    assert 1 < first < 10
    assert np.isnan(found[: 10 * first]).all()
    np.testing.assert_allclose(found[10 * first :], target)


def both(cpu: float, memory: float) -> tuple[JobSamples, JobSamples]:
    """A job with .1, .1 and .3 core in turn and tasks of 3 and 6 GB, whose requests lack shares of the targets."""
    parts = (
        samples_of([(0, slot, 0, 0.1 + 0.2 * (slot % 3 == 2)) for slot in range(200)], "cpu"),
        samples_of(
            [(0, slot, task, 3e9 * (1 + task)) for slot in range(200) for task in (0, 1)], "memory"
        ),
    )
    targets = 1.15 * exponential(0.01)(0.3), 1.15 * exponential(1e7)(6e9)
    for part, target, share in zip(
        parts,
        targets,
        (cpu, memory),
        strict=True,
    ):
        part.request[:] = target / (1 + share)
        # Alone none of them is updated: its request lies within the bounds, and near the target.
        np.testing.assert_allclose(recommenders()["vpa"]().recommend(part)[-1], target)
    return parts


def test_vpas_updater_adds_up_what_changes() -> None:
    cpu, memory = both(0.06, 0.06)
    updater = recommenders()["vpa-updater"]()
    for one, other in ((cpu, memory), (memory, cpu)):
        assert np.isnan(updater.recommend(one)).all()
        found = updater.recommend(replace(one, beside=(other,)))
        target = recommenders()["vpa"]().recommend(one)
        # .12 in all, after 12 h.
        assert np.isnan(found[one.slot < 144]).all()
        np.testing.assert_allclose(found[one.slot >= 144], target[-1])
    cpu, memory = both(0.06, 0.03)
    assert np.isnan(updater.recommend(replace(cpu, beside=(memory,)))).all()
    # The memory of another job, or none at all, adds nothing.
    cpu, memory = both(0.06, 0.06)
    elsewhere = replace(memory, job=memory.job + 1)
    for other in (elsewhere, samples_of([(1, 0, 0, 1.0)], "memory")):
        assert np.isnan(updater.recommend(replace(cpu, beside=(other,)))).all()


def test_vpas_updater_takes_all_targets_where_one_limit_is_out_of_bounds() -> None:
    cpu, memory = both(0.06, 0.0)
    # A quarter of it is too low from some slot in the first hour on: both are recreated then.
    memory.request[:] /= 4
    found = {
        name: recommenders()["vpa-updater"]().recommend(each)
        for name, each in (("memory", memory), ("cpu", replace(cpu, beside=(memory,))))
    }
    first = memory.slot[~np.isnan(found["memory"])][0]
    assert 0 < first < 12
    assert (~np.isnan(found["cpu"]) == (cpu.slot >= first)).all()
    # From then on the target of that slot holds, for the request is never far from it.
    np.testing.assert_allclose(found["cpu"][first], recommenders()["vpa"]().recommend(cpu)[first])
