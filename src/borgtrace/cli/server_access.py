"""Credentials for a server, from options or the environment; never a secret on the command line."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from borgtrace.errors import UsageError
from borgtrace.fetch.prometheus import Credentials, parse_headers, read_secret

BEARER = "BORGTRACE_BEARER"
PASSWORD = "BORGTRACE_PASSWORD"
HEADERS = "BORGTRACE_HEADERS"


def access_of(
    *,
    bearer_file: Path | None = None,
    user: str = "",
    password_file: Path | None = None,
    headers: Sequence[str] = (),
    region: str = "",
    ca: Path | None = None,
    cert: Path | None = None,
    key: Path | None = None,
    is_insecure: bool = False,
    environment: Mapping[str, str] = os.environ,
) -> Credentials:
    """Return credentials: what options name, else what the environment holds.

    Parameters
    ----------
    bearer_file, user, password_file, headers, region, ca, cert, key, is_insecure
        The options.
    environment
        ``BORGTRACE_BEARER``, ``BORGTRACE_PASSWORD``, and ``BORGTRACE_HEADERS`` with one header in each line.

    Raises
    ------
    UsageError
        An option has a value that makes no sense, or a password is missing.
    SourceError
        A file cannot be read.
    """
    bearer = read_secret(bearer_file, "--bearer-file") if bearer_file else ""
    # A token of the environment gives way to another way that was named.
    if not bearer and not user and not region:
        bearer = environment.get(BEARER, "").strip()
    password = _password_of(user, password_file, environment)
    lines = [line for line in environment.get(HEADERS, "").splitlines() if line.strip()]
    return Credentials(
        bearer=bearer,
        user=user,
        password=password,
        headers={**parse_headers(lines, HEADERS), **parse_headers(headers)},
        region=region,
        ca=ca,
        cert=cert,
        key=key,
        is_insecure=is_insecure,
    )


def _password_of(user: str, password_file: Path | None, environment: Mapping[str, str]) -> str:
    """Return the password of a user; empty where no user is named."""
    if not user:
        if password_file:
            raise UsageError("--password-file", "a password of nobody", way_out="add --user NAME")
        return ""
    password = read_secret(password_file, "--password-file") if password_file else ""
    password = password or environment.get(PASSWORD, "")
    if not password:
        raise UsageError(
            "--user",
            "no password",
            way_out=f"name its file: --password-file FILE, or set {PASSWORD}",
        )
    return password
