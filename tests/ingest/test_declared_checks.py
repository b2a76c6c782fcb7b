"""Lines with random faults of every declared kind: what is stored, refused and counted is what a plain judge says."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

import pytest

from borgtrace.ingest import IngestOptions, ingest
from tests.ingest import declared_2011
from tests.ingest.declared_2011 import CANONICAL, CODES, count_odd, fields_of, judge
from tests.ingest.outcomes import SPELLINGS, declared_reasons, differences
from tests.ingest.raw import HASH

Pick = random.Random
# What is no text.
_SPELLINGS = [
    *SPELLINGS,
    "\udcff",
    "\0",
    "�",
]


def _right(kind: str, pick: Pick) -> str:
    """Return a text that the trace could hold."""
    if kind == "amount":
        return pick.choice(
            [
                "",
                "0",
                f"{pick.random():.4g}",
                f"{pick.random() / 1000:.3e}",
            ]
        )
    if kind in CODES:
        return str(pick.randrange(len(CODES[kind])))
    texts = {
        "time": pick.choice(["0", str(pick.randrange(10**12)), str(2**63 - 1)]),
        "id": str(pick.randrange(1, 10**10)),
        "index": str(pick.randrange(12)),
        "class": str(pick.randrange(4)),
        "flag": pick.choice("01"),
        "value": pick.choice(["", "5", HASH]),
    }
    return texts.get(kind, HASH)


def _line(table: str, pick: Pick) -> list[str]:
    fields = [_right(kind, pick) for _, kind, _ in fields_of(table)]
    if table == "task_usage":
        start = pick.randrange(10**12)
        # Rarely longer than a window may be, before the start, or without an end.
        length = pick.choice([300_000_000] * 8 + [1, 0, 300_000_001, -1])
        fields[:2] = [str(start), str(start + length) if pick.random() < 0.97 else str(2**64 - 1)]
        # Rates on both sides of 1, and of their maxima.
        for place in (5, 13, 19):
            fields[place] = pick.choice([fields[place], f"{pick.random() * 1.2:.3g}"])
    return fields


def _faulty(fields: list[str], pick: Pick) -> str:
    """Spoil one or two fields, or the line as a whole."""
    for _ in range(pick.choice([1, 1, 1, 2])):
        fields[pick.randrange(len(fields))] = pick.choice(_SPELLINGS)
    line = ",".join(fields)
    others: list[Callable[[], str]] = [
        lambda: f"{line},",
        lambda: line.rpartition(",")[0],
        lambda: f"{line}\r",
        lambda: f"{line}\r{line}",
        lambda: pick.choice(
            [
                "",
                ",",
                "\r",
                "x",
                "," * (len(fields) - 1),
            ]
        ),
    ]
    return pick.choice(others)() if pick.random() < 0.1 else line


def _files(
    table: str,
    large: int,
    lines: int,
    small: int,
    pick: Pick,
) -> Iterable[list[bytes]]:
    """Yield the lines of files: `large` ones full of faults, and `small` ones with a single doubtful line.

    One line that must be refused sends a file to the validating reader; what the fast readers make of an odd spelling
    shows only where it stands alone.
    """
    for number in range(large + small):
        rows = [",".join(_line(table, pick)) for _ in range(lines if number < large else 20)]
        # The first line tells which table a file is of: it stays right.
        for place in range(1, len(rows)) if number < large else [pick.randrange(1, 20)]:
            if number >= large or pick.random() < 0.5:
                rows[place] = _faulty(rows[place].split(","), pick)
        yield [row.encode("utf-8", "surrogateescape") for row in rows]


def _write(folder: Path, files: dict[str, list[list[bytes]]]) -> None:
    for table, parts in files.items():
        (folder / table).mkdir(parents=True)
        for number, lines in enumerate(parts):
            (folder / table / f"part-{number:05d}-of-00500.csv").write_bytes(
                b"".join(line + b"\n" for line in lines)
            )


def _compare_2011(
    folder: Path,
    large: int,
    lines: int,
    small: int,
) -> tuple[int, list[str], Counter[str]]:
    pick = random.Random(11)
    files = {
        table: list(_files(table, large, lines, small, pick)) for table in declared_2011.FIELDS
    }
    _write(folder / "raw", files)
    ingest([folder / "raw"], folder / "store", IngestOptions(jobs=1))
    seen: Counter[str] = Counter()
    found = [
        each
        for table, parts in files.items()
        for each in differences(
            folder / "store",
            table,
            parts,
            partial(judge, table),
            count_odd,
            seen,
        )
    ]
    return sum(len(lines) for parts in files.values() for lines in parts), found, seen


@pytest.mark.wide
def test_lines_of_2011_are_judged_as_declared(tmp_path: Path) -> None:
    _, found, seen = _compare_2011(tmp_path, 1, 200, 10)
    assert not found, "\n".join(found[:20])
    # 2011 has no lists.
    assert (
        declared_reasons(CANONICAL.values()) - {"percentiles_empty", "percentiles_unordered"}
        <= seen.keys()
    )


@pytest.mark.scale
def test_sixty_thousand_lines_of_2011_are_judged_as_declared(tmp_path: Path) -> None:
    lines, found, seen = _compare_2011(tmp_path, 8, 1000, 100)
    print(f"{lines:,} lines, {len(found)} differences; {dict(seen)}")
    assert lines == 60_000
    assert not found, "\n".join(found[:20])
