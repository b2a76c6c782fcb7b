"""Questions about the rows themselves: are they as documented?"""

HEADING = "Data quality"

QUESTIONS = [
    "data_quality",
]
