"""Look up the name of a server, and give up early: without a network the system's own search takes up to a minute."""

import socket
import threading
import urllib.request

PATIENCE_S = 4.0
"""Seconds that a lookup may take."""


def lookup_problem(host: str, patience_s: float = PATIENCE_S) -> str | None:
    """Return why the name of a server has no address; None where it has one, or where a proxy looks it up.

    Parameters
    ----------
    host
        A name or an address.
    patience_s
        Seconds after which the lookup counts as failed.

    Examples
    --------
    >>> lookup_problem("127.0.0.1") is None
    True
    """
    if urllib.request.getproxies():
        return None
    problems: list[str | None] = []

    def look_up() -> None:
        try:
            socket.getaddrinfo(host, None)
        except OSError as error:
            problems.append(str(error))
        else:
            problems.append(None)

    # A daemon: a lookup cannot be interrupted, and must not keep the process from ending.
    lookup = threading.Thread(target=look_up, daemon=True)
    lookup.start()
    lookup.join(patience_s)
    return problems[0] if problems else f"no address within {patience_s:g} s"
