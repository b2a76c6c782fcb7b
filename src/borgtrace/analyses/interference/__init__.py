"""Questions about what tasks on one machine do to each other."""

HEADING = "Interference"

QUESTIONS = [
    "interference",
    "over_request",
]
