"""Secrets in URLs, hidden in everything that is printed."""

import re

HIDDEN = "…"
_URL = r"(?P<scheme>[a-z][a-z0-9+.-]+:/+)"
# Up to the last @: a secret of Amazon's may hold slashes, where a URL would have ended its host.
_USER_AND_PASSWORD = re.compile(rf"{_URL}[^\s/@]*:\S*@", re.IGNORECASE)
_USER = re.compile(rf"{_URL}[^\s/@]+@", re.IGNORECASE)
_AZURE = ("abfs:", "abfss:", "wasb:", "wasbs:")
"""What stands before the @ in these URLs is a container."""
_QUERY = re.compile(r"[a-z][a-z0-9+.-]+:/+[^\s?#]*[?#]\S*=\S*", re.IGNORECASE)
_VALUE = re.compile(r"(?<==)[^&;#\s'\"]+")


def without_secrets(text: str) -> str:
    """Return a text in which every URL is without user, password and the values of its query.

    Examples
    --------
    >>> without_secrets("s3://AKIA:wJa/lr@bucket/store: no such bucket")
    's3://…@bucket/store: no such bucket'
    >>> without_secrets("https://host/trace?X-Amz-Signature=0a1b&page=2")
    'https://host/trace?X-Amz-Signature=…&page=…'
    >>> without_secrets("abfss://container@account/store, s3://bucket/a=1?/b")
    'abfss://container@account/store, s3://bucket/a=1?/b'
    """
    # The usual case: a message without a URL.
    if ":/" not in text:
        return text
    text = _USER_AND_PASSWORD.sub(rf"\g<scheme>{HIDDEN}@", text)
    text = _USER.sub(_without_user, text)
    return _QUERY.sub(_without_values, text)


def _without_user(url: re.Match[str]) -> str:
    scheme = url["scheme"]
    return url[0] if scheme.lower().startswith(_AZURE) else f"{scheme}{HIDDEN}@"


def _without_values(url: re.Match[str]) -> str:
    # Values alone: an `=` before the query belongs to the name of a file.
    start = re.search(r"[?#]", url[0])
    assert start
    query = _VALUE.sub(HIDDEN, url[0][start.start() :])
    return url[0][: start.start()] + query
