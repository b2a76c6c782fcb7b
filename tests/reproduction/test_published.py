"""The lists of tables and figures: each claim of a paper has a place, and each place something to show."""

from __future__ import annotations

from collections import Counter

import pytest

from borgtrace import catalog
from borgtrace.errors import UsageError
from borgtrace.overcommit import REPLAY
from borgtrace.question import Question
from borgtrace.report.papers import paper_of
from borgtrace.reproduction import ItemAnswer, PublishedPaper, find_paper, papers
from borgtrace.scheduling import COMPACT
from borgtrace.scheduling.gpus import GPU_SCHEDULING

PAPERS = papers()


@pytest.fixture(scope="module")
def questions() -> dict[str, Question]:
    beside = {"overcommit": REPLAY, "compaction": COMPACT, "gpu_scheduling": GPU_SCHEDULING}
    return {**catalog.questions(), **beside}


def answers_of(paper: PublishedPaper) -> list[ItemAnswer]:
    return [asked for item in paper.items for asked in item.answers]


def claims_of(paper: PublishedPaper, asked: ItemAnswer, question: Question) -> list[str]:
    """Return the ids that an answer of an item brings to the page."""
    if asked.claims is not None:
        return list(asked.claims)
    return [one.id for one in question.claims if paper_of(one.source) is paper.citation]


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.name)
def test_every_claim_of_a_paper_has_one_place(
    paper: PublishedPaper, questions: dict[str, Question]
) -> None:
    """A claim that is added to a question without one fails here."""
    published = []
    for question in questions.values():
        for claim in question.claims:
            if paper_of(claim.source) is paper.citation:
                published.append(claim.id)
    placed = Counter[str]()
    for asked in answers_of(paper):
        placed.update(claims_of(paper, asked, questions[asked.question]))
    assert published
    assert placed == dict.fromkeys(published, 1)


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.name)
def test_every_item_is_answered_or_says_why_not(
    paper: PublishedPaper, questions: dict[str, Question]
) -> None:
    slugs = [item.slug for item in paper.items]
    assert len(set(slugs)) == len(slugs)
    for item in paper.items:
        assert bool(item.answers) != bool(item.needs), item.name
        assert item.axes
        if item.answers:
            assert item.answers[0].shape != "nothing"
        for asked in item.answers:
            question = questions[asked.question]
            assert asked.parameters.keys() <= question.parameters.keys()
            assert set(asked.claims or ()) <= {claim.id for claim in question.claims}


def test_who_said_it_first() -> None:
    """What one paper quotes of another is the other's."""
    paper = paper_of("Reiss et al., SoCC'12, as quoted by Janus & Rzadca")
    assert paper is find_paper("reiss2012").citation
    assert paper_of("2011 format document") is None


@pytest.mark.parametrize("name", ["Fig. 8", "fig-8", "FIG 8"])
def test_items_by_any_spelling(name: str) -> None:
    (item,) = find_paper("zhu2015").chosen([name])
    assert item.title == "Execution time of finished tasks"


def test_items_keep_the_order_of_the_paper() -> None:
    chosen = find_paper("zhu2015").chosen(["fig-8", "fig-2"])
    assert [item.name for item in chosen] == ["Fig. 2", "Fig. 8"]


def test_an_unknown_paper() -> None:
    with pytest.raises(UsageError) as caught:
        find_paper("zhu2016")
    assert str(caught.value) == (
        "PAPER: no such paper: expected reiss2012, zhu2015, verma2015, janus2017, tirmazi2020, bashir2021, "
        "fgd2023, got zhu2016; did you mean zhu2015?"
    )


def test_an_unknown_item() -> None:
    with pytest.raises(UsageError) as caught:
        find_paper("zhu2015").chosen(["Fig. 80"])
    assert str(caught.value) == (
        "--only: no such table or figure of zhu2015: got Fig. 80; did you mean fig-8 or fig-10?"
    )
