"""Questions about reserving less than what is requested, and about sampling less often."""

HEADING = "Reservations and sampling"

QUESTIONS = [
    "reservation",
    "sampling_period",
]
