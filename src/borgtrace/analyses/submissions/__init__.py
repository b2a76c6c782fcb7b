"""Questions about what is submitted, scheduled and completed."""

HEADING = "Submissions and completions"

QUESTIONS = [
    "transitions",
    "submissions",
    "submission_distances",
    "resubmissions",
    "resubmission_gaps",
    "task_totals",
]
