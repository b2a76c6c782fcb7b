"""What a reproduction rests on: the paper first, then the trace, other papers, and this software."""

from __future__ import annotations

from borgtrace.report.paper.picture import works_of
from borgtrace.reproduction.reproduction import Reproduction
from borgtrace.schema.dialects import Citation


def works_cited(reproduction: Reproduction) -> list[Citation]:
    """Return the works, each once.

    Parameters
    ----------
    reproduction
        The reproduced paper.
    """
    works = [reproduction.paper.citation]
    for item in reproduction.items:
        for answer in item.answers:
            if answer.result is not None:
                works += works_of(answer.result)
    works = list({work.text: work for work in works}.values())
    # This software is the last of each answer's works, and of all of them.
    software = [work for work in works if "borgtrace" in work.text]
    return [work for work in works if work not in software] + software
