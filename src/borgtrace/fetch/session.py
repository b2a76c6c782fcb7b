"""Requests to the server of a bucket: facts about a file, and faults told from answers."""

from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

import httpx

from borgtrace.fetch.connections import Connections
from borgtrace.fetch.digests import parse_sums
from borgtrace.fetch.retry import Fault, NotPublished
from borgtrace.fetch.version import Version, version_of

T = TypeVar("T")

_NOT_PUBLISHED = {401, 403, 404, 410}
_NO_HEAD = {405, 501}
_TEMPORARY = {408, 425, 429}
# 416 is an answer, too: it tells the length of the file.
_GOOD = {200, 206, 416}
_UNEXPECTED_COST = 4
"""Of eight attempts: twice is enough for an answer that repeating hardly ever changes."""


class Session(Connections):
    """Connections to a bucket, shared by the threads of one fetch; its parameters are those of :class:`Connections`."""

    def head(self, url: str) -> Version | None:
        """Return what the server says about a file, None when it says there is none."""
        return self._unless_missing(url, self._head)

    def sums(self, url: str) -> dict[str, str]:
        """Return the checksums that a file lists, by path; empty when there is no such file."""
        return self._unless_missing(url, self._sums) or {}

    def _unless_missing(
        self,
        url: str,
        request: Callable[[str], T],
    ) -> T | None:
        with suppress(NotPublished):
            return self.repeat(url, lambda: request(url))
        return None

    def _head(self, url: str) -> Version:
        self.wait_until_allowed()
        with self.errors_as_faults():
            response = self.client.head(url)
        # Some mirrors do not know HEAD; the headers of a GET say the same, and its body is not read.
        if response.status_code in _NO_HEAD:
            with self.get(url) as response:
                return version_of(response)
        self.judge(response)
        return version_of(response)

    def _sums(self, url: str) -> dict[str, str]:
        with self.get(url) as response:
            response.read()
            sums = parse_sums(response.text)
        # An error page with status 200: taken for a list, it would leave every file without a checksum.
        if response.text and not sums:
            _, _, name = url.rpartition("/")
            raise Fault(f"{name} holds no checksums")
        return sums

    def judge(self, response: httpx.Response) -> None:
        """Return if an answer is good.

        Raises
        ------
        NotPublished
            There is no such file.
        Fault
            Something else came.
        """
        self.has_answered = True
        code = response.status_code
        status = f"{code} {response.reason_phrase}".strip()
        if code in _NOT_PUBLISHED:
            raise NotPublished(status)
        if code in _TEMPORARY or code >= 500:
            retry_after = self.slow_down(response)
            raise Fault(f"the server answers {status}", retry_after=retry_after)
        if code not in _GOOD:
            raise Fault(f"the server answers {status}", cost=_UNEXPECTED_COST)
        if response.headers.get("content-type", "").startswith("text/html"):
            raise Fault("an HTML page came instead of the file (a proxy, or a login page?)")
