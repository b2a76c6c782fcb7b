"""Synthetic traces in both official formats, with known ground truth."""

from __future__ import annotations

from borgtrace.synth.generate import generate
from borgtrace.synth.long_tasks import LongTasks, draw_long_tasks

__all__ = ["LongTasks", "draw_long_tasks", "generate"]
