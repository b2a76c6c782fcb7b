"""Options that only ``borgtrace synth`` has; the default stands on the command."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from borgtrace.schema.bounds import (
    PROCESSES,
    SHARE,
    SHARED_FACTOR,
    SYNTH_HOURS,
    SYNTH_MACHINES,
)

NewTraceArgument = Annotated[
    Path,
    Argument(
        metavar="OUT",
        help="A new folder or URL for the trace; with --check, an existing trace.",
    ),
]
GenerationOption = Annotated[
    str,
    Option("--generation", metavar="YEAR", help="Trace format: 2011 (CSV) or 2019 (JSON lines)."),
]
CellSizeOption = Annotated[
    int,
    SYNTH_MACHINES,
    Option("--machines", metavar="N", help="Machines of the cell."),
]
TraceHoursOption = Annotated[
    float,
    SYNTH_HOURS,
    Option("--hours", metavar="H", help="Length of the trace in hours."),
]
GeneratorThreadsOption = Annotated[
    int,
    PROCESSES,
    Option("--jobs", metavar="N", help="Threads; the files do not depend on their number."),
]
AnomaliesOption = Annotated[
    bool,
    Option(
        "--anomalies/--no-anomalies",
        help="Include the documented anomalies at their published rates.",
    ),
]
FileFormatOption = Annotated[str, Option("--format", metavar="json|parquet", help="Files of 2019.")]
SharedFactorOption = Annotated[
    float,
    SHARED_FACTOR,
    Option(
        "--shared-factor",
        metavar="F",
        help="Share of the variance of CPU usage common to all tasks.",
    ),
]
ConstrainedOption = Annotated[
    float,
    SHARE,
    Option("--constrained", metavar="F", help="Share of jobs with placement constraints."),
]
LikeOption = Annotated[
    Path | None,
    Option(
        "--like",
        metavar="STORE",
        help="Make a cell like this store (a folder or a URL), instead of the published figures.",
    ),
]
CheckOption = Annotated[
    bool,
    Option(
        "--check",
        help="Compare an existing synthetic trace with the figures that it was calibrated to.",
    ),
]
