"""The command: cells before they run, the answer in words, code of the user's own, and what a file may not do."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from borgtrace.cli import main
from tests.experiments.test_laboratory import OWN
from tests.extensions.own_code import install
from tests.extensions.test_installed_packages import run_with

Run = Callable[..., tuple[int, str, str]]
EXPERIMENT = """
horizon = "10m"
resources = ["cpu"]
target = 0.999999

[stores]
first = "a"
second = "b"

[policies.half]
policy = "borg"
phi = 0.5

[policies.most]
policy = "borg"
phi = 0.9
"""


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def invoke(*words: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as caught:
            main([str(word) for word in words])
        printed = capsys.readouterr()
        return int(caught.value.code or 0), printed.out, printed.err

    return invoke


def file_with(stores: Path, name: str, text: str) -> Path:
    file = stores / f"{name}.toml"
    file.write_text(text, encoding="utf-8")
    return file


def test_a_dry_run_prints_the_cells_and_computes_none(
    stores: Path, tmp_path: Path, run: Run
) -> None:
    file = file_with(stores, "dry", EXPERIMENT)
    code, out, err = run("experiment", file, "--out", tmp_path / "out", "--dry-run")
    assert code == 0, err
    assert out.replace('"', "").splitlines() == [
        "store,family,policy,seed,is_finished",
        "first,half,borg:phi=0.5,0,False",
        "first,most,borg:phi=0.9,0,False",
        "second,half,borg:phi=0.5,0,False",
        "second,most,borg:phi=0.9,0,False",
    ]
    assert err.splitlines()[-1] == "4 cells: 4 to compute"
    assert not (tmp_path / "out").exists()


def test_the_answer_stands_in_the_last_lines(stores: Path, tmp_path: Path, run: Run) -> None:
    file = file_with(stores, "answer", EXPERIMENT)
    code, out, err = run("experiment", file, "--out", tmp_path / "out")
    assert code == 0, err
    assert out.startswith('"resource","tasks","family","policy","stores"')
    lines = err.splitlines()
    assert lines[-4] == f"4 cells: 4 computed. Files: {tmp_path / 'out'}"
    assert lines[-3].startswith(
        "cpu, all tasks, at a violation rate of 100 %: most is saved by half: "
        "50 % [50 to 50] of the limits, with borg:phi=0.5 (violation rate "
    )
    assert lines[-2] == "half saves 40 points more than most [40, 40] at the same risk."
    assert lines[-1] == (
        "95 % intervals over 8 machines, those of differences for 1 comparison together; "
        "1 day cannot tell how other days differ; means of 2 stores."
    )
    names = {path.name for path in (tmp_path / "out").iterdir()}
    for table in ("cells", "policies", "comparisons"):
        assert {f"{table}.parquet", f"{table}.csv", f"{table}.svg", f"{table}.vl.json"} <= names
    code, out, err = run("experiment", file, "--out", tmp_path / "out", "--json")
    assert code == 0, err
    answers = [json.loads(line) for line in out.splitlines()]
    assert [answer["recipe"] for answer in answers] == ["cells", "policies", "comparisons"]
    assert err.splitlines()[-1] == f"4 cells: 0 computed. Files: {tmp_path / 'out'}"


@pytest.mark.wide
def test_code_of_the_user_is_used_where_the_user_names_it(
    stores: Path, tmp_path: Path, run: Run
) -> None:
    own = tmp_path / "own_share.py"
    own.write_text(OWN.format(name="own-share", share="self.share"), encoding="utf-8")
    text = 'stores = ["a"]\nhorizon = "10m"\nresources = ["cpu"]\n[policies.own-share]\nshare = [0.2, 0.4]\n'
    file = file_with(stores, "own", text)
    code, _, err = run("experiment", file, "--out", tmp_path / "out")
    assert code == 2
    assert err.startswith(f"borgtrace: {file}: policies.own-share: no such policy: ")
    code, out, err = run(
        "experiment", file, "--out", tmp_path / "out", "--from", own, "--json", "--jobs", 2
    )
    assert code == 0, err
    policies = json.loads(out.splitlines()[1])["rows"]
    assert [row["savings"] for row in policies] == pytest.approx([0.8, 0.6])


@pytest.mark.wide
def test_a_file_may_not_choose_code_of_an_installed_package(stores: Path, tmp_path: Path) -> None:
    text = OWN.format(name="installed-share", share="self.share")
    entry_points = "[borgtrace.policies]\ninstalled-share = acme_lab:Own\n"
    install(tmp_path, "acme_lab", f"print('acme runs')\n{text}", entry_points)
    plan = 'stores = ["a"]\nhorizon = "10m"\nresources = ["cpu"]\npolicies = ["installed-share"]\n'
    file = file_with(stores, "installed", plan)
    words = ["experiment", str(file), "--out", str(tmp_path / "out")]
    code = "from borgtrace.cli import main; main({words})"
    refused = run_with(tmp_path, code.format(words=words))
    assert refused.returncode == 2
    assert "acme runs" not in refused.stdout + refused.stderr
    assert refused.stderr == (
        f"borgtrace: {file}: policies.installed-share: a file may not run the code of "
        "package acme_lab 1.2: got installed-share; name it yourself: --from acme_lab\n"
    )
    allowed = run_with(tmp_path, code.format(words=[*words, "--from", "acme_lab"]))
    assert allowed.returncode == 0, allowed.stderr
    assert "1 cell: 1 computed." in allowed.stderr
