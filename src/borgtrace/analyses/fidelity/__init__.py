"""How close a synthetic trace is to the published figures."""

HEADING = "The synthetic trace"

QUESTIONS = [
    "fidelity",
]
