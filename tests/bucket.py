"""A real S3 server on this machine, whose buckets are folders: what asked it is known, and it can refuse."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

KEY, SECRET = "the-key-of-the-tests", "the-secret-of-the-tests"
KEY_OF_WORKERS = "the-key-of-the-workers"


class _Server(ThreadingHTTPServer):
    daemon_threads = True


class Bucket:
    """One bucket.

    Attributes
    ----------
    root
        Its folder.
    requests
        Method and path of each request, with the range of bytes where one was asked for.
    of_driver
        The same, without those of workers of Spark.
    key
        The access key that is let in.
    is_read_only
        Whether nothing may be written or removed.
    """

    def __init__(self, root: Path, name: str) -> None:
        self.root, self.url = root / name, f"s3://{name}"
        self.requests: list[tuple[str, str, str | None]] = []
        self.of_driver: list[tuple[str, str, str | None]] = []
        self.key = KEY
        self.is_read_only = False
        self.root.mkdir(parents=True)

    def asked(self, ending: str) -> list[str]:
        """Return the methods of the requests for paths with an ending, in their order."""
        return [method for method, path, _ in self.requests if path.endswith(ending)]


@contextmanager
def serving(root: Path, name: str, patch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    localbucket = pytest.importorskip(
        "localbucket", reason="localbucket, an S3 server for tests, is not installed"
    )
    from borgtrace.storage import remote

    bucket = Bucket(root, name)

    class Handler(localbucket.S3Handler):
        data_root = root
        # Else each answer waits 40 ms, until its headers are acknowledged.
        disable_nagle_algorithm = True

        def log_message(self, *_: Any) -> None:
            pass

        def _dispatch(self, action: Any) -> None:
            request = (self.command, self.path, self.headers.get("Range"))
            bucket.requests.append(request)
            credential = self.headers.get("Authorization", "")
            is_of_worker = f"Credential={KEY_OF_WORKERS}/" in credential
            if not is_of_worker:
                bucket.of_driver.append(request)
            # What is refused to this process is refused to workers, too.
            is_let_in = (
                bucket.key == KEY if is_of_worker else f"Credential={bucket.key}/" in credential
            )
            is_reading = self.command in ("GET", "HEAD")
            if not is_let_in or (bucket.is_read_only and not is_reading):
                action = self._refuse
            super()._dispatch(action)

        def _refuse(self, *_: Any) -> None:
            raise localbucket.S3Error(
                localbucket.HTTPStatus.FORBIDDEN, "AccessDenied", f"no access for {KEY}"
            )

    server = _Server(("127.0.0.1", 0), Handler)
    # It looks every 0.02 s whether it is to stop, and not every half second.
    Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    patch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{server.server_port}")
    patch.setenv("AWS_ACCESS_KEY_ID", KEY)
    patch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    patch.setenv("AWS_REGION", "us-east-1")
    remote.open_file_system.cache_clear()
    try:
        yield bucket
    finally:
        server.shutdown()
        server.server_close()


def known_to(session: Any, patch: pytest.MonkeyPatch) -> None:
    """Tell the workers of a session of Spark of the server, with a key of their own: its Java may have begun before."""
    for name in ("AWS_ENDPOINT_URL", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"):
        patch.setitem(session.sparkContext.environment, name, os.environ[name])
    patch.setitem(session.sparkContext.environment, "AWS_ACCESS_KEY_ID", KEY_OF_WORKERS)
