"""Any rows, in any order, split over any files, read back equal."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import borgtrace
from borgtrace.ingest import IngestOptions, ingest
from borgtrace.ingest.build.file_ranges import cut_ranges, range_sql
from borgtrace.schema.time import AFTER_TRACE
from tests.ingest.raw import write_part

TIME = st.one_of(st.integers(0, 10**13), st.sampled_from([0, AFTER_TRACE]))
AMOUNT = st.one_of(
    st.none(),
    st.integers(0, 9999).map(lambda n: f"{n / 10_000:.4g}"),
    st.just("2.861e-06"),
)


@st.composite
def usage_rows(draw):
    start = draw(st.integers(0, 10**13))
    end = draw(st.one_of(st.integers(start, start + 10**9), st.just(AFTER_TRACE)))
    ids = [
        draw(st.integers(0, 3)),
        draw(st.integers(0, 2)),
        draw(st.integers(0, 2**40)),
    ]
    amounts = [draw(AMOUNT) for _ in range(13)]
    flag = draw(st.sampled_from(["0", "1", ""]))
    sampled = draw(AMOUNT)
    return (start, end, *ids, *amounts, flag, sampled)


def _line(row):
    return ",".join("" if value is None else str(value) for value in row)


def _read(store):
    table = store.sql("select * from instance_usage")
    rows = []
    for row in table.to_pylist():
        rows.append(
            (
                row["start_time"],
                row["end_time"],
                row["collection_id"],
                row["instance_index"],
                row["machine_id"],
                row["average_cpu"],
                row["maximum_cpu"],
                row["sampled_cpu"],
                row["aggregation_type"],
            )
        )
    return rows


def _expected(row):
    def number(text):
        return None if text in (None, "") else float(np.float32(text))

    return (
        *row[:5],
        number(row[5]),
        number(row[13]),
        number(row[19]),
        {
            "0": False,
            "1": True,
            "": None,
        }[row[18]],
    )


def _key(row):
    return tuple((value is None, value) for value in row)


@settings(
    max_examples=12,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(st.data())
def test_any_rows_split_over_any_files_read_back_equal(data):
    rows = data.draw(st.lists(usage_rows(), min_size=1, max_size=25))
    shuffled = data.draw(st.permutations(rows))
    files = data.draw(st.integers(1, 3))
    with tempfile.TemporaryDirectory() as folder:
        for part in range(files):
            lines = [_line(row) for row in shuffled[part::files]]
            if lines:
                write_part(Path(folder) / "raw", "task_usage", lines, part)
        ingest([Path(folder) / "raw"], Path(folder) / "store", IngestOptions(jobs=1))
        store = borgtrace.open(Path(folder) / "store")
        found = _read(store)
        assert sorted(found, key=_key) == sorted(map(_expected, rows), key=_key)
        assert [row[2:4] + row[:1] for row in found] == sorted(row[2:4] + row[:1] for row in found)
        _check_traces(store, rows)


def _check_traces(store, rows):
    """The index and the arrays say of each task what its rows say."""
    tasks = {}
    for row in rows:
        tasks.setdefault(row[2:4], []).append(row)
    assert store.manifest.tables["tasks"] == len(tasks)
    for (collection, instance), mine in tasks.items():
        trace = store.trace(collection, instance)
        cpu = [np.nan if row[5] is None else np.float32(row[5]) for row in mine]
        np.testing.assert_array_equal(
            np.sort(trace["average_cpu"]),
            np.sort(np.array(cpu, np.float32)),
        )
        (index,) = store.sql(
            f"select mean_average_cpu as mean, std_average_cpu as std, max_average_cpu as max, n_windows as n "
            f"from tasks where collection_id = {collection} and instance_index = {instance}"
        ).to_pylist()
        known = np.array([value for value in cpu if not np.isnan(value)], np.float64)
        assert index["n"] == len(mine)
        if len(known):
            np.testing.assert_allclose(
                [
                    index["mean"],
                    index["std"],
                    index["max"],
                ],
                [
                    known.mean(),
                    known.std(),
                    known.max(),
                ],
                atol=1e-12,
            )
        else:
            assert index["mean"] is None


@given(st.dictionaries(st.integers(0, 50), st.integers(1, 9), min_size=1), st.integers(1, 20))
def test_ranges_cover_every_collection_once(counts, rows):
    collections = np.array(sorted(counts))
    cuts = cut_ranges(collections, np.array([counts[c] for c in sorted(counts)]), rows)
    assert cuts == sorted(set(cuts))
    conditions = [range_sql(cuts, number) for number in range(len(cuts) + 1)]
    for collection in counts:
        text = [
            c.replace("collection_id", str(collection))
            .replace("AND", "and")
            .replace("true", "True")
            for c in conditions
        ]
        held = [number for number, condition in enumerate(text) if eval(condition)]
        assert len(held) == 1
        filled = sum(n for c, n in counts.items() if _holds(conditions[held[0]], c))
        assert filled <= rows or filled == counts[collection]


def _holds(condition, collection):
    """Judge ``collection_id >= 5 AND collection_id < 9`` by hand."""
    bounds = [part.split() for part in condition.split(" AND ") if part != "true"]
    return all(
        collection >= int(n) if sign == ">=" else collection < int(n) for _, sign, n in bounds
    )
