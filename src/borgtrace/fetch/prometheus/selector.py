"""Label selectors of PromQL, parsed before they are sent, so that a user's text cannot be more than a selector."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from borgtrace.errors import UsageError

_LABEL = r"[a-zA-Z_][a-zA-Z0-9_]*"
_TEXT = r""""(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`[^`]*`"""
_MATCHER = re.compile(rf"\s*(?P<label>{_LABEL})\s*(?P<operator>=~|!~|!=|=)\s*(?P<text>{_TEXT})\s*")
_EXAMPLE = """label matchers such as '{namespace="web"}'"""
_MOST_CHARACTERS = 4000


@dataclass(frozen=True, slots=True)
class Matcher:
    """One condition on a label.

    Attributes
    ----------
    label
        Its name.
    operator
        ``=``, ``!=``, ``=~`` or ``!~``.
    text
        What it is compared with, quoted as the user quoted it.
    """

    label: str
    operator: str
    text: str

    def __str__(self) -> str:
        return f"{self.label}{self.operator}{self.text}"


Matchers = tuple[Matcher, ...]


def parse_selector(text: str, where: str = "--selector") -> Matchers:
    """Return the matchers of a selector; braces may be left out.

    Parameters
    ----------
    text
        What the user wrote.
    where
        The option, for the error.

    Raises
    ------
    UsageError
        It is more, or something else, than matchers of labels.

    Examples
    --------
    >>> write_series("up", parse_selector('{namespace="web", pod!~"test-.*"}'))
    'up{namespace="web",pod!~"test-.*"}'
    >>> parse_selector("{}")
    ()
    """
    if len(text) > _MOST_CHARACTERS:
        raise UsageError(
            where,
            "too long",
            expected=f"at most {_MOST_CHARACTERS:,} characters",
            got=f"{len(text):,}",
        )
    inside = text.strip()
    if inside.startswith("{") and inside.endswith("}"):
        inside = inside[1:-1]
    matchers: list[Matcher] = []
    position = 0
    while inside[position:].strip():
        match = _MATCHER.match(inside, position)
        if match is None:
            raise UsageError(where, "not a selector", expected=_EXAMPLE, got=text)
        position = match.end()
        if inside[position : position + 1] == ",":
            position += 1
        elif position < len(inside):
            raise UsageError(where, "not a selector", expected=_EXAMPLE, got=text)
        matchers.append(Matcher(**match.groupdict()))
    if any(matcher.label == "__name__" for matcher in matchers):
        raise UsageError(
            where,
            "names a metric",
            expected="labels of containers, such as namespace",
            got=text,
            way_out="leave it out: the metrics are chosen for you",
        )
    return tuple(matchers)


def write_series(metric: str, matchers: Sequence[Matcher]) -> str:
    """Return the selector of a metric's series in PromQL."""
    conditions = ",".join(str(matcher) for matcher in matchers)
    return f"{metric}{{{conditions}}}" if conditions else metric
