"""Where the logic of a file can be changed: comparisons, operators, numbers, conditions, returns, calls.

Left out: texts, messages (whatever stands in a ``raise`` or in an f-string), annotations, decorators, drawing
(``plot``), compiled functions (a changed one compiles for seconds: they are in the list of edits by hand) and
everything at module level (the same list).
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

_COMPARE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_BINARY: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.Pow: ast.Mult,
}
_SWAPPED = {
    "min": "max",
    "max": "min",
    "any": "all",
    "all": "any",
    "least": "greatest",
    "greatest": "least",
}
_COMPILED = ("compiled", "njit", "jit", "vectorize", "guvectorize")
_UNSEEN = ("plot", "__repr__", "__str__", "_repr_html_")


@dataclass(frozen=True, slots=True)
class Site:
    """One change that can be made: in which function of which file, what was there, what comes.

    ``number`` tells equal changes in one function apart.
    """

    file: str
    function: str
    line: int
    was: str
    now: str
    number: int

    @property
    def key(self) -> tuple[str, str, str, str, int]:
        """What stays the same when lines move."""
        return self.file, self.function, self.was, self.now, self.number


def sites(path: Path, root: Path) -> list[Site]:
    """Return the changes that can be made to a file."""
    name = str(path.relative_to(root))
    found: list[Site] = []
    seen: dict[tuple[str, str, str], int] = {}
    for function, first, node, change in _places(ast.parse(path.read_text())):
        was, now = _shown(node), _shown(change(copy.deepcopy(node)))
        if was == now:
            continue
        number = seen[function, was, now] = seen.get((function, was, now), -1) + 1
        found.append(Site(name, function, getattr(node, "lineno", first), was, now, number))
    return found


def mutated(source: str, site: Site) -> str:
    """Return the source with one change made (comments go: the tree is printed again)."""
    tree = ast.parse(source)
    number = -1
    for function, _, node, change in _places(tree):
        if function != site.function or _shown(node) != site.was:
            continue
        new = change(copy.deepcopy(node))
        if _shown(new) == site.now:
            number += 1
            if number == site.number:
                return ast.unparse(ast.fix_missing_locations(_replaced(tree, node, new)))
    raise LookupError(f"{site.file}: {site.function}: no {site.was}")


def _shown(node: ast.AST) -> str:
    """Print a node, of a condition only what it asks."""
    if isinstance(node, ast.If | ast.IfExp | ast.While):
        return f"if {ast.unparse(node.test)}"
    return ast.unparse(node)


Change = Callable[[ast.AST], ast.AST]
Place = tuple[str, int, ast.AST, Change]


def _places(tree: ast.Module) -> Iterator[Place]:
    """Yield (function, its line, node, change) in the order of the source."""
    yield from _within(tree.body, "")


def _within(body: list[ast.stmt], prefix: str) -> Iterator[Place]:
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from _within(node.body, f"{prefix}{node.name}.")
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            if is_compiled(node) or node.name in _UNSEEN:
                continue
            for statement in node.body:
                for found, change in _changes(statement):
                    yield prefix + node.name, node.lineno, found, change


def is_compiled(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether Numba compiles a function."""
    return any(
        word in ast.unparse(decorator) for decorator in node.decorator_list for word in _COMPILED
    )


def _changes(node: ast.AST) -> Iterator[tuple[ast.AST, Change]]:
    if isinstance(node, ast.Raise | ast.Assert | ast.JoinedStr | ast.Import | ast.ImportFrom):
        return
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return
    if (
        isinstance(node, ast.keyword) and node.arg == "strict"
    ):  # of zip: holds where the code is right
        return
    yield from ((node, change) for change in _of(node))
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_comment"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _changes(child)


def _of(node: ast.AST) -> Iterator[Change]:
    """Yield the changes of this very node."""
    if isinstance(node, ast.Compare):
        for place, operator in enumerate(node.ops):
            if type(operator) in _COMPARE:
                yield _compare(place)
    elif isinstance(node, ast.BoolOp):
        yield lambda n: ast.BoolOp(ast.Or() if isinstance(n.op, ast.And) else ast.And(), n.values)  # type: ignore[attr-defined]
    elif isinstance(node, ast.BinOp) and type(node.op) in _BINARY and not _has_text(node):
        yield lambda n: ast.BinOp(n.left, _BINARY[type(n.op)](), n.right)  # type: ignore[attr-defined]
    elif isinstance(node, ast.AugAssign) and type(node.op) in _BINARY and not _has_text(node.value):
        yield lambda n: ast.AugAssign(n.target, _BINARY[type(n.op)](), n.value)  # type: ignore[attr-defined]
    elif isinstance(node, ast.UnaryOp) and not isinstance(node.op, ast.UAdd):
        yield lambda n: n.operand  # type: ignore[attr-defined]
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield lambda n: ast.Constant(not n.value)  # type: ignore[attr-defined]
    elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        yield lambda n: ast.Constant(n.value + 1)  # type: ignore[attr-defined]
    elif isinstance(node, ast.If | ast.IfExp | ast.While) and not isinstance(
        node.test, ast.Compare | ast.UnaryOp
    ):
        yield _negate
    elif isinstance(node, ast.Return) and node.value is not None and not _is_none(node.value):
        yield lambda n: ast.Return(ast.Constant(None))
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield lambda n: ast.Pass()
    elif isinstance(node, ast.Break):
        yield lambda n: ast.Continue()
    elif isinstance(node, ast.Continue):
        yield lambda n: ast.Break()
    elif isinstance(node, ast.Call):
        name = (
            node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        )
        if name in _SWAPPED:
            yield _swap


def _compare(place: int) -> Change:
    def change(node: ast.AST) -> ast.AST:
        assert isinstance(node, ast.Compare)
        node.ops[place] = _COMPARE[type(node.ops[place])]()
        return node

    return change


def _negate(node: ast.AST) -> ast.AST:
    assert isinstance(node, ast.If | ast.IfExp | ast.While)
    node.test = ast.UnaryOp(ast.Not(), node.test)
    return node


def _swap(node: ast.AST) -> ast.AST:
    assert isinstance(node, ast.Call)
    if isinstance(node.func, ast.Attribute):
        node.func.attr = _SWAPPED[node.func.attr]
    elif isinstance(node.func, ast.Name):
        node.func.id = _SWAPPED[node.func.id]
    return node


def _has_text(node: ast.AST) -> bool:
    texts = (ast.JoinedStr,)
    return any(
        isinstance(child, texts)
        or (isinstance(child, ast.Constant) and isinstance(child.value, str | bytes))
        for child in ast.walk(node)
    )


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _replaced(tree: ast.AST, old: ast.AST, new: ast.AST) -> ast.AST:
    for parent in ast.walk(tree):
        for name, value in ast.iter_fields(parent):
            if value is old:
                setattr(parent, name, new)
                return tree
            if isinstance(value, list) and any(child is old for child in value):
                value[[child is old for child in value].index(True)] = new
                return tree
    raise LookupError("the node is not in the tree")
