"""Small sound files with one thing wrong: read right, in quarantine, or refused in words; never another error.

Each file of each trace format is changed in ways that files of the world are: bytes flipped, lines cut, fields dropped
or doubled, other encodings, line ends and marks. What a change did not touch must be stored as before.
"""

from __future__ import annotations

import gzip
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from borgtrace.errors import BorgtraceError, SourceError, UsageError
from borgtrace.ingest.build.staging import stage_all
from borgtrace.ingest.find.raw_files import read_declaration
from borgtrace.ingest.find.recognition import classify
from borgtrace.ingest.find.sniffing import sniff
from borgtrace.schema.dialects import declare
from tests.ingest.sample_files import DECLARATIONS, SampleTable, sample_dialects, sample_tables

pytestmark = pytest.mark.wide

N_ROWS = 6
N_IN_MAKE_TEST = 40
N_AT_SCALE = 4_000

Mutation = Callable[[random.Random, bytes], bytes]


def _flip_bytes(rng: random.Random, content: bytes) -> bytes:
    changed = bytearray(content)
    for _ in range(rng.choice((1, 1, 2, 8))):
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _random_bytes(rng: random.Random, content: bytes) -> bytes:
    place = rng.randrange(len(content))
    return content[:place] + rng.randbytes(rng.randrange(1, 9)) + content[place:]


def _cut(rng: random.Random, content: bytes) -> bytes:
    return content[: rng.randrange(1, len(content))]


def _lose_a_piece(rng: random.Random, content: bytes) -> bytes:
    first, last = sorted(rng.randrange(len(content)) for _ in range(2))
    return content[:first] + content[last:]


def _double_a_piece(rng: random.Random, content: bytes) -> bytes:
    first, last = sorted(rng.randrange(len(content)) for _ in range(2))
    return content[:last] + content[first:]


def _change_a_line(rng: random.Random, content: bytes) -> bytes:
    lines = content.split(b"\n")
    place = rng.randrange(len(lines))
    fields = lines[place].split(b",")
    field = rng.randrange(len(fields))
    if rng.random() < 0.5:
        del fields[field]
    else:
        fields.insert(field, fields[field])
    lines[place] = b",".join(fields)
    return b"\n".join(lines)


def _insert_marks(rng: random.Random, content: bytes) -> bytes:
    marks = (
        b"\0",
        b'"',
        b"\r",
        b"\n",
        b"\x1a",
        b"\xff\xfe",
        b"\xef\xbb\xbf",
        b"\xc3",
        b"'",
        b"{",
        b"[" * 2000,
    )
    place = rng.randrange(len(content))
    return content[:place] + rng.choice(marks) + content[place:]


def _other_encoding(rng: random.Random, content: bytes) -> bytes:
    text = content.decode("latin-1")
    return rng.choice(
        (
            text.encode("utf-16"),
            text.encode("utf-16-le"),
            text.encode("utf-32"),
            b"\xef\xbb\xbf" + content,
            text.replace("1", "é", 3).encode("latin-1"),
        )
    )


def _other_line_ends(rng: random.Random, content: bytes) -> bytes:
    return content.replace(b"\n", rng.choice((b"\r\n", b"\r", b"\n\n", b"\n\r")))


def _compress(rng: random.Random, content: bytes) -> bytes:
    packed = gzip.compress(content)
    return rng.choice(
        (packed, packed[:-5], packed + b"x", packed + packed, _flip_bytes(rng, packed))
    )


MUTATIONS: tuple[Mutation, ...] = (
    _flip_bytes,
    _random_bytes,
    _cut,
    _lose_a_piece,
    _double_a_piece,
    _change_a_line,
    _insert_marks,
    _other_encoding,
    _other_line_ends,
    _compress,
)


def _rows(parts: list[Path]) -> Counter[str]:
    """Return stored rows without their places."""
    found: Counter[str] = Counter()
    for part in parts:
        for row in pq.read_table(part).to_pylist():
            row.pop("source_row")
            found[repr(row)] += 1
    return found


def _read(
    folder: Path, sample: SampleTable, content: bytes
) -> tuple[Counter[str], int] | BorgtraceError:
    """Return the stored rows of a file and the number of refused ones, or why it was refused."""
    folder.mkdir(parents=True)
    path = folder / sample.file_name
    path.write_bytes(content)
    try:
        source = classify(path, "a" if sample.format == "kaggle" else "", only=sample.dialect)
        ((_, outcome),) = stage_all([source], folder / "staging", 1)
    except (SourceError, UsageError) as error:
        return error
    if isinstance(outcome, SourceError):
        return outcome
    stored = _rows(list((folder / "staging" / outcome.table).glob("*.parquet")))
    if sample.format != "kaggle":
        assert outcome.rows_in == stored.total() + outcome.quarantined
    return stored, outcome.quarantined


