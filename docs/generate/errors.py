"""Errors: what borgtrace refuses, and the exit code of each."""

from __future__ import annotations

import borgtrace.errors
from borgtrace.errors import BorgtraceError
from generate.text import docstring, first_sentence, table

INTRO = """# Errors

Whatever borgtrace refuses is a `BorgtraceError`. Its message reads *where: what: expected …, got …; the way
out*, and the command line prints it as one line on stderr and ends with the exit code of its kind. Ctrl-C ends
with 130.
"""


def kinds() -> list[type[BorgtraceError]]:
    """Return all kinds of error, by exit code."""
    found = [kind for kind in vars(borgtrace.errors).values() if isinstance(kind, type)]
    return sorted((kind for kind in found if issubclass(kind, BorgtraceError)), key=lambda kind: kind.exit_code)


def page() -> str:
    """Return the page."""
    rows = [[f"`{kind.__name__}`", str(kind.exit_code), first_sentence(kind)] for kind in kinds()]
    return "\n".join(
        [INTRO, table(["error", "exit code", "meaning"], rows), "## The base\n", docstring(BorgtraceError)]
    )
