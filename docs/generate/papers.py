"""What the papers say, claim by claim, beside what was measured on a synthetic cell and on real parts."""

from __future__ import annotations

import csv
from pathlib import Path

from borgtrace.catalog import questions
from borgtrace.question.claims import Claim
from borgtrace.question.criteria import with_tolerance
from generate.question_pages import address
from generate.text import plain, table

MEASURED = Path(__file__).parent.parent / "measured"
"""``claims.csv`` of two stores, as ``make measured`` writes it; a claim made since has no row yet."""
INTRO = """# Published claims

This page lists every published statement that a question can judge, with the number that its authors print, and the
numbers that borgtrace measures

- on the **synthetic** cell of `borgtrace demo` (100 machines × 24 h, seed 1). It is calibrated to published figures,
  so a claim that holds there shows that the tool measures correctly, not that the claim is true of real cells; many
  claims about a month or a large cell cannot hold on a day of a small one;
- on **real parts** of the 2011 trace: machine events, the first 100 parts of job events, the first 9 of task events
  (12.7 h) and the head of task usage. Only what these cannot overturn is judged.

A *published* claim has a number that its authors print, a *derived* one has our arithmetic on such numbers, and a
*criterion* has a threshold of ours, or a count that holds by construction. Each says on which stores it can be
judged: on whole tables of a day or more with at least 1,000 tasks, where it says nothing else. No verdict is given
that more data could overturn.

On your own store: `borgtrace analyze STORE --out DIR` writes `DIR/claims.csv`, and the report shows the same claims
with reasons.
"""
WORKS = {
    "Zhu": "Zhu et al., ten observations and two measures",
    "Janus": "Janus & Rzadca, SoCC'17",
    "Tirmazi": "Tirmazi et al., EuroSys'20",
    "Reiss": "Reiss et al., SoCC'12",
    "Verma": "Verma et al., EuroSys'15",
}
OWN, COUNTED = "Our own criteria", "Format documents, and counts over the real trace"


def page() -> str:
    """Return the page."""
    measured = [_measured(name) for name in ("synthetic", "real-parts")]
    sections: dict[str, list[list[str]]] = {title: [] for title in (*WORKS.values(), COUNTED, OWN)}
    for name, asked in questions().items():
        for claim in asked.claims:
            found = [_found(rows.get((name, claim.id))) for rows in measured]
            link = f"[{name}]({address(asked)})"
            sentence = f"{_sentence(claim)} {link}"
            sections[_work(claim)].append(
                [
                    claim.id,
                    sentence,
                    claim.kind,
                    with_tolerance(str(claim.criterion), claim.criterion.tolerance),
                    *found,
                ]
            )
    question = "statement, and the question that measures it"
    heads = ["claim", question, "kind", "published (tolerance)", "synthetic cell", "real parts"]
    parts = [
        f"## {title}\n\n{table(heads, sorted(rows))}" for title, rows in sections.items() if rows
    ]
    claims = sum(map(len, sections.values()))
    return "\n".join([INTRO, f"{claims} claims of {len(questions())} questions.\n", *parts])


def _sentence(claim: Claim) -> str:
    """Return the statement, and where it stands: within the work that heads the section, or the source."""
    is_of_a_work = _work(claim) in WORKS.values()
    place = (
        claim.source.partition(", ")[2].removeprefix("SoCC'17, ") if is_of_a_work else claim.source
    )
    return plain(f"{claim.statement} ({place})" if place else claim.statement)


def _work(claim: Claim) -> str:
    if not claim.source:
        return OWN
    return next((title for name, title in WORKS.items() if claim.source.startswith(name)), COUNTED)


def _measured(name: str) -> dict[tuple[str, str], dict[str, str]]:
    with (MEASURED / f"{name}.csv").open(newline="", encoding="utf-8") as file:
        return {(row["recipe"], row["id"]): row for row in csv.DictReader(file)}


def _found(row: dict[str, str] | None) -> str:
    if row is None:
        return "not measured yet"
    if row["verdict"] == "not applicable":
        return "not applicable"
    return f"{_short(row['measured'])}<br>*{row['verdict']}*"


def _short(text: str) -> str:
    try:
        return f"{float(text):.4g}"
    except ValueError:
        return plain(text)
