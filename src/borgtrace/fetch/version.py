"""Which bytes a server offers under an address: their number, tag and digests."""

from __future__ import annotations

from dataclasses import dataclass, field

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
        return self.etag if self.etag and not self.etag.startswith("W/") else None

    def differs(self, other: Version) -> bool:
        """Return whether the two are known to be different bytes; lengths alone may be lies."""
        # Digests first: a tag may change while the bytes stay the same.
        same = agree(self.digests, other.digests)
        if same is None and self.etag and other.etag:
            same = self.etag == other.etag
        return same is False

    def merged(self, later: Version) -> Version:
        """Return this version with what is known besides about the same bytes, which takes precedence."""
        return Version(
            later.size or self.size, later.etag or self.etag, {**self.digests, **later.digests}
        )


def version_of(response: httpx.Response) -> Version:
    """Read the version out of an answer to HEAD, or to GET with status 200 or 206."""
    headers = response.headers
    size = _number(headers.get("content-length")) or _number(
        headers.get("x-goog-stored-content-length")
    )
    if response.status_code == httpx.codes.PARTIAL_CONTENT:
        size = content_range(response)[1]
    return Version(size, headers.get("etag"), parse_goog_hash(headers.get_list("x-goog-hash")))


def content_range(response: httpx.Response) -> tuple[int | None, int | None]:
    """Return (first byte, total length) of a ``Content-Range`` header, None where it does not say.

    Examples
    --------
    >>> content_range(httpx.Response(206, headers={"content-range": "bytes 5-9/10"}))
    (5, 10)
    >>> content_range(httpx.Response(416, headers={"content-range": "bytes */10"}))
    (None, 10)
    """
    span, _, total = (
        response.headers.get("content-range", "").removeprefix("bytes").strip().partition("/")
    )
    return _number(span.partition("-")[0]), _number(total)


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdigit() else None
