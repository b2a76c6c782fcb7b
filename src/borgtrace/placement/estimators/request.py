"""Sizes from what tasks asked for, divided by an overcommit factor: what most schedulers do."""

from __future__ import annotations

import numpy as np

from borgtrace.errors import UsageError
from borgtrace.placement.estimators.estimator import Numbers
from borgtrace.placement.estimators.observation import Observation
from borgtrace.placement.estimators.registry import register
from borgtrace.placement.estimators.sizes import SizeEstimator


@register
class Request(SizeEstimator):
    """Every task takes its request ÷ o: o = 1 keeps every promise, o = 1.5 overcommits machines by half.

    A task whose request is unknown takes the highest usage seen of it.

    Examples
    --------
    >>> seen = Observation(np.float32([[0.25, 0.5]] * 2), request=np.array([0.75, np.nan]))
    >>> Request(1.5).sizes(seen)
    array([0.5, 0.5])
    """

    name = "request"
    symbol = "o"
    about = "the request of every task ÷ the overcommit factor o"
    needs_more = True

    def sizes(self, observed: Observation) -> Numbers:
        """Request ÷ o of each task."""
        if observed.request is None:
            raise UsageError(
                "estimator request",
                "no requests are known",
                way_out="use a store or a pool file with requests, or another estimator",
            )
        is_known = np.isfinite(observed.request)
        return np.where(is_known, observed.request / self.parameter, observed.moments[:, 5])
