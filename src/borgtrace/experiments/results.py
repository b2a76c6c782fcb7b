"""Rows of an experiment as answers, which name what they were computed from."""

from __future__ import annotations

import hashlib

from borgtrace.experiments.running import PreparedExperiment
from borgtrace.extensions import sources_of
from borgtrace.question import Provenance, Question, Result, Row
from borgtrace.question.conforming import conform


def result_of(
    question: Question,
    rows: list[Row],
    prepared: PreparedExperiment,
) -> Result:
    """Return rows as an answer, checked against its declaration.

    Parameters
    ----------
    question, rows
        The table, and what it holds.
    prepared
        The experiment.
    """
    keys = "".join(cell.key for cell in prepared.cells)
    generations = {store.manifest.generation for store in prepared.stores.values()}
    provenance = Provenance(
        store=", ".join(prepared.stores),
        digest=hashlib.sha256(keys.encode()).hexdigest(),
        generation=", ".join(sorted(generations)),
        parameters=prepared.parameters,
        extensions=sources_of(prepared.code),
    )
    return Result(question, conform(rows, question.schema), provenance)
