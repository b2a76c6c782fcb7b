"""``borgtrace synth``: a synthetic trace in the raw format of one generation."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def synth(
    out: Annotated[
        Path, typer.Argument(help="A new folder for the trace; with --check, an existing one.", metavar="OUT")
    ],
    generation: Annotated[str, typer.Option(help="2011 (CSV) or 2019 (JSON lines).", metavar="YEAR")] = "2011",
    machines: Annotated[int, typer.Option(help="Machines of the cell.", metavar="N")] = 100,
    hours: Annotated[float, typer.Option(help="Length of the trace.", metavar="H")] = 24.0,
    seed: Annotated[int, typer.Option(help="Another seed gives another trace.", metavar="S")] = 1,
    cell: Annotated[str, typer.Option(help="Cell of 2019: a … h.", metavar="CELL")] = "a",
    tables: Annotated[
        str, typer.Option(help="Raw tables to write, separated by commas; all when empty.", metavar="NAMES")
    ] = "",
    jobs: Annotated[int, typer.Option(help="Threads; the bytes are the same with any number.", metavar="N")] = 2,
    anomalies: Annotated[bool, typer.Option(help="Plant the documented faults at their rates.")] = True,
    file_format: Annotated[str, typer.Option("--format", help="2019: json or parquet.", metavar="FORMAT")] = "json",
    check: Annotated[
        bool, typer.Option("--check", help="Measure an existing synthetic trace against what is published.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="With --check: print JSON.")] = False,
) -> None:
    """Make a synthetic trace whose true answers are known.

    The files look to every reader like those of Google; truth.json and truth.parquet say what is in
    them and mark them as synthetic.

    Example: borgtrace synth trace --machines 100 --hours 24 --seed 1
    """
    from borgtrace.cli import _synthesizing
    from borgtrace.schema.ranges import parse_words

    if check:
        _synthesizing.print_check(out, as_json=as_json)
        return
    _synthesizing.make(
        out,
        generation=generation,
        machines=machines,
        hours=hours,
        seed=seed,
        cell=cell,
        tables=parse_words(tables),
        jobs=jobs,
        anomalies=anomalies,
        file_format=file_format,
    )