def _n_lines_changed(before: bytes, after: bytes) -> int:
    """Return how many lines of a text are not in another, at most."""
    return (Counter(before.split(b"\n")) - Counter(after.split(b"\n"))).total()


def check_mutations(folder: Path, n_tried: int, seed: int) -> Counter[str]:
    """Read files with something wrong; return how many ended in which way."""
    rng = random.Random(seed)
    samples = [sample for name in sample_dialects() for sample in sample_tables(name)]
    outcomes: Counter[str] = Counter()
    sound_of: dict[int, Counter[str]] = {}
    for number in range(n_tried):
        place = rng.randrange(len(samples))
        sample = samples[place]
        sound = sample.content([sample.row(row) for row in range(1, N_ROWS + 1)])
        if place not in sound_of:
            found = _read(folder / f"sound-{place}", sample, sound)
            assert not isinstance(found, BorgtraceError)
            sound_of[place] = found[0]
        mutation = rng.choice(MUTATIONS)
        content = mutation(rng, sound)
        result = _read(folder / str(number), sample, content)
        case = (number, sample.dialect.name, sample.file_name, mutation.__name__)
        if isinstance(result, BorgtraceError):
            assert result.where, case
            outcomes["refused"] += 1
            continue
        stored, n_refused = result
        outcomes["rows refused" if n_refused else "read"] += 1
        is_text = sample.format in ("csv", "json", "swf")
        is_by_line = mutation in (_change_a_line, _flip_bytes, _random_bytes, _cut)
        # A column of another name is another column: without it, each row has one value less.
        has_same_start = content.split(b"\n")[0] == sound.split(b"\n")[0]
        if is_text and is_by_line and has_same_start:
            n_lost = (sound_of[place] - stored).total()
            # A line break that was changed joins two lines.
            assert n_lost <= _n_lines_changed(sound, content) + 1, (case, n_lost)
    return outcomes


def test_files_with_something_wrong(tmp_path: Path) -> None:
    outcomes = check_mutations(tmp_path, N_IN_MAKE_TEST, seed=37)
    assert outcomes.total() == N_IN_MAKE_TEST
    assert len(outcomes) == 3


@pytest.mark.scale
@pytest.mark.parametrize("seed", range(10))
def test_many_files_with_something_wrong(tmp_path: Path, seed: int) -> None:
    outcomes = check_mutations(tmp_path, N_AT_SCALE // 10, seed)
    print(outcomes)
    assert outcomes.total() == N_AT_SCALE // 10


def _in_words(action: Callable[[], Any]) -> bool:
    """Whether something works; an error must be one of ours."""
    try:
        action()
    except BorgtraceError:
        return False
    return True


@pytest.mark.parametrize("n_tried", [30, pytest.param(1_000, marks=pytest.mark.scale)])
def test_declarations_with_something_wrong(tmp_path: Path, n_tried: int) -> None:
    rng = random.Random(37)
    texts = [text.encode() for text in DECLARATIONS.values()]
    path = tmp_path / "own.toml"

    def read() -> None:
        declare(read_declaration(path), str(path))

    n_read = 0
    for _ in range(n_tried):
        path.write_bytes(rng.choice(MUTATIONS)(rng, rng.choice(texts)))
        n_read += _in_words(read)
    assert 0 < n_read < n_tried


@pytest.mark.parametrize("n_tried", [12, pytest.param(500, marks=pytest.mark.scale)])
def test_sniffing_what_has_something_wrong(tmp_path: Path, n_tried: int) -> None:
    rng = random.Random(37)
    samples = [
        sample
        for name in DECLARATIONS
        for sample in sample_tables(name)
        if sample.raw.name == "usage"
    ]
    for number in range(n_tried):
        sample = rng.choice(samples)
        sound = sample.content([sample.row(row) for row in range(1, N_ROWS + 1)])
        path = tmp_path / f"{number}-{sample.file_name}"
        path.write_bytes(rng.choice(MUTATIONS)(rng, sound))
        _in_words(lambda path=path: sniff(path).text())


def test_a_header_that_names_a_column_twice(tmp_path: Path) -> None:
    path = tmp_path / "usage-000000000000.csv"
    path.write_text("task,time,cpu,cpu\na,0,1,2\n")
    with pytest.raises(SourceError) as caught:
        classify(path, only=sample_dialects()["own-averages"])
    assert str(caught.value) == (
        f"{path}: two columns have one name: got cpu; rename or remove one of them"
    )


def test_a_flattened_file_without_rows(tmp_path: Path) -> None:
    sample = sample_tables("kaggle-2019")[0]
    header = sample.content([sample.row(1)]).split(b"\n")[0] + b"\n"
    found = _read(tmp_path / "header", sample, header)
    assert isinstance(found, SourceError)
    assert str(found).endswith(".csv: no rows; fetch it again")
