"""``borgtrace views``: Google's tables of 2019 on BigQuery under the names of a store."""


def views(dataset: str, cell: str = "a", as_json: bool = False) -> None:
    """Print views on BigQuery over Google's tables of 2019, with the tables and columns of a store.

    The statements of `borgtrace analyze --show-sql bigquery` read these views.

    Example: borgtrace views --cell a --dataset my-project.borg_a
    """
    from borgtrace.cli._printing import print_json
    from borgtrace.lifecycle.hosted import all_views_sql

    script = all_views_sql(cell, dataset)
    print_json({"cell": cell, "dataset": dataset, "sql": script}) if as_json else print(script)
