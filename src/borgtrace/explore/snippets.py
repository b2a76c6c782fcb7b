"""The lines of Python below a view, which lead from it to a notebook."""

from pathlib import Path

from borgtrace.engine.identifiers import number
from borgtrace.notation import Names


def python_of_query(path: Path, query: str) -> str:
    """Return Python that asks a query.

    Parameters
    ----------
    path
        The store.
    query
        One SELECT.

    Examples
    --------
    >>> print(python_of_query(Path("store"), "SELECT 1"))
    import borgtrace
    <BLANKLINE>
    store = borgtrace.open("store")
    store.sql("SELECT 1")
    """
    # Written as Python writes texts: what stands in a query cannot end it.
    text = f'"{query}"' if is_simple(query) else triple_quoted(query)
    return python_of_view(path, f"store.sql({text})")


def python_of_view(path: Path, line: str) -> str:
    """Return Python that opens a store, and one line about it."""
    return f"import borgtrace\n\nstore = borgtrace.open({python_text(str(path))})\n{line}"


def sql_of_machine(machine_id: int) -> str:
    """Return a query of what the tasks of a machine used in each window, the latest last."""
    return f"""SELECT start_time, collection_id, instance_index, average_cpu, average_memory
FROM instance_usage
WHERE machine_id = {number(machine_id)}
ORDER BY start_time, collection_id, instance_index"""


def python_of_machine(path: Path, machine_id: int, names: Names) -> str:
    """Return Python that draws a machine."""
    name = names.machine(machine_id)
    argument = str(machine_id) if name == str(machine_id) else python_text(name)
    return python_of_view(path, f"store.machine({argument}).plot()")


def sql_of_job(collection_id: int) -> str:
    """Return a query of what the tasks of a job used, each a row."""
    return f"""SELECT *
FROM tasks
WHERE collection_id = {number(collection_id)}
ORDER BY instance_index"""


def python_of_job(path: Path, collection_id: int) -> str:
    """Return Python that draws the first task of a job."""
    return python_of_view(
        path, f'traces = store.traces("collection_id = {collection_id}")\ntraces[0].plot()'
    )


def sql_of_task(collection_id: int, instance_index: int) -> str:
    """Return a query of the usage of a task."""
    return f"""SELECT *
FROM instance_usage
WHERE collection_id = {number(collection_id)} AND instance_index = {number(instance_index)}
ORDER BY start_time"""


def python_of_task(path: Path, collection_id: int, instance_index: int) -> str:
    """Return Python that draws a task."""
    return python_of_view(path, f"store.trace({collection_id}, {instance_index}).plot()")


SQL_OF_CELL = """SELECT start_time // 3600000000 AS hour,
    sum(average_cpu * (end_time - start_time)) / 3600000000 AS cpu,
    sum(average_memory * (end_time - start_time)) / 3600000000 AS memory
FROM instance_usage
WHERE alloc_collection_id IS NULL
GROUP BY hour
ORDER BY hour"""
"""What the cell used in each hour of the trace; what runs inside an alloc set counts once."""


def python_of_cell(path: Path) -> str:
    """Return Python that draws how much of the cell was used."""
    return python_of_view(path, 'store.ask("utilization").plot()')


def python_text(text: str) -> str:
    """Return a text as Python writes it, in double quotes."""
    return f'"{text}"' if is_simple(text) else repr(text)


def is_simple(text: str) -> bool:
    """Whether a text stands between double quotes as it is."""
    return text.isprintable() and '"' not in text and "\\" not in text


def triple_quoted(text: str) -> str:
    """Return a text of several lines as Python writes it; on one line where that would not be safe."""
    lines = text.splitlines()
    is_safe = all(line.isprintable() for line in lines) and "\\" not in text and '"""' not in text
    return f'"""\n{text}\n"""' if is_safe else repr(text)
