"""``borgtrace compare``: several stores side by side."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from borgtrace.cli.command import command
from borgtrace.cli.options import JsonOption, MemoryOption, SeedOption


@command()
def compare(
    stores: Annotated[
        list[Path],
        Argument(
            metavar="STORE…", help="Stores; the first is the one that others are compared with."
        ),
    ],
    questions: Annotated[
        str, Option("--questions", metavar="A,B", help="Questions to answer on each store.")
    ] = "",
    out: Annotated[
        Path | None,
        Option(
            "--out",
            metavar="DIR",
            help="For compare.html, distances.csv, NAME.csv, NAME-crossings.csv.",
        ),
    ] = None,
    memory: MemoryOption = "4GB",
    seed: SeedOption = 0,
    as_json: JsonOption = False,
) -> None:
    """Compare stores: cells, years, before and after, real and synthetic.

    It prints how far the distributions over jobs lie apart, with intervals by blocks of jobs. With --questions, their
    answers stand side by side in --out. Amounts of different units are never added or subtracted: of capacities of
    two traces only shapes are compared.

    Example: borgtrace compare cell-a cell-b --questions transitions,job_durations --out compared
    """
    import pyarrow.csv

    import borgtrace
    from borgtrace.catalog import find
    from borgtrace.cli import answers
    from borgtrace.cli.grid import TextColumn, print_grid
    from borgtrace.cli.printing import number, print_json
    from borgtrace.errors import UsageError
    from borgtrace.question import EngineTables
    from borgtrace.question.comparison import aligned, crossings, distances
    from borgtrace.schema.ranges import parse_words
    from borgtrace.storage import replacing, write_file

    chosen = [find(name) for name in dict.fromkeys(parse_words(questions))]
    labels = labels_of(stores)
    if len(labels) < 2:
        raise UsageError(
            "STORE…", "nothing to compare", expected="two stores or more", got=str(len(labels))
        )
    if chosen and out is None:
        raise UsageError("--questions", "no folder for the answers", way_out="name one: --out DIR")
    opened = {label: borgtrace.open(path, memory=memory) for label, path in labels.items()}
    found = distances(opened, seed=seed)
    if out is not None:
        from borgtrace.report.comparison import comparison_html

        answered = {
            label: list(answers.run(chosen, EngineTables.of(store, memory=memory), {}))
            for label, store in opened.items()
        }
        by_question = [
            dict(zip(answered, row, strict=True)) for row in zip(*answered.values(), strict=True)
        ]
        tables = {
            question.name: aligned(results)
            for question, results in zip(chosen, by_question, strict=True)
        }
        crossed = {
            f"{question.name}-crossings": crossings(found)
            for question, found in zip(chosen, by_question, strict=True)
        }
        tables |= {name: table for name, table in crossed.items() if table.num_rows}
        tables["distances"] = found
        for name, table in tables.items():
            with replacing(out / f"{name}.csv") as draft:
                pyarrow.csv.write_csv(table, draft)
        write_file(out / "compare.html", comparison_html(opened, found, by_question))
    if as_json:
        print_json(found.to_pylist())
        return
    rows = found.to_pylist()
    columns = []
    for name in found.column_names:
        cells = [number(row[name], 4, missing="–") for row in rows]
        columns.append(TextColumn(name, cells, is_number=name not in ("measure", "store")))
    print_grid(columns)


def labels_of(stores: list[Path]) -> dict[str, Path]:
    """Name stores by their folders, with a number where two have the same name."""
    names = [store.resolve().name for store in stores]
    return {
        name if names.count(name) == 1 else f"{name} {number}": store
        for number, (name, store) in enumerate(zip(names, stores, strict=True), 1)
    }
