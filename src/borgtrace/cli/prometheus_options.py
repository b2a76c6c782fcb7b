"""Options that only ``borgtrace fetch prometheus`` has; the default stands on the command."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from borgtrace.schema.bounds import DOWNLOADS, RATE, WAIT

ServerArgument = Annotated[
    str,
    Argument(
        metavar="URL",
        help="The server, such as http://localhost:9090 or https://mimir.example/prometheus.",
    ),
]
AnswersArgument = Annotated[Path, Argument(metavar="DEST", help="Folder that gets its answers.")]
ParallelQueriesOption = Annotated[
    int, DOWNLOADS, Option("--jobs", metavar="N", help="Parallel queries.")
]
QueryRateOption = Annotated[
    float | None, RATE, Option("--rate", metavar="N", help="Queries per second at most.")
]
LongestSilenceOption = Annotated[
    float,
    WAIT,
    Option(
        "--wait",
        metavar="SECONDS",
        help="Longest silence of the server before a query is halved.",
    ),
]
BearerFileOption = Annotated[
    Path | None,
    Option(
        "--bearer-file",
        metavar="FILE",
        help="File with a bearer token; or set BORGTRACE_BEARER.",
    ),
]
UserOfServerOption = Annotated[
    str, Option("--user", metavar="NAME", help="User of basic authentication.")
]
PasswordFileOption = Annotated[
    Path | None,
    Option(
        "--password-file",
        metavar="FILE",
        help="File with the password; or set BORGTRACE_PASSWORD.",
    ),
]
HeaderOption = Annotated[
    list[str] | None,
    Option(
        "--header",
        metavar="HEADER",
        help="Header such as 'X-Scope-OrgID: team', or @FILE with one in each line; may be repeated.",
    ),
]
AwsRegionOption = Annotated[
    str,
    Option(
        "--aws-region",
        metavar="REGION",
        help="Sign requests for Amazon's service (needs the package botocore).",
    ),
]
AuthoritiesOption = Annotated[
    Path | None,
    Option("--ca", metavar="FILE", help="Certificates of authorities to trust (PEM)."),
]
CertificateOption = Annotated[
    Path | None,
    Option("--cert", metavar="FILE", help="Certificate to show to the server (PEM)."),
]
KeyOfCertificateOption = Annotated[
    Path | None, Option("--key", metavar="FILE", help="Its key (PEM).")
]
InsecureOption = Annotated[bool, Option("--insecure", help="Take any certificate of the server.")]
ShowQueriesOption = Annotated[
    bool, Option("--dry-run", help="Show metrics, series, samples and queries; write nothing.")
]
