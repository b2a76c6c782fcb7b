"""What ``borgtrace analyze --show-sql`` prints: the relational part of questions as SQL for BigQuery."""

from collections.abc import Mapping, Sequence
from typing import Any

from borgtrace.cli.parameters import own_parameters
from borgtrace.question import Question

FIRST_LINES = """\
-- Over the views of: borgtrace views --cell CELL --dataset PROJECT.DATASET
-- Run with: bq query --use_legacy_sql=false --dataset_id=PROJECT:DATASET
-- Rows come in any order; borgtrace computes the answers from them. Where a statement needs rows of an earlier one
-- (quantiles, sets of constraints), a placeholder stands for them.
"""


def print_sql(questions: Sequence[Question], parameters: Mapping[str, Any]) -> None:
    """Print the SQL of every relational stage and what it reads, shared tables first and once."""
    # Inside: the compiler of Ibis is loaded only by those who print SQL.
    from borgtrace.engine.bigquery import compile_sql
    from borgtrace.lifecycle import DERIVED
    from borgtrace.lifecycle.hosted import what_it_reads

    print(FIRST_LINES)
    created: set[str] = set()
    for question in questions:
        stages = question.stages("2019", **own_parameters(question, parameters))
        for name, stage in stages.items():
            # Several questions share what is derived; BigQuery refuses a second table of the same name.
            if name in created:
                continue
            sql = compile_sql(stage)
            if name in DERIVED:
                created.add(name)
                heading = f"CREATE TEMP TABLE {name} AS"
            else:
                heading = f"-- {question.name}: {name}"
            print(f"{what_it_reads(sql)}\n{heading}\n{sql};\n")
