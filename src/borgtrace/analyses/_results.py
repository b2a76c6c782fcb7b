"""What the questions answer with: the tables of ``results.columns``, by the name of the question."""

from pathlib import Path

from borgtrace.schema.tables import read_declarations

RESULTS = read_declarations(Path(__file__).with_name("results.columns"))
"""The declared answers."""
