"""What a scope asks of a store, in words."""

from borgtrace.question.scope import Scope
from borgtrace.schema.time import DAY, HOUR


def scope_words(scope: Scope) -> str:
    """Say on which stores a claim is judged.

    Examples
    --------
    >>> scope_words(Scope(traces=("2011",), is_general=True))
    'of 2011, compared on any trace; all parts; ≥ 24 h; ≥ 1,000 tasks'
    """
    words = [_traces_in_words(scope)]
    if scope.is_whole:
        tables = f" of {', '.join(scope.tables)}" if scope.tables else ""
        words.append(f"all parts{tables}")
    if scope.span:
        is_short = scope.span <= 2 * DAY
        words.append(f"≥ {scope.span // HOUR} h" if is_short else f"≥ {scope.span // DAY} days")
    if scope.tasks:
        words.append(f"≥ {scope.tasks:,} tasks")
    return "; ".join(words)


def _traces_in_words(scope: Scope) -> str:
    if not scope.traces:
        return "any trace"
    compared = ", compared on any trace" if scope.is_general else ""
    return f"of {' and '.join(scope.traces)}{compared}"
