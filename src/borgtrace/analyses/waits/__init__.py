"""Questions about how long tasks wait and run."""

HEADING = "Waiting and running times"

QUESTIONS = [
    "moving_averages",
    "load_and_times",
    "scheduling_delay",
    "waits_by_size",
    "run_times",
]
