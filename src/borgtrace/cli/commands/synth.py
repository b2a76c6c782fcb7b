"""``borgtrace synth``: a synthetic trace in the raw format of one generation."""

import json
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from borgtrace.cli.command import command
from borgtrace.cli.option_effects import NoEffectWith, NoEffectWithout
from borgtrace.cli.options import CellOption, JsonOption, MemoryOption, SeedOption, TablesOption
from borgtrace.cli.printing import print_json
from borgtrace.cli.synth_options import (
    AnomaliesOption,
    CellSizeOption,
    CheckOption,
    ConstrainedOption,
    FileFormatOption,
    GenerationOption,
    GeneratorThreadsOption,
    LikeOption,
    NewTraceArgument,
    SharedFactorOption,
    TraceHoursOption,
)
from borgtrace.errors import shell_word

if TYPE_CHECKING:
    from borgtrace.synth import SynthOptions


OF_A_NEW_TRACE = (
    "generation",
    "machines",
    "hours",
    "seed",
    "cell",
    "tables",
    "jobs",
    "anomalies",
    "file_format",
    "shared_factor",
    "constrained",
    "like",
)


@command(
    reads=["like"],
    effects=[
        NoEffectWith("check", OF_A_NEW_TRACE),
        NoEffectWithout(["check"], ["as_json"]),
        NoEffectWithout(["check", "like"], ["memory"]),
    ],
)
def synth(
    out: NewTraceArgument,
    generation: GenerationOption = "2011",
    machines: CellSizeOption = 100,
    hours: TraceHoursOption = 24.0,
    seed: SeedOption = 1,
    cell: CellOption = "a",
    tables: TablesOption = "",
    jobs: GeneratorThreadsOption = 2,
    anomalies: AnomaliesOption = True,
    file_format: FileFormatOption = "json",
    shared_factor: SharedFactorOption = 0.0,
    constrained: ConstrainedOption = 0.25,
    like: LikeOption = None,
    check: CheckOption = False,
    memory: MemoryOption = "4GB",
    as_json: JsonOption = False,
) -> None:
    """Make a synthetic trace whose true answers are known.

    The files have the format of Google's. truth.json and truth.parquet hold the known answers and mark the trace as
    synthetic. With --like, the cell has the arrivals, sizes, lives, usage and machines of a store.

    Example: borgtrace synth trace --machines 100 --hours 24 --seed 1

    Example: borgtrace synth twin --like STORE --machines 1000 --hours 24
    """
    from borgtrace.schema.ranges import parse_words
    from borgtrace.synth import SynthOptions

    if check:
        print_check(out, memory, as_json=as_json)
        return
    options = SynthOptions(
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
        constrained=constrained,
        like=fit_to_store(like, generation, memory) if like else None,
    )
    make_trace(out, options)


def fit_to_store(store: Path, generation: str, memory: str) -> Any:
    """Fit the generator to a store, and say what of it the trace will have."""
    import borgtrace
    from borgtrace.analyses.fidelity.likeness import fit
    from borgtrace.cli.console import talk
    from borgtrace.synth.options import SynthOptions

    # A wrong generation is refused before the fit, which takes seconds.
    SynthOptions(generation)
    likeness = fit(borgtrace.open(store, memory=memory), generation)
    talk.print(likeness.note)
    return likeness


def make_trace(out: Path, options: "SynthOptions") -> None:
    """Generate a trace with a progress bar over its hours, and say what is in it."""
    from rich.progress import TextColumn

    from borgtrace.cli.console import counted, progress, talk
    from borgtrace.synth import write_trace
    from borgtrace.synth.options import check_output

    # Refused before a bar is drawn.
    check_output(out)
    with progress(TextColumn("{task.fields[rate]}")) as bars:
        bar = bars.add_task("synth", total=options.hours, rate="")

        def report(hours: float, rows: int) -> None:
            # No time has passed at the very first call.
            seconds = bars.tasks[bar].elapsed or 1.0
            bars.update(bar, completed=hours, rate=f"{rows / seconds / 1000:,.0f} k rows/s")

        write_trace(out, options, report)
    truth = json.loads((out / "truth.json").read_text())
    for table, rows in sorted(truth["rows"].items()):
        talk.print(f"  {table}: {counted(rows, 'row')}")
    talk.print(f"Synthetic trace, seed {truth['seed']}. Known answers: {out / 'truth.json'}")
    talk.print(f"Next: borgtrace ingest {shell_word(out)} --store store")


