"""Questions about how usage changes from one period to the next."""

HEADING = "How usage changes"

QUESTIONS = [
    "window_change",
    "hourly_change",
    "change_sketch",
]
