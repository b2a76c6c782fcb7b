"""Options that only ``borgtrace fetch`` has; the default stands on the command."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from borgtrace.schema.bounds import DOWNLOADS

TraceArgument = Annotated[str, Argument(metavar="2011|2019", help="Which trace.")]
RawFilesArgument = Annotated[
    Path, Argument(metavar="DEST", help="Folder or URL that gets a folder for the trace.")
]
PartsOption = Annotated[
    str,
    Option(
        "--parts",
        metavar="PARTS",
        help="Parts, such as 0-9, 0-4,10 or all; machine tables come whole.",
    ),
]
ForQuestionsOption = Annotated[
    str, Option("--for", metavar="NAME,…", help="Only the tables that these questions read.")
]
RawFormatOption = Annotated[
    str | None,
    Option("--format", metavar="FORMAT", help="json (default) or parquet, for 2019."),
]
BaseUrlOption = Annotated[
    str | None,
    Option(
        "--base-url",
        metavar="URL",
        help="A mirror: the address that holds the files of the trace.",
        envvar="BORGTRACE_BASE_URL",
    ),
]
DownloadsOption = Annotated[
    int,
    DOWNLOADS,
    Option("--jobs", metavar="N", help="Parallel downloads."),
]
StageIntoOption = Annotated[
    Path | None,
    Option("--store", metavar="STORE", help="Stage each file into this store on arrival."),
]
DeleteRawOption = Annotated[
    bool, Option("--delete-raw", help="With --store: delete each file once staged.")
]
ShowDownloadOption = Annotated[
    bool, Option("--dry-run", help="Show what would be read, its size, and the free disk.")
]
