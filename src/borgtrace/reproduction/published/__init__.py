"""The papers that can be reproduced, one module each."""

from borgtrace.errors import UsageError, did_you_mean
from borgtrace.reproduction.published import (
    bashir2021,
    fgd2023,
    janus2017,
    reiss2012,
    tirmazi2020,
    verma2015,
    zhu2015,
)
from borgtrace.reproduction.published_paper import PublishedPaper

PAPERS = {
    paper.name: paper
    for paper in (
        reiss2012.PAPER,
        zhu2015.PAPER,
        verma2015.PAPER,
        janus2017.PAPER,
        tirmazi2020.PAPER,
        bashir2021.PAPER,
        fgd2023.PAPER,
    )
}
"""Papers by name, in the order of their years."""


def find_paper(name: str) -> PublishedPaper:
    """Return a paper by its name.

    Raises
    ------
    UsageError
        There is no such paper; the message has the name most like it.

    Examples
    --------
    >>> find_paper("zhu2015").items[0].name
    'Fig. 1'
    """
    if name not in PAPERS:
        raise UsageError(
            "PAPER",
            "no such paper",
            expected=", ".join(PAPERS),
            got=name,
            way_out=did_you_mean(name, PAPERS) or "what each has: borgtrace reproduce --list",
        )
    return PAPERS[name]


def papers() -> list[PublishedPaper]:
    """Return all papers by year."""
    return list(PAPERS.values())
