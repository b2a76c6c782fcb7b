"""``borgtrace colocate``: its sources, its files, its advice, and what it refuses."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from borgtrace.cli import main
from borgtrace.colocation import read_pool, synthetic_pool

FAST = ["--realizations", "150", "--instances", "2", "--size", "40"]


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["colocate", *arguments])
    return int(ended.value.code or 0)


@pytest.mark.wide
def test_one_experiment_prints_its_table(capsys):
    assert (
        run(
            "--synthetic",
            "80",
            "--experiment",
            "packing_rebalancing",
            *FAST,
        )
        == 0
    )
    out, err = capsys.readouterr()
    rows = list(csv.DictReader(out.splitlines()))
    assert len(rows) == 16 * 2 * 2 * 2
    assert "S1-rebalancing" in err


@pytest.mark.wide
def test_several_write_their_files_and_end_in_advice(tmp_path: Path, capsys):
    names = ("packing_base", "packing_averages", "packing_advice")
    chosen = [word for name in names for word in ("--experiment", name)]
    assert (
        run(
            "--synthetic",
            "80",
            *chosen,
            *FAST,
            "--slo",
            "0.99",
            "--capacity",
            "2",
            "--out",
            str(tmp_path),
        )
        == 0
    )
    out, err = capsys.readouterr()
    assert " (target q ≤ 0.01; chosen on hours 0–" in err
    assert " machines of capacity 2 for " in err
    for name in names:
        for suffix in ("parquet", "csv", "svg", "vl.json"):
            assert (tmp_path / f"{name}.{suffix}").stat().st_size > 200
    assert out == (tmp_path / "claims.csv").read_text()
    rows = pq.read_table(tmp_path / "packing_advice.parquet").to_pylist()
    assert {(row["target"], row["capacity"]) for row in rows} == {(0.01, 2.0)}
    assert sum(row["is_advised"] or row["is_nearest"] for row in rows) == 1


def test_a_pool_goes_to_a_file_and_comes_back_the_same(tmp_path: Path, capsys):
    file = tmp_path / "pool.parquet"
    assert (
        run(
            "--synthetic",
            "50",
            "--seed",
            "3",
            "--export-pool",
            str(file),
        )
        == 0
    )
    assert "50 tasks" in capsys.readouterr().err
    assert (read_pool(file).inst == synthetic_pool(50, 3).inst).all()
    arguments = ("--experiment", "packing_rebalancing", "--seed", "3", *FAST)
    assert run("--pool", str(file), *arguments) == 0
    from_file = capsys.readouterr().out
    assert run("--synthetic", "50", *arguments) == 0
    assert capsys.readouterr().out == from_file


def test_json(capsys):
    assert (
        run(
            "--synthetic",
            "40",
            "--experiment",
            "packing_clairvoyance",
            "--json",
            *FAST,
        )
        == 0
    )
    (line,) = capsys.readouterr().out.splitlines()
    facts = json.loads(line)
    assert facts["provenance"]["is_synthetic"] is True
    assert facts["provenance"]["parameters"]["realizations"] == 150


@pytest.mark.wide
def test_the_papers_scale_is_one_option_and_what_was_set_stays(capsys):
    sizes = ("--realizations", "100", "--size", "5")
    for name in ("packing_rebalancing", "sum_normality"):
        assert (
            run(
                "--synthetic",
                "10",
                "--experiment",
                name,
                "--paper-scale",
                "--json",
                *sizes,
            )
            == 0
        )
    lines = [
        json.loads(line)["provenance"]["parameters"]
        for line in capsys.readouterr().out.splitlines()
    ]
    assert lines[0] == {
        "tasks": 100_000,
        "realizations": 100,
        "instances": 50,
        "size": 5,
        "seed": 0,
    }
    assert (lines[1]["samples"], lines[1]["realizations"]) == (10_000, 100)


def test_lists(capsys):
    assert run("--list") == 0
    assert "packing_advice" in capsys.readouterr().out
    assert run("--estimators") == 0
    out = capsys.readouterr().out
    # One column of names, one of what they do.
    lines = [line for line in out.splitlines() if line.startswith("  ")]
    assert (
        len(
            {
                len(name) + len(gap)
                for name, gap in (re.match(r"  (\S+)( +)", line).groups() for line in lines)
            }
        )
        == 1
    )
    assert "  convolution:ρ     exact distribution of the sum of independent tasks" in lines
    assert "  dot-product       the machine whose free resources match the task's needs" in lines


def test_json_says_the_advice_too(capsys):
    assert (
        run(
            "--synthetic",
            "80",
            "--experiment",
            "packing_advice",
            "--json",
            *FAST,
        )
        == 0
    )
    out, err = capsys.readouterr()
    facts = json.loads(out)
    assert " (target q ≤ 0.001; chosen on hours 0–" in facts["sentence"]
    assert facts["sentence"] in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            [],
            "colocate: where do the tasks come from: expected one of STORE, --pool, --synthetic, --usage, --moments, "
            "got none",
        ),
        (
            ["x", "--synthetic", "5"],
            "colocate: where do the tasks come from: expected one of STORE, --pool, --synthetic, --usage, --moments, "
            "got STORE and --synthetic",
        ),
        (["--synthetic", "0"], "--synthetic: out of range: expected 1 to 1,000,000, got 0"),
        (
            ["--synthetic", "9", "--realizations", "50"],
            "--realizations: out of range: expected 100 to 1,000,000, got 50",
        ),
        (
            ["--synthetic", "9", "--instances", "0"],
            "--instances: out of range: expected 1 to 100,000, got 0",
        ),
        (
            ["--synthetic", "9", "--slo", "1"],
            "--slo: not a service level: expected above 0 and below 1, got 1; try 0.999",
        ),
        (
            ["--synthetic", "9", "--capacity", "0"],
            "--capacity: out of range: expected above 0 and at most 1,000,000, got 0",
        ),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line(arguments, message, capsys):
    assert run(*arguments) == 2
    assert capsys.readouterr().err.strip() == f"borgtrace: {message}"


def test_an_unknown_experiment_lists_the_known(capsys):
    assert run("--synthetic", "9", "--experiment", "fig7") == 2
    err = capsys.readouterr().err
    assert err.startswith("borgtrace: --experiment: unknown name: expected one of ")
    assert "packing_base" in err


def test_one_is_a_number_of_tasks_and_none_is_not(capsys):
    assert (
        run(
            "--synthetic",
            "20",
            "--tasks",
            "1",
            "--experiment",
            "packing_rebalancing",
            *FAST,
        )
        == 0
    )
    assert (
        run(
            "--synthetic",
            "20",
            "--tasks",
            "0",
            "--experiment",
            "packing_rebalancing",
            *FAST,
        )
        == 2
    )
    assert "--tasks: " in capsys.readouterr().err
    assert (
        run(
            "--synthetic",
            "1",
            "--experiment",
            "packing_rebalancing",
            *FAST,
        )
        == 0
    )
