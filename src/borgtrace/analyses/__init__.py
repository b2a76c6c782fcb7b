"""The questions: one module each, with its result, its chart and what papers claim about it.

Modules whose name starts with an underscore hold expressions that several questions share.
"""

TOPICS = {
    0: "Data quality",
    10: "Machines",
    20: "Submissions and completions",
    30: "The queue and the running tasks",
    40: "Waiting and running times",
    50: "Jobs and users",
    60: "Utilization",
    70: "How usage changes",
    80: "Reservations and sampling",
    90: "Placement constraints",
    100: "Further questions",
    110: "Interference",
    120: "Dependencies and limits",
    130: "Power",
    900: "The synthetic trace",
}
"""Headings on pages; a question stands under the last whose number its `order` reaches."""
