"""``borgtrace views``: Google's tables of 2019 on BigQuery under the names of a store."""

from typing import Annotated

from typer import Option

from borgtrace.cli.command import command
from borgtrace.cli.options import CellOption, JsonOption


@command(on_interrupt="nothing was changed")
def views(
    dataset: Annotated[
        str,
        Option("--dataset", metavar="DATASET", help="Dataset for the views, as PROJECT.DATASET."),
    ],
    cell: CellOption = "a",
    as_json: JsonOption = False,
) -> None:
    """Print views on BigQuery over Google's tables of 2019.

    They have the tables and columns of a store.

    The statements of `borgtrace analyze --show-sql bigquery` read these views.

    Example: borgtrace views --cell a --dataset my-project.borg_a
    """
    from borgtrace.cli.console import counted, talk
    from borgtrace.cli.printing import print_json
    from borgtrace.errors import shell_word
    from borgtrace.lifecycle.hosted import all_views_sql

    script = all_views_sql(cell, dataset)
    if as_json:
        print_json(
            {
                "cell": cell,
                "dataset": dataset,
                "sql": script,
            }
        )
    else:
        print(script)
        n_views = counted(script.count("CREATE OR REPLACE VIEW"), "view")
        options = f"--cell {cell} --dataset {shell_word(dataset)}"
        talk.print(f"{n_views} of cell {cell} in {dataset}. To make them:")
        talk.print(f"borgtrace views {options} | bq query --use_legacy_sql=false")
