"""A forecaster in a file of the user's: judged beside ours, listed, followed by a policy, and refused with its line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from borgtrace.forecast import FORECASTERS
from borgtrace.forecast.registry import SAVABLE
from tests.extensions.conftest import Run
from tests.extensions.own_code import install, write
from tests.extensions.test_installed_packages import run_with
from tests.forecast.test_forecast import cell

__all__ = ["cell"]

NEWEST = '''"""The newest value."""

from borgtrace import Forecaster


class Newest(Forecaster):
    name = "NAME"
    about = "the newest value stays"

    def predict(self, past, horizon, quantiles):
        return past.usage[:, -1:].repeat(horizon, axis=1)
'''


@pytest.fixture
def newest(tmp_path: Path, name: str) -> Path:
    return write(tmp_path, "newest.py", NEWEST.replace("NAME", name))


def test_it_is_judged_beside_ours(cell: Path, newest: Path, name: str, run: Run) -> None:
    forecasters = ("--forecaster", name, "--forecaster", "persistence")
    code, out, err = run("forecast", cell, "--from", newest, *forecasters, "--json")
    assert code == 0, err
    rows: dict[str, list[object]] = {}
    for row in json.loads(out)["rows"]:
        rows.setdefault(row.pop("forecaster"), []).append(row)
    assert rows[name] == rows["persistence"]


def test_where_none_is_named_it_stands_beside_the_defaults(
    cell: Path, newest: Path, name: str, run: Run
) -> None:
    words = ("forecast", cell, "--from", newest, "--folds", "1", "--examples", "200", "--json")
    code, out, err = run(*words)
    assert code == 0, err
    assert {row["forecaster"] for row in json.loads(out)["rows"]} == {
        name,
        *(own for own in FORECASTERS if own != "lstm"),
    }


def test_the_list_says_where_it_comes_from(newest: Path, name: str, run: Run) -> None:
    code, out, _ = run("forecast", "--list", "--from", newest)
    assert code == 0
    assert f"{name:<16}the newest value stays (from {newest})" in out.splitlines()


def test_the_list_of_policies_names_it_too(newest: Path, name: str, run: Run) -> None:
    code, out, _ = run("overcommit", "--list", "--from", newest)
    assert code == 0
    lines = out.splitlines()
    heading = lines.index("forecasters (borgtrace overcommit --policy forecast:by=NAME):")
    assert f"{name:<27}the newest value stays (from {newest})" in lines[heading:]


def test_tasks_are_packed_by_it(cell: Path, newest: Path, name: str, run: Run) -> None:
    words = ("forecast", cell, "--pack", "--from", newest, "--forecaster", name, "--json")
    code, out, err = run(*words)
    assert code == 0, err
    assert name in {row["forecaster"] for row in json.loads(out)["rows"]}


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_policy_follows_it(cell: Path, newest: Path, name: str, run: Run, jobs: int) -> None:
    policies = ("--policy", f"forecast:by={name}", "--policy", "forecast:by=persistence")
    words = ("overcommit", cell, "--from", newest, *policies, "--resource", "cpu", "--jobs", jobs)
    code, out, err = run(*words, "--horizon", "1h", "--json")
    assert code == 0, err
    own, ours = json.loads(out)["rows"]
    assert own["savings"] == ours["savings"]
    assert own["rate"] == ours["rate"]


def test_its_own_line_is_named_and_nothing_is_left(
    cell: Path, tmp_path: Path, name: str, run: Run
) -> None:
    text = NEWEST.replace("NAME", name).replace("past.usage", "past.used")
    file = write(tmp_path, "own.py", text)
    out_folder = tmp_path / "out"
    words = ("forecast", cell, "--from", file, "--forecaster", name, "--out", out_folder)
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert err.splitlines()[-1] == (
        f"borgtrace: {file}:11: the code of this extension failed: "
        "got AttributeError: 'Past' object has no attribute 'used'"
    )
    assert not out_folder.exists()


def test_what_it_prints_goes_to_stderr(cell: Path, tmp_path: Path, name: str, run: Run) -> None:
    text = NEWEST.replace("NAME", name).replace(
        "        return", "        print('hello')\n        return"
    )
    file = write(tmp_path, "own.py", text)
    words = ("forecast", cell, "--from", file, "--forecaster", name, "--folds", "1", "--json")
    code, out, err = run(*words)
    assert code == 0, err
    json.loads(out)
    assert "hello" in err


def test_it_is_not_saved(cell: Path, newest: Path, name: str, run: Run, tmp_path: Path) -> None:
    saved = tmp_path / "model.npz"
    words = ("forecast", cell, "--from", newest, "--forecaster", name, "--save", saved)
    code, _, err = run(*words)
    assert code == 2
    assert err == (
        "borgtrace: --save: a file of forecasters holds numbers, and no code: expected some of "
        f"{', '.join(SAVABLE)}, got {name}; leave out --save, or --forecaster {name}\n"
    )
    assert not saved.exists()


@pytest.mark.wide
def test_an_object_of_a_file_has_its_own_parameters(
    cell: Path, tmp_path: Path, name: str, run: Run
) -> None:
    text = f"""from borgtrace.forecast.adapters import from_function

level = from_function("{name}", lambda past, horizon, _: 0 * past.usage + 0.25)
"""
    file = write(tmp_path, "level.py", text)
    code, out, err = run("check", file)
    # A constant is a forecast, too: as far from usage as it may be.
    assert (code, out) == (0, f"forecaster {name}: keeps its contract\n"), err
    words = ("forecast", cell, "--from", file, "--forecaster", name, "--folds", "1", "--json")
    code, out, err = run(*words)
    assert code == 0, err


@pytest.mark.wide
def test_one_that_never_ends_is_stopped_at_its_line(tmp_path: Path, run: Run) -> None:
    text = NEWEST.replace("NAME", "own").replace(
        "        return", "        while True:\n            pass\n        return"
    )
    file = write(tmp_path, "own.py", text)
    code, _, err = run("check", file, "--timeout", "8s")
    assert code == 2
    assert err in {
        f"borgtrace: {file}:{line}: not done after 8 s; does this line repeat for ever? "
        "--timeout allows more time\n"
        for line in (11, 12)
    }


@pytest.mark.wide
def test_a_package_offers_one(tmp_path: Path) -> None:
    install(
        tmp_path,
        "acme_forecasts",
        NEWEST.replace("NAME", "acme-newest"),
        "[borgtrace.forecasters]\nacme-newest = acme_forecasts:Newest\n",
    )
    code = (
        "from borgtrace.cli import main; import sys; sys.argv[1:] = ['forecast', '--list']; main()"
    )
    result = run_with(tmp_path, code)
    assert result.returncode == 0, result.stderr
    line = f"{'acme-newest':<18}the newest value stays (from package acme_forecasts 1.2)"
    assert line in result.stdout.splitlines()
