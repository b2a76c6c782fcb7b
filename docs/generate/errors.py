"""Errors: what borgtrace refuses, and the exit code of each."""

from __future__ import annotations

import borgtrace.errors
from borgtrace.errors import BorgtraceError
from generate.text import docstring, first_sentence, table

INTRO = """# Errors

All errors are subclasses of `BorgtraceError`. A message reads *where: what: expected …, got …; what to do*. The
command line prints it as one line on stderr and exits with the code of its class. Ctrl-C exits with 130.
"""


def kinds() -> list[type[BorgtraceError]]:
    """Return all kinds of error, by exit code."""
    found = [kind for kind in vars(borgtrace.errors).values() if isinstance(kind, type)]
    return sorted(
        (kind for kind in found if issubclass(kind, BorgtraceError)),
        key=lambda kind: kind.exit_code,
    )


def page() -> str:
    """Return the page."""
    rows = [[f"`{kind.__name__}`", str(kind.exit_code), first_sentence(kind)] for kind in kinds()]
    return "\n".join(
        [
            INTRO,
            table(["error", "exit code", "meaning"], rows),
            "## The base\n",
            docstring(BorgtraceError),
        ]
    )
