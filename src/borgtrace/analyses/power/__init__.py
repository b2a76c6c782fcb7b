"""Questions about power domains."""

HEADING = "Power"

QUESTIONS = [
    "power_domains",
    "power_and_cpu",
    "power_distribution",
]
