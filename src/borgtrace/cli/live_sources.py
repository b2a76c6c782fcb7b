"""Prometheus servers as sources of an ingest: their answers are kept beside the store and ingested as files."""

import hashlib
import re
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from pathlib import Path

from borgtrace.cli.clock_times import utc
from borgtrace.cli.live import LiveFetch, plan_query, print_query_plan
from borgtrace.cli.server_access import access_of
from borgtrace.errors import UsageError, harmless
from borgtrace.fetch.prometheus import (
    PrometheusServer,
    QueryPlan,
    UnfinishedFetch,
    parse_address,
    unfinished_fetch,
)
from borgtrace.storage import RemotePath, user_cache

JOBS = 2
"""Queries at a time."""
_NOT_OF_NAMES = re.compile(r"[^A-Za-z0-9.-]+")


@dataclass(frozen=True, slots=True)
class LiveOptions:
    """What of a server's data is wanted; empty for the default.

    Attributes
    ----------
    since, until, selector, step
        As of ``borgtrace fetch prometheus``.
    """

    since: str
    until: str
    selector: str
    step: str

    def require_servers(self) -> None:
        """Refuse options that have no effect: no source is a server.

        Raises
        ------
        UsageError
            It names the first of them.
        """
        for field in fields(self):
            value = getattr(self, field.name)
            if value:
                raise UsageError(
                    f"--{field.name}",
                    "no effect without the URL of a Prometheus server",
                    got=value,
                    way_out="leave it out, or name such a URL among the sources",
                )


def fetch_all(servers: Sequence[Path], store: Path, options: LiveOptions) -> list[Path]:
    """Fetch from servers, and return the folders of their answers.

    Parameters
    ----------
    servers
        Their addresses, as paths.
    store
        The answers are kept beside it.
    options
        What is wanted.

    Raises
    ------
    UsageError
        An option has no effect, or a value that makes no sense.
    SourceError
        A server does not answer, or has nothing.
    """
    if not servers:
        options.require_servers()
    folders = []
    for server in servers:
        with planned(server, store, options) as (connection, plan):
            fetch = LiveFetch(connection, plan, JOBS)
            fetch.run()
        fetch.finish(plan.request.folder, as_json=False)
        folders.append(plan.request.folder)
    return folders


def print_query_plans(
    servers: Sequence[Path], store: Path, options: LiveOptions, *, as_json: bool
) -> None:
    """Print what would be fetched; nothing is written."""
    for server in servers:
        with planned(server, store, options) as (_, plan):
            print_query_plan(plan, as_json=as_json)


@contextmanager
def planned(
    server: Path, store: Path, options: LiveOptions
) -> Iterator[tuple[PrometheusServer, QueryPlan]]:
    """Connect to a server, and yield it with the plan of what to ask."""
    access = access_of()
    address = parse_address(_url_of(server))
    step = options.step or "1m"
    name = answers_name(address, access.tenant, options.selector, step)
    with PrometheusServer(address, access, connections=JOBS) as connection:
        plan = plan_query(
            connection,
            answers_folder(store) / name,
            since=options.since or "14d",
            until=options.until,
            selector=options.selector,
            step=step,
        )
        yield connection, plan


def answers_folder(store: Path) -> Path:
    """Return where answers are kept: beside the store, or for a store in a bucket in the user's cache."""
    if isinstance(store, RemotePath):
        return user_cache() / "answers"
    return store.parent / f"{store.name}.answers"


def answers_name(address: str, *query: str) -> str:
    """Return the name of the folder of one server's answers to one query.

    Examples
    --------
    >>> answers_name("http://localhost:9090", "", "", "1m")
    'localhost-9090-01e58022'
    """
    _, _, place = address.partition("://")
    digest = hashlib.sha256("\n".join((address, *query)).encode()).hexdigest()
    return f"{_NOT_OF_NAMES.sub('-', place).strip('.-')}-{digest[:8]}"


def _url_of(path: Path) -> str:
    # Of "//" pathlib has left one slash.
    scheme, _, rest = str(path).partition(":")
    return f"{scheme}://{rest.lstrip('/')}"


def notes_on_missing(sources: Sequence[Path]) -> list[str]:
    """Say of folders of answers, or folders of such folders, what is missing in them and how to complete it.

    Parameters
    ----------
    sources
        Sources of an ingest.
    """
    notes = []
    for source in sources:
        if isinstance(source, RemotePath) or not source.is_dir():
            continue
        for folder in (source, *sorted(source.iterdir())):
            unfinished = unfinished_fetch(folder) if folder.is_dir() else None
            if unfinished is not None:
                notes.append(_note_on(unfinished))
    return notes


def _note_on(unfinished: UnfinishedFetch) -> str:
    period = unfinished.period
    query = unfinished.query
    words = [query.server, str(unfinished.folder)]
    # The first time is no last one.
    first = period.first if period.first < period.last else period.first - query.step
    words += ["--since", _iso(first), "--until", _iso(period.last), "--step", f"{query.step}s"]
    if query.tenant:
        words += ["--header", f"X-Scope-OrgID: {query.tenant}"]
    if query.selector:
        words += ["--selector", f"{{{query.selector}}}"]
    command = shlex.join(["borgtrace", "fetch", "prometheus", *words])
    metric, *others = unfinished.metrics
    metrics = f"{metric} and {len(others)} more" if others else metric
    return harmless(
        f"The fetch into {unfinished.folder} was interrupted: {unfinished.share:.0%} of what it asked for is missing, "
        f"of {metrics}, from {utc(period.first)} to {utc(period.last)}. To complete it: {command}; then ingest again."
    )


def _iso(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
