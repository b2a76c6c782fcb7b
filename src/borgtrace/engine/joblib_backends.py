"""Independent tasks on a backend of joblib that the user has registered: Dask, Ray, Spark, or threads."""

from collections.abc import Callable, Iterator, Sequence

from joblib import Parallel, delayed, effective_n_jobs, parallel_config

from borgtrace.engine.processes import Item, Result
from borgtrace.extensions import guarded

_ITEMS_PER_WORKER = 2
"""In a round: not every backend can yield results one by one, and those of a finished round are kept."""


def map_backend(
    function: Callable[[Item], Result],
    items: Sequence[Item],
    *,
    workers: int,
    backend: str,
) -> Iterator[Result]:
    """Yield the result of each item, in the order of the items, round by round.

    Parameters
    ----------
    function
        A function of a module, or a partial of one: it is pickled.
    items
        What it is called with.
    workers
        Number of workers; −1 takes all that the backend has.
    backend
        Name under which joblib knows it.

    Raises
    ------
    ValueError
        joblib knows no such backend.

    Examples
    --------
    >>> list(map_backend(abs, [-1, 2], workers=2, backend="threading"))
    [1, 2]
    """
    function = guarded(function)
    with parallel_config(backend=backend, n_jobs=workers):
        n_at_once = _ITEMS_PER_WORKER * effective_n_jobs(workers)
        with Parallel(batch_size=1) as pool:
            for first in range(0, len(items), n_at_once):
                part = items[first : first + n_at_once]
                yield from pool(delayed(function)(item) for item in part)
