"""Questions about machines: how many, of which shapes, how often away."""

HEADING = "Machines"

QUESTIONS = [
    "machine_shapes",
    "machine_removals",
    "machine_downtime",
    "machine_availability",
    "machine_attributes",
]
