"""That machine code is compiled is said once, and only where it is missing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from borgtrace.cli.command import say_compiling
from borgtrace.kernels.compilation import announce_missing_code, announcing_compilation

SCRIPT = """
from borgtrace.kernels.compilation import announcing_compilation
from borgtrace.kernels.compiled import compiled

@compiled()
def doubled(x):
    return 2 * x

@compiled()
def tripled(x):
    return 3 * x

if __name__ == "__main__":
    with announcing_compilation(lambda: print("compiling")):
        print(doubled(2), tripled(2), doubled(2.5))
"""


def test_only_missing_machine_code_is_announced_and_once(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    outputs = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, str(script)],
            capture_output=True,
            text=True,
            check=True,
            env=environment,
        )
        outputs.append(done.stdout.splitlines())
    assert outputs == [["compiling", "4 6 5.0"], ["4 6 5.0"]]


def test_nobody_is_told_after_the_block() -> None:
    told: list[str] = []
    with announcing_compilation(lambda: told.append("first")):
        announce_missing_code()
        announce_missing_code()
    with announcing_compilation(lambda: told.append("second")):
        pass
    announce_missing_code()
    assert told == ["first"]


def test_the_sentence_names_the_time_where_it_was_measured(capsys) -> None:
    say_compiling("overcommit")
    say_compiling("info")
    assert capsys.readouterr().err.splitlines() == [
        "First run: compiling for up to 25 s, once; all ahead: borgtrace doctor --warm",
        "First run: compiling, once; all ahead: borgtrace doctor --warm",
    ]
