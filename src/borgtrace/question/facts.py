"""An answer as plain data: its rows, its claims with their verdicts, and what it was computed from."""

from dataclasses import asdict
from typing import Any

from borgtrace.question.answer_sizes import with_size
from borgtrace.question.question import Result


def facts_of(result: Result) -> dict[str, Any]:
    """Return a result as plain data, for JSON."""
    return {
        "recipe": result.question.name,
        "question": result.question.title,
        "not_applicable": result.not_applicable,
        "sentence": sentence_of(result),
        "rows": result.table.to_pylist(),
        "claims": [asdict(finding) for finding in result.findings],
        "provenance": asdict(result.provenance),
    }


def sentence_of(result: Result) -> str | None:
    """Return the answer in words, in cores and GiB where the store knows them; None where it has none."""
    if result.question.sentence is None or result.not_applicable is not None:
        return None
    return result.question.sentence(with_size(result.table, result.amounts))
