"""The drawing library that the page carries inside: Vega, Vega-Lite and Vega-Embed as one script."""

from __future__ import annotations

from functools import cache


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
    script: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", vl_version=version)
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
