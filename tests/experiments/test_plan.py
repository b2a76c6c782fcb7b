"""What an experiment may be, in Python and in TOML; everything else is refused with its place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import borgtrace
from borgtrace.errors import BorgtraceError, UsageError
from borgtrace.experiments import read_plan

GOOD = """
target = 0.02
horizon = "10m"
resources = ["cpu"]
machines = 2
seeds = [0, 1, 2]

[stores]
first = "a"
second = "b"

[policies.nsigma]
n = [2, 3.5]
history = ["30m", "1h"]

[policies.share]
policy = "borg"
phi = 0.9

[policies.x]
policy = "limit"
"""


def plan(folder: Path, text: str) -> Any:
    file = folder / "experiment.toml"
    file.write_text(text, encoding="utf-8")
    return read_plan(file)


def test_each_combination_of_parameters_is_a_policy_of_its_family(tmp_path: Path) -> None:
    found = plan(tmp_path, GOOD)
    assert found.policies["nsigma"] == (
        "nsigma:n=2,history=30m",
        "nsigma:n=2,history=1h",
        "nsigma:n=3.5,history=30m",
        "nsigma:n=3.5,history=1h",
    )
    assert found.policies["share"] == ("borg:phi=0.9",)
    assert found.policies["x"] == ("limit",)
    # Two stores, six policies, three seeds.
    assert found.n_cells == 36
    assert found.horizon == 600_000_000
    # Beside the file, wherever the command runs.
    assert found.stores == {"first": tmp_path / "a", "second": tmp_path / "b"}


def test_a_family_may_be_a_list_of_policies(tmp_path: Path) -> None:
    text = 'stores = ["a"]\n[policies]\nseveral = ["limit", "borg:phi=0.5+limit"]'
    found = plan(tmp_path, text)
    assert found.policies == {"several": ("limit", "borg:phi=0.5+limit")}
    assert found.seeds == (0,)


TWICE = {
    'policies = ["limit", "limit"]': "policies: one is named twice: got limit",
    'policies = {one = ["limit", "borg"], two = ["borg"]}': "policies: one is named twice: got borg",
    'policies = {nsigma = {n = [2, 3]}, mine = ["nsigma:n=3"]}': "policies: one is named twice: got nsigma:n=3",
}


@pytest.mark.parametrize("line", TWICE)
def test_no_policy_is_named_twice(tmp_path: Path, line: str) -> None:
    with pytest.raises(UsageError) as caught:
        plan(tmp_path, f'{line}\nstores = ["a"]')
    assert str(caught.value) == f"{tmp_path / 'experiment.toml'}: {TWICE[line]}"


SHORT = 'stores = ["a"]\npolicies = ["limit"]\n'
WRONG = {
    "sedes = [1]": "sedes: no part of an experiment: expected one of stores, policies, seeds, machines, target, "
    "horizon, resources, tasks, metrics; did you mean seeds?",
    "seeds = [1, 2]": "seeds: they would change nothing: a seed draws a sample of machines, and all are taken: "
    "expected one seed, or machines = N, got 2 seeds",
    "seeds = [1, 1]\nmachines = 2": "seeds: one is named twice: got [1, 1]",
    "seeds = []": "seeds: nothing is named: expected at least one",
    "seeds = [-1]": "seeds: out of range: expected 0 to 4,294,967,295, got -1",
    'seeds = ["x"]': "seeds: not whole numbers: got 'x'",
    "machines = 1.5": "machines: not a whole number: got 1.5",
    "machines = true": "machines: not a whole number: got True",
    "target = 1": "target: out of range: expected above 0 and below 1, got 1",
    "target = nan": "target: out of range: expected above 0 and below 1, got nan",
    'horizon = "wrong"': "horizon: not a time",
    "horizon = 5": "horizon: out of range",
}


@pytest.mark.parametrize("line", WRONG)
def test_a_wrong_value_is_refused_with_its_place(tmp_path: Path, line: str) -> None:
    with pytest.raises(UsageError) as caught:
        plan(tmp_path, f"{line}\n{SHORT}")
    assert str(caught.value).startswith(f"{tmp_path / 'experiment.toml'}: {WRONG[line]}")


HOSTILE = {
    'stores = {"../x" = "a"}': "stores: not a name",
    'stores = {"\\u001b[2J" = "a"}': "stores: not a name",
    'stores = {a = "s3://bucket/store"}': "stores.a: not a folder of this machine: got 's3://bucket/store'",
    'stores = {a = "https://host/store"}': "stores.a: not a folder of this machine",
    'stores = {a = "\\u0000"}': "stores.a: not a folder of this machine",
    "stores = 5": "stores: not a list or a table of folders",
    'stores = ["x/a", "y/a"]': "stores: two stores have one name: got a",
}


@pytest.mark.parametrize("line", HOSTILE)
def test_stores_are_folders_with_harmless_names(tmp_path: Path, line: str) -> None:
    with pytest.raises(UsageError) as caught:
        plan(tmp_path, f'{line}\npolicies = ["limit"]')
    assert str(caught.value).startswith(f"{tmp_path / 'experiment.toml'}: {HOSTILE[line]}")


HOSTILE_POLICIES = {
    'n = "3,history=1h"': "policies.nsigma.n: not a value of a parameter: expected a number, or a text, "
    "got '3,history=1h'",
    'policy = "limit+borg"': "policies.nsigma.policy: not the name of a policy: got 'limit+borg'",
    'policy = "os.system"': "policies.nsigma: no such policy",
    "n = []": "policies.nsigma.n: no value: expected at least one",
    "n = [2, 2]": "policies.nsigma.n: a value is named twice: got [2, 2]",
    "n = [true]": "policies.nsigma.n: not a value of a parameter",
    '"a b" = 1': "policies.nsigma: not the name of a parameter: got 'a b'",
}


@pytest.mark.parametrize("line", HOSTILE_POLICIES)
def test_parameters_are_plain_values(tmp_path: Path, line: str) -> None:
    with pytest.raises(UsageError) as caught:
        plan(tmp_path, f'stores = ["a"]\n[policies.nsigma]\n{line}')
    assert str(caught.value).startswith(f"{tmp_path / 'experiment.toml'}: {HOSTILE_POLICIES[line]}")


def test_what_nobody_could_finish_is_refused_before_it_is_made(tmp_path: Path) -> None:
    values = ", ".join(str(number) for number in range(400))
    lines = "\n".join(f"p{number} = [{values}]" for number in range(9))
    with pytest.raises(UsageError, match="too many cells: stores × policies × parameters × seeds"):
        plan(tmp_path, f'stores = ["a"]\n[policies.nsigma]\n{lines}')


@pytest.mark.parametrize("content", [b"stores = [", b"\xff\xfe", b"a = " + b"[" * 100_000])
def test_what_is_not_toml_is_refused(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "experiment.toml"
    file.write_bytes(content)
    with pytest.raises(BorgtraceError, match="not TOML"):
        read_plan(file)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(BorgtraceError) as caught:
        read_plan(tmp_path / "nothing.toml")
    assert str(caught.value) == f"{tmp_path / 'nothing.toml'}: no such file or directory"


def test_an_experiment_has_stores_and_policies() -> None:
    with pytest.raises(UsageError) as caught:
        borgtrace.experiment(stores=[], policies=["limit"])
    assert str(caught.value) == "stores: nothing is named: expected at least one"
    with pytest.raises(UsageError) as caught:
        borgtrace.experiment(stores=["a"], policies=[5])  # type: ignore[list-item]
    assert str(caught.value) == "policies: not a policy: got an object of the class int"
