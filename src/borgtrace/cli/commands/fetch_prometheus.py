"""``borgtrace fetch prometheus``: a live server → its answers as files, which an ingest reads."""

from borgtrace.cli.command import command
from borgtrace.cli.options import (
    JitterSeedOption,
    JsonOption,
    SelectorOption,
    SinceOption,
    StepOption,
    UntilOption,
)
from borgtrace.cli.prometheus_options import (
    AnswersArgument,
    AuthoritiesOption,
    AwsRegionOption,
    BearerFileOption,
    CertificateOption,
    HeaderOption,
    InsecureOption,
    KeyOfCertificateOption,
    LongestSilenceOption,
    ParallelQueriesOption,
    PasswordFileOption,
    QueryRateOption,
    ServerArgument,
    ShowQueriesOption,
    UserOfServerOption,
)
from borgtrace.errors import shell_word


@command(
    on_interrupt="what has arrived is kept; run the same command again to go on",
    reads=[],
    writes=[],
    writes_here=["dest"],
)
def fetch_prometheus(
    url: ServerArgument,
    dest: AnswersArgument,
    since: SinceOption = "14d",
    until: UntilOption = "",
    selector: SelectorOption = "",
    step: StepOption = "1m",
    jobs: ParallelQueriesOption = 2,
    rate: QueryRateOption = None,
    wait: LongestSilenceOption = 150.0,
    bearer_file: BearerFileOption = None,
    user: UserOfServerOption = "",
    password_file: PasswordFileOption = None,
    header: HeaderOption = None,
    aws_region: AwsRegionOption = "",
    ca: AuthoritiesOption = None,
    cert: CertificateOption = None,
    key: KeyOfCertificateOption = None,
    insecure: InsecureOption = False,
    dry_run: ShowQueriesOption = False,
    as_json: JsonOption = False,
    seed: JitterSeedOption = 0,
) -> None:
    """Fetch the usage of containers from a live Prometheus.

    Thanos, Mimir, Cortex and VictoriaMetrics work too.

    The command asks for CPU, memory, requests, limits, owners and labels of pods, and sizes of nodes, in queries that
    are small enough for the server. It keeps the answers compressed, so that you can ingest them as often as you like.
    Run it again after an interrupt, or later to add what is new: nothing is asked twice.

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
    talk.print(f"Next: borgtrace ingest {shell_word(dest)} --store store")
    if not as_json:
        print(dest)
