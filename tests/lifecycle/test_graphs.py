from __future__ import annotations

import pytest

from borgtrace.lifecycle import GRAPHS, is_legal


@pytest.mark.parametrize(
    ("before", "after", "legal_in"),
    [
        (
            None,
            "SUBMIT",
            {
                "document_2011",
                "borg_paper",
                "zhu",
                "document_2019",
            },
        ),
        (None, "SCHEDULE", set()),
        (
            "SUBMIT",
            "SCHEDULE",
            {
                "document_2011",
                "borg_paper",
                "zhu",
                "document_2019",
            },
        ),
        ("SUBMIT", "EVICT", {"zhu"}),
        ("SUBMIT", "SUBMIT", set()),
        ("SUBMIT", "FINISH", set()),
        ("SUBMIT", "QUEUE", {"document_2019"}),
        ("QUEUE", "ENABLE", {"document_2019"}),
        ("QUEUE", "SCHEDULE", set()),
        ("EVICT", "SCHEDULE", {"borg_paper"}),
        (
            "FINISH",
            "SUBMIT",
            {
                "document_2011",
                "borg_paper",
                "zhu",
                "document_2019",
            },
        ),
        (
            "UPDATE_RUNNING",
            "KILL",
            {
                "document_2011",
                "borg_paper",
                "zhu",
                "document_2019",
            },
        ),
    ],
)
def test_arrows(
    before: str | None,
    after: str,
    legal_in: set[str],
) -> None:
    assert {name for name, graph in GRAPHS.items() if is_legal(graph, before, after)} == legal_in
