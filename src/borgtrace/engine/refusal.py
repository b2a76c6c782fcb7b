"""Why Spark gave a task up, in one line."""

import re
from pathlib import Path

from borgtrace.errors import EngineError
from borgtrace.schema.data_files import read_rows

_REFUSALS = read_rows(Path(__file__).with_name("refusals.csv"))
_LAST_LINE = re.compile(r"^(?:\w+\.)*(\w+(?:Error|Exception|Exit|Interrupt): .*)$", re.MULTILINE)
"""How a traceback of Python ends."""
IN_BUCKET = "borgtrace.errors.StoreError: "
"""What a task raises of a bucket."""


def refusal(url: str, text: str) -> EngineError:
    """Say in one line why Spark gave a task up.

    Parameters
    ----------
    url
        The master.
    text
        What Spark says, a page of Java with maybe a traceback of Python in it.
    """
    raised = _LAST_LINE.findall(text)
    got = raised[-1] if raised else text.rpartition("most recent failure: ")[2].partition("\n")[0]
    # The last one is in every text.
    known = next(row for row in _REFUSALS if row["sign"] in text)
    return EngineError(url, known["what"], got=got, way_out=known["way_out"])
