"""Each row of the tables about Prometheus in the documentation, with a file for which it says what becomes of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

import borgtrace
from borgtrace.errors import BorgtraceError
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.store import Store
from tests.ingest.kinds.series import EXAMPLES, FILES, LABELS_OF_SERIES
from tests.ingest.prometheus_files import core_seconds, left_out

OUTCOMES = FILES | LABELS_OF_SERIES


def test_every_row_has_a_file_and_every_file_a_row() -> None:
    assert OUTCOMES.keys() == EXAMPLES.keys()


def _ingested(folder: Path, texts: Sequence[str | bytes]) -> Store:
    paths = []
    for number, text in enumerate(texts):
        path = folder / f"file-{number}.json"
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        paths.append(path)
    ingest(paths, folder / "store", IngestOptions(jobs=1, capacity="8cores,32GiB"))
    return borgtrace.open(folder / "store")


CASES = [(row, number) for row, examples in EXAMPLES.items() for number in range(len(examples))]


@pytest.mark.parametrize(("row", "number"), CASES)
def test_a_row_says_what_becomes_of_a_file(tmp_path: Path, row: str, number: int) -> None:
    outcome = OUTCOMES[row]
    example = EXAMPLES[row][number]
    if outcome.startswith("refused: "):
        with pytest.raises(BorgtraceError) as caught:
            _ingested(tmp_path, example.texts)
        assert outcome.removeprefix("refused: ") in str(caught.value)
        assert not (tmp_path / "store").exists()
        return
    store = _ingested(tmp_path, example.texts)
    assert core_seconds(store) == example.used
    reason = re.search(r"as `(\w+)`", outcome)
    if reason:
        assert left_out(store)[reason[1]] == example.counted
    if outcome.startswith("that sample is refused"):
        assert sum(entry.quarantined for entry in store.manifest.sources) == example.counted
