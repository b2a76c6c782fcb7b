"""``borgtrace sql``: questions in SQL over the tables of a store."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from typer import Argument, Option

from borgtrace.cli.command import command
from borgtrace.cli.option_effects import NoEffectWith, NoEffectWithout
from borgtrace.cli.options import JsonOption, MemoryOption, RawOption, StoreArgument, TimeoutOption
from borgtrace.schema.bounds import SHOWN_ROWS

if TYPE_CHECKING:
    from borgtrace.engine.answer_columns import Carrier

QueryArgument = Annotated[
    str,
    Argument(
        metavar="[QUERY]",
        help="One SELECT, or EXPLAIN of one; - reads it from stdin; without it, a prompt.",
    ),
]
AnswerFormatOption = Annotated[
    Literal["table", "csv", "json", "parquet"],
    Option(
        "--format",
        help="table for people; csv, json (one object per line) or parquet for programs.",
    ),
]
ParameterOption = Annotated[
    list[str] | None,
    Option("--param", metavar="NAME=VALUE", help="Value of $NAME in the query; repeatable."),
]
AttachOption = Annotated[
    bool,
    Option(
        "--attach",
        help="Print the statements that make the tables views in a DuckDB of your own, and end.",
    ),
]
ShownRowsOption = Annotated[
    int,
    SHOWN_ROWS,
    Option("--rows", metavar="N", help="Rows that --format table shows."),
]


@command(
    on_interrupt="the store is as it was",
    effects=[
        NoEffectWith("attach", ["query", "format", "param", "memory", "timeout", "rows", "raw"]),
        NoEffectWith("as_json", ["format", "rows", "raw"]),
        NoEffectWithout(["format"], ["rows"], ["table"]),
    ],
)
def sql(
    store: StoreArgument,
    query: QueryArgument = "",
    format: AnswerFormatOption = "table",
    param: ParameterOption = None,
    memory: MemoryOption = "4GB",
    timeout: TimeoutOption = "",
    rows: ShownRowsOption = 40,
    raw: RawOption = False,
    attach: AttachOption = False,
    as_json: JsonOption = False,
) -> None:
    """Answer SELECTs over the tables of a store. They cannot write, and read nothing but the store.

    Without a query you get a prompt, with completion and history. A table is cut to the width of the
    terminal: "…" stands for columns in the middle, and only the first rows are fetched.

    Example: borgtrace sql cell-2011 "select type, count(*) from instance_events group by type"

    With --attach, any DuckDB can read the tables: borgtrace sql cell-2011 --attach | duckdb cell.db

    Example: borgtrace sql cell-2011 'select * from tasks where collection_id = $job' --param job=3418309
    """
    import sys

    if attach:
        print_views(store, as_json=as_json)
        return
    from borgtrace.cli.options import seconds_of
    from borgtrace.engine.query_process import prepare

    # It starts while this process opens the store.
    prepare()
    from borgtrace.cli.query_rows import parse_parameters, print_answer
    from borgtrace.store import open as open_store

    seconds = seconds_of(timeout)
    parameters = parse_parameters(param or [])
    opened = open_store(store, memory=memory)
    shape = "json" if as_json else format
    carrier: Carrier = "parquet" if shape == "parquet" else "text"
    # One more than is shown tells that there are more.
    most_rows = rows + 1 if shape == "table" else None

    def answer(text: str) -> None:
        reader = opened.stream(
            text,
            parameters,
            timeout=seconds,
            is_bounded=True,
            carrier=carrier,
            most_rows=most_rows,
        )
        print_answer(reader, shape, rows, raw=raw)

    if query or not sys.stdin.isatty():
        answer(sys.stdin.read() if query in ("", "-") else query)
    else:
        # Inside: the prompt's library takes 0.2 s that one query need not pay for.
        from borgtrace.cli.prompt import run_prompt

        run_prompt(answer)


def print_views(store: Path, *, as_json: bool) -> None:
    """Print the statements that make the tables of a store views in another DuckDB."""
    from borgtrace.cli.printing import print_json
    from borgtrace.cli.terminal import data_stream
    from borgtrace.store import open as open_store

    script = open_store(store).attach_sql()
    if as_json:
        print_json({"sql": script})
    else:
        data_stream().write(script.encode())
