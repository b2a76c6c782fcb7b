"""What a fetch from a server refuses, in whole messages: wrong addresses, closed doors, and nothing to fetch."""

from __future__ import annotations

import hashlib
import hmac
import json
import shutil
import ssl
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.fetch.fake_prometheus import FakePrometheus, Reply, Request, api_error, serving
from tests.fetch.small_cluster import MINUTE, START, cluster
from tests.printed import shown

from borgtrace.cli import main
from borgtrace.cli.console import talk
from borgtrace.cli.live import plan_query
from borgtrace.cli.server_access import access_of
from borgtrace.errors import BorgtraceError, EngineError, SourceError, UsageError, harmless
from borgtrace.fetch import Backoff
from borgtrace.fetch.prometheus import (
    Credentials,
    FetchRequest,
    PrometheusServer,
    Stretch,
    fetch_answers,
    make_query_plan,
    parse_address,
    parse_headers,
    parse_selector,
)

TOKEN = "s3cr3t-t0k3n"
Serve = Callable[..., FakePrometheus]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Return a function that serves the small cluster until the test ends."""
    with ExitStack() as stack:

        def start(tls: ssl.SSLContext | None = None, **options: object) -> FakePrometheus:
            fake = FakePrometheus(cluster(minutes=10), **options)  # type: ignore[arg-type]
            return stack.enter_context(serving(fake, tls))

        yield start


def always(reply: Reply) -> Callable[[Request], Reply]:
    return lambda request: reply


def plan_of(
    address: str, folder: Path, access: Credentials | None = None, selector: str = ""
) -> object:
    period = Stretch(START, START + 9 * MINUTE)
    request = FetchRequest(folder, parse_selector(selector), period, MINUTE)
    backoff = Backoff(base=0.001, cap=0.01)
    with PrometheusServer(address, access, backoff=backoff, timeout=5.0) as server:
        plan = make_query_plan(server, request)
        for _ in fetch_answers(server, plan):
            pass
        return plan


def message_of(
    address: str, folder: Path, access: Credentials | None = None, selector: str = ""
) -> str:
    with pytest.raises(BorgtraceError) as error:
        plan_of(address, folder, access, selector)
    return str(error.value)


def run(*words: object) -> tuple[int, str, str]:
    with shown() as printed, pytest.raises(SystemExit) as ended:
        main([str(word) for word in words])
    return int(ended.value.code or 0), printed.out.text(), printed.err.text()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "localhost:9090",
            "URL: not the address of a server: expected such as http://localhost:9090 or "
            "https://mimir.example/prometheus, got localhost:9090",
        ),
        (
            "ftp://host/x",
            "URL: not the address of a server: expected such as http://localhost:9090 or "
            "https://mimir.example/prometheus, got ftp://host/x",
        ),
        (
            f"https://me:{TOKEN}@host/prometheus",
            "URL: the URL holds credentials: expected https://host/prometheus, got https://…@host/prometheus; "
            "leave the password to a file or the environment: --user NAME, --password-file FILE",
        ),
        (
            f"https://host/graph?token={TOKEN}",
            "URL: the URL holds a query: expected https://host, got https://host/graph?token=…; "
            "leave out what follows the path",
        ),
    ],
)
def test_an_address_that_is_none(text: str, message: str) -> None:
    with pytest.raises(UsageError) as error:
        parse_address(text)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("http://h:9090/", "http://h:9090"),
        ("http://h:9090/graph", "http://h:9090"),
        ("http://h/api/v1/query_range", "http://h"),
        ("http://h/api/v1", "http://h"),
        ("https://h/api/prom/", "https://h/api/prom"),
        ("http://h:8481/select/0/prometheus/vmui", "http://h:8481/select/0/prometheus"),
        ("https://h/workspaces/ws-1/api/v1/query", "https://h/workspaces/ws-1"),
        ("https://grafana/api/datasources/proxy/1", "https://grafana/api/datasources/proxy/1"),
        ("http://[::1]:9090", "http://[::1]:9090"),
    ],
)
def test_an_address_as_people_copy_it(text: str, address: str) -> None:
    assert parse_address(text) == address


def test_a_server_that_is_not_there(tmp_path: Path) -> None:
    message = message_of("http://127.0.0.1:9", tmp_path)
    assert message == (
        "http://127.0.0.1:9: gave up after 2 attempts: 127.0.0.1 cannot be reached ([Errno 111] Connection refused); "
        "check the address and the network; a tunnel to a cluster is made by kubectl port-forward"
    )


@pytest.mark.parametrize(
    ("reply", "access", "message"),
    [
        (
            Reply(401, "no org id", "text/plain"),
            None,
            "the server lets us not in: got 401 Unauthorized: no org id; "
            "name the tenant: --header 'X-Scope-OrgID: TENANT'",
        ),
        (
            Reply(401),
            None,
            "the server lets us not in: got 401 Unauthorized; name a token or a password: --bearer-file FILE, "
            "or --user NAME --password-file FILE",
        ),
        (
            api_error(403, "forbidden", f"token {TOKEN} may not read"),
            Credentials(bearer=TOKEN),
            "the server forbids the query: got 403 Forbidden: token … may not read; "
            "check the token or the password, and what it may read",
        ),
        (
            api_error(400, "bad_data", 'invalid parameter "query"'),
            None,
            'the server refuses the query: got 400 Bad Request: invalid parameter "query"; '
            "check --selector and the address",
        ),
        (
            Reply(400, "Client sent an HTTP request to an HTTPS server.", "text/plain"),
            None,
            "the server refuses the query: got 400 Bad Request: Client sent an HTTP request to an HTTPS server.; "
            "begin the address with https:HOST",
        ),
    ],
)
def test_a_door_that_is_closed(
    serve: Serve, tmp_path: Path, reply: Reply, access: Credentials | None, message: str
) -> None:
    fake = serve(choose=always(reply))
    message = message.replace("https:HOST", fake.url.replace("http:", "https:"))
    assert message_of(fake.url, tmp_path, access) == f"{fake.url}: {message}"
    # What will never be answered is not asked again, but for the three forms of the first query.
    assert len(fake.requests) == (3 if reply.status == 400 else 1)


@pytest.mark.parametrize(
    ("reply", "got", "more"),
    [
        (Reply(200, "<html>Grafana</html>", "text/html"), "200 and an HTML page", True),
        (Reply(404, "<html>nginx</html>", "text/html"), "404 Not Found (an HTML page)", True),
        (
            Reply(404, "404 page not found", "text/plain"),
            "404 Not Found (404 page not found)",
            False,
        ),
        (
            Reply(400, 'unsupported path requested: "/api/v1/query"', "text/plain"),
            '400 Bad Request (unsupported path requested: "/api/v1/query")',
            False,
        ),
    ],
)
def test_an_address_without_an_api(
    serve: Serve, tmp_path: Path, reply: Reply, got: str, more: bool
) -> None:
    fake = serve(choose=always(reply))
    login = ", and let a login page see a token: --bearer-file FILE" if more else ""
    assert message_of(fake.url, tmp_path) == (
        f"{fake.url}/api/v1/query: no Prometheus API at this address: expected an answer as JSON, got {got}; "
        f"name the address whose /api/v1/query answers; Mimir's ends in /prometheus{login}"
    )


@pytest.mark.parametrize("prefix", ["/prometheus", "/api/prom", "/select/0/prometheus"])
def test_the_usual_path_of_an_api_is_named(serve: Serve, tmp_path: Path, prefix: str) -> None:
    fake = serve(prefix=prefix)
    assert f"; the API is at {fake.url}{prefix}: name this address" in message_of(
        fake.url, tmp_path
    )
    plan_of(fake.url + prefix, tmp_path)


def test_a_redirect_takes_no_token_along(serve: Serve, tmp_path: Path) -> None:
    other = serve()
    moved = Reply(302, headers={"Location": f"{other.url}/api/v1/query"})
    fake = serve(choose=always(moved))
    message = message_of(fake.url, tmp_path, Credentials(bearer=TOKEN))
    assert message.endswith(
        f"the server sends us to another one: expected {fake.url}, got {other.url}; "
        "if you trust it, name its address in place of URL"
    )
    assert other.requests == []


def test_credentials_are_sent(serve: Serve, tmp_path: Path) -> None:
    fake = serve()
    plan_of(fake.url, tmp_path / "a", Credentials(bearer=TOKEN, headers={"X-Scope-OrgID": "team"}))
    assert {each.headers["authorization"] for each in fake.requests} == {f"Bearer {TOKEN}"}
    assert {each.headers["x-scope-orgid"] for each in fake.requests} == {"team"}
    del fake.requests[:]
    plan_of(fake.url, tmp_path / "b", Credentials(user="me", password="open"))
    # base64 of me:open
    assert {each.headers["authorization"] for each in fake.requests} == {"Basic bWU6b3Blbg=="}


def test_a_selector_that_matches_nothing(serve: Serve, tmp_path: Path) -> None:
    fake = serve()
    assert message_of(fake.url, tmp_path, selector='{namespace="wed"}') == (
        f"{fake.url}: no container matches the selector: expected namespaces such as shop, web, "
        'got {namespace="wed"}; check --selector and --since'
    )


def test_a_server_without_containers(serve: Serve, tmp_path: Path) -> None:
    fake = serve()
    fake.series[:] = [one for one in fake.series if not one.metric.startswith("container_")]
    assert message_of(fake.url, tmp_path) == (
        f"{fake.url}: the server knows no usage of containers in this period: "
        "expected container_cpu_usage_seconds_total or container_memory_working_set_bytes; "
        "check --since, the tenant, and that cAdvisor of the kubelets is scraped"
    )
    assert not (tmp_path / ".fetch.json").exists()


def test_a_folder_of_other_answers(serve: Serve, tmp_path: Path) -> None:
    fake = serve()
    plan_of(fake.url, tmp_path)
    assert message_of(fake.url, tmp_path, selector='{namespace="web"}') == (
        f'{tmp_path}: holds answers to other queries: expected selector none, got selector namespace="web"; '
        "fetch to another folder"
    )
    tenant = Credentials(headers={"X-Scope-OrgID": "team"})
    assert "expected tenant none, got tenant team" in message_of(fake.url, tmp_path, tenant)


@pytest.mark.parametrize(
    "text",
    [
        '{namespace="web"} or up',
        "up",
        '{namespace="web"',
        "namespace=web",
        '{a="b" c="d"}',
        '{a=="b"}',
        '{a="b"}[5m]',
    ],
)
def test_a_selector_that_is_none(text: str) -> None:
    with pytest.raises(UsageError) as error:
        parse_selector(text)
    assert str(error.value) == (
        "--selector: not a selector: expected label matchers such as '{namespace=\"web\"}', got "
        + text
    )


@pytest.mark.parametrize(
    "text",
    [
        '{namespace="web"}',
        "{namespace='web'}",
        'namespace = "web" ,',
        r'{pod=~"a\"b|c\\d", x!=`e`}',
        "",
    ],
)
def test_a_selector_as_people_write_it(text: str) -> None:
    assert len(parse_selector(text)) == text.count("=")


def test_a_name_of_a_metric_is_no_condition() -> None:
    with pytest.raises(UsageError) as error:
        parse_selector('{__name__="up"}')
    assert str(error.value) == (
        "--selector: names a metric: expected labels of containers, such as namespace, "
        'got {__name__="up"}; leave it out: the metrics are chosen for you'
    )


A_TIME = "a span such as 14d, a date such as 2026-11-01, or a time such as 2026-11-01T12:00:00Z"
A_STEP = "whole seconds up to a day, such as 30s, 1m or 5m"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--since", "14"], f"--since: not a time: expected {A_TIME}, got '14'"),
        (["--since", "yesterday"], f"--since: not a time: expected {A_TIME}, got 'yesterday'"),
        (["--since", "2199-01-01"], f"--since: in the future: expected {A_TIME}, got '2199-01-01'"),
        (["--until", "99999d"], f"--until: before 1970: expected {A_TIME}, got '99999d'"),
        (["--since", "1h", "--until", "2h"], None),
        (["--step", "60"], f"--step: a span without its unit: expected {A_STEP}, got '60'"),
        (["--step", "1500ms"], f"--step: not a step: expected {A_STEP}, got '1500ms'"),
    ],
)
def test_times_that_are_none(
    tmp_path: Path, serve: Serve, words: list[str], message: str | None
) -> None:
    code, out, err = run("fetch", "prometheus", serve().url, tmp_path / "new", *words)
    assert (code, out) == (2, "")
    if message is None:
        assert (
            "--since and --until: no step lies between them: expected --since before --until" in err
        )
    else:
        assert err == f"borgtrace: {message}\n"


def test_secrets_on_the_command_line_are_refused() -> None:
    for text in (f"Authorization: Bearer {TOKEN}", f"cookie: session={TOKEN}"):
        with pytest.raises(UsageError) as error:
            parse_headers([text])
        name = text.partition(":")[0]
        assert str(error.value) == (
            f"--header: {name} is a secret, and every user of this machine sees the command line; "
            "write the header into a file: --header @FILE, or see --bearer-file and --user"
        )


def test_secrets_come_from_files_or_the_environment(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text(f"{TOKEN}\n")
    headers = tmp_path / "headers"
    headers.write_text("Authorization: Custom abc\n\nX-Scope-OrgID: team\n")
    nothing: dict[str, str] = {}
    assert access_of(bearer_file=file, environment=nothing).bearer == TOKEN
    assert access_of(environment={"BORGTRACE_BEARER": TOKEN}).bearer == TOKEN
    by_file = access_of(user="me", password_file=file, environment=nothing)
    assert (by_file.user, by_file.password) == ("me", TOKEN)
    # A name on the command line goes before a token of the environment.
    both = {"BORGTRACE_BEARER": "x", "BORGTRACE_PASSWORD": TOKEN}
    assert access_of(user="me", environment=both) == by_file
    named = access_of(headers=[f"@{headers}"], environment=nothing)
    assert named.headers == {"Authorization": "Custom abc", "X-Scope-OrgID": "team"}
    assert named.tenant == "team"
    by_environment = access_of(environment={"BORGTRACE_HEADERS": "A: 1\nCookie: 2"})
    assert by_environment.headers == {"A": "1", "Cookie": "2"}
    for access in (by_file, named):
        assert TOKEN not in repr(access)
        assert "Custom" not in repr(access)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"user": "me"},
            "--user: no password; name its file: --password-file FILE, or set BORGTRACE_PASSWORD",
        ),
        (
            {"headers": ["X-Scope-OrgID"]},
            "--header: not a header: expected a line such as X-Scope-OrgID: team",
        ),
        (
            {"headers": ["Host: other"]},
            "--header: Host is set by the connection itself; leave it out",
        ),
        (
            {"headers": ["A: x\r\nB: y"]},
            "--header: not a header: expected a line such as X-Scope-OrgID: team",
        ),
        ({"key": Path("key.pem")}, "--key: a key without its certificate; add --cert FILE"),
    ],
)
def test_credentials_that_are_none(options: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError) as error:
        access_of(environment={}, **options).client_options()  # type: ignore[arg-type]
    assert str(error.value) == message


def test_no_secret_is_repeated_or_written_down(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not by a server that sends it back in errors and warnings, nor in files, nor by progress."""
    header = "x-key-0123456789"
    echo = f"bad token {TOKEN} and key {header}"
    left = [
        api_error(503, "unavailable", echo, Retry_After="0"),
        api_error(422, "execution", f"limit {echo}"),
    ]

    def choose(request: Request) -> Reply | None:
        return left.pop() if request.is_of_samples and left else None

    fake = serve(choose=choose, extra={"warnings": [echo]})
    monkeypatch.setenv("BORGTRACE_BEARER", TOKEN)
    monkeypatch.setenv("BORGTRACE_HEADERS", f"X-Key: {header}")
    words = [
        "fetch",
        "prometheus",
        fake.url,
        tmp_path,
        "--since",
        START,
        "--until",
        START + 9 * MINUTE,
    ]
    code, out, err = run(*words, "--json")
    assert code == 0
    assert left == []
    assert "warns: bad token … and key …; what it returned may lack something" in err
    assert "limit bad token … and key …" in err
    kept = [path for path in tmp_path.rglob("*") if path.suffix != ".gz" and path.is_file()]
    for text in (out, err, *(path.read_text() for path in kept)):
        assert TOKEN not in text
        assert header not in text
    code, out, err = run(
        "fetch", "prometheus", serve(choose=always(api_error(401, "x", echo))).url, tmp_path / "b"
    )
    assert code == 3
    assert "bad token … and key …" in err


