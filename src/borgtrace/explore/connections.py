"""One connection to the explorer, with time limits: other programs on this machine may open any number.

A request must arrive whole in a few seconds, an answer must be taken, and only so many connections are open at once.
"""

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

MOST_CONNECTIONS = 100
"""Open at once; a browser opens six."""
REQUEST_SECONDS = 10.0
"""Within which a request must arrive whole, however slowly its bytes come."""
IDLE_SECONDS = 5
"""How long a connection may wait for its next request."""
TAKE_SECONDS = 30.0
"""Within which the part of an answer that is waiting must be taken."""


class Connection(H11Protocol):
    """A connection that is closed when its other end keeps it waiting.

    Where there are too many, the one that has waited longest makes room for a new one.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request."""
        super().connection_made(transport)
        self._request_timer: asyncio.TimerHandle | None = None
        self._take_timer: asyncio.TimerHandle | None = None
        self._opened = self.loop.time()
        self._wait_for_request()
        self._make_room()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop all clocks."""
        self._stop_waiting()
        self.resume_writing()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read a piece of a request: what follows it must not take for ever, either."""
        super().data_received(data)
        if self.is_busy:
            self._stop_waiting()
        else:
            self._wait_for_request()

    def pause_writing(self) -> None:
        """Wait until the other end takes what was written."""
        super().pause_writing()
        self._take_timer = self.loop.call_later(TAKE_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        """Go on writing."""
        super().resume_writing()
        if self._take_timer is not None:
            self._take_timer.cancel()
            self._take_timer = None

    def timeout_keep_alive_handler(self) -> None:
        """Close a connection that asks for nothing more, and has perhaps not taken its last answer."""
        if self.transport.get_write_buffer_size():
            self.transport.abort()
        else:
            super().timeout_keep_alive_handler()

    @property
    def is_busy(self) -> bool:
        """Whether a request is being answered."""
        return self.cycle is not None and not self.cycle.response_complete

    def _wait_for_request(self) -> None:
        # Not begun anew with each byte.
        if self._request_timer is None:
            self._request_timer = self.loop.call_later(REQUEST_SECONDS, self.transport.abort)

    def _stop_waiting(self) -> None:
        if self._request_timer is not None:
            self._request_timer.cancel()
            self._request_timer = None

    def _make_room(self) -> None:
        """Close the one that has waited longest, where there are too many."""
        connections: list[Any] = [*self.connections]
        # A connection that is closed is gone a moment later.
        still_open = [each for each in connections if not each.transport.is_closing()]
        if len(still_open) > MOST_CONNECTIONS:
            # This one waits, too: it goes where all others are being answered.
            waiting = [each for each in still_open if not each.is_busy]
            oldest = min(waiting, key=lambda each: each._opened)
            oldest.transport.abort()
