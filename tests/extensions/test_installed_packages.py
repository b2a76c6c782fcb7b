"""A package beside borgtrace offers a policy by an entry point: it is found by name, and imported only then."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.extensions.own_code import HALF, install

LIST = "from borgtrace.cli import main; import sys; sys.argv[1:] = ['overcommit', '--list']; main()"


def run_with(folder: Path, code: str) -> subprocess.CompletedProcess[str]:
    """Run Python with a folder of packages."""
    command = [sys.executable, "-c", f"import sys; sys.path.append({str(folder)!r}); {code}"]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


@pytest.mark.wide
def test_the_list_names_the_package(tmp_path: Path) -> None:
    install(tmp_path, "acme_borg", HALF, "[borgtrace.policies]\nhalf = acme_borg:HalfOfLimits\n")
    result = run_with(tmp_path, LIST)
    assert result.returncode == 0, result.stderr
    assert f"{'half':<27}a share of the limits (share; from package acme_borg 1.2)" in result.stdout


@pytest.mark.wide
def test_without_the_package_nothing_is_left(tmp_path: Path) -> None:
    names = [line.partition(" ")[0] for line in run_with(tmp_path, LIST).stdout.splitlines()]
    assert "limit" in names
    assert "half" not in names


@pytest.mark.wide
def test_a_package_is_not_imported_for_another_name(tmp_path: Path) -> None:
    install(
        tmp_path, "acme_borg", "raise ValueError", "[borgtrace.policies]\nhalf = acme_borg:Half\n"
    )
    code = "from borgtrace.overcommit import parse_policy; print(parse_policy('limit').label)"
    result = run_with(tmp_path, code)
    assert (result.returncode, result.stdout) == (0, "limit\n"), result.stderr


def test_a_package_that_cannot_be_imported_is_named(tmp_path: Path) -> None:
    install(
        tmp_path, "acme_borg", "raise ValueError", "[borgtrace.policies]\nhalf = acme_borg:Half\n"
    )
    result = run_with(tmp_path, LIST)
    assert result.returncode == 2
    assert result.stderr.endswith(
        f"{tmp_path}/acme_borg.py:1: the code of this extension failed: got ValueError\n"
    )


def test_a_name_of_ours_stays_ours(tmp_path: Path) -> None:
    text = HALF.replace('"half"', '"limit"')
    install(tmp_path, "acme_borg", text, "[borgtrace.policies]\nlimit = acme_borg:HalfOfLimits\n")
    result = run_with(tmp_path, LIST)
    assert result.returncode == 0
    assert "package acme_borg 1.2 offers the policy limit, which borgtrace has: it is left out" in (
        result.stderr
    )
    assert "the sum of the limits" in result.stdout
