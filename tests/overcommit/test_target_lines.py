"""The target of a study is a line in its chart."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from borgtrace.overcommit import REPLAY
from borgtrace.overcommit.advice import ADVICE
from borgtrace.question import Question

TARGETS = {
    "advice": (ADVICE, "y", "mean", "target"),
    "replay": (REPLAY, "x", "mean", "accepted_rate"),
}


def value_of(kind: Any) -> Any:
    return "a" if pa.types.is_string(kind) else pa.scalar(1, pa.int8()).cast(kind).as_py()


@pytest.mark.parametrize(("question", "axis", "aggregate", "field"), TARGETS.values(), ids=TARGETS)
def test_the_target_is_a_dashed_line(
    question: Question, axis: str, aggregate: str, field: str
) -> None:
    schema = question.answer.empty().schema
    answer = pa.Table.from_pylist([{one.name: value_of(one.type) for one in schema}], schema)
    layers = question.chart(answer).to_dict()["spec"]["layer"]
    (rule,) = [layer for layer in layers if layer["mark"]["type"] == "rule"]
    assert rule["mark"]["strokeDash"] == [5, 3]
    channel = rule["encoding"][axis]
    assert (channel["aggregate"], channel["field"]) == (aggregate, field)
