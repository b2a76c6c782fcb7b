"""The address of a Prometheus API, as people copy it: with or without the path of a page or a query."""

import re

import httpx

from borgtrace.errors import UsageError
from borgtrace.redaction import without_secrets

OTHER_PREFIXES = ("/prometheus", "/api/prom", "/select/0/prometheus")
"""Where Mimir, Cortex and the cluster of VictoriaMetrics have their API below the root."""
_TAIL = re.compile(
    r"(/api/v1(/(query|query_range|series|labels?|status)\b.*)?|/graph|/query|/vmui|/targets)/*$"
)


def parse_address(text: str, where: str = "URL") -> str:
    """Return the address below which ``/api/v1/query_range`` is.

    Parameters
    ----------
    text
        What the user wrote.
    where
        The argument, for the error.

    Raises
    ------
    UsageError
        It is no address of HTTP, or holds a password or a query.

    Examples
    --------
    >>> parse_address("http://localhost:9090/graph")
    'http://localhost:9090'
    >>> parse_address("https://mimir.example/prometheus/api/v1/query_range")
    'https://mimir.example/prometheus'
    """
    shown = without_secrets(text)
    try:
        url = httpx.URL(text.strip())
    except httpx.InvalidURL as error:
        raise UsageError(
            where, f"not an address ({error})", expected="https://host:9090", got=shown
        ) from error
    if url.scheme not in ("http", "https") or not url.host:
        raise UsageError(
            where,
            "not the address of a server",
            expected="such as http://localhost:9090 or https://mimir.example/prometheus",
            got=shown,
        )
    if url.userinfo:
        raise UsageError(
            where,
            "the URL holds credentials",
            expected=f"{url.scheme}://{url.netloc.decode()}{url.path}",
            got=shown,
            way_out="leave the password to a file or the environment: --user NAME, --password-file FILE",
        )
    if url.query or url.fragment:
        raise UsageError(
            where,
            "the URL holds a query",
            expected=f"{url.scheme}://{url.netloc.decode()}{_TAIL.sub('', url.path)}",
            got=shown,
            way_out="leave out what follows the path",
        )
    path = _TAIL.sub("", url.path.rstrip("/")).rstrip("/")
    return f"{url.scheme}://{url.netloc.decode()}{path}"
