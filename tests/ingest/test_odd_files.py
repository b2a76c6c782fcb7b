"""One odd file among good ones is named with a reason and skipped; it never hangs, fills memory or ends the others."""

from __future__ import annotations

import gzip
import io
import json
import os
import random
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import borgtrace
from borgtrace.errors import SourceError
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.ingest.build.staging import stage
from borgtrace.ingest.files import streams
from borgtrace.ingest.find.recognition import classify
from borgtrace.ingest.read.number_reader import NotPlainNumbers, read_numbers
from borgtrace.store.verify import verify
from tests.ingest.raw import (
    USAGE,
    event_record,
    usage_record,
    write_cell,
    write_part,
    write_records,
)
from tests.ingest.staged_tables import read_part

ONE = IngestOptions(jobs=1)
TRACE = "a file of a published format, or a table with columns such as task, time and cpu"
NOISE = random.Random(5).randbytes(200_000)
# A line of each trace, so that only what comes after it is odd.
CSV, JSON = USAGE[0].encode() + b"\n", json.dumps(usage_record()).encode() + b"\n"


def _fifo(path: Path) -> None:
    os.mkfifo(path)


def _sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(20_000_000)


def _sparse_behind(line: bytes):
    def make(path: Path) -> None:
        with path.open("wb") as file:
            file.write(line)
            file.truncate(20_000_000)

    return make


def _loop(path: Path) -> None:
    path.symlink_to(path)


TOO_LONG = "a line is too long: expected lines of at most 16 MiB; remove it, or fetch it again"
TOO_NESTED = "damaged JSON file: expected a value that is less nested at character "
NO_TRACE = f"not part of a trace: expected {TRACE}, got "
WAY_OUT = (
    "borgtrace dialect list shows what is read, borgtrace dialect sniff FILE what a table may be"
)
ODD = {
    "gz of gz": (
        lambda p: p.write_bytes(gzip.compress(gzip.compress(CSV))),
        f"gzip inside gzip: expected {TRACE}; unpack it once",
    ),
    "random bytes": (lambda p: p.write_bytes(NOISE), NO_TRACE),
    "random bytes in gzip": (lambda p: p.write_bytes(gzip.compress(NOISE)), NO_TRACE),
    "carriage returns": (
        lambda p: p.write_bytes(CSV.replace(b"\n", b"\r") * 3),
        "lines end unlike any trace's: expected line feeds, got carriage returns alone; convert it: tr '\\r' '\\n'",
    ),
    "zeros": (_sparse, NO_TRACE + repr("\0" * 40 + "…") + "; " + WAY_OUT),
    "zeros in gzip": (
        lambda p: p.write_bytes(gzip.compress(bytes(20_000_000), 1)),
        NO_TRACE + repr("\0" * 40 + "…"),
    ),
    "a line, then zeros": (_sparse_behind(CSV), TOO_LONG),
    "a record, then zeros": (_sparse_behind(JSON), TOO_LONG),
    "a line, then zeros in gzip": (
        lambda p: p.write_bytes(gzip.compress(CSV + bytes(20_000_000), 1)),
        TOO_LONG,
    ),
    "a record, then zeros in gzip": (
        lambda p: p.write_bytes(gzip.compress(JSON + bytes(20_000_000), 1)),
        TOO_LONG,
    ),
    "deep JSON": (lambda p: p.write_text('{"a":' * 100_000 + "1" + "}" * 100_000), TOO_NESTED),
    "deep lists": (lambda p: p.write_text("[" * 300_000), TOO_NESTED),
    "a dangling link": (
        lambda p: p.symlink_to(p.with_name("nowhere")),
        "a link to a file that is not there; remove it, or correct it",
    ),
    "a link to itself": (
        _loop,
        "cannot be read (Too many levels of symbolic links); remove it, or correct it",
    ),
    "a pipe": (
        _fifo,
        f"not a file: expected {TRACE}, got a pipe; remove it, or name the file itself",
    ),
    "an empty folder": (
        lambda p: p.mkdir(),
        "an empty folder, named like a file; remove it, or fetch the file",
    ),
    "a parquet file of noise": (
        lambda p: p.write_bytes(b"PAR1" + NOISE + b"PAR1"),
        "damaged Parquet file; fetch it again",
    ),
    "a header too long": (lambda p: p.write_bytes(b"a" * 200_000 + b"\n"), NO_TRACE),
}


