"""Judge the claims of some questions on several stores side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from borgtrace.interactive.store import Store, open

if TYPE_CHECKING:
    import pyarrow as pa


def compare(stores: Mapping[str, Store | str | Path], questions: Sequence[str]) -> pa.Table:
    """Judge the claims of some questions on several stores, side by side.

    Parameters
    ----------
    stores
        Stores, or paths of them, by the label that their columns get.
    questions
        Names of questions.

    Returns
    -------
    pyarrow.Table
        A row per claim: question, id, statement, published; then measured and verdict of each store, as
        ``LABEL measured`` and ``LABEL verdict``.

    Raises
    ------
    StoreError
        Where one of them cannot be opened.
    UsageError
        For an unknown question.
    """
    import pyarrow as pa

    rows: dict[str, dict[str, str]] = {}
    for label, store in stores.items():
        opened = store if isinstance(store, Store) else open(store)
        for question in questions:
            for finding in opened.analyze(question).findings:
                claim = {
                    "question": question,
                    "id": finding.id,
                    "statement": finding.statement,
                    "published": finding.published,
                }
                row = rows.setdefault(finding.id, claim)
                row[f"{label} measured"] = finding.measured
                row[f"{label} verdict"] = finding.verdict
    return pa.Table.from_pylist(list(rows.values()))
