"""One question as a section of the page."""

from __future__ import annotations

import importlib
import json
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from borgtrace.recipe import Finding, Question, Result
from borgtrace.report.charts import Figure, TooManyPointsError, figure
from borgtrace.report.prose import inline, paragraphs
from borgtrace.report.values import ShownTable, shown_table

VERDICTS = ("holds", "does not hold", "not applicable")


@dataclass(frozen=True, slots=True)
class Section:
    """All that the page says on one question.

    ``figure`` and ``table`` are None where there is nothing to show; ``note`` says why.
    """

    anchor: str
    question: Markup
    figure: Figure | None
    table: ShownTable | None
    note: str
    findings: Sequence[Finding]
    method: Markup
    reference: str
    parameters: str
    engine: str
    code_version: str

    def count(self, verdict: str) -> int:
        """Return how many claims got a verdict."""
        return sum(finding.verdict == verdict for finding in self.findings)


@dataclass(frozen=True, slots=True)
class Group:
    """Questions of one topic, under its heading."""

    title: Markup
    anchor: str
    sections: tuple[Section, ...]


def section(result: Result) -> Section:
    """Turn a result into a section.

    A chart that cannot be made small enough for a browser is left out, and the section says so.
    """
    recipe, provenance = result.recipe, result.provenance
    drawn, note = _figure(result)
    return Section(
        anchor=recipe.name.replace("_", "-"),
        question=inline(recipe.question),
        figure=drawn,
        table=shown_table(result.table, recipe.result) if result.table.num_rows else None,
        note=note,
        findings=result.findings,
        method=paragraphs(recipe.method),
        reference=recipe.reference,
        parameters=", ".join(f"{k} = {json.dumps(v, default=str)}" for k, v in provenance.parameters.items()),
        engine=provenance.engine,
        code_version=provenance.code_version,
    )


def refused(recipe: Question, reason: str) -> Section:
    """Return the section of a question whose computation was refused."""
    return Section(
        recipe.name.replace("_", "-"),
        inline(recipe.question),
        None,
        None,
        f"Not answered: {reason}",
        (),
        paragraphs(recipe.method),
        recipe.reference,
        "",
        "",
        "",
    )


def grouped(sections: Iterable[tuple[Question, Section]]) -> list[Group]:
    """Gather sections by package and topic of their recipes, in order of first appearance."""
    found: dict[str, list[Section]] = {}
    for recipe, item in sections:
        title = recipe.topic or _package_title(".".join(recipe.module.split(".")[:2]))
        found.setdefault(title, []).append(item)
    return [Group(inline(title), f"group-{_slug(title)}", tuple(items)) for title, items in found.items()]


def _slug(title: str) -> str:
    return "-".join(re.findall(r"[a-z0-9]+", title.lower()))


def _package_title(package: str) -> str:
    module = sys.modules.get(package) or importlib.import_module(package)
    text = (module.__doc__ or package).strip().splitlines()[0].rstrip(".")
    return text.split(":")[0]


def _figure(result: Result) -> tuple[Figure | None, str]:
    if result.not_applicable is not None:
        return None, f"Not applicable to this store: {result.not_applicable}."
    chart = result.plot()
    if chart is None:
        return None, "The answer is empty on this store."
    try:
        return figure(chart, result.recipe.question), ""
    except TooManyPointsError as error:
        return None, f"No chart: {error}. The table lists them all."
