"""Machine code kept on disk is never that of an earlier source."""

from __future__ import annotations

import ast
import errno
import fcntl
import os
import pickle
import runpy
import shutil
import subprocess
import sys
import time
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import borgtrace
from borgtrace.kernels import caching, hashing
from borgtrace.kernels.caching import digest_of
from borgtrace.kernels.compiled import compiled
from borgtrace.kernels.hashing import finalized, hashed
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


def test_a_place_that_cannot_be_written_to_only_costs_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from numba.core.caching import CompileResultCacheImpl

    from borgtrace.kernels.compiled import compiled

    monkeypatch.setattr(CompileResultCacheImpl, "_locator_classes", [])

    def doubled(x: int) -> int:
        return 2 * x

    assert compiled()(doubled)(21) == 42


def test_digests_follow_constants_and_closures() -> None:
    def adding(number: object):  # type: ignore[no-untyped-def]
        return lambda x: x + number

    assert digest_of(adding(1)) == digest_of(adding(1))
    assert digest_of(adding(1)) != digest_of(adding(2))
    assert digest_of(adding(np.arange(3))) == digest_of(adding(np.arange(3)))
    assert digest_of(adding(np.arange(3))) != digest_of(adding(np.arange(4)))
    assert digest_of(hashed) != digest_of(finalized)


def _made(code: str, **names: object) -> Any:
    """Return the function that some code defines, with other names around it."""
    exec(code, names)
    return names["f"]


@pytest.mark.parametrize(
    "code",
    [
        "def f(x): return x + FACTOR",
        "def f(x): return [y + FACTOR for y in x]",  # named by an inner function only
        "def f(x, y=FACTOR): return x + y",
        "def g(x): return x + FACTOR\ndef f(x): return g(x)",
        "def g(x): return f(x) + FACTOR\ndef f(x): return g(x)",  # in a circle
    ],
)
def test_digests_follow_what_a_function_names(code: str) -> None:
    digest = digest_of(_made(code, FACTOR=1))
    assert digest_of(_made(code, FACTOR=1)) == digest
    assert digest_of(_made(code, FACTOR=2)) != digest


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((1, 2), (1, 3)),
        ((1, 2), [1, 2]),
        ({1, 2}, {1, 3}),
        (1, 1.0),
        (len, max),
        (np.float32, np.float64),
        (np.zeros(2), np.zeros(2, np.float32)),
        (np.zeros((2, 1)), np.zeros((1, 2))),
    ],
)
def test_digests_follow_values_of_every_kind(one: object, other: object) -> None:
    code = "def f(): return VALUE"
    digest = digest_of(_made(code, VALUE=one))
    assert digest_of(_made(code, VALUE=one)) == digest
    assert digest_of(_made(code, VALUE=other)) != digest


def test_the_order_of_a_set_and_words_about_a_function_are_not_part_of_a_digest() -> None:
    code = "def f(): return VALUE"
    # 8 and 0 fall into one place of a small table: the set is walked in the order in which they came.
    first = {0, 8}
    second = {8, 0}
    assert list(first) != list(second)
    assert digest_of(_made(code, VALUE=first)) == digest_of(_made(code, VALUE=second))
    with_words = _made("def f():\n  'Words.'\n  return 1")
    with_others = _made("def f():\n  'Others.'\n  return 1")
    assert digest_of(with_words) == digest_of(with_others)


def test_a_module_of_ours_is_refused_since_an_edit_of_it_would_not_be_seen() -> None:
    with pytest.raises(TypeError) as caught:
        digest_of(_made("def f(): return hashing.GOLDEN", hashing=hashing))
    assert str(caught.value) == "f uses the module hashing: import the names that it needs"
    assert digest_of(_made("def f(): return np.pi", np=np))


def test_machine_code_is_kept_under_the_digest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def index_key(self: object, signature: object, codegen: object) -> tuple[object, object]:
        return signature, codegen

    monkeypatch.setattr(caching.FunctionCache, "_index_key", index_key)
    cache = caching.DigestCache(_python)
    assert cache._index_key("int64", "x86") == ("int64", "x86", digest_of(_python))


@pytest.mark.parametrize(
    "error",
    [
        AttributeError,
        ImportError,
        EOFError,
        ValueError,
        pickle.UnpicklingError,
        None,
    ],
)
def test_an_index_that_says_nothing_is_thrown_away(
    monkeypatch: pytest.MonkeyPatch, error: Any
) -> None:
    flushed: list[None] = []

    def load(self: object, signature: object, context: object) -> str:
        if error:
            raise error
        return "machine code"

    monkeypatch.setattr(caching.FunctionCache, "load_overload", load)
    cache = caching.DigestCache(_python)
    monkeypatch.setattr(cache, "flush", lambda: flushed.append(None))
    assert cache.load_overload("int64", None) == (None if error else "machine code")
    assert len(flushed) == bool(error)


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
    with caching.DigestCache(_python).alone():
        pass


@pytest.mark.parametrize("damage", ["gone", "short"])
def test_an_index_that_cannot_be_read_is_written_anew(tmp_path: Path, damage: str) -> None:
    (tmp_path / "caller.py").write_text(CALLER)
    (tmp_path / "callee.py").write_text(
        CALLEE.format(
            inline=False,
            factor=10,
            operation="+ x",
            doc="",
        )
    )
    assert _answers(tmp_path / "caller.py") == "100 30 0 0"
    indices = list((tmp_path / "__pycache__").glob("*.nbi"))
    assert indices
    for index in indices:
        with index.open("rb") as file:
            version = pickle.load(file)
        # As an older version would have left it: the class of an argument was renamed since.
        rest = b"cborgtrace.kernels.caching\nNoSuchClass\n." if damage == "gone" else b"\x80"
        index.write_bytes(pickle.dumps(version) + rest)
    assert _answers(tmp_path / "caller.py") == "100 30 0 0"
    assert _answers(tmp_path / "caller.py") == "100 30 1 1"
