"""``borgtrace analyze``: ask a store questions, and compare the answers with what papers claim."""

from functools import partial
from pathlib import Path


def analyze(
    store: Path | None = None,
    names: list[str] | None = None,
    engine: str = "duckdb",
    memory: str = "4GB",
    timeout: str = "",
    where: str = "",
    settings: list[str] | None = None,
    out: Path | None = None,
    png: bool = False,
    as_json: bool = False,
    show_sql: str | None = None,
    list_names: bool = False,
) -> None:
    """Answer questions about a store, and judge published claims.

    Answers are tables, charts, and claims as published – measured – verdict. A single question prints its table,
    several print their claims: as a table on a terminal, as CSV in a pipe or a file. --list shows the parameters of
    each question, for --set.

    Example: borgtrace analyze cell-2011 transitions queue_length --out answers
    """
    from borgtrace.catalog import find, questions
    from borgtrace.catalog import names as names_of_all
    from borgtrace.cli import _answers
    from borgtrace.cli._options import seconds_of
    from borgtrace.engine.stoppable import within
    from borgtrace.errors import UsageError
    from borgtrace.question import EngineTables

    if (
        store is not None
        and str(store) in names_of_all()
        and not (store.exists() or list_names or show_sql)
    ):
        way_out = f"the store comes first: borgtrace analyze STORE {store}"
        raise UsageError("STORE", "not a store", got=f"{store}, a question", way_out=way_out)
    given = list(names or [])
    if (list_names or show_sql) and store is not None and not store.is_dir():
        # Without a store, the first name stands in its place.
        given.insert(0, str(store))
    # Each once: a name given twice would write the same files twice.
    chosen = [find(name) for name in dict.fromkeys(given or questions())]
    if list_names:
        _answers.print_list(chosen, has_set=True)
        return
    if store is None and show_sql is None:
        way_out = "borgtrace analyze STORE [NAME…], or borgtrace analyze --list"
        raise UsageError("STORE", "no store named", way_out=way_out)
    # Before the store is opened: a wrong name costs no time.
    parameters, seconds = _answers.parse_settings(settings or [], chosen), seconds_of(timeout)
    if show_sql is not None:
        if show_sql != "bigquery":
            raise UsageError("--show-sql", "unknown dialect", expected="bigquery", got=show_sql)
        _answers.print_sql(chosen, parameters)
    elif store is not None:
        _answers.check_png(png, out)
        tables = EngineTables.of(store, engine, where=where, memory=memory)
        # Nothing is computed yet: each answer is when it is asked for.
        answers = _answers.run(chosen, tables, parameters)
        publish = partial(_answers.publish, answers, out=out, png=png, as_json=as_json)
        within(seconds, publish, tables.interrupt)
