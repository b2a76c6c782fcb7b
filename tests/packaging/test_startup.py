"""What is imported before it is needed: nothing heavy, or the first key press waits for it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

HEAVY = {
    "altair",
    "duckdb",
    "google_crc32c",
    "httpx",
    "ibis",
    "isal",
    "jinja2",
    "joblib",
    "numba",
    "numpy",
    "pandas",
    "polars",
    "pyarrow",
    "pyspark",
    "scipy",
    "sklearn",
    "tensorflow",
    "torch",
    "vl_convert",
}
_TELL = "import sys; print(*sorted({name.partition('.')[0] for name in sys.modules}))"
_MAIN = """
import sys
from borgtrace.cli import main
sys.argv = ["borgtrace", *sys.argv[1:]]
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
finally:
    print(*sorted({name.partition('.')[0] for name in sys.modules}), file=sys.stderr)
"""


def _modules(*arguments: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", *arguments],
        check=True,
        capture_output=True,
        text=True,
    )
    return set((done.stderr if len(arguments) > 1 else done.stdout).split())


def test_importing_the_package_imports_nothing_heavy() -> None:
    assert not _modules(f"import borgtrace; {_TELL}") & (HEAVY | {"typer", "rich"})


@pytest.mark.parametrize("argument", ["--help", "--version"])
def test_the_first_words_import_nothing_heavy(argument: str) -> None:
    assert not _modules(_MAIN, argument) & HEAVY


@pytest.mark.parametrize(
    "command", ["dataset", "export", "ingest", "colocate", "analyze", "report", "demo"]
)
def test_help_of_a_command_imports_nothing_heavy(command: str) -> None:
    assert not _modules(_MAIN, command, "--help") & HEAVY


def test_both_ways_to_start_are_one_program() -> None:
    asked = [[sys.executable, "-m", "borgtrace"], [sys.executable, "-c", _MAIN]]
    told = [
        subprocess.run(
            [*way, "--help"],
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for way in asked
    ]
    assert told[0] == told[1]
    assert told[0].startswith("Usage: borgtrace [OPTIONS] COMMAND [ARGS]...")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("borgtrace da", "dataset"),
        ("borgtrace dataset --split-", "--split-by"),
        ("borgtrace export --gran", "--granularity"),
    ],
)
def test_the_shell_completes_commands_and_options(words: str, expected: str) -> None:
    environment = os.environ | {
        "_BORGTRACE_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split()) - 1),
    }
    done = subprocess.run(
        [sys.executable, "-m", "borgtrace"],
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout.split() == [expected]
