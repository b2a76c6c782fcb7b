"""Which rows a claim takes: an answer in which the rows beside the limit would give another number."""

from __future__ import annotations

from typing import Any

import pytest

from tests.analyses.test_claims import finding

Rows = list[dict[str, Any]]


def curve(steps: dict[int, int], **where: str) -> Rows:
    """An answer of *hourly_change* or *window_change*: seconds by percent."""
    return [
        {
            "percent": percent,
            "seconds": seconds,
            **where,
        }
        for percent, seconds in steps.items()
    ]


def used(steps: dict[int, float]) -> Rows:
    return [{"at_most": edge, "cpu_seconds": seconds} for edge, seconds in steps.items()]


def runs(**shares: float) -> Rows:
    """An answer of *run_times*: s8=… is the share that has finished within 8 s, e3600=… that has ended, in class 3."""
    every = {"shortest": 1e-6, "longest": 86_400.0}
    rows: Rows = [
        {
            "grouping": "all",
            "group": "all",
            "seconds": int(name[1:]),
            "finished": share,
            "ended": 0.0,
            **every,
        }
        for name, share in shares.items()
        if name[0] == "s"
    ]
    late = {
        "grouping": "class",
        "group": "3",
        "finished": 0.0,
        **every,
    }
    return rows + [
        {
            **late,
            "seconds": int(name[1:]),
            "ended": v,
        }
        for name, v in shares.items()
        if name[0] == "e"
    ]


def waits(**seconds: float) -> Rows:
    return [
        {
            "group": "all",
            "percent": float(name[1:]),
            "seconds": value,
        }
        for name, value in seconds.items()
    ]


def failing(n: int) -> Rows:
    return [{"rank": rank, "share": rank / 32} for rank in range(1, n + 1)]


def banded(**means: tuple[float, int]) -> Rows:
    """An answer of *delay_by_eligibility*: b10=(mean, n) is the band up to 10 %, b200 that without constraints."""
    return [
        {
            "share_below": int(name[1:]) / 100,
            "mean": mean,
            "n": n,
        }
        for name, (mean, n) in means.items()
    ]


def hours(n: int, present: float, seen: float) -> Rows:
    return [
        {
            "hour": hour,
            "cpu": present,
            "cpu_seen": seen,
        }
        for hour in range(n)
    ]


def removals(*rows: tuple[int, int, int]) -> Rows:
    return [
        {
            "n_removals": n,
            "n_machines": machines,
            "n_gone": gone,
        }
        for n, machines, gone in rows
    ]


def margins(**by_minutes: float | None) -> Rows:
    """An answer of *sampling_period*: w5=… is the margin of windows at 5 minutes, s0 that of seconds."""
    demands = {"w": "window", "s": "second"}
    same = {
        "tier": "all",
        "duration": "all",
        "violation": 0.1,
    }
    return [
        {
            **same,
            "demand": demands[name[0]],
            "period": 60 * int(name[1:]),
            "margin": margin,
        }
        for name, margin in by_minutes.items()
    ]


def evicted(**jobs: int) -> Rows:
    return [
        {
            "grouping": "tier",
            "group": tier,
            "n_evicted_jobs": n,
        }
        for tier, n in jobs.items()
    ]


def jobs_of(group: str, n: int, evicted: int, once: int = 0) -> Rows:
    grouping = "all" if group == "all" else "tier"
    return [
        {
            "grouping": grouping,
            "group": group,
            "n_jobs": n,
            "n_evicted_jobs": evicted,
            "n_evicted_once": once,
        },
        {
            "grouping": "class",
            "group": "0",
            "n_jobs": 1,
            "n_evicted_jobs": 1,
            "n_evicted_once": 1,
        },
    ]


def ends(has_parent: bool, **jobs: int) -> Rows:
    return [
        {
            "has_parent": has_parent,
            "end_type": how,
            "n_jobs": n,
        }
        for how, n in jobs.items()
    ]


def full(steps: dict[int, int]) -> Rows:
    return [
        {
            "resource": "cpu",
            "percent": percent,
            "n_slots": n,
        }
        for percent, n in steps.items()
    ]


