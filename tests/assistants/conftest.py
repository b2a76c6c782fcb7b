"""Stores for assistants, and the SDK's own client beside a server that it starts as an assistant does.

Servers are forks of the process that runs commands; one test starts what ``borgtrace mcp --config`` prints.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from borgtrace.ingest import IngestOptions, ingest
from borgtrace.synth import SynthOptions
from borgtrace.synth.generate import write_trace
from tests.hostile import write_2019

Server = Callable[..., Any]


class Session:
    """A client of the SDK, whose calls block.

    Parameters
    ----------
    portal, client
        Runs coroutines, and the client that lives there.
    """

    def __init__(self, portal: Any, client: Any) -> None:
        self._portal = portal
        self.client = client

    def run(self, method: str, *arguments: Any) -> Any:
        """Call a method of the client."""
        return self._portal.call(getattr(self.client, method), *arguments)

    def answer(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool, which must answer."""
        result = self.run("call_tool", tool, arguments)
        assert not result.is_error, result.content[0].text
        return result.structured_content

    def refusal(self, tool: str, **arguments: Any) -> str:
        """Call a tool, which must refuse."""
        result = self.run("call_tool", tool, arguments)
        assert result.is_error, result.structured_content
        return result.content[0].text.removeprefix(f"Error executing tool {tool}: ")


@contextmanager
def session(words: Sequence[str]) -> Iterator[Session]:
    """Start a server by its command line, and yield a client of it."""
    pytest.importorskip("mcp", reason="the SDK of the Model Context Protocol is not installed")
    from anyio.from_thread import start_blocking_portal
    from mcp import Client, StdioServerParameters

    server = StdioServerParameters(
        command=words[0], args=list(map(str, words[1:])), env=dict(os.environ)
    )
    with start_blocking_portal() as portal:
        client = Client(server)
        with portal.wrap_async_context_manager(client):
            yield Session(portal, client)


@pytest.fixture(scope="session")
def cell(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A synthetic cell of ten machines and two hours."""
    folder = tmp_path_factory.mktemp("cell")
    write_trace(folder / "raw", SynthOptions(machines=10, hours=2.0, seed=1))
    ingest([folder / "raw"], folder / "cell", IngestOptions(jobs=1))
    return folder / "cell"


@pytest.fixture(scope="session")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cell of 2019 in which every text is hostile."""
    folder = tmp_path_factory.mktemp("hostile")
    write_2019(folder / "raw")
    ingest([folder / "raw"], folder / "store", IngestOptions(jobs=1))
    return folder / "store"


@pytest.fixture(scope="module")
def on_cell(cell: Path, command: Callable[..., list[str]]) -> Iterator[Session]:
    """A client of a server of the synthetic cell, whose queries may take two seconds."""
    with session(command("mcp", cell, "--timeout", "2s")) as opened:
        yield opened


@pytest.fixture(scope="module")
def on_hostile(hostile: Path, command: Callable[..., list[str]]) -> Iterator[Session]:
    """A client of a server of the hostile cell."""
    with session(command("mcp", hostile)) as opened:
        yield opened
