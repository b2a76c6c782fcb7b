"""``borgtrace check``: what it says of a file, and how it ends what does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.extensions.conftest import Run
from tests.extensions.own_code import HALF, policy_with, write


def test_a_plain_one_keeps_it(tmp_path: Path, run: Run) -> None:
    file = write(tmp_path, "half.py", HALF)
    code, out, err = run("check", file)
    assert (code, out) == (0, "policy half: keeps its contract\n"), err


@pytest.mark.wide
def test_a_class_that_forgot_the_decorator(tmp_path: Path, run: Run) -> None:
    file = write(tmp_path, "half.py", HALF.replace("@dataclass(frozen=True)\n", ""))
    code, _, err = run("check", file)
    assert code == 1
    assert err == (
        "policy half: share cannot be set: write @dataclass(frozen=True) above the class\n"
    )


@pytest.mark.wide
def test_one_that_never_ends_is_stopped_at_its_line(tmp_path: Path, run: Run) -> None:
    file = write(tmp_path, "own.py", policy_with("while True:\n    pass"))
    code, _, err = run("check", file, "--timeout", "8s")
    assert code == 2
    assert err in {
        f"borgtrace: {file}:{line}: not done after 8 s; does this line repeat for ever? "
        "--timeout allows more time\n"
        for line in (10, 11)
    }


@pytest.mark.wide
def test_one_that_ends_the_process_is_named(tmp_path: Path, run: Run) -> None:
    file = write(tmp_path, "own.py", policy_with("os._exit(3)", before="import os"))
    code, _, err = run("check", file)
    assert code == 2
    assert err == f"borgtrace: {file}: the process that ran it ended: got exit code 3\n"


@pytest.mark.wide
def test_each_mistake_of_a_format_is_named(tmp_path: Path, name: str, run: Run) -> None:
    text = f"""from borgtrace import Dialect
from borgtrace.schema import RawField, RawTable
LOG = RawTable("log", "power_measurements", (RawField("ts", "tme"), RawField("pdu", "pdu")))
DIALECT = Dialect(name="{name}", title="Own", tables={{"log": LOG}})
"""
    code, out, err = run("check", write(tmp_path, "own.py", text))
    assert (code, out) == (1, "")
    assert err.splitlines() == [
        f"trace format {name}: log.ts fills tme, which power_measurements does not have "
        "(did you mean time?)",
        f"trace format {name}: no field of log fills cell, which power_measurements must have",
        f"trace format {name}: no field of log fills time, which power_measurements must have",
    ]


@pytest.mark.wide
def test_a_file_that_never_ends_when_it_is_imported_is_stopped_at_its_line(
    tmp_path: Path, run: Run
) -> None:
    file = write(tmp_path, "own.py", "import borgtrace\nwhile True:\n    pass\n")
    code, _, err = run("check", file, "--timeout", "5s")
    assert code == 2
    assert err in {
        f"borgtrace: {file}:{line}: not done after 5 s; does this line repeat for ever? "
        "--timeout allows more time\n"
        for line in (2, 3)
    }
