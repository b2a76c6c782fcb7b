"""What an assistant can read before it asks: the tables and their columns, and what is claimed."""

from __future__ import annotations

import json
from typing import Any

from borgtrace.catalog import questions
from borgtrace.question.scope_text import scope_words
from borgtrace.schema import TABLES
from borgtrace.schema.description import describe_table

NO_VERDICT = (
    "What others, or we, said of some trace. None of this was measured on this store: ask the question to get the "
    'measured value and the verdict, which is often "not judged", with the reason.'
)


def schema_text() -> str:
    """Return every table and column as JSON: types, units, meaning, and where each published trace has it."""
    return _json({name: describe_table(table) for name, table in TABLES.items()})


def claims_text() -> str:
    """Return all claims as JSON, by the question that measures them."""
    claims = {}
    for question in questions().values():
        claims[question.name] = [
            {
                "id": claim.id,
                "statement": claim.statement,
                "published": claim.criterion.published,
                "kind": claim.kind,
                "source": claim.source,
                "judged on": scope_words(claim.scope),
            }
            for claim in question.claims
        ]
    return _json(
        {"note": NO_VERDICT, "claims": {name: ours for name, ours in claims.items() if ours}}
    )


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
