"""Options that only ``borgtrace dataset`` has; the default stands on the command."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from borgtrace.cli.completion import complete_columns
from borgtrace.schema.bounds import (
    LENGTH_OR_ALL,
    MEAN_CPU,
    PROCESSES,
    SAMPLE_SIZE,
    SHARDS,
    TRACE_LENGTH,
)

NewDatasetArgument = Annotated[Path | None, Argument(metavar="OUT", help="The folder to create.")]
MinLengthOption = Annotated[
    int | None,
    TRACE_LENGTH,
    Option(
        "--min-length",
        metavar="N",
        help="Fewest points of a trace; by default 1, with --compat original 5.",
    ),
]
MaxLengthOption = Annotated[
    int | None,
    LENGTH_OR_ALL,
    Option(
        "--max-length",
        metavar="N",
        help="Most points of a trace; by default 0 (no limit), with --compat original 50.",
    ),
]
MinMeanOption = Annotated[
    float | None,
    MEAN_CPU,
    Option("--min-mean", metavar="X", help="Smallest mean of average_cpu."),
]
GapsOption = Annotated[
    str,
    Option(
        "--gaps",
        metavar="keep|grid|drop",
        help="Gaps in time: keep as they are, put on a grid, or drop.",
    ),
]
TracesOfOption = Annotated[
    str,
    Option(
        "--instances",
        metavar="tasks|allocs",
        help="Traces of tasks, or of alloc instances with all that runs in them.",
    ),
]
SampledTracesOption = Annotated[
    int | None,
    SAMPLE_SIZE,
    Option("--sample", metavar="N", help="Size of a random subset."),
]
SplitOption = Annotated[
    str,
    Option(
        "--split",
        metavar="A,B,C",
        help="Training, validation, testing, or names: train=0.8,test=0.2.",
    ),
]
SplitByOption = Annotated[
    str,
    Option(
        "--split-by",
        metavar="task|job|user|time",
        help="Keep each of these in one set; by default job, with --compat original task.",
    ),
]
FeaturesOption = Annotated[
    str,
    Option(
        "--features",
        metavar="A,B",
        help="Series: numeric usage columns, p0 to p100, duration, elapsed, hour_of_day; "
        "NAME.lagN is the value N points before.",
        autocompletion=complete_columns,
    ),
]
StaticFeaturesOption = Annotated[
    str, Option("--static", metavar="A,B", help="Static features: columns of tasks, and tier.")
]
ScaleOption = Annotated[
    str, Option("--scale", metavar="standard|minmax|none", help="How series are scaled.")
]
DatasetFormatOption = Annotated[
    str, Option("--format", metavar="FORMAT", help="Format: tfrecord, parquet or npz.")
]
ShardsOption = Annotated[
    int | None,
    SHARDS,
    Option("--shards", metavar="N", help="Files per set; by default as its size needs."),
]
GzipOption = Annotated[bool, Option("--gzip", help="Compress (gzip, zstd or deflate, by format).")]
OriginalOption = Annotated[
    str | None,
    Option(
        "--compat",
        metavar="original",
        help="original: make the dataset as google-cluster-prediction did in 2017.",
    ),
]
ThreadsOption = Annotated[
    int | None,
    PROCESSES,
    Option("--threads", metavar="N", help="Threads; all cores by default."),
]
ReplaceDatasetOption = Annotated[bool, Option("--replace", help="Replace another dataset in OUT.")]
HistogramOption = Annotated[bool, Option("--histogram", help="Show how long the traces are.")]
