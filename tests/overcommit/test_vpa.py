"""VPA's memory, and its updater, by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from borgtrace.kernels.arrays import Numbers
from borgtrace.overcommit.recommenders import JobSamples, parse_recommender
from tests.overcommit.jobs import exponential, percentile, samples_of

VPA = parse_recommender("vpa")
UPDATER = parse_recommender("vpa-updater")
MARGIN = 1.15
CPU_EDGE = exponential(0.01)
MEMORY_EDGE = exponential(1e7)


def is_nan(limits: Numbers) -> bool:
    """Whether nothing is recommended."""
    return bool(np.isnan(limits).all())


def first_slot(is_reached: list[bool]) -> int:
    """Return the first slot in which something holds."""
    return is_reached.index(True)


def test_vpas_memory_is_a_peak_a_day_that_is_corrected() -> None:
    # The first sample ends its interval at once; the next interval lasts to slot 288, and its peak grows from 2 to 4e8.
    values = {
        0: 1e8,
        1: 2e8,
        2: 4e8,
        3: 1e8,
        288: 3e8,
        289: 3e8,
    }
    rows = [(0, slot, 0, value) for slot, value in values.items()]
    limits = VPA.recommend(samples_of(rows, "memory"))
    first = (0, 1e8, 1.0)
    growing = (288, 2e8, 1.0)
    grown = (288, 4e8, 1.0)
    third = (576, 3e8, 1.0)
    peaks_by_slot = [
        [first],
        [first, growing],
        [first, grown],
        [first, grown],
        [first, grown, third],
        [first, grown, third],
    ]
    expected = []
    for peaks in peaks_by_slot:
        target = MARGIN * percentile(peaks, 0.9, 288, MEMORY_EDGE)
        expected.append(max(target, 250e6))
    np.testing.assert_allclose(limits, expected, rtol=1e-12)


def test_vpas_updater_waits_twelve_hours_within_its_bounds() -> None:
    # .1 and .3 core in turn: .5 lies within the bounds (P50, and P95 times more than ten), the target is a third less.
    rows = [(0, slot, 0, 0.1 + 0.2 * (slot % 2)) for slot in range(200)]
    limits = UPDATER.recommend(samples_of(rows, "cpu"))
    assert is_nan(limits[:144])
    np.testing.assert_allclose(limits[144:], MARGIN * CPU_EDGE(0.3))


def test_vpas_updater_raises_a_limit_below_its_bounds_at_once() -> None:
    # Two cores: the lower bound, P50·(c/(c + .001))², soon exceeds the request.
    rows = [(0, slot, 0, 2.0) for slot in range(20)]
    limits = UPDATER.recommend(samples_of(rows, "cpu"))
    target = MARGIN * CPU_EDGE(2.0)
    is_outside = []
    for slot in range(20):
        confidence = min(slot / 288, (slot + 1) / 1440)
        low = target * (confidence / (confidence + 0.001)) ** 2
        is_outside.append(low > 0.5)
    first = first_slot(is_outside)
    assert 0 < first < 10
    assert is_nan(limits[:first])
    np.testing.assert_allclose(limits[first:], target)


def test_vpas_updater_lowers_a_limit_above_its_bounds_at_once() -> None:
    # The second job uses a hundredth of a core, but for its first slot; P95·(1 + 1/c) falls below its request of .5.
    rows = [(0, slot, 0, 0.1) for slot in range(300)]
    rows.append((1, 0, 1, 0.4))
    rows += [(1, slot, 1, 0.01) for slot in range(1, 140)]
    limits = UPDATER.recommend(samples_of(rows, "cpu"))[300:]
    high_without_rise = MARGIN * CPU_EDGE(0.01)
    is_outside = [False]
    for slot in range(1, 140):
        rise = max(288 / slot, 1440 / (slot + 1))
        is_outside.append(high_without_rise * (1 + rise) < 0.5)
    first = first_slot(is_outside)
    assert 60 < first < 80
    assert is_nan(limits[:first])
    # The target is the least that is ever recommended: 25 millicores.
    np.testing.assert_allclose(limits[first:], 0.025)


def test_vpas_confidence_is_the_age_of_a_job_with_many_tasks() -> None:
    # Ten tasks have 10·(s + 1) samples by slot s, of 1,440 a day: the age, s of 288 slots, is less.
    rows = [(0, slot, task, 0.48) for slot in range(20) for task in range(10)]
    limits = UPDATER.recommend(samples_of(rows, "cpu"))
    target = MARGIN * CPU_EDGE(0.48)
    is_outside = []
    for slot in range(20):
        confidence = slot / 288
        low = target * (confidence / (confidence + 0.001)) ** 2
        is_outside.append(low > 0.5)
    first = first_slot(is_outside)
    assert 1 < first < 10
    assert is_nan(limits[: 10 * first])
    np.testing.assert_allclose(limits[10 * first :], target)


def with_changes(cpu: float, memory: float) -> tuple[JobSamples, JobSamples]:
    """A job with .1, .1 and .3 core in turn and tasks of 3 and 6 GB, whose requests lack shares of the targets."""
    cpu_rows = []
    memory_rows = []
    for slot in range(200):
        cpu_rows.append((0, slot, 0, 0.3 if slot % 3 == 2 else 0.1))
        memory_rows += [(0, slot, 0, 3e9), (0, slot, 1, 6e9)]
    of_cpu = samples_of(cpu_rows, "cpu")
    of_memory = samples_of(memory_rows, "memory")
    cpu_target = MARGIN * CPU_EDGE(0.3)
    memory_target = MARGIN * MEMORY_EDGE(6e9)
    of_cpu.request[:] = cpu_target / (1 + cpu)
    of_memory.request[:] = memory_target / (1 + memory)
    # Alone none of them is updated: its request lies within the bounds, and near the target.
    np.testing.assert_allclose(VPA.recommend(of_cpu)[-1], cpu_target)
    np.testing.assert_allclose(VPA.recommend(of_memory)[-1], memory_target)
    return of_cpu, of_memory


def test_vpas_updater_adds_up_what_changes() -> None:
    cpu, memory = with_changes(0.06, 0.06)
    for samples, other in ((cpu, memory), (memory, cpu)):
        assert is_nan(UPDATER.recommend(samples))
        limits = UPDATER.recommend(replace(samples, beside=(other,)))
        target = VPA.recommend(samples)[-1]
        # .12 in all, after 12 h.
        is_late = samples.slot >= 144
        assert is_nan(limits[~is_late])
        np.testing.assert_allclose(limits[is_late], target)


def test_vpas_updater_needs_ten_percent_in_all() -> None:
    cpu, memory = with_changes(0.06, 0.03)
    assert is_nan(UPDATER.recommend(replace(cpu, beside=(memory,))))


def test_the_memory_of_another_job_or_none_adds_nothing() -> None:
    cpu, memory = with_changes(0.06, 0.06)
    of_another_job = replace(memory, job=memory.job + 1)
    without_this_job = samples_of([(1, 0, 0, 1.0)], "memory")
    for other in (of_another_job, without_this_job):
        assert is_nan(UPDATER.recommend(replace(cpu, beside=(other,))))


def test_vpas_updater_takes_all_targets_where_one_limit_is_out_of_bounds() -> None:
    cpu, memory = with_changes(0.06, 0.0)
    # A quarter of it is too low from some slot in the first hour on: both are recreated then.
    memory.request[:] /= 4
    memory_limits = UPDATER.recommend(memory)
    cpu_limits = UPDATER.recommend(replace(cpu, beside=(memory,)))
    first = memory.slot[~np.isnan(memory_limits)][0]
    assert 0 < first < 12
    has_limit = ~np.isnan(cpu_limits)
    assert (has_limit == (cpu.slot >= first)).all()
    # From then on the target of that slot holds, for the request is never far from it.
    np.testing.assert_allclose(cpu_limits[first], VPA.recommend(cpu)[first])
