"""Each promise of the page about security has a test, and SECURITY.md leads there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "security.md"
_ROW = re.compile(r"^\| (.+) \| (.+) \|$", re.MULTILINE)
_TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


def promises() -> list[tuple[str, list[tuple[str, str]]]]:
    rows = _ROW.findall(PAGE.read_text(encoding="utf-8"))
    return [(promise, _TEST.findall(tests)) for promise, tests in rows if promise != "promise"]


def functions(path: Path) -> set[str]:
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return {node.name for node in nodes if isinstance(node, ast.FunctionDef)}


def test_every_promise_has_a_test_that_exists() -> None:
    assert len(promises()) >= 3
    for promise, tests in promises():
        assert tests, f"{promise}: no test"
        for file, name in tests:
            assert name in functions(ROOT / file), f"{promise}: {file} has no {name}"


def test_the_policy_leads_to_the_promises() -> None:
    assert "](docs/security.md)" in (ROOT / "SECURITY.md").read_text(encoding="utf-8")