def print_check(out: Path, memory: str, *, as_json: bool) -> None:
    """Ingest a synthetic trace into a temporary store, measure it, and print target by target.

    Raises
    ------
    UsageError
        When `out` is not a synthetic trace.
    """
    import borgtrace
    from borgtrace.catalog import find
    from borgtrace.errors import UsageError
    from borgtrace.ingest import IngestOptions, ingest
    from borgtrace.storage import RemotePath

    if not (out / "truth.json").is_file():
        raise UsageError(
            str(out),
            "not a synthetic trace",
            expected="a folder with truth.json",
            way_out="make one with `borgtrace synth`",
        )
    # Beside the trace, where there is room for its size; the usual place may be a small disk in memory.
    near = None if isinstance(out, RemotePath) else out.absolute().parent
    with tempfile.TemporaryDirectory(dir=near) as folder:
        store = Path(folder) / "store"
        ingest([out], store, IngestOptions(memory=memory))
        result = find("fidelity").run(borgtrace.open(store, memory=memory))
    rows = in_order_of_targets(result.table.to_pylist())
    if result.not_applicable:
        print(f"not applicable: {result.not_applicable}", file=sys.stderr)
    if as_json:
        print_json(rows, indent=1)
    else:
        print_targets(rows)


def in_order_of_targets(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Sort measured targets as they are listed, where related ones are neighbors."""
    from borgtrace.synth.model.targets import TARGETS, TARGETS_2019

    places = {}
    for place, target in enumerate((*TARGETS, *TARGETS_2019)):
        places[target.measure, target.tier] = place
    return sorted(rows, key=lambda row: places.get((row["measure"], row["tier"]), len(places)))


def cells_of_target(row: dict[str, Any]) -> dict[str, str]:
    """Return the cells of one target: what is published, measured, and judged of it."""
    from borgtrace.notation import number, value_text

    interval = "" if row["low"] is None else f"{number(row['low'])} … {number(row['high'])}"
    deviation = "" if row["deviation"] is None else f"{row['deviation'] * 100:+,.1f} %"
    return {
        "target": f"{row['measure']}, {row['tier']}",
        "published": value_text(row["published"]),
        "measured": value_text(row["measured"]),
        "deviation": deviation,
        "95 % interval": interval,
        "verdict": row["verdict"],
        "source": f"{row['grade']}: {row['reference']}",
    }


def print_targets(rows: list[dict[str, Any]]) -> None:
    """Print a line for each target with its verdict, and how many fit."""
    # Inside: the help of all commands imports this module, and names of a store need an engine.
    from borgtrace.cli.grid import TextColumn, print_grid

    lines = [cells_of_target(row) for row in rows]
    numbers = ("published", "measured", "deviation")
    columns = []
    for name in lines[0] if lines else ():
        cells = [line[name] for line in lines]
        column = TextColumn(name, cells, name in numbers, is_folded=name == "target")
        columns.append(column)
    print_grid(columns, ("target", *numbers, "verdict"))
    # Guides and tails are shown without a verdict and do not count.
    judged = [row["verdict"] for row in rows if row["verdict"] in ("fits", "does not fit")]
    not_judged = [row for row in rows if row["verdict"] == "not judged"]
    if not_judged:
        n_near = sum(row["is_near"] for row in not_judged)
        print(f"{n_near} of {len(not_judged)} targets are near the published number.")
        print("A verdict needs all tables, 24 hours and 1,000 tasks.")
    else:
        print(f"{judged.count('fits')} of {len(judged)} judged targets fit")
