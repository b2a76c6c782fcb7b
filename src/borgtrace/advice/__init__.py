"""One page that a planner can act on: how far to overcommit, what it saves and risks, and what to set."""

from borgtrace.advice.advice import Advice, advise
from borgtrace.advice.options import AdviceOptions

__all__ = ["Advice", "AdviceOptions", "advise"]
