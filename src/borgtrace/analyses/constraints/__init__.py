"""Questions about tasks that may not run everywhere."""

HEADING = "Placement constraints"

QUESTIONS = [
    "eligible_machines",
    "delay_by_eligibility",
    "eligible_starts",
]
