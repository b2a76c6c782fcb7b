"""Questions about parents, queues, alloc sets and limits."""

HEADING = "Dependencies and limits"

QUESTIONS = [
    "parents",
    "start_after",
    "queueing",
    "schedulers",
    "vertical_scaling",
    "alloc_sets",
    "alloc_instances",
    "placement_limits",
]
