"""Docstrings as HTML: paragraphs, lists, emphasis and code."""

import re

from markupsafe import Markup, escape

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
