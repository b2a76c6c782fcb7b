"""Overcommit on real machines: what policies predict, slot by slot, beside what the tasks then used."""

from borgtrace.overcommit.advice import ADVICE
from borgtrace.overcommit.block import Block, Samples
from borgtrace.overcommit.explanation import explained
from borgtrace.overcommit.oracle import oracle
from borgtrace.overcommit.policies import Policy, Prediction, parse_policy
from borgtrace.overcommit.reclaimed import RECLAIMED
from borgtrace.overcommit.replay import Cell
from borgtrace.overcommit.study import DEFAULTS, SWEEP, ReplayQuestion, Setting, open_cell
from borgtrace.overcommit.table import REPLAY

__all__ = [
    "ADVICE",
    "DEFAULTS",
    "RECLAIMED",
    "REPLAY",
    "SWEEP",
    "Block",
    "Cell",
    "Policy",
    "Prediction",
    "ReplayQuestion",
]
__all__ += [
    "Samples",
    "Setting",
    "explained",
    "open_cell",
    "oracle",
    "parse_policy",
]
