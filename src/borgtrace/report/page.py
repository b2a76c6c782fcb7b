"""The page itself: sections, holdings and citations through one template into one file."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from typing import Any

import jinja2
from markupsafe import Markup

from borgtrace.report import holdings
from borgtrace.report.bundle import inline_script, javascript
from borgtrace.report.citations import papers_cited
from borgtrace.report.observations import observed
from borgtrace.report.prose import inline, paragraphs
from borgtrace.report.sections import VERDICTS, Section, grouped
from borgtrace.report.values import integer, is_number, unit, words
from borgtrace.schema import TABLES
from borgtrace.store.manifest import Manifest


def report_html(manifest: Manifest, store_name: str, sections: Sequence[Section]) -> str:
    """Return the report page.

    Parameters
    ----------
    manifest
        Of the store: what it holds, counters, digest.
    store_name
        Name of the store, as commands on the page call it.
    sections
        One for each question, in the order of the page.
    """
    methods = [item.recipe.reference for item in sections]
    sources = [finding.source for item in sections for finding in item.findings]
    return render(
        "report.html.j2",
        title=holdings.trace_name(manifest),
        store=store_name,
        manifest=manifest,
        groups=grouped(sections),
        sections=sections,
        observed=observed(sections),
        verdicts={verdict: sum(item.count(verdict) for item in sections) for verdict in VERDICTS},
        holdings=holdings.holdings(manifest),
        missing=[name for name in TABLES if not manifest.tables.get(name)],
        counters=holdings.counters(manifest),
        trace_citations=manifest.dialect.citations,
        papers=papers_cited(" ".join(methods + sources)),
        licence=manifest.dialect.licence,
    )


def render(template: str, **values: Any) -> str:
    """Fill a template of this package, with the page's style and scripts at hand."""
    # A missing name fails instead of leaving a gap; all text is escaped unless it is marked as HTML.
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_resource),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        json_script=json_script, inline=inline, paragraphs=paragraphs, integer=integer, words=words, unit=unit
    )
    environment.tests.update(numeric=is_number)
    return environment.get_template(template).render(
        style=Markup(_resource("style.css")),
        script=Markup(inline_script(_resource("page.js"))),
        library=Markup(javascript()),
        **values,
    )


def json_script(text: str) -> Markup:
    r"""Make JSON safe inside ``<script type="application/json">``.

    Examples
    --------
    >>> json_script('{"a": "</script>"}')
    Markup('{"a": "\\u003c/script>"}')
    """
    # An escape that JSON knows, and no ``<`` left that could end the element.
    return Markup(text.replace("<", "\\u003c"))


def _resource(name: str) -> str:
    return (files("borgtrace.report") / "templates" / name).read_text(encoding="utf-8")
