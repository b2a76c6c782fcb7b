"""Lines with one fault each: every row is stored as it stands in the file, or refused with a reason.

Which of the two is right is decided here by Python's own readers, and not by the code under test.
"""

from __future__ import annotations

import csv
import random
import re

import pyarrow.parquet as pq
import pytest

from tests.ingest.own_data import AVERAGES, ingest_own, rows

NUMBER = re.compile(r"[ \t]*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?[ \t]*")
ALPHABET = '0123456789.,-+eE" xn\t;'


def _mutated(rng, line):
    """Change, remove or add one character."""
    place = rng.randrange(len(line))
    after = place + rng.choice((0, 1))
    return line[:place] + rng.choice(("", rng.choice(ALPHABET))) + line[after:]


def _expected(line):
    """Return (task, start in µs, cores) of a line that is right, else None."""
    if not re.fullmatch(r'(("([^"]|"")*"|[^",]*),)+', line + ","):
        return None
    fields = next(csv.reader([line]), [])
    # Blanks around a name are no part of it.
    if len(fields) != 3 or not fields[0].strip() or not NUMBER.fullmatch(fields[1]):
        return None
    time, cpu = float(fields[1]), float(fields[2]) if NUMBER.fullmatch(fields[2]) else None
    if (fields[2] and cpu is None) or time < 0 or (cpu or 0) < 0 or time * 1e6 >= 2**63:
        return None
    return fields[0].strip(), round(time * 1e6), cpu


@pytest.mark.parametrize("n_lines", [300, pytest.param(1_000, marks=pytest.mark.scale)])
def test_each_line_is_stored_right_or_refused(tmp_path, n_lines):
    rng = random.Random(14)
    lines = [
        _mutated(rng, f"{1000 + n},{300 * n},{rng.randrange(1, 80) / 10}") for n in range(n_lines)
    ]
    store = ingest_own(tmp_path, AVERAGES, {"own.csv": "task,time,cpu\n" + "\n".join(lines) + "\n"})
    right = {n: found for n, line in enumerate(lines) if (found := _expected(line))}
    (kept,) = (tmp_path / "store" / "quarantine").rglob("*.parquet")
    refused = {row["source_row"]: row["raw"] for row in pq.read_table(kept).to_pylist()}
    assert refused == {n: line for n, line in enumerate(lines) if n not in right}
    assert 0.2 < len(refused) / n_lines < 0.8
    names = dict(
        rows(
            store,
            "collection_events",
            "collection_id, any_value(collection_name)",
            "true group by 1",
        )
    )
    stored = {
        row: (names[task], start - 600_000_000, cpu)
        for row, task, start, cpu in rows(
            store,
            "instance_usage",
            "source_row, collection_id, start_time, average_cpu::double * 8",
        )
    }
    assert stored.keys() == right.keys()
    for row, (task, start, cpu) in right.items():
        assert stored[row][:2] == (task, start), lines[row]
        close = cpu is None or abs(stored[row][2] - cpu) <= 1e-6 * cpu
        assert close, lines[row]
        assert (stored[row][2] is None) == (cpu is None), lines[row]
