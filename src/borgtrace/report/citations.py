"""How to cite the trace, and the papers whose claims the page judges."""

import tomllib
from importlib.resources import files

from borgtrace.schema.dialects import Citation

_LISTED = tomllib.loads(files("borgtrace.report").joinpath("papers.toml").read_text("utf-8"))["paper"]
PAPERS = tuple(Citation(one["text"], one.get("address", ""), tuple(one["marks"])) for one in _LISTED)


def papers_cited(references: str) -> list[Citation]:
    """Return the papers that a text refers to, by their authors' names.

    Examples
    --------
    >>> [paper.marks[0] for paper in papers_cited("Zhu et al., Fig. 10; Reiss et al., section 4")]
    ['Reiss', 'Zhu']
    """
    # In the order of the list, not in that of the questions.
    return [paper for paper in PAPERS if any(mark in references for mark in paper.marks)]
