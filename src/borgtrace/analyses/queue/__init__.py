"""Questions about how many tasks wait and run."""

HEADING = "The queue and the running tasks"

QUESTIONS = [
    "queue_length",
]
