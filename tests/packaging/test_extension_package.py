"""A package of somebody else adds an idea of each kind by its entry points, and leaves nothing when it is removed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "extension_package"
LISTS = {
    "tasks_per_priority": ["analyze", "--list"],
    "rack-log": ["dialect", "list"],
    "share-of-limits": ["overcommit", "--list"],
    "last-sample": ["overcommit", "--list"],
    "scaled-means": ["colocate", "--estimators"],
    "roomiest": ["simulate", "--list"],
    "last-mean": ["forecast", "--list"],
}
"""The list that has each idea of the package."""

SHOW_LISTS = """
import json, sys
from borgtrace.cli import main
for words in json.loads(sys.argv[1]):
    print("==", *words, flush=True)
    try:
        main(words)
    except SystemExit as ended:
        assert not ended.code, words
"""
"""One process for all lists: to start Python and import everything takes longer than any of them."""

pytestmark = pytest.mark.wide


class Environment:
    """A fresh environment that sees the packages of this one.

    Parameters
    ----------
    folder
        Where it is made.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        venv.create(folder, with_pip=False)
        own = folder / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}"
        packages = own / "site-packages"
        # As a folder of packages, with the paths that it adds itself: an editable borgtrace is one of them.
        shared = sysconfig.get_paths()["purelib"]
        (packages / "shared.pth").write_text(f"import site; site.addsitedir({shared!r})\n")

    @property
    def source(self) -> Path:
        """A copy of the package."""
        return self.folder / "source"

    def install(self) -> None:
        """Install the package, with nothing from outside."""
        options = ("--no-deps", "--no-build-isolation", "--quiet")
        self.run("pip", "install", *options, self.source)

    def run(self, *words: object) -> subprocess.CompletedProcess[str]:
        """Run a module in it, away from this folder."""
        return self.python("-m", *words)

    def python(self, *words: object) -> subprocess.CompletedProcess[str]:
        """Run its Python, away from this folder."""
        command = [str(self.folder / "bin" / "python"), *(str(word) for word in words)]
        result = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
            cwd=self.folder,
            env={**os.environ, "PIP_NO_INDEX": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"},
        )
        assert result.returncode == 0, result.stderr
        return result

    def borgtrace(self, *words: object) -> str:
        """Return what a command prints to stdout."""
        return self.run("borgtrace", *words).stdout

    def listed(self) -> dict[str, str]:
        """Return the line of each idea in its list; nothing for those that are not there."""
        printed = self.python("-c", SHOW_LISTS, json.dumps(list(LISTS.values()))).stdout
        texts = printed.split("== ")[1:]
        lines = {}
        for (name, words), text in zip(LISTS.items(), texts, strict=True):
            heading, *listed = text.splitlines()
            assert heading == " ".join(words)
            for line in listed:
                if line.lstrip().startswith(name):
                    lines[name] = line
        return lines


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    folder = tmp_path_factory.mktemp("environment")
    environment = Environment(folder / "venv")
    # A copy: building must leave nothing in the tree.
    shutil.copytree(PACKAGE, environment.source)
    environment.install()
    return environment


@pytest.fixture(scope="module")
def store(environment: Environment) -> Path:
    """Half a day of a small synthetic cell."""
    raw, store = environment.folder / "raw", environment.folder / "store"
    environment.borgtrace("synth", raw, "--machines", 4, "--hours", 12, "--seed", 1)
    environment.borgtrace("ingest", raw, "--store", store)
    return store


def test_every_kind_is_listed_with_its_package(environment: Environment) -> None:
    lines = environment.listed()
    assert lines.keys() == LISTS.keys()
    assert all("from package borg-ideas 0.3" in line for line in lines.values()), lines


def test_its_question_is_asked(environment: Environment, store: Path) -> None:
    answer = json.loads(environment.borgtrace("analyze", store, "tasks_per_priority", "--json"))
    tasks = "select count(priority) as n from tasks"
    row = json.loads(environment.borgtrace("sql", store, tasks, "--format", "json"))
    assert sum(row["n_tasks"] for row in answer["rows"]) == row["n"] > 0
    source = answer["provenance"]["extensions"]["tasks_per_priority"]
    assert source["source"] == "borg_ideas.tasks_per_priority"


def test_its_format_is_read(environment: Environment) -> None:
    raw = environment.folder / "rack.json"
    raw.write_text('{"at_ms": 1500, "node": 3, "state": "up", "cpu_share": 0.5}\n')
    store = environment.folder / "rack-store"
    environment.borgtrace("ingest", raw, "--dialect", "rack-log", "--store", store)
    query = "select time, machine_id, type, cpu_capacity from machine_events"
    row = json.loads(environment.borgtrace("sql", store, query, "--format", "json"))
    assert row == {"time": 601_500_000, "machine_id": 3, "type": "ADD", "cpu_capacity": 0.5}


def test_its_policy_is_replayed(environment: Environment, store: Path) -> None:
    words = ("--policy", "share-of-limits", "--horizon", "1h", "--resource", "cpu", "--json")
    answer = json.loads(environment.borgtrace("overcommit", store, *words))
    (row,) = [row for row in answer["rows"] if row["tasks"] == answer["rows"][0]["tasks"]]
    # A quarter of the limits is saved, by definition.
    assert row["savings"] == pytest.approx(0.25)


def test_its_recommender_is_judged(environment: Environment, store: Path) -> None:
    words = ("--recommender", "last-sample", "--resource", "cpu", "--cores-per-unit", 64, "--json")
    answer = json.loads(environment.borgtrace("overcommit", "recommend", store, *words))
    assert answer["rows"][0]["recommender"] == "last-sample:margin=0.5"


def test_its_estimator_places_tasks(environment: Environment) -> None:
    words = ("--synthetic", 30, "--estimator", "scaled-means:1.5", "--json")
    assert "scaled-means" in environment.borgtrace("colocate", "place", *words)


def test_its_scheduler_places_tasks(environment: Environment, store: Path) -> None:
    answer = json.loads(environment.borgtrace("simulate", store, "--policy", "roomiest", "--json"))
    assert {row["policy"] for row in answer["rows"]} == {"roomiest"}
    source = answer["provenance"]["extensions"]["roomiest"]
    assert source["source"] == "borg_ideas.roomiest"


def test_its_forecaster_is_judged(environment: Environment, store: Path) -> None:
    words = ("--forecaster", "last-mean", "--folds", 1, "--resource", "cpu", "--json")
    answer = json.loads(environment.borgtrace("forecast", store, *words))
    assert {row["forecaster"] for row in answer["rows"]} == {"last-mean"}


def test_nothing_is_left_when_it_is_uninstalled(environment: Environment) -> None:
    environment.run("pip", "uninstall", "--yes", "--quiet", "borg-ideas")
    try:
        assert environment.listed() == {}
    finally:
        # For the other tests, whatever their order.
        environment.install()