_EITHER = ("gz of gz", "zeros", "random bytes in gzip", "deep JSON", "a pipe", "an empty folder")
"""What is tried under the names of both traces; the others under the name of theirs alone."""


def _generations(odd: str) -> tuple[str, ...]:
    if odd in _EITHER:
        return ("2011", "2019")
    return ("2019",) if "record" in odd else ("2011",)


@pytest.mark.parametrize(
    ("odd", "generation"),
    [(odd, generation) for odd in ODD for generation in _generations(odd)],
)
def test_an_odd_file_is_named_and_the_others_go_in(
    tmp_path: Path,
    odd: str,
    generation: str,
) -> None:
    spoil, message = ODD[odd]
    if generation == "2011":
        write_part(tmp_path / "raw", "task_usage", USAGE)
        bad = tmp_path / "raw" / "task_usage" / "part-00001-of-00500.csv.gz"
    else:
        write_records(tmp_path / "raw", "instance_usage", [usage_record()])
        bad = tmp_path / "raw" / "instance_usage-000000000001.json.gz"
    spoil(bad)
    result = ingest([tmp_path / "raw"], tmp_path / "store", ONE)
    (fault,) = result.faults
    assert str(fault).startswith(f"{bad}: {message}")
    assert result.manifest is not None
    assert result.manifest.tables["instance_usage"] == 1
    assert all(check.holds for check in verify(tmp_path / "store"))
    assert not list((tmp_path / "store").rglob("*.incomplete"))
    with pytest.raises(SourceError) as alone:
        ingest([bad], tmp_path / "other", ONE)
    assert str(alone.value).startswith(f"{bad}: ")


def test_the_command_names_it_and_ends_with_3_as_for_a_truncated_file(
    command: Callable[..., list[str]],
    tmp_path: Path,
) -> None:
    write_cell(tmp_path / "raw")
    bad = tmp_path / "raw" / "task_usage" / "part-00001-of-00500.csv.gz"
    os.mkfifo(bad)
    words = command("ingest", tmp_path / "raw", "--store", tmp_path / "store")
    done = subprocess.run(
        words,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 3
    assert done.stdout.splitlines()[0] == "Read 6 files; 0 already in the store"
    assert done.stderr.splitlines()[-1] == (
        f"borgtrace: {bad}: not a file: expected {TRACE}, got a pipe; remove it, or name the file itself"
    )
    assert borgtrace.open(tmp_path / "store").manifest.tables["instance_usage"] == 1


def test_a_folder_that_contains_itself_is_walked_once(tmp_path: Path) -> None:
    write_cell(tmp_path / "raw")
    (tmp_path / "raw" / "task_usage" / "again").symlink_to(tmp_path / "raw")
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / "task_usage").symlink_to(tmp_path / "raw" / "task_usage")
    result = ingest([tmp_path / "raw"], tmp_path / "store", ONE)
    assert [str(fault) for fault in result.faults] == [
        f"{tmp_path}/raw/task_usage/again: a link to a folder that it is in; remove the link"
    ]
    assert result.manifest is not None
    assert result.manifest.tables["instance_usage"] == 1
    # A link elsewhere is a folder like any other.
    assert (
        len(
            ingest(
                [tmp_path / "linked" / "task_usage" / "part-00000-of-00500.csv.gz"],
                tmp_path / "b",
                ONE,
            ).staged
        )
        == 1
    )