CHANGES = {
    0: 2,
    15: 4,
    16: 2,
    20: 4,
    21: 4,
}
"""6 of 16 s up to 15 %, 12 of 16 up to 20 %."""


@pytest.mark.parametrize(
    ("question", "claim", "rows", "measured"),
    [
        ("hourly_change", "REISS-hourly-cpu", curve(CHANGES, resource="cpu"), "0.375"),
        ("window_change", "S4-fig10-cpu", curve(CHANGES, level="cell", resource="cpu"), "0.75"),
        (
            "window_change",
            "S4-fig10-memory",
            curve(CHANGES, level="cell", resource="memory"),
            "0.75",
        ),
        ("window_change", "S4-measure1-task", curve(CHANGES, level="task", resource="cpu"), "0.75"),
        (
            "cpu_by_duration",
            "S4-fig11",
            used(
                {
                    240: 1.0,
                    241: 1.0,
                    7680: 2.0,
                    7681: 4.0,
                }
            ),
            "0.125",
        ),
        (
            "cpu_by_duration",
            "REISS-short",
            used(
                {
                    240: 1.0,
                    241: 1.0,
                    7680: 2.0,
                    7681: 4.0,
                }
            ),
            "0.5",
        ),
        (
            "run_times",
            "S4-fig8-5min",
            runs(
                s299=0.1,
                s300=0.4,
                s301=0.9,
            ),
            "0.4",
        ),
        (
            "run_times",
            "S4-fig8-30min",
            runs(
                s1799=0.1,
                s1800=0.75,
                s1801=0.9,
            ),
            "0.75",
        ),
        (
            "run_times",
            "S4-8s",
            runs(
                s7=0.1,
                s8=0.25,
                s9=0.9,
            ),
            "0.25",
        ),
        ("run_times", "S4-longest", runs(s8=0.5), "1"),
        (
            "run_times",
            "S4-obs10",
            runs(
                e3599=0.1,
                e3600=0.25,
                e3601=0.5,
            ),
            "0.75",
        ),
        (
            "scheduling_delay",
            "V-start",
            waits(
                p25=1.0,
                p50=2.5,
                p51=9.0,
            ),
            "2.5",
        ),
        ("crash_loops", "TE-crash-loops", failing(11), "0.3125"),
        ("crash_loops", "TE-crash-loops", failing(10), "fewer than eleven jobs fail"),
        # (4 · 1 + 7 · 2) ÷ 3 jobs of tight constraints are 6 s, over 2 s.
        (
            "delay_by_eligibility",
            "S4-obs9-constraints",
            banded(
                b1=(4.0, 1),
                b10=(7.0, 2),
                b30=(99.0, 5),
                b200=(2.0, 9),
            ),
            "3",
        ),
        *(
            (
                "delay_by_eligibility",
                "S4-obs9-constraints",
                rows,
                "no task has such a constraint, or every task has one",
            )
            for rows in (
                banded(b1=(4.0, 1)),
                banded(b30=(4.0, 1), b200=(2.0, 9)),
                banded(b1=(4.0, 1), b200=(0.0, 9)),
            )
        ),
        ("machine_availability", "ME-cpu-lost", hours(168, 3.0, 4.0), "0.25"),
        (
            "machine_availability",
            "ME-cpu-lost",
            hours(167, 3.0, 4.0),
            "the trace is shorter than a week",
        ),
        (
            "machine_availability",
            "ME-cpu-lost",
            hours(168, 0.0, 0.0),
            "the trace is shorter than a week",
        ),
        ("machine_removals", "ME-gone", removals((0, 900, 0), (1, 60, 4), (2, 40, 1)), "0.05"),
        (
            "machine_removals",
            "ME-gone",
            removals((0, 900, 0), (1, 99, 4)),
            "fewer than 100 machines were removed",
        ),
        (
            "sampling_period",
            "S4-measure2",
            margins(
                w5=0.25,
                w10=0.5,
                w15=0.5,
                w60=2.0,
            ),
            "smaller in 2 of 3 pairs, equal in 1, larger in 0",
        ),
        (
            "sampling_period",
            "S4-measure2",
            # At 5 minutes no finite margin suffices: that is the largest.
            margins(w5=None, w10=0.5, w15=0.4, w60=2.0),
            "smaller in 1 of 3 pairs, equal in 0, larger in 2: "
            "5 against 10 min at 0.1, 10 against 15 min at 0.1",
        ),
        ("sampling_period", "S4-measure2", margins(w5=0.5, s10=0.4), "needs two sampling periods"),
        (
            "sampling_period",
            "S4-measure1-margin",
            margins(
                w0=9.0,
                w5=0.25,
                w10=0.5,
            ),
            "0.25",
        ),
        ("sampling_period", "S4-measure2-below", margins(s0=0.5, s5=0.75), "0.5"),
        (
            "sampling_period",
            "S4-measure1-margin",
            margins(w5=None),
            "inf",
        ),
        (
            "sampling_period",
            "S4-measure1-margin",
            margins(w10=0.5),
            "no task was measured in two windows in a row",
        ),
        (
            "hazards",
            "TIR-evictions",
            evicted(
                free=14,
                production=1,
                monitoring=1,
            ),
            "0.875",
        ),
        ("hazards", "TIR-evictions", evicted(free=0, production=0), "no task is evicted"),
        ("hazards", "TIR-evicted", jobs_of("all", 1000, 32), "0.032"),
        ("hazards", "TIR-evicted", jobs_of("production", 1000, 32), "the store has no job"),
        ("hazards", "TIR-evicted-production", jobs_of("production", 1000, 1), "0.001"),
        ("hazards", "TIR-evicted-production", jobs_of("monitoring", 1000, 1), "0.001"),
        ("hazards", "TIR-evicted-production", jobs_of("free", 1000, 1), "no job is of production"),
        ("hazards", "TIR-evicted-once", jobs_of("production", 1000, 8, 4), "0.5"),
        ("hazards", "TIR-evicted-once", jobs_of("production", 1000, 0), "no task is evicted"),
        (
            "parents",
            "TIR-killed-with-parent",
            ends(
                True,
                KILL=3,
                LOST=1,
                NONE=9,
            ),
            "0.75",
        ),
        (
            "parents",
            "TIR-killed-without-parent",
            ends(
                False,
                KILL=1,
                FINISH=2,
                LOST=1,
            ),
            "0.25",
        ),
        (
            "parents",
            "TIR-killed-without-parent",
            ends(True, KILL=1),
            "no job without a parent has ended",
        ),
        (
            "machine_utilization",
            "TIR-machines-cpu-80",
            full(
                {
                    0: 4,
                    80: 8,
                    81: 3,
                    100: 1,
                }
            ),
            "0.25",
        ),
        ("job_interarrivals", "JE-bursts", [{"squared_cv": 2.5}, {"squared_cv": 9.0}], "2.5"),
        (
            "vertical_scaling",
            "TIR-autopilot",
            [
                {"setting": "OFF", "median_slack": 0.8},
                {"setting": "FULLY_AUTOMATED", "median_slack": 0.2},
            ],
            "0.75",
        ),
        (
            "fidelity",
            "SYNTH-fidelity",
            [{"verdict": v, "is_near": True} for v in ("fits", "reported", "not judged")],
            "1",
        ),
        (
            "fidelity",
            "SYNTH-fidelity",
            [
                {"verdict": v, "is_near": v == "fits"}
                for v in ("fits", "does not fit", "not measured")
            ],
            "0.5",
        ),
        (
            "fidelity",
            "SYNTH-fidelity",
            [{"verdict": "reported", "is_near": True}],
            "no target could be measured",
        ),
        ("machine_shapes", "R12-table1", [{"n_last": n} for n in (1, 52, 0, 126)], "126/52/1"),
    ],
)
def test_a_claim_at_its_limit(question: str, claim: str, rows: Rows, measured: str) -> None:
    judged = finding(question, claim, rows)
    assert (judged.reason or judged.measured) == measured
