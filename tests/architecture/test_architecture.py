"""The shape of the source: no circles, no private doors, small files, dialects asked and not compared."""

from __future__ import annotations

import ast

from tests.architecture.source import ROOT, circles, code_lines, imports, modules, tree

MOST_LINES_OF_A_FILE = 500
MOST_PRAGMAS = 40
"""Tables of data that the formatter would take apart."""


def test_no_module_imports_itself_by_way_of_others() -> None:
    """Lazy imports and those for typing count: a circle is a concept that stands in two places."""
    found = circles()
    assert not found, "\n".join(" ↔ ".join(sorted(circle)) for circle in found)


def test_private_modules_stay_in_their_package() -> None:
    found = {
        f"{name} imports {other}"
        for name in modules()
        for other in imports(name)
        if any(part.startswith("_") for part in other.split("."))
        and name.split(".")[1:2] != other.split(".")[1:2]
    }
    assert not found, "\n".join(sorted(found))


def test_no_file_is_large() -> None:
    # To tell code from the rest takes seconds for all files; most have no more lines than that of any kind.
    long = [
        path
        for path in modules().values()
        if len(path.read_bytes().splitlines()) > MOST_LINES_OF_A_FILE
    ]
    large = {path.name: n for path in long if (n := code_lines(path)) > MOST_LINES_OF_A_FILE}
    assert not large


def test_formatting_is_the_formatters() -> None:
    files = [path for folder in ("src", "tests") for path in (ROOT / folder).rglob("*.py")]
    pragma = "# fmt: " + "skip"
    assert sum(path.read_text().count(pragma) for path in files) <= MOST_PRAGMAS


def test_nothing_compares_a_trace_format() -> None:
    """A format is a value that is asked: only `schema/dialects` knows what 2011 and 2019 differ in."""
    found = [
        f"{name}:{node.lineno}: {ast.unparse(node)}"
        for name, path in modules().items()
        if not name.startswith("borgtrace.schema.dialects")
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Compare)
        and any(
            isinstance(part, ast.Constant) and part.value in ("2011", "2019")
            for part in ast.walk(node)
        )
    ]
    assert not found, "\n".join(found)
