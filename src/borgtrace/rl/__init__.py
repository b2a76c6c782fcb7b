"""Placement as a game for learners: ``borgtrace simulate`` as an environment of Gymnasium (extra ``rl``).

Importing this registers ``borgtrace/Placement-v0`` with Gymnasium.
"""

from borgtrace.rl.environment import PlacementEnv
from borgtrace.rl.scenario import Scenario

__all__ = ["PlacementEnv", "Scenario"]
