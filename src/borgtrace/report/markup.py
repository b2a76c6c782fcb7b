"""Docstrings, JSON and scripts as parts of an HTML page."""

import re

from markupsafe import Markup, escape

# The order matters: double signs before single ones, which would take half of each.
INLINE_MARKS = (
    (re.compile(r"``(.+?)``"), r"<code>\1</code>"),
    (re.compile(r":\w+:`~?\.?([^`]+)`"), r"<code>\1</code>"),
    (re.compile(r"`([^`]+)`"), r"<code>\1</code>"),
    (re.compile(r"\*\*(\S(?:.*?\S)?)\*\*"), r"<strong>\1</strong>"),
    (re.compile(r"(?<![\w*])\*(\S(?:[^*]*?\S)?)\*(?![\w*])"), r"<em>\1</em>"),
)
"""Emphasis and code in docstrings, and the same in HTML."""


def inline(text: str) -> Markup:
    """Return one line of text with its emphasis and code as HTML.

    Examples
    --------
    >>> inline("the *mean* of ``average_cpu`` < 1")
    Markup('the <em>mean</em> of <code>average_cpu</code> &lt; 1')
    """
    # Escaped before markup is put in; none of the signs of emphasis is touched by it.
    html = str(escape(" ".join(text.split())))
    for pattern, replacement in INLINE_MARKS:
        html = pattern.sub(replacement, html)
    return Markup(html)


def paragraphs(text: str) -> Markup:
    r"""Return a text as HTML paragraphs; lines that start with ``-`` or ``*`` become a list.

    Examples
    --------
    >>> paragraphs("One.\n\n- a\n- b")
    Markup('<p>One.</p>\n<ul><li>a</li><li>b</li></ul>')
    """
    blocks = []
    for block in re.split(r"\n\s*\n", text.strip()):
        if block.strip():
            blocks.append(paragraph_or_list(block.strip()))
    return Markup("\n").join(blocks)


def paragraph_or_list(block: str) -> Markup:
    """Return a block of text without blank lines as HTML."""
    if not re.match(r"[-*] ", block):
        return Markup(f"<p>{inline(block)}</p>")
    items = re.split(r"(?:^|\n)\s*[-*] ", block)[1:]
    list_items = "".join(f"<li>{inline(item)}</li>" for item in items)
    return Markup(f"<ul>{list_items}</ul>")


def json_script(text: str) -> Markup:
    r"""Make JSON safe inside ``<script type="application/json">``.

    Examples
    --------
    >>> json_script('{"a": "</script>"}')
    Markup('{"a": "\\u003c/script>"}')
    """
    # An escape that JSON knows, and no ``<`` left that could end the element.
    return Markup(text.replace("<", "\\u003c"))


def inline_script(text: str) -> str:
    r"""Make a script safe inside ``<script>``: the page's parser must not see an end tag or a comment.

    Examples
    --------
    >>> inline_script("'</script>'")
    "'<\\/script>'"
    """
    # Inside strings of JavaScript a backslash before these characters changes nothing.
    return text.replace("</script", "<\\/script").replace("<!--", "<\\!--")
