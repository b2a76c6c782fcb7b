"""Experiments on three tiny stores: planted savings, what is kept, and the same bytes whatever ran them."""

from __future__ import annotations

import filecmp
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import borgtrace
from borgtrace import PeakPolicy
from borgtrace.errors import UsageError
from borgtrace.experiments import ExperimentResult
from borgtrace.question import NotApplicable
from borgtrace.schema.time import HOUR, WINDOW
from tests.extensions.test_installed_packages import run_with

HORIZON = "10m"
SHARES = {"half": ["borg:phi=0.5"], "most": ["borg:phi=0.9"], "all": ["limit"]}


def run(stores: Path, out: Path | None = None, **settings: Any) -> ExperimentResult:
    described = {
        "stores": {"a": stores / "a", "b": stores / "b"},
        "policies": SHARES,
        "resources": ["cpu"],
        "horizon": HORIZON,
        "out": out,
    }
    return borgtrace.experiment(**{**described, **settings})


def files_of(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def assert_same(first: Path, second: Path) -> None:
    assert files_of(first) == files_of(second)
    different = [
        name
        for name in files_of(first)
        if not filecmp.cmp(first / name, second / name, shallow=False)
    ]
    assert different == []


def test_a_share_of_the_limits_saves_the_rest_of_them(stores: Path, tmp_path: Path) -> None:
    result = run(stores, tmp_path)
    # By definition, on each machine and day: so without any interval.
    for row in result.cells.table.to_pylist():
        planted = {"half": 0.5, "most": 0.1, "all": 0.0}[row["family"]]
        assert row["savings"] == pytest.approx(planted)
        assert row["savings_low"] == pytest.approx(planted)
        assert row["savings_high"] == pytest.approx(planted)
        assert row["rate_low"] <= row["rate"] <= row["rate_high"]
    assert len(result.cells.table) == 6
    savings = {row["family"]: row["savings"] for row in result.policies.table.to_pylist()}
    assert savings == pytest.approx({"half": 0.5, "most": 0.1, "all": 0.0})


@dataclass(frozen=True)
class LimitsAndMore(PeakPolicy):
    """More than the limits."""

    share: float = 0.25

    name = "more"
    about = "more than the limits"

    def predict(self, block: Any) -> Any:
        return (1 + self.share) * block.limits


def test_a_difference_that_holds_for_each_block_is_found_exactly(stores: Path) -> None:
    # At a target of nearly 1, each family may use its boldest policy: 50 % and 10 % of the limits.
    result = run(stores, target=0.999999)
    rows = {(row["family"], row["other"]): row for row in result.comparisons.table.to_pylist()}
    planted = rows["half", "most"]
    assert planted["difference"] == pytest.approx(0.4)
    assert (planted["low"], planted["high"]) == pytest.approx((0.4, 0.4))
    assert planted["is_shown"]
    assert "half saves 40 points more than most [40, 40] at the same risk." in result.sentence


def test_a_policy_is_an_object_of_the_user(stores: Path) -> None:
    result = run(
        stores, policies={"more": [LimitsAndMore(0.25), LimitsAndMore(0.5)], "all": ["limit"]}
    )
    savings = {row["policy"]: row["savings"] for row in result.policies.table.to_pylist()}
    assert savings == pytest.approx(
        {"more:share=0.25": -0.25, "more:share=0.5": -0.5, "limit": 0.0}
    )
    # Both may keep the limits, and do: no difference.
    (pair,) = result.comparisons.table.to_pylist()
    assert (pair["difference"], pair["is_shown"]) == (0.0, False)
    assert "no difference shown: 0 points [0, 0] at the same risk." in result.sentence


def test_the_table_agrees_with_the_replay(stores: Path) -> None:
    from borgtrace.overcommit import REPLAY

    result = run(stores, policies={"nsigma": {"n": [1, 3], "history": "30m", "warmup": "10m"}})
    for label in "ab":
        answer = REPLAY.run(
            stores / label,
            policies=("nsigma:n=1,history=30m,warmup=10m",),
            resources=("cpu",),
            horizon=2 * WINDOW,
        )
        (row,) = answer.table.to_pylist()
        own = next(
            cell
            for cell in result.cells.table.to_pylist()
            if cell["store"] == label and cell["policy"].startswith("nsigma:n=1")
        )
        for name in ("rate", "savings"):
            assert own[name] == pytest.approx(row[name])
        assert own["instants"] == row["instants"]
        # Of two hours there is one day: intervals over machines alone, as a replay has them.
        assert own["savings_low"] == pytest.approx(row["savings_low"])


def test_what_is_finished_is_not_computed_again(stores: Path, tmp_path: Path) -> None:
    first = run(stores, tmp_path)
    again = run(stores, tmp_path)
    assert (first.n_computed, again.n_computed) == (6, 0)
    assert again.comparisons.table == first.comparisons.table
    more = run(stores, tmp_path, policies={**SHARES, "third": ["borg:phi=0.3"]})
    assert more.n_computed == 2
    other = run(stores, tmp_path, horizon="20m")
    assert other.n_computed == 6


def test_a_damaged_cell_is_computed_again(stores: Path, tmp_path: Path) -> None:
    run(stores, tmp_path / "whole")
    run(stores, tmp_path / "damaged")
    first, second = sorted((tmp_path / "damaged" / "cells").iterdir())[:2]
    content = bytearray(first.read_bytes())
    content[40] ^= 0xFF
    first.write_bytes(content)
    second.write_bytes(b"")
    # What a killed process leaves.
    (tmp_path / "damaged" / "cells" / "x.parquet.1-1.incomplete").write_bytes(b"half")
    assert run(stores, tmp_path / "damaged").n_computed == 2
    assert_same(tmp_path / "whole", tmp_path / "damaged")


@pytest.mark.parametrize("how", [{"jobs": 2}, {"jobs": 2, "backend": "threading"}])
def test_workers_change_no_byte(stores: Path, tmp_path: Path, how: dict[str, Any]) -> None:
    run(stores, tmp_path / "one")
    run(stores, tmp_path / "several", **how)
    assert_same(tmp_path / "one", tmp_path / "several")


def test_spark_changes_no_byte(stores: Path, tmp_path: Path, spark: object) -> None:
    run(stores, tmp_path / "here")
    run(stores, tmp_path / "spark", engine="local[2]")
    assert_same(tmp_path / "here", tmp_path / "spark")


def test_each_seed_draws_machines_and_each_machine_counts_once(stores: Path) -> None:
    result = run(stores, seeds=[0, 1, 2, 3, 4], machines=2)
    cells = result.cells.table.to_pylist()
    assert len(cells) == 30
    assert {row["machines"] for row in cells} == {2}
    # Of four machines, five samples of two: more than two, and never more than all of them in both stores.
    machines = {row["machines"] for row in result.policies.table.to_pylist()}
    assert machines <= {5, 6, 7, 8}
    whole = run(stores, policies={"nsigma": {"n": 2}})
    pooled = run(stores, policies={"nsigma": {"n": 2}}, seeds=range(10), machines=3)
    # Ten samples of three have drawn all four.
    assert pooled.policies.table["rate"] == whole.policies.table["rate"]
    assert pooled.policies.table["savings_low"] == whole.policies.table["savings_low"]


def test_seeds_that_draw_all_machines_are_refused(stores: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        run(stores, tmp_path, seeds=[1, 2], machines=4)
    assert str(caught.value) == (
        "seeds: they change nothing in store a: each sample would have all of its machines: "
        "expected machines below 4, or one seed, got machines = 4"
    )
    assert not (tmp_path / "cells").exists()


def test_a_horizon_that_no_slot_has_is_said(stores: Path) -> None:
    with pytest.raises(NotApplicable) as caught:
        run(stores, horizon=3 * HOUR)
    assert str(caught.value) == (
        "no slot has a whole horizon (3h) before the trace ends: name a shorter horizon"
    )


OWN = """from dataclasses import dataclass

from borgtrace import PeakPolicy


@dataclass(frozen=True)
class Own(PeakPolicy):
    share: float = 0.5

    name = "{name}"
    about = "a share of the limits"

    def predict(self, block):
        return {share} * block.limits
"""


def test_code_that_changed_is_computed_again(stores: Path, tmp_path: Path) -> None:
    from borgtrace.extensions import import_source

    n_computed = []
    # Two files with a class of one name: what tells their cells apart is the code.
    for folder, share in (("first", "self.share"), ("second", "self.share"), ("third", "0.25")):
        file = tmp_path / folder / "own.py"
        file.parent.mkdir()
        file.write_text(OWN.format(name="own", share=share), encoding="utf-8")
        policy = import_source(str(file)).Own()
        result = run(stores, tmp_path / "out", policies={"own": [policy]})
        n_computed.append(result.n_computed)
    assert n_computed == [2, 0, 2]


NEIGHBORS = {
    "own_top.py": "from dataclasses import dataclass\n\nimport own_side\nfrom borgtrace import PeakPolicy\n\n\n"
    "@dataclass(frozen=True)\nclass Own(PeakPolicy):\n"
    '    name = "own-top"\n    about = "a share of the limits"\n\n'
    "    def predict(self, block):\n        from own_late import FACTOR\n\n"
    "        return own_side.SHARE * FACTOR * block.limits\n",
    "own_side.py": "from own_deep import SHARE\n",
    "own_deep.py": "SHARE = 0.5\n",
    "own_late.py": "FACTOR = 1.0\n",
    "own_other.py": "NOTHING = 1\n",
}
COMPUTE_OWN = """
import borgtrace
from borgtrace.extensions import import_source
from pathlib import Path
folder = Path({folder!r})
policy = import_source(str(folder / "own_top.py")).Own()
result = borgtrace.experiment(
    stores=[{store!r}], policies={{"own": [policy]}}, resources="cpu", horizon="10m", out=folder / "out"
)
(savings,) = result.policies.table["savings"].to_pylist()
print(result.n_computed, round(savings, 6))
"""


@pytest.mark.wide
def test_a_change_in_a_module_that_the_code_imports_is_computed_again(
    stores: Path, tmp_path: Path
) -> None:
    for file, text in NEIGHBORS.items():
        (tmp_path / file).write_text(text, encoding="utf-8")
    changes = [
        ("own_other.py", "NOTHING = 2\n", "0 0.5"),
        ("own_deep.py", "SHARE = 0.25\n", "1 0.75"),
        ("own_late.py", "FACTOR = 2.0\n", "1 0.5"),
    ]
    code = COMPUTE_OWN.format(folder=str(tmp_path), store=str(stores / "a"))
    # Each in a process of its own: a module is imported once.
    assert run_with(tmp_path, code).stdout.split("\n")[0] == "1 0.5"
    for file, text, expected in changes:
        (tmp_path / file).write_text(text, encoding="utf-8")
        assert run_with(tmp_path, code).stdout.split("\n")[0] == expected, file


def test_its_tables_cannot_be_asked_of_a_store(stores: Path) -> None:
    result = run(stores)
    for table in (result.cells, result.policies, result.comparisons):
        with pytest.raises(UsageError) as caught:
            table.question.run(stores / "a")
        assert str(caught.value) == (
            "QUESTION: this table is the result of an experiment, and cannot be asked of a store; "
            "write an experiment: borgtrace experiment FILE.toml --out DIR"
        )
