"""The page itself: sections, holdings, citations and docstrings as HTML through one template into one file."""

import re
import tomllib
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from importlib.metadata import version as distribution_version
from importlib.resources import files
from itertools import product
from typing import Any

from markupsafe import Markup, escape

from borgtrace.question.claims import KINDS, headline, unjudged
from borgtrace.report import holdings, overview
from borgtrace.report.sections import VERDICTS, Section, grouped, observed, refusals
from borgtrace.report.values import environment
from borgtrace.schema import TABLES
from borgtrace.schema.dialects import Citation
from borgtrace.storage import user_cache, write_file
from borgtrace.store.manifest import Manifest

# The order matters: double signs before single ones, which would take half of each.
_INLINE = (
    (re.compile(r"``(.+?)``"), r"<code>\1</code>"),
    (re.compile(r":\w+:`~?\.?([^`]+)`"), r"<code>\1</code>"),
    (re.compile(r"`([^`]+)`"), r"<code>\1</code>"),
    (re.compile(r"\*\*(\S(?:.*?\S)?)\*\*"), r"<strong>\1</strong>"),
    (re.compile(r"(?<![\w*])\*(\S(?:[^*]*?\S)?)\*(?![\w*])"), r"<em>\1</em>"),
)


def inline(text: str) -> Markup:
    """Return one line of text with its emphasis and code as HTML.

    Examples
    --------
    >>> inline("the *mean* of ``average_cpu`` < 1")
    Markup('the <em>mean</em> of <code>average_cpu</code> &lt; 1')
    """
    # Escaped before markup is put in; none of the signs of emphasis is touched by it.
    html = str(escape(" ".join(text.split())))
    for pattern, replacement in _INLINE:
        html = pattern.sub(replacement, html)
    return Markup(html)


def paragraphs(text: str) -> Markup:
    r"""Return a text as HTML paragraphs; lines that start with ``-`` or ``*`` become a list.

    Examples
    --------
    >>> paragraphs("One.\n\n- a\n- b")
    Markup('<p>One.</p>\n<ul><li>a</li><li>b</li></ul>')
    """
    blocks = [block.strip() for block in re.split(r"\n\s*\n", text.strip()) if block.strip()]
    return Markup("\n").join(_block(block) for block in blocks)


def _block(block: str) -> Markup:
    if not re.match(r"[-*] ", block):
        return Markup(f"<p>{inline(block)}</p>")
    items = re.split(r"(?:^|\n)\s*[-*] ", block)[1:]
    return Markup("<ul>" + "".join(f"<li>{inline(item)}</li>" for item in items) + "</ul>")


_LISTED = tomllib.loads(files("borgtrace.report").joinpath("papers.toml").read_text("utf-8"))[
    "paper"
]
PAPERS = tuple(
    Citation(one["text"], one.get("address", ""), tuple(one["marks"])) for one in _LISTED
)


def papers_cited(references: str) -> list[Citation]:
    """Return the papers that a text refers to, by their authors' names.

    Examples
    --------
    >>> [paper.marks[0] for paper in papers_cited("Zhu et al., Fig. 10; Reiss et al., section 4")]
    ['Reiss', 'Zhu']
    """
    # In the order of the list, not in that of the questions.
    return [paper for paper in PAPERS if any(mark in references for mark in paper.marks)]


def report_html(
    manifest: Manifest,
    store_name: str,
    sections: Sequence[Section],
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
    methods = [item.question.reference for item in sections]
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
        judged={
            key: [row for row in rows if (row[1].kind, row[1].verdict) == key]
            for key in product(KINDS, VERDICTS)
        },
        unjudged=unjudged(findings),
        verdicts={verdict: sum(item.count(verdict) for item in sections) for verdict in VERDICTS},
        holdings=holdings.holdings(manifest),
        missing=[name for name in TABLES if not manifest.tables.get(name)],
        counters=holdings.counters(manifest),
        papers=papers_cited(" ".join(methods + sources)),
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
    kept = (
        user_cache()
        / f"vega-lite-{version}-vl-convert-{distribution_version('vl-convert-python')}.js"
    )
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
