"""A scheduler of one's own asked in plain Python, whatever of it is compiled."""

from __future__ import annotations

from typing import Any

import numpy as np

from borgtrace.scheduling.scheduler import Scheduler


def in_python(function: Any) -> Any:
    """Return a function as it was written."""
    return getattr(function, "py_func", function)


def plain_score(scheduler: Scheduler, task: Any, machine: Any) -> float:
    """Return the score of a machine; infinity where it is not accepted."""
    if not in_python(scheduler.accepts)(task, machine):
        return np.inf
    return float(in_python(scheduler.score)(task, machine))
