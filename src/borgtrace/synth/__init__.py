"""Synthetic traces in both official formats, with known ground truth.

The rooms, each of which imports only those above it:

``model``
    Who arrives, what they ask for, how they run, and what they use: distributions and their published parameters.
``options``
    What a trace can be asked for.
``simulate``
    The lives of jobs, tasks and machines as events, with the documented faults planted.
``measure``
    Executions cut into windows, and what each window says.
``write``
    Events and usage as the files of a published trace.
``truth``
    What was written, counted while it was written.
``generate``
    A whole trace; beside it ``long_tasks``, which draws tasks from the model without a cell.
"""

from __future__ import annotations

from borgtrace.synth.generate import generate, write_trace
from borgtrace.synth.long_tasks import LongTasks, draw_long_tasks
from borgtrace.synth.options import SynthOptions

__all__ = ["LongTasks", "SynthOptions", "draw_long_tasks", "generate", "write_trace"]
