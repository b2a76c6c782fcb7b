"""Questions about how much of the cell is used, and by whom."""

HEADING = "Utilization"

QUESTIONS = [
    "utilization",
    "gpu_allocation",
    "machine_utilization",
    "notebook",
    "notebook_machines",
    "peak_to_request",
    "cpu_by_duration",
    "job_usage",
    "trace_lengths",
    "job_memory",
    "platform_counters",
    "other_resources",
]
