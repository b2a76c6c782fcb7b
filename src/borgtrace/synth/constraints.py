"""Constraints: the attributes that a job wants its machines to have."""

from __future__ import annotations

import random

import numpy as np

from borgtrace.synth.jobs import Job
from borgtrace.synth.machines import MODES, Machines


def constrain(job: Job, machines: Machines, rng: random.Random) -> None:
    """Give a job up to four constraints that, together, at least a quarter of the machines satisfy.

    Parameters
    ----------
    job
        Gets the constraints, and the machines that they allow.
    machines
        With the attributes to choose from.
    rng
        Where they are drawn from.
    """
    allowed = np.ones(len(machines), dtype=bool)
    constraints: list[tuple[int, int, int]] = []
    for attribute in rng.sample(range(len(MODES)), rng.choice((1, 2, 2, 3, 3, 4))):
        operator = rng.choice((0, 1, 1, 1, 2, 3))
        value = rng.randint(1, MODES[attribute])
        column = machines.attributes[:, attribute]
        mask = (column == value, column != value, column < value, column > value)[operator]
        # Checked against all constraints so far: each alone could be satisfied by many machines and all together by
        # none, and the job's tasks would wait for ever.
        if (allowed & mask).sum() * 4 >= len(machines):
            allowed &= mask
            constraints.append((attribute, operator, value))
    if constraints:
        job.constraints, job.allowed = tuple(constraints), allowed
