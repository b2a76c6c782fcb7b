"""Every verdict on a target, in full: may be cut, may be with doubt, would have been, missed, and nothing known."""

from __future__ import annotations

import csv
from dataclasses import replace
from html import unescape
from pathlib import Path

import pyarrow as pa
import pytest

from borgtrace.advice import Advice
from borgtrace.advice.advice import promised_shares
from borgtrace.advice.files import write_advice
from borgtrace.advice.node_sentences import why_more_than_today
from borgtrace.advice.value_sentences import value_sentence
from borgtrace.advice.verdict import Verdict, verdict_of
from borgtrace.cli.advice_text import screen_of
from borgtrace.notation.amounts import ResourceAmounts

AMOUNTS = ResourceAmounts(cores=8.0, gib=32.0)
ROW = {
    "resource": "cpu",
    "target": 0.01,
    "horizon": 1.0,
    "period": 6.0,
    "periods": 6,
    "periods_kept": 3,
    "requested": 51.5,
    "promised": 29.5,
    "savings": 0.43,
    "rate": 0.005,
    "rate_low": 0.002,
    "rate_high": 0.009,
    "trials": 240.0,
    "policy": "borg:phi=0.6",
    "policy_savings": 0.4,
    "safest": "nsigma:n=10,history=2h,warmup=1h50m",
    "safest_savings": 0.21,
    "safest_rate": 0.002,
    "safest_low": 0.0,
    "safest_high": 0.008,
}
CUT = "CPU requests {} from 412 to 236 cores (43 %)"
WINDOWS = "of 5-minute windows per machine"
KEPT = "kept on 3 of 6 periods of 6 h"
NOT_SAFE = {"safest_high": 0.02}
NO_SAFEST = {"safest": None}


@pytest.mark.parametrize(
    ("changes", "verdict", "sentence"),
    [
        pytest.param(
            {},
            Verdict.KEPT,
            f"{CUT.format('may be cut')} at a risk of 0.5 % [0.2 to 0.9] {WINDOWS}; aimed at 1 %, {KEPT}.",
            id="kept",
        ),
        pytest.param(
            {"period": 24.0},
            Verdict.KEPT,
            f"{CUT.format('may be cut')} at a risk of 0.5 % [0.2 to 0.9] {WINDOWS}; aimed at 1 %, "
            "kept on 3 of 6 days.",
            id="kept, days",
        ),
        pytest.param(
            {"rate_high": 0.013},
            Verdict.UNCERTAIN,
            f"{CUT.format('may be cut')} at a risk of 0.5 % [0.2 to 1.3] {WINDOWS}; aimed at 1 %, {KEPT}; "
            "the interval reaches above 1 %, so that more data may show a miss.",
            id="not certain",
        ),
        pytest.param(
            {"rate_low": None, "rate_high": 0.013},
            Verdict.UNCERTAIN,
            f"{CUT.format('may be cut')} at a risk of 0.5 % [up to 1.3] {WINDOWS}; aimed at 1 %, {KEPT}; "
            "the interval reaches above 1 %, so that more data may show a miss.",
            id="not certain, one machine",
        ),
        pytest.param(
            {"rate": 0.012, "rate_high": 0.022},
            Verdict.ABOVE,
            f"{CUT.format('would have been cut')} at a risk of 1.2 % [0.2 to 2.2] {WINDOWS}, above the 1 % aimed at, "
            f"perhaps by chance; {KEPT}. Promise what is requested, or try the safest tested: nsigma:n=10,history=2h "
            "cuts 21 % at a risk of 0.2 % [0 to 0.8] (over all periods, not held out).",
            id="above",
        ),
        pytest.param(
            {"rate": 0.014, "rate_low": 0.012, "rate_high": 0.016},
            Verdict.MISSED,
            f"{CUT.format('would have been cut')}, and the target was missed: a risk of 1.4 % [1.2 to 1.6] {WINDOWS}, "
            f"aimed at 1 %, {KEPT}. Promise what is requested, or try the safest tested: nsigma:n=10,history=2h cuts "
            "21 % at a risk of 0.2 % [0 to 0.8] (over all periods, not held out).",
            id="missed",
        ),
        pytest.param(
            {"rate": 0.014, "rate_low": 0.012, "rate_high": 0.016, **NOT_SAFE},
            Verdict.MISSED,
            f"{CUT.format('would have been cut')}, and the target was missed: a risk of 1.4 % [1.2 to 1.6] {WINDOWS}, "
            f"aimed at 1 %, {KEPT}. Promise what is requested: the safest tested, nsigma:n=10,history=2h, has a risk "
            "of 0.2 % [0 to 2].",
            id="missed, nothing is safe",
        ),
        pytest.param(
            {"rate": 0.014, "rate_low": 0.012, "rate_high": 0.016, **NO_SAFEST},
            Verdict.MISSED,
            f"{CUT.format('would have been cut')}, and the target was missed: a risk of 1.4 % [1.2 to 1.6] {WINDOWS}, "
            f"aimed at 1 %, {KEPT}. Promise what is requested.",
            id="missed, nothing else was tested",
        ),
        pytest.param(
            {"savings": 0.004},
            Verdict.NOTHING,
            "CPU: nothing was known to keep 1 % early enough to be judged on later periods; by all periods together, "
            "borg:phi=0.6 keeps it and cuts requests by 40 %: wait for more days before you rely on it.",
            id="known too late",
        ),
        pytest.param(
            {"savings": 0.0, "policy": None, "policy_savings": None},
            Verdict.NOTHING,
            "CPU: nothing tested is known to keep 1 % in each period of 6 h; over all periods together, not held out, "
            "the safest tested, nsigma:n=10,history=2h, would cut requests by 21 % at a risk of 0.2 % [0 to 0.8] "
            f"{WINDOWS}.",
            id="nothing keeps it",
        ),
        pytest.param(
            # Forty trials: one of them is 2.5 %.
            {
                "savings": 0.0,
                "policy": None,
                "policy_savings": None,
                "trials": 40.0,
                "period": 24.0,
            },
            Verdict.NOTHING,
            "CPU: nothing tested is known to keep 1 % on each day, of which one machine above its promise for 1 h is "
            "2.5 %; over all periods together, not held out, the safest tested, nsigma:n=10,history=2h, would cut "
            f"requests by 21 % at a risk of 0.2 % [0 to 0.8] {WINDOWS}.",
            id="nothing can show it",
        ),
        pytest.param(
            {
                "savings": 0.0,
                "policy": None,
                "policy_savings": None,
                "safest_rate": 1.0,
                "safest_low": 1.0,
                "safest_high": 1.0,
            },
            Verdict.NOTHING,
            "CPU: nothing tested is known to keep 1 % in each period of 6 h: of what saves, nsigma:n=10,history=2h "
            "comes nearest, at a risk of 100 % [100 to 100].",
            id="all that saves breaks it",
        ),
        pytest.param(
            {"savings": 0.0, "policy": None, "policy_savings": None, **NO_SAFEST},
            Verdict.NOTHING,
            "CPU: nothing tested is known to keep 1 % in each period of 6 h, and nothing promises less than is "
            "requested.",
            id="nothing tested",
        ),
    ],
)
def test_every_verdict(changes: dict[str, object], verdict: Verdict, sentence: str) -> None:
    row = ROW | changes
    row |= {"verdict": verdict_of(row)}
    assert row["verdict"] == verdict
    assert value_sentence(row, AMOUNTS) == sentence
    assert verdict.is_advised == ("may be cut" in sentence)


