"""``borgtrace demo``: from nothing to a report, with the commands that anyone would type."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from borgtrace.cli._options import Seed


def demo(
    folder: Annotated[Path, Argument(help="Folder for everything the demo makes.", metavar="[DIR]")] = Path(
        "borgtrace-demo"
    ),
    machines: Annotated[int, Option(help="Machines of the synthetic cell.", min=10, metavar="N")] = 100,
    hours: Annotated[int, Option(help="Length of the synthetic trace in hours.", min=1, metavar="H")] = 24,
    seed: Seed = 1,
) -> None:
    """Run every step on a synthetic cell, and write its report.

    The steps are: raw files, store, analyses, dataset, packing, report. Each step prints the command that it runs, so
    that you can repeat it on a trace of your own. The last line is the path of the report.

    Example: borgtrace demo demo-out
    """
    from borgtrace.cli import _demo

    _demo.run(folder, machines, hours, seed)
