"""An answer names the code of others that it was made with: each kind of idea, by its file and what that held."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from borgtrace.ingest import IngestOptions, ingest
from borgtrace.synth import generate
from tests.extensions.conftest import Run
from tests.extensions.own_code import write

EXAMPLES = Path(__file__).parents[2] / "examples" / "extend"
COMMANDS = {
    "recent_peak": ("recent-peak", "overcommit {store} --policy {name} --resource cpu"),
    "compiled_n_sigma": ("compiled-n-sigma", "overcommit {store} --policy {name} --resource cpu"),
    "highest_so_far": (
        "highest-so-far",
        "overcommit recommend {store} --recommender {name} --resource cpu --cores-per-unit 64",
    ),
    "deviations": (
        "deviations",
        # Every estimator that is there is tried.
        "colocate {store} --experiment packing_base --realizations 100 --instances 1 --size 10",
    ),
    "fewest_tasks": ("fewest-tasks", "simulate {store} --policy {name}"),
    "spared_platform": ("spared-platform", "simulate {store} --policy {name}"),
    "keeps_no_longer": ("keeps-no-longer", "simulate {store} --policy {name}"),
    "analog_hours": (
        "analog-hours",
        "forecast {store} --forecaster {name} --folds 1 --resource cpu",
    ),
    "tasks_per_user": ("tasks_per_user", "analyze {store} {name}"),
}
"""Of each example its name, and a command that uses it."""

pytestmark = pytest.mark.wide


@pytest.fixture(scope="module")
def cell(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cell")
    generate(folder / "raw", "2011", 6, 12.0, 1)
    ingest([folder / "raw"], folder / "store", IngestOptions(jobs=1))
    return folder / "store"


@pytest.mark.parametrize("example", COMMANDS)
def test_an_answer_names_the_file_and_what_it_held(
    cell: Path, tmp_path: Path, run: Run, example: str
) -> None:
    name, command = COMMANDS[example]
    # A process remembers names: here each has one of its own.
    own_name = f"{name}{'_' if '_' in name else '-'}told"
    text = (EXAMPLES / f"{example}.py").read_text("utf-8")
    file = write(tmp_path, f"{example}.py", text.replace(f'"{name}"', f'"{own_name}"'))
    words = command.format(store=cell, name=own_name).split()
    code, out, err = run(*words, "--from", file, "--json")
    assert code == 0, err
    answer = json.loads(out)
    (answer,) = answer if isinstance(answer, list) else [answer]
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    extensions = answer["provenance"]["extensions"]
    assert extensions == {own_name: {"source": file.name, "sha256": digest}}


def test_every_example_of_code_is_asked() -> None:
    # A format is no code: its store keeps what it says, and the digest of its file.  This cell has no GPUs: schedulers
    # that look at devices are in test_gpu_schedulers_of_users.py.
    elsewhere = {"acme_log", "broken_first"}
    assert {path.stem for path in EXAMPLES.glob("*.py")} - elsewhere == set(COMMANDS)