@pytest.mark.parametrize(
    ("address", "access", "is_said"),
    [
        ("http://prometheus.example:9", Credentials(bearer=TOKEN), True),
        ("http://prometheus.example:9", Credentials(headers={"X-Key": TOKEN}), True),
        ("http://prometheus.example:9", Credentials(headers={"X-Scope-OrgID": "team"}), False),
        ("http://127.0.0.1:9", Credentials(bearer=TOKEN), False),
        ("https://prometheus.example:9", Credentials(bearer=TOKEN), False),
    ],
)
def test_credentials_without_tls_are_warned_of(
    tmp_path: Path, address: str, access: Credentials, is_said: bool
) -> None:
    """The step is wrong, so that nobody is asked."""
    with (
        PrometheusServer(address, access) as server,
        shown() as printed,
        pytest.raises(UsageError),
    ):
        plan_query(server, tmp_path, since="1d", until="", selector="", step="0s")
    warning = f"! {address} is no https: anybody on the way to it can read the credentials\n"
    assert printed.err.text() == (warning if is_said else "")


def test_no_control_character_of_a_server_reaches_the_terminal(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # To such a terminal Rich writes no control characters of its own.
    monkeypatch.setenv("TERM", "dumb")
    assert talk.color_system is None
    text = "\x1b[31mred\x1b]0;title\x07\x9b2J\u202e\r\nborgtrace: done"
    left = [api_error(422, "execution", f"too many {text}")]

    def choose(request: Request) -> Reply | None:
        return left.pop() if request.is_of_samples and left else None

    fake = serve(choose=choose, extra={"warnings": [text]})
    words = ["--since", START, "--until", START + 9 * MINUTE]
    refusing = serve(choose=always(api_error(400, "bad_data", text)))
    for url, expected in ((fake.url, 0), (refusing.url, 3)):
        code, out, err = run("fetch", "prometheus", url, tmp_path / str(expected), *words)
        assert code == expected
        assert harmless(out) == out
        assert harmless(err) == err
        assert "\nborgtrace: done" not in err


def test_hostile_labels_are_data(serve: Serve, tmp_path: Path) -> None:
    """No name of a server becomes a path."""
    fake = serve()
    first = fake.series[0]
    fake.series.append(
        type(first)({**first.labels, "pod": "../../../up", "namespace": "/etc"}, first.samples)
    )
    plan_of(fake.url, tmp_path / "answers")
    assert {path.name for path in tmp_path.iterdir()} == {"answers"}
    assert len(list((tmp_path / "answers" / first.metric).iterdir())) == 1


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a certificate for 127.0.0.1 and its key."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl, which makes a certificate, is not installed")
    folder = tmp_path_factory.mktemp("certificates")
    words = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -keyout key.pem -out cert.pem"
    name = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run(["openssl", *words.split(), *name], cwd=folder, check=True, capture_output=True)
    return folder


