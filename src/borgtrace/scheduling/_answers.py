"""What is declared of the answers of what-ifs of scheduling: their tables, what is claimed about them, and charts."""

from borgtrace.question.listed_claims import declared_beside

RESULTS, CLAIMS, CHARTS = declared_beside(__file__)
"""Tables by the name of the question, what is claimed about them, and how they are drawn where that needs no code."""
