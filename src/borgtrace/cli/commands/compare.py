"""``borgtrace compare``: several stores side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from borgtrace.cli.command import command
from borgtrace.cli.options import FromOption, JsonOption, MemoryOption, RawOption, SeedOption

if TYPE_CHECKING:
    import pyarrow as pa

    from borgtrace.interactive import Store
    from borgtrace.question import Question, Result

ComparedStoresArgument = Annotated[
    list[Path],
    Argument(metavar="STORE…", help="Stores; the first is the one that others are compared with."),
]
ComparedQuestionsOption = Annotated[
    str, Option("--questions", metavar="A,B", help="Questions to answer on each store.")
]
ComparisonOption = Annotated[
    Path | None,
    Option(
        "--out",
        metavar="DIR",
        help="Folder for compare.html, distances.csv, NAME.csv and NAME-crossings.csv.",
    ),
]

MOST_IMPORTANT = ("measure", "store", "distance", "distance_low", "distance_high", "ratio", "jobs")
"""Columns that stay on a narrow terminal."""


@command()
def compare(
    stores: ComparedStoresArgument,
    questions: ComparedQuestionsOption = "",
    sources: FromOption = None,
    out: ComparisonOption = None,
    memory: MemoryOption = "4GB",
    seed: SeedOption = 0,
    raw: RawOption = False,
    as_json: JsonOption = False,
) -> None:
    """Compare stores: cells, years, real and synthetic ones.

    It prints how far the distributions over jobs lie apart, with intervals by blocks of jobs. With --questions, their
    answers stand side by side in --out. Amounts of different units are never added or subtracted: of capacities of
    two traces only shapes are compared.

    Example: borgtrace compare cell-a cell-b --questions transitions,job_durations --out compared
    """
    import borgtrace
    from borgtrace.catalog import QUESTION_KINDS, find
    from borgtrace.cli.own_code import names_in_own_code
    from borgtrace.cli.printing import print_json
    from borgtrace.question.job_distances import distances
    from borgtrace.schema.ranges import parse_words

    names_in_own_code(sources, QUESTION_KINDS)
    chosen = [find(name) for name in dict.fromkeys(parse_words(questions))]
    labels = labels_of(stores)
    check_comparison(labels, chosen, out)
    opened = {label: borgtrace.open(path, memory=memory) for label, path in labels.items()}
    distance_table = distances(opened, seed=seed)
    if out is not None:
        answers = answers_by_question(opened, chosen, memory)
        write_comparison(out, opened, distance_table, answers, raw=raw)
    if as_json:
        print_json(distance_table.to_pylist())
    else:
        print_distances(distance_table)


def check_comparison(
    stores: Mapping[str, Path], questions: Sequence[Question], out: Path | None
) -> None:
    """Refuse a comparison of one store, and answers that have no folder.

    Raises
    ------
    UsageError
        Nothing would be compared, or answers would be lost.
    """
    from borgtrace.errors import UsageError

    if len(stores) < 2:
        raise UsageError(
            "STORE…", "nothing to compare", expected="two stores or more", got=str(len(stores))
        )
    if questions and out is None:
        raise UsageError("--questions", "no folder for the answers", way_out="name one: --out DIR")


def print_distances(distance_table: pa.Table) -> None:
    """Print how far the distributions of each measure lie apart, and in a sentence where most."""
    from borgtrace.cli.console import print_prose
    from borgtrace.cli.grid import TextColumn, print_grid
    from borgtrace.notation import value_text

    rows = distance_table.to_pylist()
    columns = []
    for name in distance_table.column_names:
        cells = [value_text(row[name]) for row in rows]
        is_text = name in ("measure", "store", "against", "unit")
        columns.append(TextColumn(name, cells, is_number=not is_text, is_folded=name == "measure"))
    shown_names = print_grid(columns, MOST_IMPORTANT)
    if len(shown_names) < len(columns):
        print_prose(
            f"{len(shown_names)} of {len(columns)} columns; all of them: add --out DIR, or --json"
        )
    for sentence in sentences_on_distances(rows):
        print_prose(sentence)


def sentences_on_distances(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Say for each store by which measure it lies farthest from the first one.

    Parameters
    ----------
    rows
        Of the table of distances.

    Examples
    --------
    >>> row = {"store": "b", "against": "a", "distance_low": 0.1, "distance_high": 0.4}
    >>> print(
    ...     *sentences_on_distances(
    ...         [
    ...             {**row, "measure": "tasks of a job", "distance": 0.0},
    ...             {**row, "measure": "hours measured of a job", "distance": 0.25},
    ...         ]
    ...     )
    ... )
    b and a lie farthest apart by hours measured of a job: distance 0.25 [0.1 to 0.4] of at most 1.
    >>> print(*sentences_on_distances([{**row, "measure": "tasks of a job", "distance": 0.0}]))
    b and a do not differ in any measure.
    """
    from borgtrace.notation import number

    rows_by_store: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        rows_by_store.setdefault(row["store"], []).append(row)
    sentences = []
    for store, rows_of_store in rows_by_store.items():
        farthest = max(rows_of_store, key=lambda row: row["distance"])
        both = f"{store} and {farthest['against']}"
        if farthest["distance"] == 0:
            sentences.append(f"{both} do not differ in any measure.")
            continue
        distance = number(farthest["distance"])
        interval = " (too few jobs for an interval)"
        if farthest["distance_low"] is not None:
            low, high = number(farthest["distance_low"]), number(farthest["distance_high"])
            interval = f" [{low} to {high}]"
        sentences.append(
            f"{both} lie farthest apart by {farthest['measure']}: distance {distance}{interval} of at most 1."
        )
    return sentences


def answers_by_question(
    stores: Mapping[str, Store], questions: Sequence[Question], memory: str
) -> list[dict[str, Result]]:
    """Answer questions on each store; return the answers to each question by the label of the store."""
    from borgtrace.cli.answers import run
    from borgtrace.question import EngineTables

    answers: list[dict[str, Result]] = [{} for _ in questions]
    for label, store in stores.items():
        tables = EngineTables.of(store, memory=memory)
        for number, result in enumerate(run(questions, tables, {})):
            answers[number][label] = result
    return answers


def write_comparison(
    out: Path,
    stores: Mapping[str, Store],
    distance_table: pa.Table,
    answers: Sequence[Mapping[str, Result]],
    *,
    raw: bool = False,
) -> None:
    """Write the answers side by side, where their curves cross, the distances, and the page."""
    from borgtrace.engine.csv_text import write_csv
    from borgtrace.question.comparison import aligned, crossings
    from borgtrace.report.comparison import comparison_html
    from borgtrace.storage import replacing, write_file

    tables = {"distances": distance_table}
    for results in answers:
        name = next(iter(results.values())).question.name
        tables[name] = aligned(results)
        crossing_table = crossings(results)
        if crossing_table.num_rows:
            tables[f"{name}-crossings"] = crossing_table
    for name, table in tables.items():
        with replacing(out / f"{name}.csv") as draft:
            write_csv(table, draft, raw=raw)
    write_file(out / "compare.html", comparison_html(stores, distance_table, answers))


def labels_of(stores: list[Path]) -> dict[str, Path]:
    """Name stores by their folders, with a number where two have the same name."""
    names = [store.resolve().name for store in stores]
    labels = {}
    for number, (name, store) in enumerate(zip(names, stores, strict=True), 1):
        label = name if names.count(name) == 1 else f"{name} {number}"
        labels[label] = store
    return labels
