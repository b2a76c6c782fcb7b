"""On which pools the claims of this package can be judged."""

from dataclasses import replace

from borgtrace.recipe import Scope

_SIZES = ("tasks", "realizations", "instances", "size", "samples", "hours")

OWN = Scope(larger=_SIZES, free=("seed", "capacity", "target", "mix"))
"""Criteria of ours: a promise has to be kept at every target, on every kind of machine."""
PAPER = Scope(traces=("2011",), larger=_SIZES, tasks=10_000)
"""Numbers of the GPA paper: about the long tasks of 2011.

The paper samples 100,000. Usage varies by twice its mean between tasks: the mean of 10,000 is known to 2 %, which is
less than any tolerance here; that of 1,000 is not.
"""
SHAPE = replace(PAPER, is_general=True)
"""What the GPA paper says of ratios and shapes: welcome on other traces, where the verdict says so."""
