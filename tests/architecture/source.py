"""The source as syntax trees: modules, what each imports wherever the import stands, lines of code."""

from __future__ import annotations

import ast
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"
_NO_CODE = (
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
)


@cache
def modules() -> dict[str, Path]:
    """Return the modules of the package with their files."""
    found = {}
    for path in sorted((SOURCE / "borgtrace").rglob("*.py")):
        name = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
        found[name.removesuffix(".__init__")] = path
    return found


@cache
def tree(path: Path) -> ast.Module:
    """Return the syntax tree of a file."""
    return ast.parse(path.read_text())


@cache
def imports(name: str) -> frozenset[str]:
    """Return the modules that a module imports: at its head, in functions, and for typing only."""
    return frozenset(_imported_modules(name))


def _imported_modules(name: str) -> Iterator[str]:
    path = modules()[name]
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules())
        elif isinstance(node, ast.ImportFrom):
            parents = (
                package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            )
            base = ".".join([*parents, *([node.module] if node.module else [])])
            for alias in node.names:
                whole = f"{base}.{alias.name}"
                if whole in modules() or base in modules():
                    yield whole if whole in modules() else base


def circles() -> set[frozenset[str]]:
    """Return the sets of modules each of which imports, by some way, all others of its set."""
    edges = {name: imports(name) - {name} for name in modules()}
    reach: dict[str, set[str]] = {}
    for start in edges:
        seen: set[str] = set()
        waiting = [start]
        while waiting:
            for other in edges[waiting.pop()] - seen:
                seen.add(other)
                waiting.append(other)
        reach[start] = seen
    return {
        frozenset(other for other in reach[name] if name in reach[other])
        for name in edges
        if name in reach[name]
    }


@cache
def code_lines(path: Path) -> int:
    """Count lines of code: no docstrings, comments or blank lines."""
    free: set[int] = set()
    for node in ast.walk(tree(path)):
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            free.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    lines: set[int] = set()
    with path.open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            if token.type not in _NO_CODE:
                lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines - free)
