"""On which stores claims about experiments can be judged.

Usage varies by twice its mean between tasks: the mean of 10,000 tasks is known to 2 %, which is less than any tolerance
here; that of 1,000 is not.  The paper samples 100,000.
"""

from dataclasses import replace

from borgtrace.question import Scope
from borgtrace.schema.time import DAY

_SIZES = ("tasks", "realizations", "instances", "size", "samples", "hours")

PAPER = Scope(traces=("2011",), larger=_SIZES, tasks=10_000)
"""For numbers of the GPA paper, about the long tasks of 2011."""
PAPER_MONTH = replace(PAPER, span=29 * DAY)
"""For counts: on a shorter trace there are fewer, whatever their rate."""
SHAPE = replace(PAPER, is_general=True)
"""For what the paper says of ratios and shapes: welcome on other traces, where the verdict says so."""
OWN = Scope(larger=_SIZES, free=("seed", "capacity", "target", "mix"))
"""For criteria of ours: a promise has to be kept at every target, on every kind of machine."""
