"""Statements that exhaust time or memory, and what a command takes for one of them."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.engine.test_stoppable import ENDLESS

OTHER_TABLES = ", ".join(f"range(1000) AS t{n}(a{n})" for n in range(8))
FACTORIAL = " * ".join("x::DOUBLE" for _ in range(20_000))

ROWS = {
    "cross join of two ranges": ENDLESS,
    "cross join of eight ranges": f"SELECT count(*) FROM {OTHER_TABLES} WHERE hash(a0 + a7) = 7",
    "cross join, all rows": "SELECT * FROM range(1000000) AS a(n), range(1000000) AS b(m)",
    "a long range": "SELECT sum(hash(n)) FROM range(1000000000000) AS t(n)",
    "a long series": "SELECT count(DISTINCT n) FROM generate_series(1, 1000000000000) AS t(n)",
    "recursion without end": (
        "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT max(n) FROM t"
    ),
    "recursion that doubles": (
        "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n FROM t, range(2)) SELECT count(*) FROM t"
    ),
    "recursion that grows a text": (
        "WITH RECURSIVE t(s) AS (SELECT 'x' UNION ALL SELECT s || s FROM t) SELECT max(length(s)) FROM t"
    ),
    "sorting a cross join": (
        "SELECT n, m FROM range(100000) AS a(n), range(100000) AS b(m) ORDER BY hash(n, m) LIMIT 5 OFFSET 1000000000"
    ),
    "grouping a cross join": (
        "SELECT count(*) FROM (SELECT n, m FROM range(100000) AS a(n), range(100000) AS b(m) GROUP BY ALL)"
    ),
    "distinct values of a cross join": (
        "SELECT count(DISTINCT hash(n, m)) FROM range(100000) AS a(n), range(100000) AS b(m)"
    ),
    "a window over a cross join": (
        "SELECT max(r) FROM (SELECT row_number() OVER (ORDER BY hash(n, m)) AS r "
        "FROM range(100000) AS a(n), range(100000) AS b(m))"
    ),
    "a quadratic window": (
        "SELECT sum(q) FROM (SELECT mode(hash(n)) OVER (ORDER BY n ROWS BETWEEN 1000000 PRECEDING "
        "AND 1000000 FOLLOWING) AS q FROM range(3000000) AS t(n))"
    ),
    "exact quantiles of a cross join": (
        "SELECT quantile_cont(n * m, 0.5) FROM range(100000) AS a(n), range(100000) AS b(m)"
    ),
    "a join on inequalities": (
        "SELECT count(*) FROM range(10000000) AS a(n), range(10000000) AS b(m) WHERE n < m AND hash(n) > hash(m)"
    ),
    "a correlated subquery": (
        "SELECT sum((SELECT count(*) FROM range(100000000) AS b(m) WHERE hash(m) > hash(a.n))) "
        "FROM range(100000) AS a(n)"
    ),
    "a lateral join": (
        "SELECT count(*) FROM range(10000000) AS a(n), LATERAL (SELECT unnest(range(a.n))) AS b(m)"
    ),
    "a list of all rows": "SELECT list(n) FROM range(10000000000) AS t(n)",
    "a text of all rows": "SELECT string_agg(n::VARCHAR, ',') FROM range(10000000000) AS t(n)",
    "a histogram of all rows": "SELECT histogram(n) FROM range(10000000000) AS t(n)",
    "a map of all rows": "SELECT map_from_entries(list((n, n))) FROM range(1000000000) AS t(n)",
    "a pivot of many columns": (
        "PIVOT (SELECT n, n % 3000 AS k FROM range(100000000) AS t(n)) ON k IN ("
        + ", ".join(map(str, range(3000)))
        + ") USING sum(n) GROUP BY n"
    ),
    "grouping sets": (
        "SELECT count(*) FROM (SELECT "
        + ", ".join(f"n % {k} AS g{k}" for k in range(2, 13))
        + " FROM range(100000000) AS t(n)) GROUP BY CUBE ("
        + ", ".join(f"g{k}" for k in range(2, 13))
        + ")"
    ),
    "unnesting a list of lists": (
        "SELECT count(*) FROM (SELECT unnest(range(1000000)) FROM (SELECT unnest(range(1000000))))"
    ),
    "a union of many": " UNION ALL ".join(
        f"SELECT sum(hash(n + {k})) FROM range(1000000000) AS t(n)" for k in range(500)
    ),
}
"""Rows without end, or more of them than memory holds."""

TEXTS = {
    "a long repetition": "SELECT length(repeat('x', 4000000000))",
    "a repetition of rows": "SELECT repeat('x', 1000000000) FROM range(100)",
    "repetitions within each other": "SELECT length(repeat(repeat(repeat('x', 100000), 1000), 1000))",
    "a wide field on the left": "SELECT length(lpad('x', 2000000000, 'y'))",
    "a wide field on the right": "SELECT rpad('x', 2000000000, n::VARCHAR) FROM range(10) AS t(n)",
    "a wide format": "SELECT length(printf('%2000000000d', 1))",
    "a wide format of another kind": "SELECT length(format('{:2000000000d}', 1))",
    "a wide bar": "SELECT sum(length(repeat(bar(n, 0, 1, 1000), 100000))) FROM range(1000000) AS t(n)",
    "replacing by more": "SELECT length(replace(repeat('x', 10000000), 'x', repeat('y', 10000)))",
    "replacing by a pattern": "SELECT length(regexp_replace(repeat('x', 100000000), 'x', 'yyyyyyyyyyyyyyyy', 'g'))",
    "a nested pattern": "SELECT regexp_matches(repeat('a', 100000000) || 'b', '^(a+)+$')",
    "a large pattern": "SELECT regexp_matches(repeat('a', 10000000), '(a{1,30}){1,30}c')",
    "all matches of a pattern": "SELECT len(regexp_extract_all(repeat('a', 300000000), '.'))",
    "splitting a long text": "SELECT len(string_split(repeat('a,', 300000000), ','))",
    "splitting by a pattern": "SELECT len(regexp_split_to_array(repeat('a,', 300000000), ','))",
    "edits between long texts": "SELECT levenshtein(repeat('ab', 500000), repeat('ba', 500000))",
    "edits with swaps": "SELECT damerau_levenshtein(repeat('ab', 50000), repeat('ba', 50000))",
    "similarity of long texts": "SELECT jaro_winkler_similarity(repeat('ab', 2000000), repeat('ba', 2000000))",
    "a pattern of LIKE": f"SELECT repeat('a', 100000) LIKE '{'%a' * 2000}b'",
    "reversing and joining": "SELECT length(reverse(n::VARCHAR || repeat('é', 500000000))) FROM range(9) AS t(n)",
    "escaping a long text": "SELECT length(url_encode(repeat(' ', 1000000000)))",
    "hexadecimal digits": "SELECT length(hex(repeat('x', 1500000000)))",
    "digests of long texts": "SELECT max(sha256(repeat(n::VARCHAR, 10000000))) FROM range(100000) AS t(n)",
    "a deep JSON text": "SELECT json_extract(repeat('[', 50000000) || repeat(']', 50000000), '$[0]')",
    "a long JSON text": "SELECT json_structure('[' || repeat('{\"a\":1},', 50000000) || '1]')",
    "JSON of a long list": "SELECT length(to_json(range(300000000))::VARCHAR)",
}
"""Scalar functions whose result or time has no bound."""

LISTS = {
    "a long list": "SELECT len(range(4000000000))",
    "a list of a row each": "SELECT sum(len(range(n))) FROM range(100000000) AS t(n)",
    "a list within a list": "SELECT len(list_transform(range(100000), lambda x: range(100000)))",
    "lists within lists": (
        "SELECT list_transform(range(1000), lambda x: list_transform(range(1000), "
        "lambda y: list_transform(range(1000), lambda z: x + y + z)))"
    ),
    "a product of a long list": "SELECT list_aggregate(range(500000000), 'product')",
    "sorting a long list": "SELECT list_sort(list_transform(range(300000000), lambda x: hash(x)))[1]",
    "distinct values of a long list": "SELECT len(list_distinct(range(200000000)))",
    "a long list in reverse": "SELECT list_reverse(range(500000000))[1]",
    "reducing a long list": "SELECT list_reduce(range(300000000), lambda x, y: hash(x + y)::BIGINT)",
    "a list of a large size": "SELECT len(list_resize([1], 2000000000, 7))",
    "joining lists": "SELECT len(list_concat(range(300000000), range(300000000), range(300000000)))",
    "a list as text": "SELECT length(range(300000000)::VARCHAR)",
    "an array of all bits": "SELECT bit_count(bitstring_agg(n, 0, 30000000000)) FROM range(5) AS t(n)",
}
"""Lists, which are values and so are never spilled."""

PLANS = {
    "many conditions": "SELECT count(*) FROM tasks WHERE "
    + " OR ".join(f"hash(collection_id) = {k}" for k in range(100_000)),
    "many values": "SELECT count(*) FROM tasks WHERE collection_id IN ("
    + ", ".join(f"hash({k})" for k in range(200_000))
    + ")",
    "a long product": f"SELECT {FACTORIAL} FROM (SELECT 2 AS x)",
    "nested queries": "SELECT * FROM (" * 900 + "SELECT 1" + ")" * 900,
    "nested functions": "SELECT " + "abs(" * 900 + "1" + ")" * 900,
    "a join of many tables": "SELECT count(*) FROM "
    + ", ".join(f"tasks AS t{k}" for k in range(400)),
    "views that double": "WITH "
    + ", ".join(
        ["v0 AS (SELECT 1 AS n)"]
        + [
            f"v{k} AS NOT MATERIALIZED (SELECT a.n FROM v{k - 1} AS a, v{k - 1} AS b)"
            for k in range(1, 26)
        ]
    )
    + " SELECT count(*) FROM v25",
    "a constant that takes long": "SELECT list_sum(list_transform(range(1000000000), lambda x: sqrt(x)))",
}
"""Queries that are costly before they begin: parsed, checked, planned, optimized."""

STATEMENTS = ROWS | TEXTS | LISTS | PLANS


@dataclass(frozen=True)
class Measured:
    """What a command took, from its start to its end."""

    seconds: float
    peak_bytes: int
    """Largest memory of the command and of its child, added up."""
    exit_code: int
    message: str


def measure(command: Sequence[str], statement: str, folder: Path) -> Measured:
    """Run a command that reads a statement from stdin, and look at its memory every 10 ms."""
    source, errors = folder / "statement.sql", folder / "stderr"
    source.write_text(statement)
    peaks: dict[int, int] = {}
    begin = time.monotonic()
    with source.open() as stdin, errors.open("w") as stderr:
        process = subprocess.Popen(command, stdin=stdin, stdout=subprocess.DEVNULL, stderr=stderr)
        while process.poll() is None:
            for pid in (process.pid, *children(process.pid)):
                peaks[pid] = max(peaks.get(pid, 0), peak_bytes(pid))
            time.sleep(0.01)
    seconds = time.monotonic() - begin
    return Measured(seconds, sum(peaks.values()), process.returncode, errors.read_text().strip())


def children(pid: int) -> list[int]:
    """Return the processes that a process has started."""
    try:
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def peak_bytes(pid: int) -> int:
    """Return the largest memory that a process has held; 0 when it has ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))
