"""Results of forecast."""

from pathlib import Path

from borgtrace.schema.tables import read_declarations

RESULTS = read_declarations(Path(__file__).with_name("results.columns"))
"""Tables of results by name."""
