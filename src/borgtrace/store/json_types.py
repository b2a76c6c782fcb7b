"""Check that values read from JSON have the types that dataclasses declare."""

from types import UnionType
from typing import Any, get_args, get_origin


def has_type(value: Any, hint: Any) -> bool:
    """Return whether a value of JSON is of a declared type; every integer is a count, a size, a number or a time.

    Parameters
    ----------
    value
        What was read.
    hint
        The declared type, such as ``dict[str, int]`` or ``int | None``.

    Examples
    --------
    >>> has_type({"a": 1}, dict[str, int]), has_type({"a": -1}, dict[str, int])
    (True, False)
    """
    kind = get_origin(hint) or hint
    inner = get_args(hint)
    if kind is UnionType:
        return any(has_type(value, alternative) for alternative in inner)
    # By type: a flag is an integer for isinstance.
    if kind is int:
        return type(value) is int and 0 <= value < 2**63
    if kind is not Any and not isinstance(value, kind):
        return False
    if kind is dict:
        return all(has_type(item, inner[1]) for item in value.values())
    if kind in (list, tuple):
        return all(has_type(item, inner[0]) for item in value)
    return True
