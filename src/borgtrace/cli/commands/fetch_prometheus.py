"""``borgtrace fetch prometheus``: a live server → its answers as files, which an ingest reads."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from borgtrace.cli.command import command
from borgtrace.cli.hints import shell_word
from borgtrace.cli.options import (
    JsonOption,
    SelectorOption,
    SinceOption,
    StepOption,
    UntilOption,
)
from borgtrace.schema.bounds import DOWNLOADS, RATE, SEED, WAIT


@command(
    on_interrupt="what has arrived is kept; run the same command again to go on",
    reads=[],
    writes=[],
    writes_here=["dest"],
)
def fetch_prometheus(
    url: Annotated[
        str,
        Argument(
            metavar="URL",
            help="The server, such as http://localhost:9090 or https://mimir.example/prometheus.",
        ),
    ],
    dest: Annotated[Path, Argument(metavar="DEST", help="Folder that gets its answers.")],
    since: SinceOption = "14d",
    until: UntilOption = "",
    selector: SelectorOption = "",
    step: StepOption = "1m",
    jobs: Annotated[int, DOWNLOADS, Option("--jobs", metavar="N", help="Parallel queries.")] = 2,
    rate: Annotated[
        float | None, RATE, Option("--rate", metavar="N", help="Queries per second at most.")
    ] = None,
    wait: Annotated[
        float,
        WAIT,
        Option(
            "--wait",
            metavar="SECONDS",
            help="Longest silence of the server before a query is halved.",
        ),
    ] = 150.0,
    bearer_file: Annotated[
        Path | None,
        Option(
            "--bearer-file",
            metavar="FILE",
            help="File with a bearer token; or set BORGTRACE_BEARER.",
        ),
    ] = None,
    user: Annotated[
        str, Option("--user", metavar="NAME", help="User of basic authentication.")
    ] = "",
    password_file: Annotated[
        Path | None,
        Option(
            "--password-file",
            metavar="FILE",
            help="File with the password; or set BORGTRACE_PASSWORD.",
        ),
    ] = None,
    header: Annotated[
        list[str] | None,
        Option(
            "--header",
            metavar="HEADER",
            help="Header such as 'X-Scope-OrgID: team', or @FILE with one in each line; may be repeated.",
        ),
    ] = None,
    aws_region: Annotated[
        str,
        Option(
            "--aws-region",
            metavar="REGION",
            help="Sign requests for Amazon's service (needs borgtrace[amp]).",
        ),
    ] = "",
    ca: Annotated[
        Path | None,
        Option("--ca", metavar="FILE", help="Certificates of authorities to trust (PEM)."),
    ] = None,
    cert: Annotated[
        Path | None,
        Option("--cert", metavar="FILE", help="Certificate to show to the server (PEM)."),
    ] = None,
    key: Annotated[Path | None, Option("--key", metavar="FILE", help="Its key (PEM).")] = None,
    insecure: Annotated[
        bool, Option("--insecure", help="Take any certificate of the server.")
    ] = False,
    dry_run: Annotated[
        bool, Option("--dry-run", help="Show metrics, series, samples and queries; write nothing.")
    ] = False,
    as_json: JsonOption = False,
    seed: Annotated[
        int,
        SEED,
        Option("--seed", metavar="N", help="Seed of the jitter in waiting times."),
    ] = 0,
) -> None:
    """Fetch the usage of containers from a live Prometheus.

    Thanos, Mimir, Cortex and VictoriaMetrics answer alike.

    CPU, memory, requests, limits, owners and labels of pods and sizes of nodes come in queries small enough for the
    server; its answers are kept as they are, packed, to be ingested as often as you like. Run the command again
    after an interrupt, or later to add what is new: nothing is asked twice.

    Example: borgtrace fetch prometheus http://localhost:9090 answers --since 14d --selector '{namespace="web"}'
    """
    from borgtrace.cli.console import talk
    from borgtrace.cli.live import LiveFetch, plan_query, print_query_plan
    from borgtrace.cli.server_access import access_of
    from borgtrace.fetch import Backoff
    from borgtrace.fetch.prometheus import PrometheusServer, parse_address

    access = access_of(
        bearer_file=bearer_file,
        user=user,
        password_file=password_file,
        headers=header or (),
        region=aws_region,
        ca=ca,
        cert=cert,
        key=key,
        is_insecure=insecure,
    )
    with PrometheusServer(
        parse_address(url),
        access,
        connections=jobs,
        rate=rate,
        backoff=Backoff(seed=seed),
        timeout=wait,
    ) as server:
        plan = plan_query(server, dest, since=since, until=until, selector=selector, step=step)
        if dry_run:
            print_query_plan(plan, as_json=as_json)
            return
        fetch = LiveFetch(server, plan, jobs)
        fetch.run()
    fetch.finish(dest, as_json=as_json)
    talk.print(f"Next: borgtrace ingest {shell_word(dest)} --store STORE")
    if not as_json:
        print(dest)
