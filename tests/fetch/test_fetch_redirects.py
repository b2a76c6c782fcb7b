"""A fetch stays with the server it was given, and calls verified only what it has compared."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest
import typer
from typer.testing import CliRunner

from borgtrace.cli.commands.fetch import fetch
from borgtrace.errors import SourceError
from borgtrace.fetch import Session, bucket
from borgtrace.fetch.connections import refuse_other_servers

PATHS = [bucket("2019", "a").path("instance_usage", part) for part in range(2)]
Redirect = Callable[[str], str]


@pytest.fixture
def redirecting() -> Iterator[Redirect]:
    """Start servers that answer everything by a redirect to one address, the path appended."""
    with ExitStack() as stack:

        def start(target: str) -> str:
            class Handler(BaseHTTPRequestHandler):
                def do_GET(self) -> None:
                    self.send_response(302)
                    self.send_header("Location", target + self.path)
                    self.send_header("Content-Length", "0")
                    self.end_headers()

                do_HEAD = do_GET  # noqa: N815 - the name that http.server asks for

                def log_message(self, *_: object) -> None:
                    pass

            server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
            thread = threading.Thread(
                target=server.serve_forever,
                kwargs={"poll_interval": 0.02},
                daemon=True,
            )
            thread.start()
            stack.callback(thread.join)
            stack.callback(server.server_close)
            stack.callback(server.shutdown)
            return f"http://127.0.0.1:{server.server_port}"

        yield start


def test_a_redirect_to_another_server_is_refused_before_it_is_asked(
    serve,
    archives,
    session: Session,
    redirecting,
):
    server = serve(archives(PATHS))
    url = redirecting(server.url)
    message = (
        f"{url}/{PATHS[0]}: the server sends us to another one: expected {url}, got {server.url}; "
        "if you trust it, name the address that holds the files: --base-url URL"
    )
    with pytest.raises(SourceError) as head:
        session.head(f"{url}/{PATHS[0]}")
    with pytest.raises(SourceError) as get, session.get(f"{url}/{PATHS[0]}"):
        pass
    assert (str(head.value), str(get.value)) == (message, message)
    assert server.requests == []


@pytest.mark.parametrize(
    ("here", "location", "is_followed"),
    [
        ("https://a.example/x/y", "/z", True),
        ("https://a.example/x/y", "https://a.example:443/z", True),
        ("http://a.example/x", "https://a.example/x", True),
        ("https://a.example/x", "http://a.example/x", False),
        ("https://a.example/x", "https://b.example/x", False),
        ("https://a.example/x", "//b.example/x", False),
        ("https://a.example/x", "https://a.example.b.example/x", False),
        ("https://a.example/x", "https://a.example@b.example/x", False),
        ("http://a.example/x", "http://a.example:8080/x", False),
        ("http://a.example:8080/x", "https://a.example/x", False),
    ],
)
def test_which_redirects_are_followed(
    here: str,
    location: str,
    is_followed: bool,
):
    response = httpx.Response(
        302, headers={"location": location}, request=httpx.Request("GET", here)
    )
    if is_followed:
        refuse_other_servers(response)
    else:
        with pytest.raises(
            SourceError,
            match=r"^https?://a\.example(:8080)?/x: the server sends us to another one: ",
        ):
            refuse_other_servers(response)


def test_an_answer_that_leads_nowhere_is_none_of_ours():
    refuse_other_servers(httpx.Response(200, request=httpx.Request("GET", "https://a.example/x")))


def test_without_a_checksum_nothing_is_called_verified(serve, archives, tmp_path):
    app = typer.Typer()
    app.command()(fetch.__wrapped__)
    server = serve(archives(PATHS), hashes=())
    words = [
        "2019",
        str(tmp_path),
        "--cell",
        "a",
        "--tables",
        "instance_usage",
        "--base-url",
        server.url,
    ]
    result = CliRunner().invoke(app, words)
    folder = tmp_path / "clusterdata_2019_a"
    assert result.exit_code == 0
    assert result.stderr.splitlines()[-1] == (
        "2 files complete, 0 verified: the server gives no checksum of the others, so only their length and their end "
        f"were checked. Next: borgtrace ingest {folder} --store store"
    )
