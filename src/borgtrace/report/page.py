"""The page itself: sections, holdings and citations through one template into one file."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from importlib.metadata import version as distribution_version
from itertools import product
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from borgtrace.question import Finding
from borgtrace.question.claims import KINDS, headline, unjudged
from borgtrace.question.colours import stylesheet
from borgtrace.report import holdings, overview
from borgtrace.report.drawable import drawable_text
from borgtrace.report.markup import inline, inline_script, json_script, paragraphs
from borgtrace.report.packed_rows import packed_rows
from borgtrace.report.papers import papers_cited
from borgtrace.report.publisher import findings_of_publisher
from borgtrace.report.screen import drawn_charts
from borgtrace.report.sections import VERDICTS, PageSection, grouped, observed, refusals
from borgtrace.report.values import environment
from borgtrace.schema import TABLES
from borgtrace.storage import user_cache, write_file
from borgtrace.store.manifest import Manifest

if TYPE_CHECKING:
    import jinja2


def report_html(
    manifest: Manifest,
    store_name: str,
    sections: Sequence[PageSection],
    *,
    theme: str = "auto",
    width: int | None = None,
) -> str:
    """Return the report page.

    Parameters
    ----------
    manifest
        Of the store: what it holds, counters, digest.
    store_name
        Name of the store, as commands on the page call it.
    sections
        One for each question, in the order of the page.
    theme
        ``"auto"``, or ``"paper"``: light on every screen.
    width
        Of the charts, in pixels; as wide as the page where None.
    """
    findings = [finding for section in sections for finding in section.findings]
    references = [section.question.reference for section in sections]
    references += [finding.source for finding in findings]
    facts = overview.facts(manifest, sections)
    return render(
        "report.html.j2",
        title=holdings.trace_name(manifest),
        store=store_name,
        manifest=manifest,
        theme=theme,
        width=width,
        span=holdings.span_of_store(manifest),
        tiles=overview.tiles(manifest, sections),
        screen_charts=drawn_charts(manifest, sections),
        facts=facts,
        levels=overview.levels(facts),
        level_names=overview.LEVEL_NAMES,
        groups=grouped(item for item in sections if item.not_applicable is None),
        not_applicable=refusals(sections),
        sections=sections,
        observed=observed(sections),
        **verdicts_of_page(manifest, sections),
        holdings=holdings.holdings(manifest),
        missing=[name for name in TABLES if not manifest.tables.get(name)],
        counters=holdings.counters(manifest),
        papers=papers_cited(" ".join(references)),
    )


def verdicts_of_page(manifest: Manifest, sections: Sequence[PageSection]) -> dict[str, Any]:
    """Return what the page says of published claims: which hold, which do not, and which are not judged."""
    findings = [finding for section in sections for finding in section.findings]
    of_publisher = findings_of_publisher(manifest, sections)
    return {
        "surprises": overview.surprises(sections) if of_publisher else [],
        "headline": headline(of_publisher) if of_publisher else "",
        "kinds": KINDS,
        "judged": findings_by_verdict(sections),
        "unjudged": unjudged(findings),
        "verdicts": {
            verdict: sum(item.count(verdict) for item in sections) for verdict in VERDICTS
        },
    }


def findings_by_verdict(
    sections: Sequence[PageSection],
) -> dict[tuple[str, str], list[tuple[PageSection, Finding]]]:
    """Gather findings with their sections by the kind of their claim and their verdict."""
    rows: dict[tuple[str, str], list[tuple[PageSection, Finding]]] = {}
    for key in product(KINDS, VERDICTS):
        rows[key] = []
    for section in sections:
        for finding in section.findings:
            rows[finding.kind, finding.verdict].append((section, finding))
    return rows


def render(template: str, **values: Any) -> str:
    """Fill a template of this package, with the drawing library at hand."""
    page_template = _templates().get_template(template)
    page = page_template.render(
        library=Markup(javascript()), colours=Markup(stylesheet()), **values
    )
    # A NUL is lost on the way to what a browser shows, and a lone surrogate cannot be written to a file.
    return drawable_text(page)


@cache
def _templates() -> jinja2.Environment:
    """Return the templates of this package, each compiled once."""
    templates = environment("borgtrace.report")
    templates.filters.update(
        headline=headline,
        json_script=json_script,
        packed_rows=packed_rows,
        inline=inline,
        paragraphs=paragraphs,
    )
    return templates


@cache
def javascript() -> str:
    """Return the script that defines ``vegaEmbed``; it is shipped by vl-convert, nothing is fetched.

    The Vega-Lite version is the one that Altair writes.

    Examples
    --------
    >>> "vegaEmbed" in javascript()
    True
    """
    import altair
    import vl_convert

    # vl-convert names versions by two numbers, Altair by three.
    version = ".".join(altair.SCHEMA_VERSION.lstrip("v").split(".")[:2])
    converter_version = distribution_version("vl-convert-python")
    # To put it together takes 2.7 s, more than the rest of a page.
    cached_file = user_cache() / f"vega-lite-{version}-vl-convert-{converter_version}.js"
    try:
        script = cached_file.read_text("utf-8")
    except OSError:
        script = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", vl_version=version)
        with suppress(OSError):
            write_file(cached_file, script)
    return inline_script(script)