def test_a_certificate_that_nobody_vouches_for(
    serve: Serve, certificates: Path, tmp_path: Path
) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates / "cert.pem", certificates / "key.pem")
    fake = serve(tls=context)
    assert message_of(fake.url, tmp_path) == (
        f"{fake.url}: the server's certificate is not trusted: got self-signed certificate; "
        "name the file of its authority: --ca FILE, or take any certificate: --insecure"
    )
    plan_of(fake.url, tmp_path / "a", Credentials(ca=certificates / "cert.pem"))
    plan_of(fake.url, tmp_path / "b", Credentials(is_insecure=True))
    plain = fake.url.replace("https", "http")
    message = message_of(plain, tmp_path / "c")
    assert message.startswith(f"{plain}: gave up after 2 attempts: the connection failed (")
    assert message.endswith(
        "; check the address; where the server speaks TLS, it begins with https://"
    )


def test_a_server_that_asks_for_a_certificate(
    serve: Serve, certificates: Path, tmp_path: Path
) -> None:
    cert, key = certificates / "cert.pem", certificates / "key.pem"
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    context.load_verify_locations(cert)
    context.verify_mode = ssl.CERT_REQUIRED
    fake = serve(tls=context)
    plan_of(fake.url, tmp_path / "a", Credentials(ca=cert, cert=cert, key=key))
    with pytest.raises(SourceError):
        plan_of(fake.url, tmp_path / "b", Credentials(ca=cert))
    wrong = tmp_path / "wrong.pem"
    wrong.write_text("no certificate")
    with pytest.raises(UsageError) as error:
        Credentials(ca=wrong).client_options()
    assert str(error.value).startswith(
        f"--ca: no certificates of authorities: expected a PEM file, got {wrong} ("
    )


