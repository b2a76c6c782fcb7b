"""Independent tasks wherever there are workers: processes of this machine, or executors of Spark."""

from collections.abc import Callable, Iterable, Iterator

from borgtrace.engine.processes import Item, Result, map_processes
from borgtrace.engine.spark_tasks import SparkTasks


def map_workers(
    function: Callable[[Item], Result],
    items: Iterable[Item],
    workers: int | SparkTasks,
    *,
    place: str,
) -> Iterator[Result]:
    """Yield the result of each item, in the order of the items.

    Parameters
    ----------
    function
        A function of a module, or a partial of one: it is pickled.
    items
        What it is called with; taken as workers become free, so it may be a generator.
    workers
        Number of processes; or tasks of Spark, which repeats those of a worker that was lost.
    place
        The folder that an error names when a process is killed.

    Raises
    ------
    StoreError
        A process was killed.
    EngineError
        Spark does not start, or gave a task up.

    Examples
    --------
    >>> list(map_workers(abs, [-1, 2], 1, place="here"))
    [1, 2]
    """
    if isinstance(workers, SparkTasks):
        yield from workers.map(function, items)
        return
    yield from map_processes(function, items, workers, place=place)
