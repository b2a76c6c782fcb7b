"""The page itself: sections, holdings and citations through one template into one file."""

from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from importlib.metadata import version as distribution_version
from itertools import product
from typing import Any

from markupsafe import Markup

from borgtrace.recipe.claims import KINDS, headline, unjudged
from borgtrace.report import holdings, overview
from borgtrace.report.citations import papers_cited
from borgtrace.report.prose import inline, paragraphs
from borgtrace.report.sections import VERDICTS, Section, grouped, observed, refusals
from borgtrace.report.values import environment
from borgtrace.schema import TABLES
from borgtrace.storage import write_file
from borgtrace.store.kept import user_cache
from borgtrace.store.manifest import Manifest


def report_html(
    manifest: Manifest, store_name: str, sections: Sequence[Section], *, theme: str = "auto", width: int | None = None
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
    methods = [item.recipe.reference for item in sections]
    rows = [(item, finding) for item in sections for finding in item.findings]
    findings = [finding for _, finding in rows]
    sources = [finding.source for finding in findings]
    facts = overview.facts(manifest, sections)
    return render(
        "report.html.j2",
        title=holdings.trace_name(manifest),
        store=store_name,
        manifest=manifest,
        theme=theme,
        width=width,
        facts=facts,
        levels=overview.levels(facts),
        level_names=overview.LEVEL_NAMES,
        surprises=overview.surprises(sections),
        groups=grouped(item for item in sections if item.not_applicable is None),
        not_applicable=refusals(sections),
        sections=sections,
        observed=observed(sections),
        headline=headline(findings),
        kinds=KINDS,
        judged={key: [row for row in rows if (row[1].kind, row[1].verdict) == key] for key in product(KINDS, VERDICTS)},
        unjudged=unjudged(findings),
        verdicts={verdict: sum(item.count(verdict) for item in sections) for verdict in VERDICTS},
        holdings=holdings.holdings(manifest),
        missing=[name for name in TABLES if not manifest.tables.get(name)],
        counters=holdings.counters(manifest),
        trace_citations=manifest.dialect.citations,
        papers=papers_cited(" ".join(methods + sources)),
        licence=manifest.dialect.licence,
    )


def render(template: str, **values: Any) -> str:
    """Fill a template of this package, with the drawing library at hand."""
    filling = environment("borgtrace.report")
    filters = (headline, json_script, inline, paragraphs)
    filling.filters.update({function.__name__: function for function in filters})
    return filling.get_template(template).render(library=Markup(javascript()), **values)


def json_script(text: str) -> Markup:
    r"""Make JSON safe inside ``<script type="application/json">``.

    Examples
    --------
    >>> json_script('{"a": "</script>"}')
    Markup('{"a": "\\u003c/script>"}')
    """
    # An escape that JSON knows, and no ``<`` left that could end the element.
    return Markup(text.replace("<", "\\u003c"))


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
    # To put it together takes 2.7 s, more than the rest of a page.
    kept = user_cache() / f"vega-lite-{version}-vl-convert-{distribution_version('vl-convert-python')}.js"
    try:
        script = kept.read_text("utf-8")
    except OSError:
        script = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", vl_version=version)
        with suppress(OSError):
            write_file(kept, script)
    return inline_script(script)


def inline_script(text: str) -> str:
    r"""Make a script safe inside ``<script>``: the page's parser must not see an end tag or a comment.

    Examples
    --------
    >>> inline_script("'</script>'")
    "'<\\/script>'"
    """
    # Inside strings of JavaScript a backslash before these characters changes nothing.
    return text.replace("</script", "<\\/script").replace("<!--", "<\\!--")
