"""A scheduler in a file of the user's: named, replayed, packed with, listed; what is wrong is said with its line."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

import borgtrace
from borgtrace.errors import UsageError
from borgtrace.extensions import import_source
from borgtrace.scheduling import COMPACT, SIMULATE, PlacementPolicy
from tests.extensions.conftest import Run
from tests.extensions.own_code import write

pytestmark = pytest.mark.wide  # replays of its own: they are compiled for half a minute

TIGHT = '''"""The machine with the least CPU left."""

from borgtrace import Scheduler


def score(task, machine):
    return {score}


SCHEDULER = Scheduler(name="{name}", about="least CPU is left", score=score)
'''


@pytest.fixture
def tight(tmp_path: Path, name: str) -> Path:
    return write(tmp_path, "tight.py", TIGHT.format(name=name, score="machine.cpu_free - task.cpu"))


def without_name(rows: list[dict]) -> list[dict]:
    return [{**row, "policy": ""} for row in rows]


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_scheduler_of_a_file_is_replayed_beside_ours(
    store: Path, tight: Path, name: str, run: Run, jobs: int
) -> None:
    policies = ("--policy", name, "--policy", "first-fit")
    code, out, err = run("simulate", store, "--from", tight, *policies, "--jobs", jobs, "--json")
    assert code == 0, err
    rows = json.loads(out)["rows"]
    own = [row for row in rows if row["policy"] == name]
    ours = [row for row in rows if row["policy"] == "first-fit"]
    # With one machine there is nothing to choose.
    assert own
    assert without_name(own) == without_name(ours)


def test_where_none_is_named_it_stands_beside_the_defaults(
    store: Path, tight: Path, name: str, run: Run
) -> None:
    code, out, err = run("simulate", store, "--from", tight, "--json")
    assert code == 0, err
    policies = {row["policy"] for row in json.loads(out)["rows"]}
    assert policies == {"recorded", "best-fit", "best-fit+preempt", name}


def test_a_cell_is_compacted_with_it(store: Path, tight: Path, name: str, run: Run) -> None:
    words = ("compact", store, "--at", "5m", "--what-if", "limits", "--from", tight)
    code, out, err = run(*words, "--policy", name, "--json")
    assert code == 0, err
    (row,) = json.loads(out)["rows"]
    code, out, err = run(*words, "--json")
    assert code == 0, err
    assert json.loads(out)["rows"] == [row]


@pytest.mark.parametrize("command", ["simulate", "compact"])
def test_the_list_says_where_it_comes_from(command: str, tight: Path, name: str, run: Run) -> None:
    code, out, _ = run(command, "--list", "--from", tight)
    assert code == 0
    assert f"{name:<22}least CPU is left (from {tight})" in out.splitlines()


def test_an_object_stands_in_the_place_of_a_name(store: Path, tight: Path, name: str) -> None:
    scheduler = import_source(str(tight)).SCHEDULER
    policies = (scheduler, PlacementPolicy.of(scheduler, preempts=True))
    opened = borgtrace.open(store)
    answer = opened.ask(SIMULATE, policies=policies)
    assert set(answer.table["policy"].to_pylist()) == {name, f"{name}+preempt"}
    assert f"{name}+preempt" in str(answer.provenance)
    assert "Scheduler(" not in str(answer.provenance)
    answer = opened.ask(COMPACT, policy=scheduler, what_ifs=("limits",), at=300_000_000)
    assert name in str(answer.provenance)


def test_an_answer_says_whose_code_it_was_made_with(store: Path, tight: Path, name: str) -> None:
    scheduler = import_source(str(tight)).SCHEDULER
    source = {"source": "tight.py", "sha256": hashlib.sha256(tight.read_bytes()).hexdigest()}
    opened = borgtrace.open(store)
    simulated = opened.ask(SIMULATE, policies=(scheduler, "best-fit"))
    assert simulated.provenance.extensions == {name: source}
    compacted = opened.ask(COMPACT, policy=scheduler, what_ifs=("limits",), at=300_000_000)
    assert compacted.provenance.extensions == {name: source}
    assert opened.ask(SIMULATE, policies=("best-fit",)).provenance.extensions == {}


def test_one_that_never_ends_is_stopped_at_its_line(tmp_path: Path, name: str, run: Run) -> None:
    text = TIGHT.format(name=name, score="0.0").replace(
        "    return", "    while True:\n        pass\n    return"
    )
    file = write(tmp_path, "own.py", text)
    code, _, err = run("check", file, "--timeout", "8s")
    assert code == 2
    assert err in {
        f"borgtrace: {file}:{line}: not done after 8 s; does this line repeat for ever? "
        "--timeout allows more time\n"
        for line in (7, 8)
    }


def test_what_is_no_scheduler_is_refused(store: Path) -> None:
    with pytest.raises(UsageError) as raised:
        borgtrace.open(store).ask(SIMULATE, policies=(3,))
    assert str(raised.value) == (
        "policies: not a policy: expected names, and objects of borgtrace.Scheduler, "
        "got an object of the class int"
    )


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize(
    ("score", "message"),
    [
        (
            "1.0 / (machine.cpu_free - machine.cpu_free)",
            "the code of this extension failed: got ZeroDivisionError: float division by zero",
        ),
        (
            "task.duration",
            "Numba cannot compile this: got Unknown attribute 'duration' of type "
            "TaskView(float64, float64, float64, int64); use numbers, conditions and loops alone, "
            "and put @borgtrace.compiled() above functions it calls",
        ),
        (
            "(machine.cpu_free - machine.cpu_free) * float('inf')",
            "the score of {name} is not a number: got NaN for task(",
        ),
    ],
)
def test_its_own_line_is_named_where_it_fails(
    store: Path, tmp_path: Path, name: str, run: Run, score: str, message: str, jobs: int
) -> None:
    file = write(tmp_path, "own.py", TIGHT.format(name=name, score=score))
    out_folder = tmp_path / "out"
    policies = ("--policy", name, "--policy", "first-fit")
    words = ("simulate", store, "--from", file, *policies, "--jobs", jobs)
    code, out, err = run(*words, "--out", out_folder)
    assert code == 2
    last = err.splitlines()[-1]
    line = 6 if "NaN" in message else 7
    assert last.startswith(f"borgtrace: {file}:{line}: {message.format(name=name)}")
    assert out == ""
    assert not out_folder.exists()


def test_a_name_that_is_taken_is_refused(tmp_path: Path, run: Run) -> None:
    file = write(tmp_path, "own.py", TIGHT.format(name="best-fit", score="0.0"))
    code, _, err = run("simulate", "--list", "--from", file)
    assert code == 2
    assert err == (
        f"borgtrace: {file}: borgtrace has a scheduler of this name: got best-fit; "
        "give it another name\n"
    )


KNOWING = '''"""A scheduler that knows more than requests."""

from borgtrace import Scheduler


def score(task, machine):
    return {score}


SCHEDULER = Scheduler(name="{name}", about="of a test", score=score, {declared})
'''


def test_lifetimes_are_chosen_where_it_is_named(
    store: Path, tmp_path: Path, name: str, run: Run
) -> None:
    text = KNOWING.format(
        name=name,
        score="1.0 if task.expected_life > machine.remaining_life else 0.0",
        declared="knows_lifetimes=True",
    )
    file = write(tmp_path, "own.py", text)
    policies = ("--policy", f"{name}:lifetimes=oracle+preempt", "--policy", name)
    code, out, err = run("simulate", store, "--from", file, *policies, "--json")
    assert code == 0, err
    named = {row["policy"] for row in json.loads(out)["rows"]}
    assert named == {f"{name}:lifetimes=oracle+preempt", name}
    code, _, err = run("compact", store, "--from", file, "--policy", name)
    assert code == 2
    assert err == (
        "borgtrace: --policy: a moment has no lifetimes: expected a policy that does not ask for them, such as "
        f"best-fit, got {name}:lifetimes=learned\n"
    )


@pytest.mark.parametrize("command", [("simulate",), ("compact", "--at", "5m")])
def test_attributes_are_read_by_their_names(
    store: Path, tmp_path: Path, name: str, run: Run, command: tuple[str, ...]
) -> None:
    score = "machine.attributes[0]"
    known = KNOWING.format(name=name, score=score, declared='attributes=("platform_id",)')
    file = write(tmp_path, "own.py", known)
    code, out, err = run(*command, store, "--from", file, "--policy", name, "--json")
    assert code == 0, err
    assert json.loads(out)["rows"]
    other = f"{name}-2"
    unknown = KNOWING.format(name=other, score=score, declared='attributes=("kernel",)')
    file = write(tmp_path, "other.py", unknown)
    code, out, err = run(*command, store, "--from", file, "--policy", other, "--json")
    assert code == 2
    assert err.splitlines()[-1] == (
        "borgtrace: scheduler: no machine has an attribute that it names: expected a store with "
        "machine_attributes, got kernel"
    )
