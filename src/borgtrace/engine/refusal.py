"""Say in one line why Spark gave a task up."""

import re
from typing import NamedTuple

from borgtrace.errors import EngineError

_LAST_LINE = re.compile(r"^(?:\w+\.)*(\w+(?:Error|Exception|Exit|Interrupt): .*)$", re.MULTILINE)
"""How a traceback of Python ends."""
IN_BUCKET = "borgtrace.errors.StoreError: "
"""Begins the error that a task raises about a bucket."""


class Cause(NamedTuple):
    """A cause that a sign in Spark's text reveals, and the way out."""

    sign: str
    what: str
    way_out: str


CAUSES = [
    Cause(
        "PYTHON_VERSION_MISMATCH",
        what="workers run another version of Python",
        way_out="set PYSPARK_PYTHON to the path of this version on the workers",
    ),
    Cause(
        "No module named",
        what="workers lack a package",
        way_out="install borgtrace and pyspark on each of them, or ship an environment",
    ),
    Cause(
        "InvalidClassException",
        what="workers run another version of Spark",
        way_out="install pyspark of the version that the master has",
    ),
    Cause(
        "borgtrace.errors.StoreError",
        what="a task could not read a bucket",
        way_out="give the workers the credentials that the driver has in its environment",
    ),
]
_ANOTHER_CAUSE = Cause("", what="a task failed", way_out="the log of the executor says more")


def refusal(url: str, text: str) -> EngineError:
    """Return the error that says in one line why Spark gave a task up.

    Parameters
    ----------
    url
        The master.
    text
        Spark's own account: a page of Java, perhaps with a traceback of Python in it.
    """
    raised = _LAST_LINE.findall(text)
    if raised:
        got = raised[-1]
    else:
        _, _, failure = text.rpartition("most recent failure: ")
        got, _, _ = failure.partition("\n")
    cause = next((cause for cause in CAUSES if cause.sign in text), _ANOTHER_CAUSE)
    return EngineError(
        url,
        cause.what,
        got=got,
        way_out=cause.way_out,
    )
