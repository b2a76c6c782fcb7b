"""A room test: the mean of each task, and k of its standard deviations."""

import numpy as np

from borgtrace import Estimator


def room(state, item, capacity, parameters):
    """Return what is left of the machine if the task joined; it is compiled, so it takes numbers alone."""
    mean = state[0] + item[0]
    deviation = state[1] + item[1]
    return capacity[0] - mean - parameters[0] * deviation


class Deviations(Estimator):
    """Tasks fit while the sum of means and k deviations stays below the capacity."""

    name = "deviations"
    symbol = "k"
    about = "mean and k standard deviations of every task"
    paper = (1.0, 2.0, 3.0)
    slack = staticmethod(room)

    def items(self, observed, capacity):
        return np.column_stack([observed.mean, observed.std])
