"""A row of a flattened file, rewritten as the nested records it was joined from."""

import json
import re
from collections.abc import Mapping

from borgtrace.schema import RawTable
from borgtrace.schema.dialects import Flattened

# What a printed dict or numpy list writes otherwise than JSON: a text, a missing value, 1. for 1.0, and no commas.
_OTHERWISE = re.compile(
    r"""'[^']*'|"[^"]*"|\bNone\b|\bnan\b|(?<=[0-9])\.(?=[\s,\]])|(?<=[0-9.e])\s+(?=[-+0-9.])|\}\s+\{"""
)
_NUMBER = re.compile(r"[+-]?[0-9]+(\.0)?")


def record_of(flattened: Flattened, raw: RawTable, row: Mapping[str, str]) -> str:
    """Return the JSON of the record of `raw` that a flattened row carries.

    What cannot be rewritten is left as it is: the checks then refuse it with a reason.

    Parameters
    ----------
    flattened
        How the file joins its tables.
    raw
        The raw table whose record is wanted.
    row
        Texts of a row by the names in the header.

    Examples
    --------
    >>> from borgtrace.schema.dialects import KAGGLE_2019
    >>> record_of(KAGGLE_2019.flattened, KAGGLE_2019.tables["collection_events"],
    ...           {"time": "5", "collections_events_type": "3", "scheduler": "1.0"})
    '{"time":"5","type":"3","scheduler":"1"}'
    """
    parts = []
    for name in raw.names:
        column = flattened.renamed.get((raw.name, name), name)
        text = row.get(column) or ""
        if text and name in flattened.literals:
            parts.append(f'"{name}":{_literal(text)}')
        elif text or column != name:
            # A column that was renamed is always there: where it is empty, the row is refused.
            parts.append(f'"{name}":{json.dumps(_whole(text))}')
    return "{" + ",".join(parts) + "}"


def _whole(text: str) -> str:
    """Undo the ``.0`` that pandas gave to integer columns with missing values."""
    return text.removesuffix(".0") if _NUMBER.fullmatch(text) else text


def _literal(text: str) -> str:
    """Turn a printed Python dict or numpy list into JSON.

    A ``nan`` in a dict is a missing value.  In a list of percentiles it is no value: the row is refused, like every
    list with a hole (none of 354,953 real rows has a ``nan`` there; a window without percentiles has an empty list).
    """
    return _OTHERWISE.sub(_in_json, text.strip())


def _in_json(found: re.Match[str]) -> str:
    text = found[0]
    # Whole, so that "nan" in the middle of a hash stays what it is.
    if text[0] in "'\"":
        return json.dumps(text[1:-1])
    return {"None": "null", "nan": "null", ".": ".0"}.get(text, "},{" if text[0] == "}" else ",")