def test_a_file_without_permission_is_named(python: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        write_cell(folder)
        bad = write_part(folder, "task_usage", USAGE, 1)
        bad.chmod(0)
        script = (
            "import os, sys; from pathlib import Path\n"
            "from borgtrace.ingest.find.discovery import discover\n"
            "os.seteuid(65534) if os.geteuid() == 0 else None\n"
            "found = discover([Path(sys.argv[3])])\n"
            "print(len(found.sources), *found.faults)"
        )
        answer = subprocess.run(
            [python, "-c", script, name],
            capture_output=True,
            text=True,
            check=True,
        )
        assert answer.stdout == f"6 {bad}: permission denied; make the file readable\n"


def test_the_account_of_a_synthetic_trace_that_is_none(tmp_path: Path) -> None:
    write_cell(tmp_path)
    for content in ("{", "[1]", "\0", "[" * 100_000):
        (tmp_path / "truth.json").write_text(content)
        with pytest.raises(SourceError) as caught:
            ingest([tmp_path], tmp_path / "store", ONE)
        assert str(caught.value) == (
            f"{tmp_path}/truth.json: not the account of a synthetic trace; "
            "correct it; remove it where the files beside it are a published trace"
        )


def test_damaged_pages_of_parquet_are_named(tmp_path: Path) -> None:
    path = tmp_path / "instance_usage-000000000000.parquet"
    record = usage_record()
    record |= {name: int(value) for name, value in record.items() if isinstance(value, str)}
    pq.write_table(pa.Table.from_pylist([record] * 5_000), path, compression="zstd")
    data = bytearray(path.read_bytes())
    data[4:-4000:7] = bytes(len(data[4:-4000:7]))
    path.write_bytes(data)
    with pytest.raises(SourceError) as caught:
        ingest([path], tmp_path / "store", ONE)
    assert str(caught.value) == f"{path}: damaged Parquet file; fetch it again"


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("extra", [0, 1])
@pytest.mark.parametrize("dirty", [False, True])
@pytest.mark.parametrize("kind", ["csv", "json"])
def test_the_longest_line(
    tmp_path: Path,
    monkeypatch,
    kind: str,
    dirty: bool,
    extra: int,
    compressed: bool,
) -> None:
    """A line of just the limit is a row, one byte more refuses the file, whichever reader comes to it."""
    if kind == "csv":
        name, good, wrong = "task_usage/part-00000-of-00500.csv", CSV[:-1], b"x" * 30
        # Digits, which any reader of numbers takes.
        longest = good.replace(b"0.0015", b"0.0015" + b"0" * 2000, 1)
    else:
        name, good, wrong = "instance_usage-000000000000.json", JSON[:-1], b"{}"
        longest = good[:1] + b" " * 2000 + good[1:]
    monkeypatch.setattr(streams, "LONGEST_LINE", len(longest) - extra)
    lines = [good] * 40 + [longest] + [wrong] * dirty + [good] * 40
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    data = b"\n".join(lines) + b"\n"
    path = path.with_name(path.name + ".gz") if compressed else path
    path.write_bytes(gzip.compress(data) if compressed else data)
    if extra:
        with pytest.raises(SourceError) as caught:
            stage(classify(path), tmp_path / "staging")
        assert str(caught.value) == f"{path}: {TOO_LONG}"
    else:
        entry = stage(classify(path), tmp_path / "staging")
        assert (entry.rows_in, entry.stored) == (81 + dirty, 81)


def test_line_ends_are_found_wherever_blocks_end(monkeypatch) -> None:
    generator = random.Random(3)
    monkeypatch.setattr(streams, "LONGEST_LINE", 50)
    for _ in range(1_000):
        lengths = [generator.randrange(45, 53) for _ in range(generator.randrange(5))]
        text, longest = b"".join(b"x" * n + b"\n" for n in lengths), max(lengths, default=0)
        found, at = streams.LineLengths(Path("file")), 0
        try:
            while at < len(text):
                size = generator.randrange(1, 200)
                found.look(text[at : at + size])
                at += size
        except SourceError:
            assert longest > 50
        else:
            assert longest <= 50


def _stored(path: Path, staging: Path) -> tuple[list[dict], list[dict]]:
    """Return the rows and the refused rows of a staged file."""
    stage(classify(path), staging)
    tables = [sorted(staging.glob(pattern)) for pattern in ("[im][na]*_*/*", "quarantine/*/*")]
    return tuple([row for part in parts for row in read_part(part).to_pylist()] for parts in tables)  # type: ignore[return-value]


def _both(folder: Path, make) -> tuple[list, list]:
    """Stage the same odd line in a clean file and in one with a line that must be refused; return its own outcome."""
    outcomes = []
    for dirty in (False, True):
        place = folder / f"dirty-{dirty}"
        place.mkdir()
        rows, refused = _stored(make(place, dirty), place / "staging")
        outcomes.append(
            (
                [
                    {k: v for k, v in row.items() if k != "source_part"}
                    for row in rows
                    if row.get("source_row", 0) == 0
                ],
                [(row["reason"], row["source_row"]) for row in refused if row["source_row"] == 0],
            )
        )
    return outcomes[0], outcomes[1]


GOOD = {
    "instance_usage": usage_record(),
    "instance_events": event_record(),
    "machine_attributes": {
        "time": "5",
        "machine_id": "7",
        "name": "a",
        "value": "b",
        "deleted": False,
    },
}
RECORDS = {
    "a flag as one": ("machine_attributes", {"deleted": 1}, "stored"),
    "a flag as zero": ("machine_attributes", {"deleted": 0}, "stored"),
    "a flag as two": ("machine_attributes", {"deleted": 2}, "unparsable_value"),
    "a flag as a fraction": ("machine_attributes", {"deleted": 0.5}, "unparsable_value"),
    "a flag as a word": ("machine_attributes", {"deleted": "true"}, "stored"),
    "a flag as yes": ("machine_attributes", {"deleted": "yes"}, "unparsable_value"),
    "a flag as t": ("machine_attributes", {"deleted": "t"}, "unparsable_value"),
    "a flag": ("machine_attributes", {"deleted": True}, "stored"),
    "true as an amount": ("instance_usage", {"assigned_memory": True}, "unparsable_value"),
    "false as an amount": ("instance_usage", {"page_cache_memory": False}, "unparsable_value"),
    "true as a nested amount": (
        "instance_usage",
        {"average_usage": {"cpus": True}},
        "unparsable_value",
    ),
    "true in a list": (
        "instance_usage",
        {"cpu_usage_distribution": [True] * 11},
        "unparsable_value",
    ),
    "true as an integer": ("instance_usage", {"machine_id": True}, "unparsable_value"),
    "a list with an unknown key": (
        "instance_events",
        {
            "constraint": [
                {
                    "name": "a",
                    "relation": "1",
                    "extra": "2",
                }
            ]
        },
        "stored",
    ),
    "a list": (
        "instance_events",
        {
            "constraint": [
                {
                    "name": "a",
                    "relation": "1",
                    "value": "2",
                }
            ]
        },
        "stored",
    ),
}


@pytest.mark.parametrize("case", RECORDS, ids=RECORDS)
def test_a_record_has_one_fate_in_clean_and_in_dirty_files(tmp_path: Path, case: str) -> None:
    table, changes, fate = RECORDS[case]
    record = GOOD[table]
    _check_records(tmp_path, table, json.dumps(record | changes), record, fate)


REPEATED = {
    "a nested key twice": ("instance_usage", '"cpus": 0.25', '"cpus": 0.25, "cpus": 0.5'),
    "a nested key twice, alike": ("instance_usage", '"cpus": 0.25', '"cpus": 0.25, "cpus": 0.25'),
    "a record twice": (
        "instance_usage",
        '"assigned_memory"',
        '"random_sample_usage": {}, "assigned_memory"',
    ),
    "a key of a list twice": (
        "instance_events",
        '"time"',
        '"constraint": [{"name": "a", "name": "b"}], "time"',
    ),
}


@pytest.mark.parametrize("case", REPEATED, ids=REPEATED)
def test_repeated_keys_are_refused_in_clean_and_in_dirty_files(tmp_path: Path, case: str) -> None:
    table, found, instead = REPEATED[case]
    record = usage_record() if table == "instance_usage" else event_record()
    text = json.dumps(record)
    assert found in text
    _check_records(tmp_path, table, text.replace(found, instead, 1), record, "wrong_column_count")


def _check_records(
    folder: Path,
    table: str,
    odd: str,
    good: dict,
    fate: str,
) -> None:
    def make(place: Path, dirty: bool) -> Path:
        return write_records(
            place,
            table,
            [
                odd,
                good,
                *["{}"] * dirty,
                good,
            ],
        )

    clean, dirty = _both(folder, make)
    assert clean == dirty
    assert clean[1] == ([] if fate == "stored" else [(fate, 0)])
    assert bool(clean[0]) == (fate == "stored")


def test_parquet_may_hold_unknown_fields_and_the_spelling_of_the_document(tmp_path: Path) -> None:
    record = usage_record(random_sample_usage={"cpus": 0.25})
    record |= {name: int(value) for name, value in record.items() if isinstance(value, str)}
    spelled = {k.replace("random_sample_", "random_sampled_"): v for k, v in record.items()}
    odd = {
        "column": record | {"instance_index": 1, "more": 1},
        "inside": record
        | {
            "instance_index": 2,
            "average_usage": {
                "cpus": 0.5,
                "memory": 0.25,
                "gpus": 1.0,
            },
        },
        "spelled": spelled | {"instance_index": 3},
        "plain": record | {"instance_index": 4},
    }
    for number, each in enumerate(odd.values()):
        pq.write_table(
            pa.Table.from_pylist([each]),
            tmp_path / f"instance_usage-{number:012d}.parquet",
        )
    ingest([tmp_path], tmp_path / "store", ONE)
    store = borgtrace.open(tmp_path / "store")
    rows = store.sql(
        "select instance_index, sampled_cpu from instance_usage order by 1"
    ).to_pylist()
    assert [(row["instance_index"], row["sampled_cpu"]) for row in rows] == [
        (n, 0.25) for n in (1, 2, 3, 4)
    ]
    counted = {
        entry.part: entry.counters.get("unknown_field", 0) for entry in store.manifest.sources
    }
    assert counted == {
        0: 1,
        1: 1,
        2: 0,
        3: 0,
    }


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("kind", ["numbers", "words", "json"])
def test_a_byte_order_mark_is_passed_over_in_clean_and_in_dirty_files(
    tmp_path: Path,
    kind: str,
    compressed: bool,
) -> None:
    names = {
        "numbers": ("task_usage/part-00000-of-00500.csv", CSV, b"x\n"),
        "words": (
            "task_events/part-00000-of-00500.csv",
            b"600000000,,10,0,5,1,user,3,9,0.125,0.07,0.0004,0\n",
            b"x\n",
        ),
        "json": ("instance_usage-000000000000.json", JSON, b"{}\n"),
    }
    name, line, wrong = names[kind]

    def make(place: Path, dirty: bool) -> Path:
        path = place / (name + ".gz" * compressed)
        path.parent.mkdir(exist_ok=True)
        data = b"\xef\xbb\xbf" + line * 2 + wrong * dirty
        path.write_bytes(gzip.compress(data) if compressed else data)
        return path

    clean, dirty = _both(tmp_path, make)
    assert clean == dirty
    assert (len(clean[0]), clean[1]) == (1, [])


def test_flags_are_no_plain_numbers() -> None:
    with pytest.raises(NotPlainNumbers):
        list(read_numbers(io.BytesIO(b"01\n"), {"flag": pa.bool_()}))


def test_names_that_are_patterns_or_quotes_are_read(tmp_path: Path) -> None:
    folder = tmp_path / "it's [a] *?"
    write_records(folder, "instance_usage", [usage_record()])
    (folder / "instance_usage-000000000000.json.gz").rename(folder / "x.json.gz")
    plain = folder / "x.json"
    plain.write_bytes(gzip.decompress((folder / "x.json.gz").read_bytes()))
    for path in (folder / "x.json.gz", plain):
        assert stage(classify(path), tmp_path / path.name).stored == 1
