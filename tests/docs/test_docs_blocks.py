"""Every code block of README and docs runs and prints what the page shows."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "docs"))
from blocks import (  # noqa: E402
    INSTALLING,
    RUN,
    STATIC,
    agrees,
    blocks,
    dialogue,
    environment,
    home,
    masked,
    pages,
    run,
    steps,
    workspace,
)

sys.path.remove(str(ROOT / "docs"))

FIRST, README, *OTHERS = pages()


@pytest.fixture(scope="session")
def ready(tmp_path_factory):
    """Return a folder in which the quickstart has run."""
    with workspace(tmp_path_factory.mktemp("docs")) as (folder, env):
        check(FIRST, folder, env)
        yield folder, env


def check(page, folder, env):
    for step in steps(page):
        printed = run(step, home(page, folder), env)
        if step.expected is not None:
            assert agrees(step.expected, printed), (
                f"{step.block.place}: $ {step.command}\n--- the page shows\n{step.expected}\n--- it prints\n{printed}"
            )


@pytest.mark.wide
def test_the_readme_runs_as_shown(commands: Callable[..., Path], tmp_path: Path) -> None:
    """It starts from nothing, without the quickstart's store and the servers that other pages ask."""
    env = environment()
    env["PATH"] = os.pathsep.join([str(commands(tmp_path / "bin")), env["PATH"]])
    check(README, tmp_path, env)


@pytest.mark.wide
def test_the_quickstart_runs_as_shown(ready):
    folder, _ = ready
    assert (folder / "store" / "manifest.json").exists()


def shown(page):
    """Mark the page whose one command is a whole demo."""
    return pytest.param(
        page, id=page.stem, marks=[pytest.mark.scale] if page.stem == "demo" else []
    )


@pytest.mark.wide
@pytest.mark.parametrize("page", [shown(page) for page in OTHERS if steps(page)])
def test_a_page_runs_as_shown(page, ready):
    check(page, *ready)


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.stem)
def test_every_block_is_of_a_kind_that_is_run_or_says_it_is_not(page):
    for block in blocks(page):
        assert block.language in (*RUN, *STATIC), (
            f"{block.place}: a {block.language or 'nameless'} block is not run"
        )


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.stem)
def test_what_is_not_run_only_installs(page):
    for block in blocks(page):
        if block.language == "sh":
            assert all(line.startswith(INSTALLING) for line in block.text.splitlines()), block.place


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.stem)
def test_what_head_cuts_off_says_nothing_beside_the_pipe(page):
    """Whether a command still gets to its last sentence when head has left is a matter of luck."""
    for step in steps(page):
        for line in step.command.splitlines():
            assert "| head" not in line or "2>" in line, f"{step.block.place}: {line}"


def test_console_blocks_are_split_into_commands_and_outputs():
    assert dialogue("$ a \\\n  b\nx\n$ c\n") == [("a \\\n  b", "x\n"), ("c", "")]
    with pytest.raises(ValueError, match="output without a command"):
        dialogue("x\n$ a\n")


@pytest.mark.parametrize(
    ("expected", "printed", "agree"),
    [
        ("a\n", "a\n", True),
        ("a\n", "b\n", False),
        ("a … c\n", "a b c\n", True),
        ("…\nlast\n", "1\n2\nlast\n", True),
        ("…\nlast\n", "1\nlast\n3\n", False),
        ("", "something\n", False),
        ("1.5 (x)\n", "1x5 (x)\n", False),
    ],
)
def test_an_ellipsis_stands_for_anything_and_nothing_else_does(expected, printed, agree):
    assert agrees(expected, printed) is agree


def test_what_differs_from_run_to_run_is_masked():
    assert masked("12 rows in 3.21 s, 4.5 MB/s\n") == "12 rows in …, …\n"