def test_amazon_needs_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "botocore", None)
    monkeypatch.setitem(sys.modules, "botocore.session", None)
    with pytest.raises(EngineError) as error:
        Credentials(region="eu-central-1").client_options()
    assert str(error.value) == ("--aws-region: botocore is not installed; pip install botocore")


def test_requests_to_amazon_are_signed(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("botocore", reason="botocore is not installed")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", TOKEN)
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    fake = serve()
    plan_of(fake.url, tmp_path, Credentials(region="eu-central-1"))
    assert len(fake.requests) > 10
    for each in fake.requests:
        signature = each.headers["authorization"]
        assert signature.startswith("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/")
        assert signature.endswith(f"Signature={signature_of(each, TOKEN)}")
        assert (
            "/eu-central-1/aps/aws4_request, SignedHeaders=host;x-amz-date, Signature=" in signature
        )


def signature_of(request: Request, secret: str) -> str:
    """Return the signature of what was received, as Amazon's documentation of Signature Version 4 makes it."""
    path, _, query = request.target.partition("?")
    time = request.headers["x-amz-date"]
    scope = f"{time[:8]}/eu-central-1/aps/aws4_request"
    canonical = "\n".join(
        [
            "GET",
            path,
            "&".join(sorted(query.split("&"))),
            f"host:{request.headers['host']}\nx-amz-date:{time}\n",
            "host;x-amz-date",
            hashlib.sha256(b"").hexdigest(),
        ]
    )
    digest = hashlib.sha256(canonical.encode()).hexdigest()
    key = f"AWS4{secret}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    text = f"AWS4-HMAC-SHA256\n{time}\n{scope}\n{digest}"
    return hmac.digest(key, text.encode(), "sha256").hex()


def test_options_of_a_server_need_one(tmp_path: Path) -> None:
    (tmp_path / "usage.csv").write_text("task,time,cpu\na,0,1\n")
    code, _, err = run(
        "ingest", tmp_path / "usage.csv", "--store", tmp_path / "store", "--since", "1d"
    )
    assert (code, err) == (
        2,
        "borgtrace: --since: no effect without the URL of a Prometheus server: got 1d; "
        "leave it out, or name such a URL among the sources\n",
    )
    assert not (tmp_path / "store").exists()


def test_a_dry_run_of_an_ingest_writes_nothing(serve: Serve, tmp_path: Path) -> None:
    fake = serve()
    period = ["--since", START, "--until", START + 9 * MINUTE]
    code, out, _ = run(
        "ingest", fake.url, "--store", tmp_path / "store", "--dry-run", "--json", *period
    )
    assert code == 0
    assert json.loads(out)["samples_to_come"] > 0
    assert list(tmp_path.iterdir()) == []
