"""Claims on answers typed by hand: what they measure, where they hold, and the reason where they cannot tell."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from borgtrace.catalog import find, listed_names, names
from borgtrace.question import NotApplicable, Scope
from borgtrace.question.claims import Finding
from borgtrace.schema.time import DAY

Rows = list[dict[str, Any]]


def finding(question: str, id_: str, rows: Rows) -> Finding:
    """Judge one claim on an answer."""
    (claim,) = (claim for claim in find(question).claims if claim.id == id_)
    return claim.judge(pa.Table.from_pylist(rows))


def cpi(*means: float) -> Rows:
    """Return an answer of *interference*: CPI at 10, 20 … percent of the machine, an hour each."""
    same = {
        "metric": "cpi",
        "condition": "cpu percent",
        "seconds": 3600,
    }
    return [
        {
            **same,
            "bin": 10 * n,
            "mean": mean,
        }
        for n, mean in enumerate(means, 1)
    ]


def settings(**slack: float | None) -> Rows:
    """Return an answer of *vertical_scaling*."""
    return [{"setting": name, "median_slack": value} for name, value in slack.items()]


def hours(n: int, jobs: int) -> Rows:
    """Return an answer of *job_arrivals*."""
    return [{"hour": hour, "n_jobs": jobs} for hour in range(n)]


def submitted(new: int, again: int) -> Rows:
    """Return an answer of *resubmissions*."""
    return [
        {
            "hour": hour,
            "n_new": new,
            "n_again": again,
        }
        for hour in range(3)
    ]


def top_users(*shares: float) -> Rows:
    """Return an answer of *jobs_per_owner*: the jobs of the largest users together."""
    return [
        {
            "kind": "user",
            "rank": rank,
            "share": share,
        }
        for rank, share in enumerate(shares, 1)
    ]


def peaks(*bins: int) -> Rows:
    """Return an answer of *peak_to_request*: a task in each of some bins of memory, three in the first of CPU."""
    memory = [
        {
            "resource": "memory",
            "bin": number,
            "n_within": 1,
        }
        for number in bins
    ]
    return [
        *memory,
        {
            "resource": "cpu",
            "bin": 0,
            "n_within": 3,
        },
    ]


def margins(**above_margin: float) -> Rows:
    """Return an answer of *reservation*: 20 % above the usage before, by resource."""
    same = {
        "tier": "all",
        "policy": "previous",
        "setting": 0.2,
    }
    return [
        {
            **same,
            "resource": name,
            "above_margin": share,
        }
        for name, share in above_margin.items()
    ]


def queue(*pairs: tuple[int, int]) -> Rows:
    """Return an answer of *queue_length*: what the published formula counts, and what waits."""
    return [{"pending_published": formula, "pending": counted} for formula, counted in pairs]


@pytest.mark.parametrize(
    ("question", "id_", "rows", "measured", "verdict"),
    [
        # 0.02 around a mean of 2.01: 1 % with every 10 % of the machine.
        ("interference", "VERMA-cpi-cpu", cpi(2.0, 2.02), "0.00995", "holds"),
        # What falls does not grow by 2 %.
        ("interference", "VERMA-cpi-cpu", cpi(2.0, 1.9988), "-0.0006002", "holds"),
        ("interference", "VERMA-cpi-cpu", cpi(2.0, 2.2), "0.09524", "does not hold"),
        # The ratio of the other year is not this year's.
        ("resubmissions", "TIR-resubmitted-2011", submitted(100, 66), "0.66", "holds"),
        ("resubmissions", "TIR-resubmitted-2011", submitted(100, 226), "2.26", "does not hold"),
        ("resubmissions", "TIR-resubmitted-2019", submitted(100, 226), "2.26", "holds"),
        ("resubmissions", "TIR-resubmitted-2019", submitted(100, 66), "0.66", "does not hold"),
        ("job_arrivals", "TIR-jobs-mean-2011", hours(695, 960), "960", "holds"),
        ("job_arrivals", "TIR-jobs-mean-2019", hours(695, 960), "960", "does not hold"),
        # 695 whole hours are 28.96 days.
        ("job_arrivals", "G11-days", hours(695, 960), "28.96", "holds"),
        ("job_arrivals", "TIR-days", hours(695, 960), "28.96", "does not hold"),
        (
            "vertical_scaling",
            "TIR-autopilot",
            settings(OFF=0.5, FULLY_AUTOMATED=0.25),
            "0.5",
            "holds",
        ),
        (
            "alloc_sets",
            "TIR-alloc-collections",
            [{"quantity": "collections", "share": 0.024}],
            "0.024",
            "holds",
        ),
        (
            "alloc_sets",
            "TIR-alloc-collections",
            [{"quantity": "collections", "share": 0.03}],
            "0.03",
            "does not hold",
        ),
        (
            "alloc_sets",
            "TIR-alloc-jobs_inside",
            [{"quantity": "jobs_inside", "share": 0.2}],
            "0.2",
            "does not hold",
        ),
        ("machine_shapes", "G11-machines", [{"n_last": 12_583}], "12583", "holds"),
        ("machine_shapes", "G11-machines-old", [{"n_last": 12_583}], "12583", "does not hold"),
        ("job_events", "JE-jobs", [{"type": "any", "n_jobs": 672_074}], "672074", "holds"),
        ("jobs_per_owner", "JE-users", [{"kind": "user", "rank": 933}], "933", "holds"),
        ("jobs_per_owner", "S0-users", [{"kind": "user", "rank": 933}], "933", "holds"),
        # The largest of two is enough to say so; with one alone it would be all, whatever users do.
        ("jobs_per_owner", "JE-top-user", top_users(0.146, 0.2), "0.146", "holds"),
        # Half of the tasks at 5 % (the middle of the first bin is 0.025), half at 65 % (0.625): 0.325.
        ("peak_to_request", "KOR-mean-memory", peaks(0, 12), "0.325", "holds"),
        (
            "reservation",
            "S4-measure1-violated-memory",
            margins(cpu=0.3, memory=0.05),
            "0.05",
            "holds",
        ),
        (
            "reservation",
            "S4-measure1-violated-cpu",
            margins(cpu=0.3, memory=0.05),
            "0.3",
            "does not hold",
        ),
        # The last instant counts: two published, three counted.
        ("queue_length", "S4-method-3-2", queue((5, 5), (9, 1), (2, 3)), "-1", "does not hold"),
        # The bytes have 19 of 2,012,242, the page prints 0.0008 %.
        (
            "data_quality",
            "G11-missing-info-jobs",
            [{"anomaly": "missing_info_collections", "share": 19 / 2_012_242}],
            "9.442e-06",
            "does not hold",
        ),
    ],
)
def test_what_a_claim_measures(
    question: str, id_: str, rows: Rows, measured: str, verdict: str
) -> None:
    judged = finding(question, id_, rows)
    assert judged.measured == measured
    assert judged.verdict == verdict


@pytest.mark.parametrize(
    ("slack", "reason"),
    [
        ({"OFF": 0.5}, "no task with full vertical scaling has usage and a request"),
        (
            {"OFF": None, "FULLY_AUTOMATED": 0.5},
            "no task without vertical scaling has usage and a request",
        ),
        (
            {"OFF": 0.0, "FULLY_AUTOMATED": 0.5},
            "without vertical scaling half of the tasks have no slack at all",
        ),
    ],
)
def test_why_the_slack_cannot_be_compared(slack: dict[str, float | None], reason: str) -> None:
    assert finding("vertical_scaling", "TIR-autopilot", settings(**slack)).reason == reason


def test_few_owners_or_equal_memory_tell_nothing() -> None:
    judged = finding("jobs_per_owner", "JE-top-user", top_users(0.9))
    assert judged.reason == "fewer than 2 owners of the kind user"
    assert (
        finding("jobs_per_owner", "JE-top-ten", top_users(*[0.9] * 19)).reason
        == "fewer than 20 owners of the kind user"
    )
    equal = [{"bucket": bucket, "memory": 0.5} for bucket in range(3)]
    assert (
        finding("job_memory", "TIR-cpu-memory", equal).reason
        == "the jobs fill fewer than three buckets"
    )


BOUNDS = [
    # Question, claim, what its sentence allows at its furthest, and what it does not allow any more.
    ("interference", "VERMA-cpi-cpu", (-0.5, 0.0, 0.0199), (0.02,)),
    ("over_request", "S4-over-request", (0.5, 2.0), (2.001,)),
    ("over_request", "S4-over-twice", (0.0, 0.0099), (0.01,)),
    ("machine_removals", "ME-gone", (0.0, 0.05), (0.051,)),
    ("machine_availability", "ME-cpu-lost", (0.0, 0.0099), (0.01,)),
    ("resubmission_gaps", "DOC-evict-again", (0.99, 1.0), (0.989,)),
    ("resubmission_gaps", "DOC-at-once", (0.0, 1.0), (1.001,)),
    ("job_events", "JE-finish", (0.501, 1.0), (0.5,)),
    ("job_events", "JE-fail", (0.0, 0.03), (0.031,)),
    ("job_durations", "R12-2h", (0.951, 1.0), (0.95,)),
    ("jobs_per_owner", "JE-top-ten", (0.501, 1.0), (0.5,)),
    ("jobs_per_owner", "S0-users", (901, 100_000), (900,)),
    ("hazards", "TIR-evicted-production", (0.0, 0.0019), (0.002,)),
    ("schedulers", "TIR-batch-beb", (0.501, 1.0), (0.5,)),
    ("vertical_scaling", "TIR-autopilot", (0.251, 1.0), (0.25,)),
    ("cpu_by_duration", "REISS-short", (0.0, 0.099), (0.1,)),
    ("window_change", "S4-fig10-cpu", (0.901, 1.0), (0.9,)),
    ("scheduling_delay", "V-start", (0.0, 24.9), (25.0,)),
    ("run_times", "S4-8s", (0.0, 2 / 18_217_975), (3 / 18_217_975,)),
]


@pytest.mark.parametrize(("question", "id_", "allowed", "refused"), BOUNDS)
def test_a_one_sided_sentence_has_a_one_sided_criterion(
    question: str, id_: str, allowed: tuple[float, ...], refused: tuple[float, ...]
) -> None:
    (claim,) = (claim for claim in find(question).claims if claim.id == id_)
    assert [claim.criterion.test(value) for value in allowed] == [True] * len(allowed)
    assert [claim.criterion.test(value) for value in refused] == [False] * len(refused)


def test_short_tasks_are_a_share_of_those_without_a_failing_event() -> None:
    """Of the 20 tasks that did not fail 19 are short, of all 28 no more than that."""
    lengths = [
        {"length": 3, "longest": 3, "n_tasks": 9, "n_unfailed": 9},
        {"length": 23, "longest": 23, "n_tasks": 10, "n_unfailed": 10},
        {"length": 24, "longest": 24, "n_tasks": 9, "n_unfailed": 1},
    ]
    judged = finding("trace_lengths", "S1-short", lengths)
    assert (judged.measured, judged.verdict) == ("0.95", "holds")
    all_failed = [{**row, "n_unfailed": 0} for row in lengths]
    reason = finding("trace_lengths", "S1-short", all_failed).reason
    assert reason == "no task with usage is without a failing event"


def test_counts_of_other_traces_hold_for_their_published_numbers_alone() -> None:
    def shapes(*counted: tuple[float | None, int]) -> Rows:
        return [{"gpu_capacity": gpus, "n_last": n} for gpus, n in counted]

    # 310 nodes without GPUs, 873 with four and 340 with eight: 1,523 nodes with 6,212 GPUs.
    nodes = shapes((0, 310), (4, 873), (8, 340))
    assert finding("machine_shapes", "OPENB-nodes", nodes).verdict == "holds"
    assert finding("machine_shapes", "OPENB-gpus", nodes).verdict == "holds"
    assert finding("machine_shapes", "OPENB-nodes", shapes((0, 1_522))).verdict == "does not hold"
    # The list of nodes with GPUs is a part of the other.
    assert (
        finding("machine_shapes", "OPENB-nodes", shapes((8, 1_213))).reason
        == "needs openb_node_list_all_node.csv"
    )
    assert finding("machine_shapes", "OPENB-gpus", shapes((8, 776), (None, 3))).measured == "6208"
    limits = {
        3_799: "does not hold",
        3_800: "holds",
        4_200: "holds",
        4_201: "does not hold",
    }
    assert {
        n: finding("machine_shapes", "ALI18-machines", shapes((None, n))).verdict for n in limits
    } == limits
    totals = {"OPENB-pods": (8_152, 8_153), "AZ19-vms": (2_705_000, 2_705_001)}
    for id_, (right, wrong) in totals.items():
        assert finding("task_totals", id_, [{"tier": "all", "n_tasks": right}]).verdict == "holds"
        assert (
            finding("task_totals", id_, [{"tier": "all", "n_tasks": wrong}]).verdict
            == "does not hold"
        )
    windows = [{"n_windows": 1_000_000_000}, {"n_windows": 945_000_000}]
    assert finding("trace_lengths", "AZ19-readings", windows).verdict == "holds"
    assert (
        finding("trace_lengths", "AZ19-readings", [*windows, {"n_windows": 1}]).verdict
        == "does not hold"
    )


def test_the_published_totals_are_those_of_the_paper() -> None:
    # Its text and its formulas use two bases of tasks; the real files have 19,666 more schedulings than it prints.
    rows = [
        {
            "tier": "all",
            "n_tasks": 25_424_731,
            "n_finish": 18_217_975,
            "n_submit": 48_375_166,
            "n_schedule": 47_351_173,
        }
    ]
    verdicts = {
        claim.id: claim.judge(pa.Table.from_pylist(rows)).verdict
        for claim in find("task_totals").claims
        if claim.id.startswith(("S4-total", "S4-weight", "KOR-total"))
    }
    assert verdicts == {
        "S4-total-new": "holds",
        "S4-total-completed": "holds",
        "S4-total-submitted": "holds",
        "S4-total-scheduled": "does not hold",
        "S4-total-tasks": "does not hold",
        "S4-total-finished": "does not hold",
        "S4-weight-completed": "holds",
        "S4-weight-submitted": "holds",
        "S4-weight-scheduled": "holds",
        "KOR-total-scheduled": "holds",
    }


def test_every_claim_says_what_makes_it_true() -> None:
    claims = [
        claim
        for claim in find("run_times").claims
        if claim.id in ("S4-8s", "S4-shortest", "S4-longest")
    ]
    assert [(c.kind, c.criterion.published, c.criterion.tolerance) for c in claims] == [
        ("published", "2 of 18,217,975", "≤ 1.09782e-07"),
        ("published", "1 µs", "1e-06"),
        ("published", 8.969, "± 0.0005"),
    ]


def test_every_claim_of_the_workload_names_source_and_trace() -> None:
    claims = [
        claim
        for name, folder in listed_names()
        if folder.__name__.startswith("borgtrace.analyses")
        for claim in find(name).claims
    ]
    # What is a threshold of ours alone may be asked of any trace; what somebody published is about one.
    of_any = {claim.id for claim in claims if not claim.scope.traces}
    assert of_any == {"SKETCH-bound", "SYNTH-fidelity"}
    assert all(claim.source for claim in claims)
    counted = [claim for claim in claims if claim.source.startswith("count over")]
    assert {claim.kind for claim in counted} == {"criterion"}


@pytest.mark.parametrize("name", names())
def test_no_claim_holds_of_an_empty_answer(name: str) -> None:
    # SQL that names no column of the answer fails here.
    question = find(name)
    verdicts = {claim.judge(question.answer.empty()).verdict for claim in question.claims}
    assert verdicts <= {"not applicable", "does not hold"}


def test_no_way_of_packing_is_no_proof_that_none_is_best() -> None:
    (claim,) = (claim for claim in find("packing_base").claims if claim.id == "S1-dominance")
    with pytest.raises(NotApplicable):
        claim.measure(find("packing_base").answer.empty())


def test_what_is_listed_under_a_question_holds_for_its_claims_that_say_nothing_else() -> None:
    first, *_, last = find("machine_shapes").claims
    assert first.source == "Reiss et al., SoCC'12, Table 1"
    assert first.kind == "published"
    assert first.scope.traces == ("2011",)
    assert last.source == "trace_2018.md"
    assert last.scope == Scope(
        traces=("alibaba-2018",),
        span=7 * DAY,
        tasks=0,
    )
