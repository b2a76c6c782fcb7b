"""Each row of the page about kinds of files is true: read as it says, or refused with its sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from borgtrace.errors import BorgtraceError
from borgtrace.ingest.find.raw_files import find_raw_files
from tests.ingest.input_kinds import KINDS, InputKind


def _entry(declaration: dict[str, Any], path: str) -> Any:
    entry: Any = declaration
    for name in path.split("."):
        entry = entry[name]
    return entry


@pytest.mark.parametrize("kind", KINDS, ids=[kind.title for kind in KINDS])
def test_a_kind_of_file_is_read_or_refused_as_its_page_says(
    tmp_path: Path, kind: InputKind
) -> None:
    path = tmp_path / kind.name
    path.write_bytes(kind.content if isinstance(kind.content, bytes) else kind.content.encode())
    if kind.refusal:
        with pytest.raises(BorgtraceError) as error:
            find_raw_files([path])
        assert kind.refusal in str(error.value)
        # The way out.
        assert "; " in str(error.value)
        return
    declaration = find_raw_files([path]).declaration
    assert declaration is not None
    assert {entry: _entry(declaration, entry) for entry in kind.reads} == kind.reads


def test_each_kind_says_what_becomes_of_it() -> None:
    assert len({kind.title for kind in KINDS}) == len(KINDS)
    for kind in KINDS:
        assert bool(kind.reads) != bool(kind.refusal), kind.title
