"""Credentials for a server, and how its identity is checked: tokens, passwords, headers and certificates.

Nothing of it is ever written down or repeated: `hide` takes it out of whatever a server says.
"""

import re
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from borgtrace.errors import SourceError, UsageError, first_line
from borgtrace.redaction import HIDDEN
from borgtrace.storage import read_regular

TENANT = "X-Scope-OrgID"
"""The header that names a tenant of Mimir, Cortex or Loki: no secret, and part of what was asked."""
_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_|~-]+")
_SECRET_HEADERS = {"authorization", "proxy-authorization", "cookie"}
_RESERVED_HEADERS = {"host", "content-length", "transfer-encoding", "connection", "accept-encoding"}
_MOST_BYTES = 64 << 10
_SHORTEST_SECRET = 4


@dataclass(frozen=True)
class Credentials:
    """Credentials and certificates.

    Attributes
    ----------
    bearer
        Token that is sent as ``Authorization: Bearer …``.
    user, password
        For HTTP's basic authentication.
    headers
        More headers of each request, by name.
    region
        Region of Amazon's managed service, whose requests are signed; empty elsewhere.
    ca, cert, key
        Files: authorities to trust instead of the system's, and the certificate that is shown to the server.
    is_insecure
        Whether any certificate is taken.
    """

    bearer: str = field(default="", repr=False)
    user: str = ""
    password: str = field(default="", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    region: str = ""
    ca: Path | None = None
    cert: Path | None = None
    key: Path | None = None
    is_insecure: bool = False

    def __post_init__(self) -> None:
        ways = {"a bearer token": self.bearer, "--user": self.user, "--aws-region": self.region}
        chosen = [name for name, value in ways.items() if value]
        if len(chosen) > 1:
            raise UsageError(
                "authentication", "ambiguous", expected="one of its ways", got=" and ".join(chosen)
            )

    @property
    def tenant(self) -> str:
        """Name of the tenant; empty where none is named."""
        for name, value in self.headers.items():
            if name.lower() == TENANT.lower():
                return value
        return ""

    @property
    def is_secret(self) -> bool:
        """Whether requests hold what nobody else may see."""
        names = {name.lower() for name in self.headers}
        return bool(self.bearer or self.user or names - {TENANT.lower()})

    def client_options(self) -> dict[str, Any]:
        """Return what a client is made with."""
        options: dict[str, Any] = {"verify": self._tls()}
        if self.user:
            options["auth"] = httpx.BasicAuth(self.user, self.password)
        if self.region:
            from borgtrace.fetch.prometheus.sigv4 import SignedRequests

            options["auth"] = SignedRequests(self.region)
        return options

    def all_headers(self) -> dict[str, str]:
        """Return the headers of each request."""
        headers = dict(self.headers)
        if self.bearer:
            headers["Authorization"] = f"Bearer {self.bearer}"
        return headers

    def hide(self, text: str) -> str:
        """Return a text without any secret: a server may repeat what it was sent.

        Examples
        --------
        >>> Credentials(bearer="abc123").hide("no token abc123 here")
        'no token … here'
        """
        secrets = [self.bearer, self.password]
        for name, value in self.headers.items():
            if name.lower() != TENANT.lower():
                secrets.append(value)
        for secret in sorted(secrets, key=len, reverse=True):
            # Of a shorter one nothing would be left but noise, and its place would show.
            if len(secret) >= _SHORTEST_SECRET:
                text = text.replace(secret, HIDDEN)
        return text

    def _tls(self) -> ssl.SSLContext:
        context = ssl.create_default_context()
        if self.ca:
            context = _context_of(self.ca)
        if self.is_insecure:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if self.cert:
            try:
                context.load_cert_chain(self.cert, self.key, password=_no_pass_phrase)
            except (OSError, ssl.SSLError, ValueError) as error:
                raise UsageError(
                    "--cert",
                    "not a certificate with its key",
                    expected="PEM files: --cert FILE --key FILE",
                    got=f"{self.cert} ({first_line(error)})",
                ) from error
        elif self.key:
            raise UsageError("--key", "a key without its certificate", way_out="add --cert FILE")
        return context


def _no_pass_phrase() -> str:
    raise ValueError("the key has a pass phrase")


def _context_of(ca: Path) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=str(ca))
    except (OSError, ssl.SSLError) as error:
        raise UsageError(
            "--ca",
            "no certificates of authorities",
            expected="a PEM file",
            got=f"{ca} ({first_line(error)})",
        ) from error


def read_secret(path: Path, option: str) -> str:
    """Return a secret that stands alone in a file.

    Parameters
    ----------
    path
        The file.
    option
        For messages.

    Raises
    ------
    UsageError
        The file is empty, too large, or more than one line.
    SourceError
        It cannot be read.
    """
    lines = _text_of(path).strip().splitlines()
    if len(lines) != 1 or not _is_header_value(lines[0].strip()):
        raise UsageError(
            option, "not a secret", expected="one line of text", got=f"{path}, {len(lines)} lines"
        )
    return lines[0].strip()


def parse_headers(texts: Sequence[str], where: str = "--header") -> dict[str, str]:
    """Return headers by name, written as ``Name: value``, or as ``@FILE`` with one of them in each line.

    Parameters
    ----------
    texts
        What the user wrote.
    where
        The option or variable, for messages.

    Raises
    ------
    UsageError
        A text is no header, one that is ours to set, or a secret that the list of processes would show.
    """
    headers: dict[str, str] = {}
    for text in texts:
        if text.startswith("@"):
            path = Path(text[1:])
            for number, line in enumerate(_text_of(path).splitlines(), 1):
                if line.strip():
                    name, value = _header(line, f"{path}:{number}")
                    headers[name] = value
            continue
        name, value = _header(text, where)
        if where == "--header" and name.lower() in _SECRET_HEADERS:
            raise UsageError(
                "--header",
                f"{name} is a secret, and every user of this machine sees the command line",
                way_out="write the header into a file: --header @FILE, or see --bearer-file and --user",
            )
        headers[name] = value
    return headers


def _header(text: str, where: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    name = name.strip()
    value = value.strip()
    # Without the text, whose value may be a secret.
    if not colon or not _NAME.fullmatch(name) or not _is_header_value(value):
        raise UsageError(where, "not a header", expected="a line such as X-Scope-OrgID: team")
    if name.lower() in _RESERVED_HEADERS:
        raise UsageError(where, f"{name} is set by the connection itself", way_out="leave it out")
    return name, value


def _is_header_value(value: str) -> bool:
    return bool(value) and value.isascii() and value.isprintable()


def _text_of(path: Path) -> str:
    try:
        content = read_regular(path)
    except OSError as error:
        raise SourceError(
            str(path),
            f"cannot be read ({error.strerror or first_line(error)})",
            way_out="check the path",
        ) from error
    if len(content) > _MOST_BYTES:
        raise UsageError(str(path), "too large", expected=f"at most {_MOST_BYTES:,} bytes")
    return content.decode("utf-8", "replace")
