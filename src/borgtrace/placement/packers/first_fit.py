"""First Fit: the machine opened first among those where the task fits."""

from __future__ import annotations

from borgtrace.placement.packers.packer import Packer, register_packer

FIRST_FIT = register_packer(Packer("first-fit", "the first machine where the task fits", stops=True))
