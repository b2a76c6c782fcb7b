"""Questions about jobs and their owners."""

HEADING = "Jobs and users"

QUESTIONS = [
    "job_events",
    "job_arrivals",
    "job_interarrivals",
    "job_durations",
    "job_sizes",
    "tasks_per_job",
    "jobs_per_owner",
    "tails",
    "hazards",
    "job_delay",
    "job_efficiency",
    "crash_loops",
]
