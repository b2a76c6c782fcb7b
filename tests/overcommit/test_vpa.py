"""VPA's memory, and its updater, by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from borgtrace.kernels.arrays import Numbers
from borgtrace.overcommit.recommenders import JobSamples, parse_recommender
from tests.overcommit.jobs import exponential, percentile, samples_of

VPA = parse_recommender("vpa")
UPDATER = parse_recommender("vpa-updater")
MARGIN = 1.15
CPU_EDGE = exponential(0.01)
MEMORY_EDGE = exponential(1e7)
MEMORY_FLOOR = 262_144_000
"""250 · 1024 · 1024 bytes: podMinMemoryMb in kubernetes/autoscaler, vertical-pod-autoscaler/pkg/recommender/logic."""


def is_nan(limits: Numbers) -> bool:
    """Whether nothing is recommended."""
    return bool(np.isnan(limits).all())


def first_slot(is_reached: list[bool]) -> int:
    """Return the first slot in which something holds."""
    return is_reached.index(True)


def memory_targets(*values: tuple[int, float]) -> list[float]:
    """VPA's target after each slot and value of one task."""
    rows = [(0, slot, 0, value) for slot, value in values]
    return VPA.recommend(samples_of(rows, "memory")).tolist()


def test_vpas_memory_is_a_peak_a_day_that_is_corrected() -> None:
    # Intervals of 288 slots begin with the first sample; the peak of the first one grows from 2e9 to 4e9.
    limits = memory_targets((0, 2e9), (1, 4e9), (2, 1e9), (288, 3e9), (289, 3.5e9))
    first = (288, 2e9, 1.0)
    grown = (288, 4e9, 1.0)
    second = (576, 3e9, 1.0)
    second_grown = (576, 3.5e9, 1.0)
    peaks_by_slot = [
        [first],
        [grown],
        [grown],
        [grown, second],
        [grown, second_grown],
    ]
    expected = [MARGIN * percentile(peaks, 0.9, 288, MEMORY_EDGE) for peaks in peaks_by_slot]
    np.testing.assert_allclose(limits, expected, rtol=1e-12)


def test_a_corrected_peak_leaves_nothing_of_the_lower_one() -> None:
    # Two of 19 tasks grow from 1e9 to 4e9: 17 are fewer than nine tenths of 19, but 19 were more than those of 21.
    rows = [(0, 0, task, 1e9) for task in range(19)]
    rows += [(0, 1, task, 4e9) for task in (0, 1)]
    limits = VPA.recommend(samples_of(rows, "memory"))
    assert limits[18] == pytest.approx(MARGIN * MEMORY_EDGE(1e9))
    assert limits[20] == pytest.approx(MARGIN * MEMORY_EDGE(4e9))


def test_vpa_never_raises_the_peak_of_a_day_that_began_with_zero() -> None:
    # addMemorySample corrects a peak only where it is not 0: container.go, vertical-pod-autoscaler/pkg/recommender.
    assert memory_targets((0, 0.0), (1, 5e9), (287, 6e9)) == [MEMORY_FLOOR] * 3
    # The next day begins anew, and weighs twice what the day before does.
    limits = memory_targets((0, 0.0), (1, 5e9), (288, 5e9), (289, 6e9))
    expected = [MEMORY_FLOOR] * 2 + [MARGIN * MEMORY_EDGE(5e9), MARGIN * MEMORY_EDGE(6e9)]
    assert limits == pytest.approx(expected)


def test_vpas_least_recommendation_is_250_mebibytes_and_25_millicores() -> None:
    assert memory_targets((0, 2e8)) == [MEMORY_FLOOR]
    assert memory_targets((0, 2.5e8)) == pytest.approx([MARGIN * MEMORY_EDGE(2.5e8)])
    cpu = VPA.recommend(samples_of([(0, 0, 0, 0.009)], "cpu"))
    assert cpu.tolist() == [0.025]


@pytest.mark.wide
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
