"""A room test: means times a factor."""

import numpy as np

from borgtrace import Estimator


def room(state, item, capacity, parameters):
    """Return what is left of the machine if the task joined."""
    return capacity[0] - parameters[0] * (state[0] + item[0])


class ScaledMeans(Estimator):
    """Tasks fit while their means, times a factor, stay below the capacity."""

    name = "scaled-means"
    symbol = "f"
    about = "means of the tasks times a factor"
    paper = (1.2, 1.5)
    slack = staticmethod(room)

    def items(self, observed, capacity):
        return np.column_stack([observed.mean])
