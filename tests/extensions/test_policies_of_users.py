"""A policy in a file of the user's: named, replayed, listed; what is wrong with it is said with its line."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import borgtrace
from borgtrace.errors import UsageError
from borgtrace.extensions import import_source
from borgtrace.overcommit import REPLAY
from borgtrace.overcommit.policies import POLICY_KINDS
from borgtrace.testing.policies import ORDINARY, machines
from tests.extensions.conftest import Run
from tests.extensions.own_code import HALF, policy_with, write

HORIZON = ("--horizon", "5m")


@pytest.fixture
def half(tmp_path: Path, name: str) -> Path:
    return write(tmp_path, "half.py", HALF.replace('"half"', f'"{name}"'))


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_policy_of_a_file_is_replayed_beside_ours(
    store: Path, half: Path, name: str, run: Run, jobs: int
) -> None:
    policies = ("--policy", f"{name}:share=0.25", "--policy", "limit")
    words = ("overcommit", store, "--from", half, *policies, *HORIZON, "--jobs", jobs, "--json")
    code, out, err = run(*words)
    assert code == 0, err
    savings = {row["policy"]: row["savings"] for row in json.loads(out)["rows"]}
    # A quarter of the limits saves three quarters of them, by definition.
    assert savings == pytest.approx({f"{name}:share=0.25": 0.75, "limit": 0.0})


def test_where_none_is_named_it_stands_beside_the_defaults(
    store: Path, half: Path, name: str, run: Run
) -> None:
    code, out, err = run("overcommit", store, "--from", half, *HORIZON, "--json")
    assert code == 0, err
    policies = [row["policy"] for row in json.loads(out)["rows"]]
    assert f"{name}:share=0.5" in policies
    assert "limit" in policies


def test_the_list_says_where_it_comes_from(half: Path, name: str, run: Run) -> None:
    code, out, _ = run("overcommit", "--list", "--from", half)
    assert code == 0
    assert f"{name:<27}a share of the limits (share; from {half})" in out.splitlines()


@pytest.mark.parametrize("jobs", [1, 2])
def test_its_own_line_is_named_where_it_fails(
    store: Path, tmp_path: Path, name: str, run: Run, jobs: int
) -> None:
    predict = "peak = block.limits\nreturn peak.nothing"
    file = write(tmp_path, "own.py", policy_with(predict, name=name))
    out_folder = tmp_path / "out"
    words = ("overcommit", store, "--from", file, "--policy", name, "--jobs", jobs)
    code, out, err = run(*words, *HORIZON, "--out", out_folder)
    assert code == 2
    assert err.splitlines()[-1] == (
        f"borgtrace: {file}:11: the code of this extension failed: "
        "got AttributeError: 'numpy.ndarray' object has no attribute 'nothing'"
    )
    assert out == ""
    assert not out_folder.exists()


def test_what_it_prints_goes_to_stderr(store: Path, tmp_path: Path, name: str, run: Run) -> None:
    file = write(tmp_path, "own.py", policy_with('print("hello")\nreturn block.limits', name=name))
    words = ("overcommit", store, "--from", file, "--policy", name, *HORIZON, "--json")
    code, out, err = run(*words)
    assert code == 0, err
    json.loads(out)
    assert "hello" in err


@pytest.mark.parametrize(
    ("predict", "message"),
    [
        (
            "return block.limits[1:]",
            "expected numbers of shape (40,), one for each slot, got float64 of shape (39,)",
        ),
        (
            "return block.limits * np.nan",
            "expected finite numbers, got 40 of 40 that are NaN or infinite; "
            "predict block.limits where too little is known",
        ),
    ],
)
def test_what_is_no_prediction_is_refused(
    tmp_path: Path, name: str, predict: str, message: str
) -> None:
    file = write(tmp_path, "own.py", policy_with(predict, name=name))
    POLICY_KINDS.add_from(str(file))
    with pytest.raises(UsageError) as raised:
        POLICY_KINDS[name]().predicted(dict(machines())[ORDINARY])
    assert str(raised.value) == f"policy {name}: what predict returns: {message}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "x = (",
            "{file}:1: the code of this extension failed: got SyntaxError: '(' was never closed",
        ),
        (
            "import nothing_of_this_name",
            "{file}:1: the code of this extension failed: "
            "got ModuleNotFoundError: No module named 'nothing_of_this_name'",
        ),
        ("raise SystemExit(3)", "{file}:1: the code of this extension failed: got SystemExit: 3"),
        (
            "x = 1",
            "{file}: no policy or forecaster in it: expected a class derived from borgtrace.PeakPolicy "
            "or a class derived from borgtrace.Forecaster; borgtrace check lists what a file has",
        ),
        (
            policy_with("return block.limits", name="nsigma"),
            "{file}: borgtrace has a policy of this name: got nsigma; give it another name",
        ),
        (
            policy_with("return block.limits", name=""),
            '{file}: a policy without a name: expected name = "…" in Own',
        ),
    ],
)
def test_a_file_that_cannot_be_used_is_refused(
    store: Path, tmp_path: Path, run: Run, text: str, message: str
) -> None:
    file = write(tmp_path, "own.py", text)
    code, _, err = run("overcommit", store, "--from", file)
    assert code == 2
    assert err.startswith(f"borgtrace: {message.format(file=file)}")


def test_what_is_neither_a_file_nor_a_module(run: Run) -> None:
    code, _, err = run("overcommit", "--list", "--from", "my policy")
    assert (code, err) == (
        2,
        "borgtrace: --from: neither a file nor a module: expected FILE.py, or the name of a module "
        "such as my_package.policies, got my policy\n",
    )


def test_a_file_that_is_not_there_is_named_with_its_neighbours(half: Path, run: Run) -> None:
    wrong = half.with_name("half_.py")
    code, _, err = run("overcommit", "--list", "--from", wrong)
    assert code == 2
    assert err == f"borgtrace: --from: no such file: got {wrong}; did you mean {half}?\n"


def test_an_object_stands_in_the_place_of_a_name(store: Path, half: Path, name: str) -> None:
    half_of_limits = import_source(str(half)).HalfOfLimits
    policies = ("limit", half_of_limits(share=0.25))
    answer = borgtrace.open(store).ask(REPLAY, policies=policies, horizon="5m")
    savings = {row["policy"]: row["savings"] for row in answer.table.to_pylist()}
    label = f"{name}:share=0.25"
    assert savings == pytest.approx({label: 0.75, "limit": 0.0})
    assert label in str(answer.provenance)


def test_the_answer_says_which_code_it_was_made_with(store: Path, half: Path, name: str) -> None:
    half_of_limits = import_source(str(half)).HalfOfLimits
    opened = borgtrace.open(store)
    digest = hashlib.sha256(half.read_bytes()).hexdigest()
    answer = opened.overcommit(policies=["limit", half_of_limits(share=0.25)], horizon="5m")
    savings = {row["policy"]: row["savings"] for row in answer.table.to_pylist()}
    assert savings == pytest.approx({f"{name}:share=0.25": 0.75, "limit": 0.0})
    assert answer.provenance.extensions == {name: {"source": "half.py", "sha256": digest}}
    assert f", {name} from half.py ({digest[:12]})," in str(answer.provenance)
    ours = opened.overcommit(policies=["limit"], horizon="5m")
    assert ours.provenance.extensions == {}


def test_files_of_an_answer_say_which_code_it_was_made_with(
    store: Path, half: Path, name: str, run: Run, tmp_path: Path
) -> None:
    words = ("--from", half, "--policy", f"limit+{name}", *HORIZON, "--out", tmp_path / "out")
    code, _, err = run("overcommit", store, *words)
    assert code == 0, err
    (file,) = (tmp_path / "out").glob("*.parquet")
    facts = json.loads(pq.read_schema(file).metadata[b"borgtrace"])
    digest = hashlib.sha256(half.read_bytes()).hexdigest()
    assert facts["extensions"] == {name: {"source": "half.py", "sha256": digest}}


def test_a_class_in_the_place_of_its_object_is_refused(store: Path, half: Path) -> None:
    half_of_limits = import_source(str(half)).HalfOfLimits
    with pytest.raises(UsageError) as raised:
        borgtrace.open(store).ask(REPLAY, policies=(half_of_limits,), horizon="5m")
    assert str(raised.value) == (
        "policies: not a policy: expected names, and objects of classes derived from "
        "borgtrace.overcommit.PeakPolicy, got the class HalfOfLimits"
    )
