"""What tests of estimators and packings observe."""

from __future__ import annotations

import numpy as np

from borgtrace.placement.estimators.observation import Observation


def constant(*usages: float) -> Observation:
    """Return tasks that use the same at each of 200 instants."""
    return Observation(
        np.repeat(
            np.float32(usages)[:, None],
            200,
            axis=1,
        )
    )
