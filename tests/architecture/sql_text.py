"""Where the source puts a value into text that looks like SQL, and whether it is quoted there."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.architecture.source import tree

QUOTING = {"quoted", "literal", "number", "int", "float", "len", "condition"}
"""Functions whose result cannot end a name, a text, a number or (`guard.condition`) a bracket."""
_SQL = re.compile(
    r"""
    \b(SELECT|FROM|WHERE|JOIN|UNION|GROUP\ BY|ORDER\ BY|PARTITION\ BY|COPY|CAST|TRY_CAST|EXCLUDE
       |NOT\ IN|IS\ NOT\ NULL|IS\ NULL|LIKE|CREATE\ (OR|TEMP|TABLE|VIEW)|SET\ \w+\ =)\b
    | ^\s*select\b.*\bfrom\b | \b(select|where)\s.*\bfrom\b | \bfrom\s+\w+\s+where\b
    | \bcase\ when\b | \bunion\ all\b | \border\ by\b | \bgroup\ by\b
    """,
    re.VERBOSE | re.DOTALL,
)
_WHOLE_PART = re.compile(r"(^|_)sql$|^_?[A-Z][A-Z0-9_]*$")
"""Names of parts that are SQL themselves, and of constants."""


class Unquoted(NamedTuple):
    """A value that is put into SQL in another way."""

    path: Path
    line: int
    code: str


def unquoted_values(path: Path) -> Iterator[Unquoted]:
    """Yield every value that a module puts into SQL otherwise than by the quoting functions."""
    nodes = list(ast.walk(tree(path)))
    documented = {id(node.body[0].value) for node in nodes if _has_docstring(node)}
    for node in nodes:
        for value in _values_put_into_sql(node):
            if id(value) not in documented and not _is_safe(value):
                yield Unquoted(path, node.lineno, ast.unparse(value))


def _has_docstring(node: ast.AST) -> bool:
    documented = ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    return isinstance(node, documented) and ast.get_docstring(node, clean=False) is not None


def _values_put_into_sql(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, ast.JoinedStr) and _looks_like_sql(_constant_text(node)):
        return [part.value for part in node.values if isinstance(part, ast.FormattedValue)]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod | ast.Add):
        # Each side of a sum that is text by itself is judged by itself.
        left, right = _text(node.left), _text(node.right)
        if left is not None and _looks_like_sql(left):
            return [] if right is not None else [node.right]
        if right is not None and _looks_like_sql(right):
            return [] if left is not None else [node.left]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        text = _text(node.func.value)
        if node.func.attr == "format" and text is not None and _looks_like_sql(text):
            return [*node.args, *(keyword.value for keyword in node.keywords)]
    return []


def _looks_like_sql(text: str) -> bool:
    return bool(_SQL.search(text))


def _text(node: ast.expr) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    return _constant_text(node) if isinstance(node, ast.JoinedStr) else None


def _constant_text(node: ast.JoinedStr) -> str:
    texts = [part.value if isinstance(part, ast.Constant) else "?" for part in node.values]
    return "".join(str(text) for text in texts)


def _is_safe(value: ast.expr) -> bool:
    match value:
        case ast.Constant():
            return True
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return bool(_WHOLE_PART.search(name))
        case ast.Subscript(value=inner):
            return _is_safe(inner)
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=arguments):
            if name == "join":
                return all(_is_safe(argument) for argument in arguments)
            return name in QUOTING or bool(_WHOLE_PART.search(name))
        case ast.GeneratorExp(elt=element) | ast.ListComp(elt=element):
            return _is_safe(element)
        case ast.IfExp(body=body, orelse=other):
            return _is_safe(body) and _is_safe(other)
        case ast.BinOp(left=left, right=right):
            return _is_safe(left) and _is_safe(right)
        case ast.JoinedStr(values=parts):
            return all(
                _is_safe(part.value) for part in parts if isinstance(part, ast.FormattedValue)
            )
    return False
