"""The answers of an advice are held against what every answer must be, though no catalog lists them.

They come from one walk through a store, whose choices each of them takes as an argument: asked one by one they would
walk six times.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import borgtrace
from borgtrace.advice import Advice, AdviceOptions, advise
from borgtrace.catalog import questions
from borgtrace.ingest import IngestOptions, ingest
from tests.question.test_contract import check, check_declaration

pytestmark = pytest.mark.wide  # an advice for each kind of store

PARTS = 6


def test_each_part_says_what_it_is(advice: Advice) -> None:
    names = [result.question.name for result in advice.results]
    assert len(set(names)) == PARTS
    assert not set(names).intersection(questions())
    for result in advice.results:
        check_declaration(result.question)


def test_each_part_of_a_cluster(advice: Advice) -> None:
    for result in advice.results:
        check(result)
        assert result.not_applicable is None
        # In the order of its key, as all answers are.
        keys = result.table.select(list(result.question.schema.key)).to_pylist()
        rows = [tuple(row.values()) for row in keys]
        assert rows == sorted(rows)


@pytest.mark.parametrize(
    "log",
    [
        pytest.param(
            "; MaxProcs: 8\n" + "1 0 0 600 2 -1 -1 2 600 -1 1 1 1 1 1 -1 -1 -1\n", id="a job"
        ),
        pytest.param(
            "; MaxProcs: 8\n"
            + "".join(f"{n} {n} 0 60 1 -1 -1 1 60 -1 1 1 1 1 1 -1 -1 -1\n" for n in range(1, 40)),
            id="jobs of a minute",
        ),
    ],
)
def test_each_part_of_a_store_without_usage(tmp_path: Path, log: str) -> None:
    (tmp_path / "log.swf").write_text(log)
    ingest([tmp_path / "log.swf"], tmp_path / "log", IngestOptions(jobs=1))
    advice = advise(borgtrace.open(tmp_path / "log"), AdviceOptions(recommender="vpa"))
    for result in advice.results:
        check(result)
        assert (result.not_applicable is None) == (result.table.num_rows > 0)
