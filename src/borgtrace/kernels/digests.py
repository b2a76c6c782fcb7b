"""Digests of all that machine code is compiled from: functions, what they refer to, and the types of arguments.

The code of functions that a function calls or inlines, and the values of constants, are compiled into it, from any
file. The digest is one of its own bytecode and of all that it refers to, transitively, so that an edit recompiles what
it concerns and nothing else.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np
from numba.core.sigutils import normalize_signature
from numba.core.types.containers import BaseNamedTuple, BaseTuple


def digest_of(function: Callable[..., Any]) -> str:
    """Return a digest of a function's code and of all functions and constants that it refers to, transitively.

    Examples
    --------
    >>> digest_of(lambda x: x + 1) == digest_of(lambda x: x + 1)
    True
    >>> digest_of(lambda x: x + 1) == digest_of(lambda x: x + 2)
    False
    """
    digest = hashlib.sha256()
    pending: list[Any] = [function]
    # Functions may call each other in a circle.
    seen: set[int] = set()
    while pending:
        value = _python_function(pending.pop())
        if not isinstance(value, FunctionType):
            digest.update(_text(value).encode())
        elif id(value) not in seen:
            seen.add(id(value))
            pending += _references(value)
            # The docstring is a constant of the bytecode, but changes no machine code.
            digest.update(_code(value.__code__, value.__doc__).encode())
    return digest.hexdigest()


def _python_function(value: Any) -> Any:
    """Return the Python function behind a compiled one or an intrinsic; any other value as it is."""
    return getattr(value, "py_func", getattr(value, "_defn", value))


def _references(function: FunctionType) -> Iterator[Any]:
    """Yield what a function finds outside itself: globals that it names, closure, defaults."""
    for name in _names(function.__code__):
        if name in function.__globals__:
            value = function.__globals__[name]
            # A value taken from a module by attribute is not seen here, and an edit of it would go unnoticed.
            if isinstance(value, ModuleType) and value.__name__.startswith("borgtrace"):
                raise TypeError(
                    f"{function.__qualname__} uses the module {name}: import the names that it needs"
                )
            yield value
    yield from (cell.cell_contents for cell in function.__closure__ or ())
    yield function.__defaults__


def _names(code: CodeType) -> list[str]:
    names = list(code.co_names)
    for constant in code.co_consts:
        # The bodies of comprehensions and inner functions are constants of the outer one, and name globals themselves.
        if isinstance(constant, CodeType):
            names += _names(constant)
    return names


def _code(code: CodeType, doc: str | None = None) -> str:
    """Write a function's bytecode, names and constants, without its docstring and line numbers."""
    constants = []
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            constants.append(_code(constant))
        elif constant is not doc:
            constants.append(_text(constant))
    return f"{code.co_code.hex()} {code.co_names} {code.co_varnames} {constants}"


def _text(value: Any) -> str:
    """Write a constant; for what is not ours (a module, a class, a builtin), its name."""
    if isinstance(value, np.ndarray):
        content = hashlib.sha256(value.tobytes()).hexdigest()
        return f"{value.dtype} {value.shape} {content}"
    if isinstance(value, tuple | list):
        items = [_text(item) for item in value]
        return f"{type(value).__name__}({', '.join(items)})"
    if isinstance(value, frozenset | set):
        # Sorted, since the order of a set changes with every process (hash seeds of texts).
        items = sorted(_text(item) for item in value)
        return f"set({', '.join(items)})"
    if hasattr(value, "__name__"):
        return f"{getattr(value, '__module__', '')}.{value.__name__}"
    return f"{type(value).__name__} {value!r}"


def text_of_types(signature: Any) -> str:
    """Write the types of arguments, the same in every process, and those of named tuples with the names of all fields.

    Numba knows a named tuple by its class and the types in it: two fields that change places would go unnoticed.

    Parameters
    ----------
    signature
        A tuple of types, a signature with a type that is returned, or its text.

    Examples
    --------
    >>> text_of_types("float64(int64, UniTuple(float64, 2))")
    'int64; (float64; float64) -> float64'
    """
    types, returned = normalize_signature(signature)
    text = _joined(types)
    return text if returned is None else f"{text} -> {returned}"


def _joined(types: Iterable[Any]) -> str:
    return "; ".join(_text_of_type(member) for member in types)


def _text_of_type(value: Any) -> str:
    """Write a type; a tuple with its members."""
    if not isinstance(value, BaseTuple):
        return str(value)
    members = _joined(value.types)
    if not isinstance(value, BaseNamedTuple):
        return f"({members})"
    kind = value.instance_class
    return f"{kind.__module__}.{kind.__qualname__} {value.fields} ({members})"
