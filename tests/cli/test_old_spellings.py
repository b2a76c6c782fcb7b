"""Command lines as they were spelled before: each leads to the command that it is now, and says so."""

from __future__ import annotations

import shlex

import pytest
from typer.testing import CliRunner

from borgtrace.cli.app import app
from borgtrace.cli.old_spellings import in_new_spelling

PAIRS = {
    "overcommit store --recommend --recommender vpa": "overcommit recommend store --recommender vpa",
    "overcommit --reclaim store": "overcommit reclaim store",
    "overcommit store --target 0.01 --sweep": "overcommit target store --target 0.01 --sweep",
    "overcommit store --target=0.01": "overcommit target store --target 0.01",
    "overcommit store --explain node-1 --at 3h": "overcommit explain store --at 3h node-1",
    "overcommit store --explain=node-1 --at 3h": "overcommit explain store --at 3h node-1",
    "colocate store --export-pool long.pool": "colocate pool store --out long.pool",
    "colocate --moments m.csv --placement p.csv": "colocate place --moments m.csv --placement p.csv",
    "colocate --moments m.csv": "colocate place --moments m.csv",
}
UNCHANGED = (
    "overcommit store --policy max",
    "overcommit target store --target 0.01",
    "overcommit explain store node-1 --at 3h",
    "colocate place --moments m.csv",
    "info store",
    "sql store --target",
)


@pytest.mark.parametrize(("old", "new"), PAIRS.items())
def test_an_old_spelling_is_the_new_one_with_a_notice(
    old: str, new: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert shlex.join(in_new_spelling(shlex.split(old))) == new
    notice = capsys.readouterr().err
    assert notice.startswith("borgtrace: ")
    # The notice is the command to write instead.
    assert notice.endswith(f": borgtrace {new}\n")


@pytest.mark.parametrize("line", UNCHANGED)
def test_other_lines_stay_as_they_are(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert shlex.join(in_new_spelling(shlex.split(line))) == line
    assert capsys.readouterr().err == ""


def test_an_old_spelling_runs_the_new_command() -> None:
    result = CliRunner().invoke(app, ["overcommit", "nowhere", "--recommend", "--list"])
    # A list needs no store, and takes none beside it.
    assert result.exit_code == 0
    assert "autopilot" in result.stdout
    assert "borgtrace overcommit recommend nowhere --list" in result.stderr
