"""Overcommit on real machines: what policies predict, slot by slot, beside what the tasks then used."""

from borgtrace.overcommit.advice import ADVICE
from borgtrace.overcommit.block import MachineBlock, Samples
from borgtrace.overcommit.explanation import explain_prediction
from borgtrace.overcommit.measured import judged_instants
from borgtrace.overcommit.options import DEFAULTS, SWEEP, ReplayOptions
from borgtrace.overcommit.oracle import oracle
from borgtrace.overcommit.policies import PeakPolicy, Prediction, parse_policy
from borgtrace.overcommit.reclaimed import RECLAIMED
from borgtrace.overcommit.replay import ReplayInput
from borgtrace.overcommit.replay_question import ReplayQuestion, open_replay
from borgtrace.overcommit.snapshot import MachineBlocks, machine_blocks
from borgtrace.overcommit.table import REPLAY

__all__ = [
    "ADVICE",
    "DEFAULTS",
    "RECLAIMED",
    "REPLAY",
    "SWEEP",
    "MachineBlock",
    "MachineBlocks",
    "PeakPolicy",
    "Prediction",
    "ReplayInput",
    "ReplayOptions",
    "ReplayQuestion",
    "Samples",
    "explain_prediction",
    "judged_instants",
    "machine_blocks",
    "open_replay",
    "oracle",
    "parse_policy",
]
