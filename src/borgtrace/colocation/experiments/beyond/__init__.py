"""Experiments that lie past the paper, and the advice."""

HEADING = "Colocation: memory, unequal machines, tasks that peak together, and the advice"

QUESTIONS = [
    "packing_memory",
    "packing_machines",
    "task_correlation",
    "packing_correlated",
    "packing_replay",
    "packing_online",
    "packing_promises",
    "packing_advice",
]
