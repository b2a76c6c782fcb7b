"""``borgtrace synth``: a synthetic trace in the raw format of one generation."""

from pathlib import Path
from typing import Annotated

from typer import Option

from borgtrace.cli._options import Cell, Json, Seed, Tables, argument, flag, option


def synth(
    out: Annotated[Path, argument("OUT", "A new folder for the trace; with --check, an existing trace.")],
    generation: Annotated[str, option("YEAR", "Trace format: 2011 (CSV) or 2019 (JSON lines).")] = "2011",
    machines: Annotated[int, option("N", "Machines of the cell.")] = 100,
    hours: Annotated[float, option("H", "Length of the trace in hours.")] = 24.0,
    seed: Seed = 1,
    cell: Cell = "a",
    tables: Tables = "",
    jobs: Annotated[int, option("N", "Threads; the files do not depend on their number.")] = 2,
    anomalies: Annotated[bool, Option(help="Include the documented anomalies at their published rates.")] = True,
    file_format: Annotated[str, option("json|parquet", "Files of 2019.", "--format")] = "json",
    shared_factor: Annotated[float, option("F", "Share of the variance of CPU usage common to all tasks.")] = 0.0,
    check: Annotated[bool, flag("--check", "Compare an existing synthetic trace with the published figures.")] = False,
    as_json: Json = False,
) -> None:
    """Make a synthetic trace whose true answers are known.

    The files have the format of Google's. truth.json and truth.parquet hold the known answers and mark the trace as
    synthetic.

    Example: borgtrace synth trace --machines 100 --hours 24 --seed 1
    """
    from borgtrace.cli import _synthesis
    from borgtrace.schema.ranges import parse_words

    if check:
        _synthesis.print_check(out, as_json=as_json)
        return
    _synthesis.make(
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
        shared_factor=shared_factor,
    )
