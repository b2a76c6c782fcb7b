from __future__ import annotations

import pyarrow as pa
import pytest

from borgtrace.recipe import Claim, NotApplicable
from borgtrace.recipe.criteria import below

TABLE = pa.table({"share": [0.25]})


def claim(measure: object = lambda t: t["share"][0].as_py(), published: str | float = 0.7165) -> Claim:
    return Claim("X-1", "few are long", below(0.5, published), measure, "Somebody, Fig. 1")  # type: ignore[arg-type]


def test_a_claim_that_holds() -> None:
    finding = claim().judge(TABLE)
    assert str(finding) == "X-1: few are long: published 0.7165, measured 0.25: holds"
    assert (finding.reason, finding.source) == ("", "Somebody, Fig. 1")


def test_a_claim_that_does_not() -> None:
    assert claim(lambda _: 0.75).judge(TABLE).verdict == "does not hold"


@pytest.mark.parametrize("value", [None, float("nan")])
def test_nothing_measured_is_not_a_verdict(value: float | None) -> None:
    finding = claim(lambda _: value).judge(TABLE)
    assert str(finding) == ("X-1: few are long: published 0.7165, measured –: not applicable: nothing to measure it on")


def test_the_reason_is_told() -> None:
    def measure(_: pa.Table) -> float:
        raise NotApplicable("the trace is shorter than a week")

    finding = claim(measure).judge(TABLE)
    assert (finding.verdict, finding.reason) == ("not applicable", "the trace is shorter than a week")
