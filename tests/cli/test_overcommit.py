"""``borgtrace overcommit``: a table by hand, the terms of a formula, its files, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from borgtrace.cli import main
from borgtrace.ingest import IngestOptions, ingest
from tests.ingest.own_data import ingest_own
from tests.ingest.raw import write_part
from tests.ingest.test_own_data import FILES, THREE_TABLES
from tests.lifecycle.test_by_machine import CELL


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Machines 7 and 8 over five slots, of capacity 1 and unknown."""
    root = tmp_path_factory.mktemp("overcommit")
    for table, lines in {**CELL, "machine_events": ["0,7,0,PLATFORM,1,1"]}.items():
        write_part(root / "raw", table, lines, compressed=False)
    ingest([root / "raw"], root / "store", IngestOptions(jobs=1))
    return root / "store"


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as caught:
        main(["overcommit", *map(str, arguments)])
    printed = capsys.readouterr()
    return int(caught.value.code or 0), printed.out, printed.err


def test_the_table_by_hand(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    policies = ("--policy", "borg:phi=0.4", "--policy", "limit", "--resource", "cpu")
    code, out, err = run(
        capsys,
        store,
        "--horizon",
        "5m",
        *policies,
        "--json",
        "--shapes",
    )
    assert code == 0, err
    rows = {(row["policy"], row["shape"]): row for row in json.loads(out)["rows"]}
    assert set(rows) == {
        (policy, shape)
        for policy in ("borg:phi=0.4", "limit")
        for shape in ("all", "CPU 1, memory 1", "unknown")
    }
    # Machine 7 promises .2 .2 .1 .1 and then uses .25, what nobody measured, .125 and 0: the second and the third slot
    # are not judged.  Machine 8 promises .3 .3 and uses .5 0.
    row = rows["borg:phi=0.4", "all"]
    expected = {
        "machines": 2,
        "instants": 4,
        "rate": 0.5,
        "rate_low": 0.5,
        "rate_high": 0.5,
        "rate_p50": 0.5,
        "rate_worst": 0.5,
        "severity": (0.2 + 0.4) / 4,
        "severity_given": 0.6 / 2,
        "severity_p99": 0.4,
        "savings": 0.6,
        "savings_machine": 0.6,
        "usable": 1.5,
        "clipped": 0.0,
        # Of one pair of judged slots, on machine 8; machine 7 went from the limit of .5 to that of .25 unseen.
        "changes": 0.0,
        "overload": 0.5,
        # Machine 7 alone has a capacity.
        "excess": 0.05,
        "cold": 0.0,
        "kills": None,
        "is_on_front": True,
    }
    assert {name: row[name] for name in expected} == pytest.approx(expected, abs=1e-7)
    limit = rows["limit", "all"]
    assert (limit["rate"], limit["savings"], limit["clipped"], limit["is_on_front"]) == (
        0.0,
        0.0,
        1.0,
        True,
    )


def test_memory_kills_by_hand(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chosen = ("--policy", "borg:phi=0.2", "--resource", "memory", "--horizon", "5m", "--json")
    _, out, _ = run(capsys, store, *chosen)
    # Machine 7: .05 promised, .0625 used: one death; what follows its slot without usage is not judged.  Machine 8: .1
    # promised, .5 used: one.  Of six measured task-slots four can be judged: one comes before that slot, and one
    # is the last slot of the trace.
    assert json.loads(out)["rows"][0]["kills"] == pytest.approx(2 * 288 / 4)


def test_terms_at_a_time(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chosen = ("--resource", "cpu", "--horizon", "5m", "--explain", 7, "--at", "100s", "--json")
    code, out, err = run(
        capsys,
        store,
        "--policy",
        "koordinator-batch",
        "--policy",
        "limit",
        *chosen,
    )
    assert code == 0, err
    terms = {(row["policy"], row["term"]): row["value"] for row in json.loads(out)}
    policy = "koordinator-batch:cpu=0.6,memory=0.65,calculate=usage"
    assert terms == pytest.approx(
        {
            (policy, "capacity"): 1.0,
            (policy, "capacity kept as a margin"): 0.4,
            (policy, "used by high priority"): 0.25,
            (policy, "batch"): 0.35,
            (policy, "predicted peak"): 0.65,
            (policy, "peak that came"): 0.25,
            ("limit", "sum of the limits"): 0.5,
            ("limit", "predicted peak"): 0.5,
            ("limit", "peak that came"): 0.25,
        }
    )


def test_a_policy_about_other_tasks_has_no_terms(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """On machine 8 the only task is of priority 0, and koordinator-batch is about those of high priority."""
    chosen = ("--resource", "cpu", "--horizon", "5m", "--explain", 8, "--at", "100s", "--json")
    batch = ("--policy", "koordinator-batch")
    code, out, err = run(capsys, store, "--policy", "limit", *batch, *chosen)
    assert code == 0, err
    assert {row["policy"] for row in json.loads(out)} == {"limit"}
    code, _, err = run(capsys, store, *batch, *chosen)
    assert code == 0
    assert err.endswith(
        "\nnot applicable: only tasks of other priorities than the policies are about ran on the machine then; "
        "name another --policy\n"
    )


def test_a_machine_is_explained_by_its_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ingest_own(tmp_path, THREE_TABLES, FILES, capacity="")
    chosen = ("--policy", "limit", "--resource", "cpu", "--horizon", "5m", "--at", "100s")
    code, out, err = run(capsys, tmp_path / "store", *chosen, "--json", "--explain", "m1")
    assert code == 0, err
    terms = {row["term"]: row["value"] for row in json.loads(out)}
    # Task a asks for 2 of the 8 cores of the largest machine.
    assert (terms["sum of the limits"], terms["predicted peak"]) == (0.25, 0.25)
    for name in ("m9", str(2**63)):
        code, out, err = run(capsys, tmp_path / "store", *chosen, "--explain", name)
        assert (code, out) == (2, "")
        assert "borgtrace: MACHINE: nothing has this name: expected an id, " in err
        assert f", got {name}\n" in err


def test_what_comes_after_the_trace_is_not_known(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chosen = ("--policy", "limit", "--resource", "cpu", "--horizon", "5m", "--explain", 7, "--json")
    came = {}
    for at in ("900s", "1200s"):
        _, out, _ = run(
            capsys,
            store,
            *chosen,
            "--at",
            at,
        )
        came[at] = {row["term"]: row["value"] for row in json.loads(out)}["peak that came"]
    # The fifth slot is the last one; in it task 100 was not measured, and task 200 had just come.
    assert came == {"900s": 0.0, "1200s": None}


def test_files_and_the_simulators_slots(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chosen = ("--policy", "limit", "--horizon", "5m", "--compat", "crf", "--out", tmp_path / "out")
    code, _, err = run(capsys, store, *chosen)
    assert code == 0
    # Whole windows: machine 7 promises .5 .5 .25 and machine 8 .75 in the slot of its two windows; nothing is exceeded.
    assert (
        "cpu of all tasks, limit: violations 0.0000 as in crf, 0.0000 by default; savings 0.0000 and 0.0000"
        in err
    )
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {f"overcommit.{kind}" for kind in ("parquet", "csv", "svg", "vl.json")} | {
        "claims.csv"
    }


def test_without_a_whole_horizon_there_is_no_table(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, _, err = run(capsys, store, "--policy", "limit", "--horizon", "1d")
    reason = "no slot has a whole horizon before the trace ends"
    spans = "(usage spans 25 min, the horizon is 1 d): try --horizon 5m"
    assert f"overcommit: not applicable: {reason} {spans}" in err


def test_the_horizon_is_what_suits_the_span(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, out, err = run(capsys, store, "--policy", "nsigma", "--resource", "cpu", "--json")
    assert "Horizon 5 min, warm-up at most 5 min: chosen for 25 min of usage." in err
    (row,) = json.loads(out)["rows"]
    assert row["policy"] == "nsigma:n=5,history=2h,warmup=5m"
    assert row["horizon"] == pytest.approx(5 / 60)


def test_an_advice_is_judged_on_periods_that_fit_the_trace(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chosen = ("--policy", "limit", "--resource", "cpu", "--target", "0.01", "--json")
    _, out, _ = run(capsys, store, *chosen)
    row = json.loads(out)
    # Five slots are five periods: the first is known from the third on, which was not measured, and the last has no
    # whole horizon.
    periods = [(each["begin"], each["day"], each["length"]) for each in row["rows"]]
    hour = pytest.approx
    assert periods == [(hour(15 / 60), 0, hour(5 / 60))]
    _, _, err = run(capsys, store, *chosen, "--horizon", "20m")
    reason = "no period has one before it whose horizon has ended"
    spans = "(usage spans 25 min, the horizon is 20 min): try --horizon 5m"
    assert f"overcommit_advice: not applicable: {reason} {spans}" in err


def test_recommenders_by_hand(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chosen = (
        "--recommend",
        "--recommender",
        "request",
        "--resource",
        "cpu",
        "--cores-per-unit",
        "64",
        "--json",
    )
    code, out, err = run(capsys, store, *chosen)
    assert code == 0, err
    rows = {row["tasks"]: row for row in json.loads(out)["rows"]}
    # 100 uses .25, .5, .125 of .25 (its last SCHEDULE says .5): P95 .475; 200 uses .3, .6 and .75 of .75: P95 .735.
    expected = {
        "jobs": 2,
        "job_days": 2,
        "slack_mean": (0.025 / 0.5 + 0.015 / 0.75) / 2,
        "short": 0.0,
        "unchanged": 1.0,
    }
    assert {name: rows["all"][name] for name in expected} == pytest.approx(expected, rel=1e-6)
    # Slots 0 to 4: (.25 + 0 + .375 + .45 + .15 + 0) / 5 machines on the mean.
    assert rows["all"]["machines"] == pytest.approx(1.225 / 5, rel=1e-6)
    slack = {
        group: (rows[group]["jobs"], rows[group]["slack_mean"]) for group in ("serving", "batch")
    }
    assert slack == {
        "serving": (1, pytest.approx(0.025 / 0.5)),
        "batch": (1, pytest.approx(0.015 / 0.75)),
    }


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("--recommend", "--resource", "cpu"),
            "--cores-per-unit: the size of the largest machine is not known: expected a number above 0, got none; "
            "histograms have buckets of cores and bytes, so state both sizes, for example "
            "--cores-per-unit 64 --gib-per-unit 256",
        ),
        (("--resource", "disk"), "--resource: unknown name: expected cpu or memory, got disk"),
        (
            ("--horizon", "1s"),
            "--horizon: out of range: expected 5m to 366d, got 1s",
        ),
        (("--machines", "-1"), "--machines: out of range: expected 0 to 1,000,000,000, got -1"),
        (("--compat", "bash"), "--compat: no such simulator: expected crf, got bash"),
        (("--target", "1"), "--target: out of range: expected above 0 and below 1, got 1"),
        (("--png",), "--png: no folder to write to; name one: --out DIR"),
        (
            ("--tasks", "gold"),
            "--tasks: no such tier: expected all, high, free, other, production, got gold",
        ),
        (
            ("--explain", "9", "--at", "100s"),
            "MACHINE: no usage on such a machine: got 9; list some: borgtrace sql {store} "
            '"select distinct machine_id from instance_usage limit 9"',
        ),
        (
            ("--explain", "8", "--at", "900s"),
            "--at: no usage was measured on machine 8 at 2011-05-01 19:15 EDT, 0.25 h after the start: "
            "expected a time of its usage, from 0s to 10m after the start, got 15m",
        ),
    ],
)
def test_what_is_refused(
    store: Path,
    arguments: tuple[str, ...],
    message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    policy = () if "--recommend" in arguments else ("--policy", "limit")
    code, out, err = run(capsys, store, *policy, *arguments)
    assert (code, out) == (2, "")
    assert err.splitlines()[-1] == f"borgtrace: {message.replace('{store}', str(store))}"


def test_the_list_says_what_each_policy_does_and_takes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(capsys, tmp_path, "--list")
    assert (code, err) == (0, "")
    policies, recommenders = (
        block.splitlines()
        for block in out.split("\nrecommenders (borgtrace overcommit recommend):\n")
    )
    for lines in (policies, recommenders):
        assert lines == sorted(lines, key=lambda line: line.split()[0])
    assert f"{'borg':<27}φ times the sum of the limits (phi)" in policies
    assert f"{'limit':<27}the sum of the limits" in policies
    assert (
        f"{'gpa':<27}Gaussian quantile of the summed means and variances; ρ is per slot, not per horizon"
        in (line.removesuffix(" (rho, history, warmup)") for line in policies)
    )
    assert f"{'request':<27}the tasks' own requests" in recommenders
    assert (
        f"{'hpa':<27}HPA's replicas for a target utilization; their requests are shared by the tasks that ran"
        in (line.removesuffix(" (target, tolerance)") for line in recommenders)
    )
