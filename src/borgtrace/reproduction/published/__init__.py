"""The papers that can be reproduced, one module each."""

from functools import cache
from importlib import import_module

from borgtrace.errors import UsageError, did_you_mean
from borgtrace.reproduction.published_paper import PublishedPaper

NAMES = (
    "reiss2012",
    "zhu2015",
    "verma2015",
    "janus2017",
    "tirmazi2020",
    "bashir2021",
)
"""Names of papers and of their modules, by year."""


@cache
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
    if name not in NAMES:
        raise UsageError(
            "PAPER",
            "no such paper",
            expected=", ".join(NAMES),
            got=name,
            way_out=did_you_mean(name, NAMES) or "what each has: borgtrace reproduce --list",
        )
    paper = import_module(f"{__name__}.{name}").PAPER
    assert isinstance(paper, PublishedPaper)
    return paper


def papers() -> list[PublishedPaper]:
    """Return all papers by year."""
    return [find_paper(name) for name in NAMES]
