"""``borgtrace experiment``: stores × policies × parameters × seeds in one table, compared with each other."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from borgtrace.cli.command import command
from borgtrace.cli.options import (
    EngineOption,
    FromOption,
    JsonOption,
    MemoryOption,
    PngOption,
    ProcessesOption,
    RawOption,
)

if TYPE_CHECKING:
    from borgtrace.experiments.running import PreparedExperiment

PlanArgument = Annotated[
    Path,
    Argument(
        metavar="FILE.toml",
        help="The experiment: stores, policies or schedulers with parameters, and seeds.",
    ),
]
ExperimentOutOption = Annotated[
    Path,
    Option(
        "--out",
        metavar="DIR",
        help="Folder for tables, charts and finished cells; with these, the command goes on where it stopped.",
    ),
]
DryRunOption = Annotated[
    bool, Option("--dry-run", help="Print the cells and which are finished; compute none.")
]


@command(
    on_interrupt="finished cells stay: run the same command again to go on",
    reads=(),
    writes=(),
    writes_here=("out",),
)
def experiment(
    plan: PlanArgument,
    out: ExperimentOutOption,
    sources: FromOption = None,
    dry_run: DryRunOption = False,
    jobs: ProcessesOption = 1,
    engine: EngineOption = "duckdb",
    memory: MemoryOption = "4GB",
    png: PngOption = False,
    raw: RawOption = False,
    as_json: JsonOption = False,
) -> None:
    """Compare policies with many parameters at the same risk, or schedulers, on several stores.

    Each combination of a store, a policy with its parameters and a seed is a cell, which is kept as soon as it is
    computed.

    Example: borgtrace experiment nsigma-or-gpa.toml --out results --jobs 4
    """
    from borgtrace.cli.answers import print_result
    from borgtrace.cli.console import counted, steps, talk
    from borgtrace.cli.own_code import names_in_own_code
    from borgtrace.cli.printing import print_json
    from borgtrace.experiments import prepare, read_plan, run_prepared
    from borgtrace.overcommit.policies import POLICY_KINDS
    from borgtrace.question.facts import facts_of
    from borgtrace.scheduling import SCHEDULER_KINDS

    names_in_own_code(sources, POLICY_KINDS, SCHEDULER_KINDS)
    prepared = prepare(read_plan(plan), memory)
    if dry_run:
        print_cells(prepared, out, as_json=as_json)
        return
    with steps("cells") as report:
        result = run_prepared(prepared, out, jobs=jobs, engine=engine, report=report)
    if png or raw:
        result.write(out, png=png, raw=raw)
    n_cells = len(prepared.cells)
    talk.print(f"{counted(n_cells, 'cell')}: {result.n_computed:,} computed. Files: {out}")
    if as_json:
        for answer in result.answers:
            print_json(facts_of(answer))
        return
    print_result(result.policies, out=out, raw=raw)


def print_cells(prepared: "PreparedExperiment", out: Path, *, as_json: bool) -> None:
    """Print the cells of an experiment as CSV or JSON, and on stderr how many are finished.

    Parameters
    ----------
    prepared
        The experiment.
    out
        Folder of finished cells.
    as_json
        Whether they are printed as JSON.
    """
    from borgtrace.cli.console import counted, talk
    from borgtrace.cli.printing import print_csv, print_json
    from borgtrace.engine.csv_text import csv_text

    missing = {cell.key for cell in prepared.missing(out)}
    header = ["store", "family", "policy", "seed", "is_finished"]
    rows = []
    for cell in prepared.cells:
        is_finished = cell.key not in missing
        rows.append([cell.store, cell.family, cell.policy, cell.seed, is_finished])
    if as_json:
        print_json([dict(zip(header, row, strict=True)) for row in rows])
    else:
        print_csv(csv_text([header, *rows]))
    talk.print(f"{counted(len(rows), 'cell')}: {len(missing):,} to compute")
