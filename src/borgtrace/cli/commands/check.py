"""``borgtrace check``: does an extension keep the contract of its kind?"""

import sys
from dataclasses import asdict
from typing import Annotated

from typer import Argument, Exit

from borgtrace.cli.command import command
from borgtrace.cli.options import JsonOption, TimeoutOption

SourceArgument = Annotated[
    str,
    Argument(
        metavar="FILE|MODULE",
        help="Python code of your own: a file such as my_policy.py, or a module.",
    ),
]


@command()
def check(
    source: SourceArgument, timeout: TimeoutOption = "5m", as_json: JsonOption = False
) -> None:
    """Check that code of your own keeps the contract of its kind: policies, recommenders, forecasters and others.

    Each is run on tiny, empty, incomplete and hostile input. What is wrong is said in one sentence each, and the exit
    code is then 1.

    Example: borgtrace check my_policy.py
    """
    from borgtrace.cli.console import working
    from borgtrace.cli.printing import print_json
    from borgtrace.schema.time import SECOND, parse_time
    from borgtrace.testing.suite import check_within

    seconds = parse_time(timeout, "--timeout") / SECOND
    with working(f"checking {source}"):
        verdicts = check_within(source, seconds)
    if as_json:
        print_json([asdict(verdict) for verdict in verdicts])
    for verdict in verdicts:
        title = f"{verdict.kind} {verdict.name}"
        if not as_json and not verdict.failures:
            print(f"{title}: keeps its contract")
        for failure in verdict.failures:
            print(f"{title}: {failure}", file=sys.stderr)
    if any(verdict.failures for verdict in verdicts):
        raise Exit(1)
