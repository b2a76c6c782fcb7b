"""``borgtrace mcp``: let an assistant ask a store."""

from __future__ import annotations

from typing import Annotated

from typer import Option

from borgtrace.cli.command import command
from borgtrace.cli.option_effects import NoEffectWithout
from borgtrace.cli.options import (
    FromOption,
    JsonOption,
    MemoryOption,
    StoreArgument,
    TimeoutOption,
)

QUERY_TIME = "30s"
"""What a query may take."""

ANSWER_TIME = "10m"
"""What any other answer may take: an advice replays the trace, and a first question compiles."""

AnswerTimeoutOption = Annotated[
    str,
    Option(
        "--answer-timeout",
        metavar="TIME",
        help="Stop a question, an advice or a look at a task or machine that takes longer, such as 10m.",
    ),
]
ConfigOption = Annotated[
    bool,
    Option(
        "--config",
        help="Print the command line for an assistant, and end; with --json the entry of its configuration.",
    ),
]


@command(
    on_interrupt="the store is as it was",
    # It may run for days, and another process may write to the store meanwhile.
    is_checked_by_answer=True,
    effects=[NoEffectWithout(["config"], ["as_json"])],
)
def mcp(
    store: StoreArgument,
    timeout: TimeoutOption = QUERY_TIME,
    answer_timeout: AnswerTimeoutOption = ANSWER_TIME,
    memory: MemoryOption = "1GB",
    sources: FromOption = None,
    config: ConfigOption = False,
    as_json: JsonOption = False,
) -> None:
    """Let an assistant ask a store, over the Model Context Protocol on stdin and stdout.

    An assistant starts this command itself. It can list and ask questions, run SELECTs, look at a task or a machine,
    and get an advice; it can change nothing, and reads nothing but the store. Every answer says its scope, units and
    provenance. --timeout stops a query of SQL, --answer-timeout any other answer.

    Example: borgtrace mcp cell-2011 --config --json
    """
    import shlex

    import borgtrace
    from borgtrace.assistants.configuration import command_line, configuration_of, source_words
    from borgtrace.catalog import QUESTION_KINDS
    from borgtrace.cli.options import seconds_of
    from borgtrace.cli.own_code import names_in_own_code
    from borgtrace.cli.printing import print_json

    seconds = seconds_of(timeout or QUERY_TIME) or 0.0
    option = "--answer-timeout"
    answer_seconds = seconds_of(answer_timeout or ANSWER_TIME, option) or 0.0
    names_in_own_code(sources, QUESTION_KINDS)
    opened = borgtrace.open(store, memory=memory)
    if config:
        options = ["--timeout", timeout, option, answer_timeout, "--memory", memory]
        words = command_line(opened, [*options, *source_words(sources or ())])
        if as_json:
            print_json(configuration_of(opened, words), indent=1)
        else:
            print(shlex.join(words))
        return
    from borgtrace.assistants import serve

    serve(opened, seconds=seconds, answer_seconds=answer_seconds, sources=sources or ())
