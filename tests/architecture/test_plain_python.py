"""No language of our own, no hidden doors: what the source and the tests may not do."""

from __future__ import annotations

import ast
import collections
import re
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.source import ROOT, modules, tree

PACKAGE = ROOT / "src" / "borgtrace"
DATA_FILES = {
    ".j2": "templates of pages, for Jinja",
    ".css": "styles of pages",
    ".js": "what pages do in a browser",
    ".md": "the card of a dataset",
    ".csv": "data: many rows of one shape",
    ".sql": "whole queries",
    ".LICENSE": "terms of the libraries that pages bring along",
    ".typed": "says that the package has types",
    ".kernel": "machine code for a portable CPU, where a wheel was built",
}
"""Files beside the code by their ending, and why they are there: each is read by a program that is not ours, or holds
rows of data."""
SHARED_NAMES = {"Store": "borgtrace.open returns one that can also be asked questions"}
"""Names that two classes may have, and why."""
CACHE_KEYS = "borgtrace.kernels.digests"
"""Tells compiled functions apart by the module that they are from, in the name of a file."""
CODE_OF_USERS = {"borgtrace.extensions.sources", "borgtrace.extensions.workers"}
"""Import files, which Python finds under a name only where it is told."""
OTHERS_NAMES = {"_replace", "_asdict", "_fields", "_repr_html_", "_index_key"}
"""Names that Python, Jupyter and Numba gave."""
LAZY_MODULES = {
    "borgtrace": "names of the package are imported when they are used",
    "borgtrace.catalog": "a question is imported when it is asked",
    "borgtrace.cli.app": "a command is imported when it is called",
    "borgtrace.extensions.sources": "a user names the module",
}
"""Modules that may import others by a name that is only known at run time."""


def test_no_file_beside_the_code_is_a_language_of_ours() -> None:
    others = [
        str(path.relative_to(ROOT))
        for path in sorted(PACKAGE.rglob("*"))
        if path.is_file()
        and path.suffix != ".py"
        and "__pycache__" not in path.parts
        and path.suffix not in DATA_FILES
        and path.name != "SHA256SUMS"
    ]
    assert not others, "\n".join(others)


def test_modules_are_imported_by_name_at_run_time_where_it_is_said_why() -> None:
    importing = {
        name
        for name, path in modules().items()
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Call) and "import_module" in ast.unparse(node.func)
    }
    assert importing == set(LAZY_MODULES)


def test_nothing_reads_source_text_or_patches_modules() -> None:
    forbidden = re.compile(
        r"\b(__module__|__subclasses__|__init_subclass__|getsource|getsourcelines|formatwarning)\b"
        r"|sys\.modules"
    )
    found = [
        f"{name}:{number}: {line.strip()}"
        for name, path in modules().items()
        if name != CACHE_KEYS and name not in CODE_OF_USERS
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if forbidden.search(line) and not line.lstrip().startswith(("#", '"""'))
    ]
    assert not found, "\n".join(found)


def test_a_class_has_a_name_of_its_own() -> None:
    homes: dict[str, list[str]] = collections.defaultdict(list)
    for name, path in modules().items():
        for node in tree(path).body:
            if isinstance(node, ast.ClassDef):
                homes[node.name].append(name)
    repeated = {name: places for name, places in homes.items() if len(places) > 1}
    assert repeated.keys() == SHARED_NAMES.keys(), repeated


def private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def imported_from_us(source: ast.Module) -> tuple[set[str], list[str]]:
    """Return the names that a test file takes from the package, and those of them that are private."""
    names: set[str] = set()
    private_names: list[str] = []
    for node in ast.walk(source):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("borgtrace"):
            names |= {alias.asname or alias.name for alias in node.names}
            private_names += [alias.name for alias in node.names if private(alias.name)]
            private_names += [part for part in (node.module or "").split(".") if private(part)]
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.startswith("borgtrace") and alias.asname:
                    names.add(alias.asname)
    return names, private_names


def private_uses(path: Path) -> Iterator[str]:
    source = ast.parse(path.read_text())
    names, private_names = imported_from_us(source)
    place = path.relative_to(ROOT)
    for name in private_names:
        yield f"{place}: imports {name}"
    for node in ast.walk(source):
        if (
            isinstance(node, ast.Attribute)
            and private(node.attr)
            and node.attr not in OTHERS_NAMES
            and isinstance(node.value, ast.Name)
            and node.value.id in names
        ):
            yield f"{place}:{node.lineno}: {ast.unparse(node)}"
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("setattr"):
            for argument in node.args[:2]:
                text = argument.value if isinstance(argument, ast.Constant) else ""
                is_ours = ast.unparse(node.args[0]).split(".")[0].strip("'\"") in {
                    *names,
                    "borgtrace",
                }
                name = text.rpartition(".")[2] if isinstance(text, str) else ""
                if is_ours and private(name) and name not in OTHERS_NAMES:
                    yield f"{place}:{node.lineno}: patches {text}"


def test_tests_come_through_public_doors() -> None:
    """A test that knows a private name has to change with code that nobody outside could see."""
    found = [use for path in sorted((ROOT / "tests").rglob("*.py")) for use in private_uses(path)]
    assert not found, "\n".join(found)
