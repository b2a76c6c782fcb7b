"""The version of a file that a server offers: its length, tag and digests."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import httpx

from borgtrace.fetch.digests import Digests, agree, parse_goog_hash


@dataclass(frozen=True, slots=True)
class Version:
    """One version of a remote file, as far as the server describes it.

    Examples
    --------
    >>> old, new = Version(10, '"a"'), Version(12, '"b"')
    >>> old.differs(new), old.differs(Version(10))
    (True, False)
    """

    size: int | None = None
    etag: str | None = None
    digests: Digests = field(default_factory=dict)

    @property
    def validator(self) -> str | None:
        """Tag that is good for ``If-Range``: a weak one is not."""
        if self.etag is None or self.etag.startswith("W/"):
            return None
        return self.etag

    def differs(self, other: Version) -> bool:
        """Return whether the two are known to be different bytes; lengths alone may be wrong."""
        # Digests first: a tag may change while the bytes stay the same.
        is_same = agree(self.digests, other.digests)
        if is_same is None and self.etag and other.etag:
            is_same = self.etag == other.etag
        return is_same is False

    def merged(self, later: Version) -> Version:
        """Return this version with more that is known about the same bytes, which takes precedence."""
        return Version(
            size=later.size or self.size,
            etag=later.etag or self.etag,
            digests={**self.digests, **later.digests},
        )


def version_of(response: httpx.Response) -> Version:
    """Read the version out of an answer to HEAD, or to GET with status 200 or 206."""
    headers = response.headers
    if response.status_code == httpx.codes.PARTIAL_CONTENT:
        size = content_range(response).total
    else:
        size = whole_number(headers.get("content-length"))
        size = size or whole_number(headers.get("x-goog-stored-content-length"))
    digests = parse_goog_hash(headers.get_list("x-goog-hash"))
    return Version(size, headers.get("etag"), digests)


class ContentRange(NamedTuple):
    """Which bytes an answer holds: the first one, and how many the file has; None where it does not say."""

    first: int | None
    total: int | None


def content_range(response: httpx.Response) -> ContentRange:
    """Read a ``Content-Range`` header.

    Examples
    --------
    >>> content_range(httpx.Response(206, headers={"content-range": "bytes 5-9/10"}))
    ContentRange(first=5, total=10)
    >>> content_range(httpx.Response(416, headers={"content-range": "bytes */10"}))
    ContentRange(first=None, total=10)
    """
    header = response.headers.get("content-range", "")
    content = header.removeprefix("bytes").strip()
    span, _, total = content.partition("/")
    first, _, _ = span.partition("-")
    return ContentRange(whole_number(first), whole_number(total))


def whole_number(text: str | None) -> int | None:
    """Read a header that should be a whole number; None where it is none."""
    if text and text.isascii() and text.isdigit():
        return int(text)
    return None
