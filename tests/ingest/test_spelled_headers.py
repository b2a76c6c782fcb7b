"""Published names above the rows of tables that have none, as people spell them: each table of 2011, each spelling."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from borgtrace.ingest.find.recognition import classify
from borgtrace.schema.dialects import GOOGLE_2011


def _with_underscores(name: str) -> str:
    return re.sub(r"[ /]+", "_", name)


def _in_camel_case(name: str) -> str:
    first, *others = name.replace("/", "").split()
    return first.lower() + "".join(word.capitalize() for word in others)


_SPELLINGS: dict[str, Callable[[str], str]] = {
    "published": str,
    "underscores": _with_underscores,
    "small": lambda name: _with_underscores(name).lower(),
    "camel case": _in_camel_case,
    "dashes": lambda name: name.replace(" ", "-").upper(),
    "a timestamp": lambda name: "timestamp" if name == "time" else name,
}


@pytest.mark.parametrize("spelling", list(_SPELLINGS))
@pytest.mark.parametrize("table", list(GOOGLE_2011.tables))
def test_a_header_of_published_names_is_known_in_any_spelling(tmp_path, table, spelling):
    names = GOOGLE_2011.tables[table].names
    path = tmp_path / "some.csv"
    header = ",".join(_SPELLINGS[spelling](name) for name in names)
    path.write_text(header + "\n" + "1," * (len(names) - 1) + "1\n")
    source = classify(path)
    assert (source.dialect.name, source.table) == (GOOGLE_2011.name, table)
    assert source.has_header
    assert source.order == tuple(names)


def test_fields_keep_their_places(tmp_path):
    names = list(reversed(GOOGLE_2011.tables["task_usage"].names))
    path = tmp_path / "some.csv"
    path.write_text(
        ",".join(map(_with_underscores, names)) + "\n" + "1," * (len(names) - 1) + "1\n"
    )
    assert classify(path).order == tuple(names)