@pytest.mark.parametrize(
    ("changes", "verdict", "label", "is_packed"),
    [
        ({}, "kept", "CPU requests that need not be promised", True),
        (
            {"rate_high": 0.013},
            "not certain",
            "CPU requests that need not be promised, as far as is known",
            True,
        ),
        (
            {"rate": 0.012, "rate_high": 0.022},
            "above, perhaps by chance",
            "CPU requests that would not have been promised: above the target",
            False,
        ),
        (
            {"rate": 0.014, "rate_low": 0.012, "rate_high": 0.016},
            "missed",
            "CPU requests that would not have been promised: the target was missed",
            False,
        ),
        ({"savings": 0.0}, "nothing promised", "CPU requests that need not be promised", False),
    ],
)
def test_page_python_and_files_say_the_same(
    advice: Advice,
    tmp_path: Path,
    changes: dict[str, float],
    verdict: str,
    label: str,
    *,
    is_packed: bool,
) -> None:
    (known,) = (row for row in advice.value.table.to_pylist() if row["resource"] == "cpu")
    row = {**known, **ROW, **changes}
    row["verdict"] = verdict_of(row)
    table = pa.Table.from_pylist([row], advice.value.table.schema)
    judged = replace(advice, value=replace(advice.value, table=table))
    (sentence,) = judged.sentences.value
    page = unescape(judged.to_html())
    assert sentence in page
    assert f'<p class="label">{label}</p>' in page
    assert sentence in unescape(judged._repr_html_())
    assert judged.to_dict()["advice_value"]["rows"][0]["verdict"] == verdict
    files = write_advice(judged, tmp_path / "advice.html")
    with (files.folder / "advice_value.csv").open(newline="", encoding="utf-8") as file:
        (written,) = csv.DictReader(file)
    assert written["verdict"] == verdict
    assert (" as promised" in judged.sentences.machines[0]) == is_packed
    # Where requests may not be cut, nodes are packed with the requests.
    assert promised_shares(judged.value) == pytest.approx((0.57 if is_packed else 1.0, 1.0))
    screen = " ".join(line.strip() for line in screen_of(judged, files))
    assert sentence in screen


@pytest.mark.parametrize(
    ("today", "why"),
    [
        (
            {"cpu_requested": 1.074, "memory_requested": 0.6, "overfull": 3},
            "what runs requests 107 % of their CPU",
        ),
        (
            {"cpu_requested": 1.074, "memory_requested": 1.2, "overfull": 3},
            "what runs requests 107 % of their CPU and 120 % of their memory",
        ),
        (
            {"cpu_requested": 0.95, "memory_requested": 0.6, "overfull": 12},
            "12 of them hold tasks that request more than the machine has",
        ),
        (
            {"cpu_requested": 0.95, "memory_requested": 0.6, "overfull": 1},
            "one of them holds tasks that request more than the machine has",
        ),
        (
            {"cpu_requested": 0.95, "memory_requested": 0.6, "overfull": 0},
            "what runs requests 95 % of their CPU and 60 % of their memory, and packed anew, in random orders, "
            "leaves rests that fit no task",
        ),
    ],
)
def test_why_requests_may_take_more_machines_than_there_are(
    today: dict[str, float], why: str
) -> None:
    assert why_more_than_today(today) == why
