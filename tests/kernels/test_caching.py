"""Machine code kept on disk is never that of an earlier source."""

from __future__ import annotations

import ast
import errno
import fcntl
import os
import runpy
import shutil
import subprocess
import sys
import time
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest

import borgtrace
from borgtrace.kernels.caching import DigestCache
from borgtrace.kernels.compiled import compiled
from tests.forked import CLEAN

pytestmark = pytest.mark.wide

PACKAGE = Path(borgtrace.__file__).parent
CALLER = """
import numpy as np
from borgtrace.kernels.compiled import compiled
from callee import FACTOR, doubled

@compiled()
def answer(x):
    return doubled(x) * FACTOR

@compiled(inline=True)
def _tripled(x):
    return 3 * x

@compiled("int64(int64)")
def eager(x):
    return _tripled(doubled(x))

if __name__ == "__main__":
    print(answer(5), eager(5), sum(answer.stats.cache_hits.values()), sum(eager.stats.cache_hits.values()))
"""
CALLEE = """
from borgtrace.kernels.compiled import compiled
FACTOR = {factor}

@compiled(inline={inline})
def doubled(x):
    "{doc}"
    return x {operation}
"""


def _python(code: str, folder: Path) -> str:
    """Run code in a new process that imports our package from a folder."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(folder),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    process = subprocess.run(
        [sys.executable, "-c", code],
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    return process.stdout


def _main(script: Path, out: Path) -> None:
    """Be Python on a script."""
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(script.parent))
    with out.open("w") as file, redirect_stdout(file):
        runpy.run_path(str(script), run_name="__main__")


def _answers(script: Path) -> str:
    """Return what a script prints in a process that has imported our package, and nothing else of what it needs."""
    out = script.with_name("out")
    process = CLEAN.Process(target=_main, args=(script, out))
    process.start()
    process.join()
    assert process.exitcode == 0
    return out.read_text().strip()


@pytest.mark.parametrize("inline", [False, True])
def test_an_edit_of_what_a_function_calls_or_names_is_seen(tmp_path: Path, inline: bool) -> None:
    (tmp_path / "caller.py").write_text(CALLER)

    def answers(operation: str = "+ x", factor: int = 10, doc: str = "") -> str:
        (tmp_path / "callee.py").write_text(
            CALLEE.format(
                inline=inline,
                factor=factor,
                operation=operation,
                doc=doc,
            )
        )
        return _answers(tmp_path / "caller.py")

    assert answers() == "100 30 0 0"
    assert answers() == "100 30 1 1"
    assert answers(doc="Only words.") == "100 30 1 1"
    assert answers("* x") == "250 75 0 0"
    assert answers("* x", factor=11) == "275 75 0 1"
    assert answers() == "100 30 1 1"


def test_an_edit_of_an_inlined_function_of_ours_gives_new_numbers(tmp_path: Path) -> None:
    copy = shutil.copytree(
        PACKAGE, tmp_path / "borgtrace", ignore=shutil.ignore_patterns("__pycache__")
    )
    code = (
        "import numpy as np; from borgtrace.kernels.hashing import task_keys; ids = np.arange(3); "
        "print(task_keys(1, ids, ids).tolist())"
    )
    before = _python(code, tmp_path)
    assert before == _python(code, tmp_path)
    hashing = copy / "kernels" / "hashing.py"
    text = hashing.read_text()
    assert "return z ^ (z >> _S31)" in text
    hashing.write_text(text.replace("return z ^ (z >> _S31)", "return z ^ (z >> _S30)"))
    after = _python(code, tmp_path)
    assert before != after
    hashing.write_text(text)
    assert _python(code, tmp_path) == before


def test_only_one_module_calls_numbas_compiler() -> None:
    def compilers(path: Path) -> set[str]:
        names = {"njit", "jit", "vectorize", "guvectorize", "cfunc", "stencil", "CPUDispatcher"}
        tree = ast.parse(path.read_text())
        used = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        used |= {
            alias.name
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }
        return used & names

    found = {str(path.relative_to(PACKAGE)) for path in PACKAGE.rglob("*.py") if compilers(path)}
    assert found == {"kernels/compiled.py"}


def test_what_kernels_call_is_compiled_for_python_only_where_python_calls_it() -> None:
    @compiled(cached=False)
    def doubled(x: int) -> int:
        return 2 * x

    @compiled(cached=False)
    def six_times(x: int) -> int:
        # A constant and a variable: one compilation.
        return doubled(x) + doubled(2) * x

    assert six_times(5) == 30
    # Python has not called it, so that nothing unpacks its arguments from Python.
    assert not doubled.signatures  # type: ignore[attr-defined]
    assert len(doubled._numba_type_.dispatcher.signatures) == 1  # type: ignore[attr-defined]
    assert doubled(5) == 10
    assert len(doubled.signatures) == 1  # type: ignore[attr-defined]


TOGETHER = """
import sys
import time
from borgtrace.kernels.compiled import compiled

@compiled()
def answer(x):
    return 2 * x

if __name__ == "__main__":
    time.sleep(max(0, float(sys.argv[1]) - time.time()))
    answer(5)
    print(sum(answer.stats.cache_hits.values()))
"""


def test_of_processes_that_need_a_function_at_once_one_compiles_it(tmp_path: Path) -> None:
    (tmp_path / "together.py").write_text(TOGETHER)
    start = time.time() + 3
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE.parent)}
    processes = [
        subprocess.Popen(
            [sys.executable, tmp_path / "together.py", str(start)],
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    hits = sorted(process.communicate()[0].strip() for process in processes)
    assert hits == ["0", "1", "1"]


@pytest.mark.parametrize("error", [errno.ENOLCK, errno.ENOTSUP])
def test_a_file_system_without_locks_keeps_nobody_waiting(
    monkeypatch: pytest.MonkeyPatch, error: int
) -> None:
    def lockf(*_: Any) -> None:
        raise OSError(error, os.strerror(error))

    def sleep(_: float) -> None:
        pytest.fail("waited for a lock that nobody holds")

    monkeypatch.setattr(fcntl, "lockf", lockf)
    monkeypatch.setattr(time, "sleep", sleep)
    with DigestCache(_python, Path(__file__)).alone():
        pass
